package web

import (
	"html"
	"regexp"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// reference returns the documents one after the other, with a table of contents.
func reference(documents []document) g.Node {
	return h.Div(h.Class("reference"), h.Lang("en"),
		h.Nav(h.Class("toc"), h.Aria("label", "APIs"), g.Map(documents, document.contents)),
		h.Div(h.Class("apis"), g.Map(documents, document.section)),
	)
}

func (d document) contents() g.Node {
	return g.Group{
		h.H2(h.A(h.Href("#"+d.File), g.Text(d.Title))),
		h.Ul(g.Map(d.Tags, func(t tag) g.Node { return h.Li(h.A(h.Href("#"+t.ID), g.Text(t.Name))) })),
	}
}

func (d document) section() g.Node {
	return h.Section(
		h.H2(h.ID(d.File), g.Text(d.Title)),
		h.P(h.A(h.Href("/api/"+d.File+".yaml"), g.Text("YAML")), g.Text(" · "), h.A(h.Href("/api/"+d.File+".json"), g.Text("JSON")),
			g.Text(" · "), h.Code(g.Text(d.Server))),
		markdown(d.Description),
		g.Map(d.Tags, func(t tag) g.Node {
			return g.Group{
				h.H3(h.ID(t.ID), h.Class("tag"), g.Text(t.Name)),
				g.If(t.Description != "", h.P(dim, g.Text(t.Description))),
				g.Map(t.Operations, d.operation),
			}
		}),
		h.H3(h.Class("tag"), g.Text("Schemas")),
		g.Map(d.Schemas, d.schema),
	)
}

// kind returns a type. It links to the schema of that name.
func (d document) kind(name string) g.Node {
	base := strings.TrimRight(name, "[]")
	if !slices.ContainsFunc(d.Schemas, func(s schema) bool { return s.Name == base }) {
		return g.Text(name)
	}
	return h.A(h.Href("#"+d.schemaID(base)), g.Text(name))
}

func (d document) schemaID(name string) string { return anchor(d.Title, "schema", name) }

var dim = h.Class("dim")

// operation returns an operation. The data attributes are for the script that sends requests.
func (d document) operation(o operation) g.Node {
	return h.Details(h.Class("operation"), h.ID(o.ID),
		g.If(strings.HasPrefix(o.Path, "/"), g.Group{h.Data("method", o.Method), h.Data("path", o.Path), h.Data("media", o.Media)}),
		h.Summary(h.Span(h.Class("method "+o.Method), g.Text(o.Method)), g.Text(" "), h.Code(g.Text(o.Path)), g.Text(" "),
			h.Span(dim, g.Text(o.Summary))),
		g.If(o.Auth != "", h.P(h.B(g.Text("Authorization")), g.Text(" "+o.Auth))),
		g.If(o.Description != "", markdown(o.Description)),
		g.If(len(o.Parameters) > 0, h.Table(h.Class("parameters"), h.Caption(g.Text("Parameters")), h.TBody(g.Map(o.Parameters, d.parameter)))),
		g.If(o.Body != "", h.P(h.B(g.Text("Body")), g.Text(" "), h.Code(d.kind(o.Body)))),
		g.If(o.Body != "" && o.Example != "", h.Div(h.Class("body"), example(o.Example))),
		h.Table(h.Caption(g.Text("Answers")), h.TBody(g.Map(o.Responses, d.response))),
	)
}

func (d document) parameter(p parameter) g.Node {
	return h.Tr(rowHead(p.Name), h.Td(g.Text(p.In)), h.Td(d.kind(p.Type)), h.Td(markdown(p.Description)))
}

func (d document) response(r response) g.Node {
	body := g.If(r.Type != "", g.Group{g.Text(" "), h.Code(d.kind(r.Type))})
	if r.Example != "" {
		body = g.Group{g.Text(" "), h.Code(d.kind(r.Type)), h.Details(h.Summary(g.Text("Example")), example(r.Example))}
	}
	headers := g.If(len(r.Headers) > 0, h.P(dim, g.Text("Headers: "), h.Code(g.Text(strings.Join(r.Headers, ", ")))))
	return h.Tr(rowHead(r.Status), h.Td(markdown(r.Description), headers, body))
}

func (d document) schema(s schema) g.Node {
	return h.Details(h.Class("operation"), h.ID(d.schemaID(s.Name)),
		h.Summary(h.Code(g.Text(s.Name)), g.Text(" "), h.Span(dim, g.Text(s.Type))),
		g.If(s.Description != "", h.P(g.Text(s.Description))),
		g.If(len(s.Members) > 0, h.Table(h.TBody(g.Map(s.Members, d.member)))),
	)
}

func (d document) member(m member) g.Node {
	required := g.If(m.Required, g.Group{g.Text(" "), h.Span(h.Class("badge"), g.Text("required"))})
	return h.Tr(rowHead(m.Name, required), h.Td(d.kind(m.Type)), h.Td(markdown(m.Description)))
}

func rowHead(name string, more ...g.Node) g.Node {
	return h.Th(h.Scope("row"), h.Code(g.Text(name)), g.Group(more))
}

func example(text string) g.Node { return h.Pre(h.TabIndex("0"), h.Code(g.Text(text))) }

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	strong   = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// markdown renders the part of CommonMark that the documents use: paragraphs, code spans and strong text.
func markdown(text string) g.Node {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		escaped := html.EscapeString(strings.ReplaceAll(paragraph, "\n", " "))
		escaped = codeSpan.ReplaceAllString(escaped, "<code>$1</code>")
		b.WriteString("<p>" + strong.ReplaceAllString(escaped, "<b>$1</b>") + "</p>\n")
	}
	return g.Raw(b.String()) // escaped above
}
