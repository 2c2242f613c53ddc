// The API reference at /api/, read from the OpenAPI documents. Its HTML is in reference_page.go.

package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	g "maragu.dev/gomponents"

	"github.com/consign-dev/consign/internal/i18n"
)

// document is an OpenAPI document as shown on the reference page: operations by tag, in the order of the document.
type document struct {
	File, Title, Description, Server string
	Tags                             []tag
	Schemas                          []schema
}

type tag struct {
	ID, Name, Description string
	Operations            []operation
}

type operation struct {
	ID, Method, Path, Summary, Description, Auth string
	Parameters                                   []parameter
	Body, Media                                  string // its schema and its type
	Example                                      string
	Responses                                    []response
}

type parameter struct{ Name, In, Description, Type string }

type response struct {
	Status, Description, Type, Example string
	Headers                            []string
}

type schema struct {
	Name, Description, Type string
	Members                 []member
}

type member struct {
	Name, Type, Description string
	Required                bool
}

// referenceScript sends requests from the page of the reference.
const referenceScript = "reference"

// handleReference registers the page that shows the OpenAPI documents. The server renders it from the embedded documents
// at the first request.
func (p *Pages) handleReference() {
	rendered := sync.OnceValues(renderReference)
	e := entry{
		pattern: "/api/",
		script:  referenceScript,
		title:   func(t i18n.Printer) string { return t.T("API reference") },
		lead: func(t i18n.Printer) string {
			return t.T("The APIs of this server, each described by an OpenAPI document:")
		},
		body: func(i18n.Printer) (g.Node, error) { return rendered() },
	}
	for _, pattern := range []string{"/api", "/api/"} {
		p.handle(pattern, p.page(e))
	}
}

// renderReference returns the content of the page, rendered once.
func renderReference() (g.Node, error) {
	var shown []document
	for _, source := range documents {
		d, err := readDocument(source.read())
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", source.name, err)
		}
		d.File = source.name
		shown = append(shown, d)
	}
	var body strings.Builder
	_ = reference(shown).Render(&body) // writing to memory cannot fail
	return g.Raw(body.String()), nil
}

// tree is a YAML mapping. It resolves $ref on access.
type tree struct {
	root map[string]any
	node map[string]any
}

func (t tree) at(name string) tree     { return t.follow(t.node[name]) }
func (t tree) text(name string) string { return scalar(t.node[name]) }

func (t tree) follow(value any) tree {
	m, _ := value.(map[string]any)
	for range 8 {
		ref, ok := m["$ref"].(string)
		if !ok {
			break
		}
		found := any(t.root)
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			step, _ := found.(map[string]any)
			found = step[part]
		}
		m, _ = found.(map[string]any)
	}
	return tree{t.root, m}
}

func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(v)
	}
	return fmt.Sprint(v)
}

func readDocument(content []byte) (document, error) {
	var root map[string]any
	var order struct {
		Paths yaml.Node `yaml:"paths"`
	}
	if err := yaml.Unmarshal(content, &root); err != nil {
		return document{}, err
	}
	if err := yaml.Unmarshal(content, &order); err != nil {
		return document{}, err
	}
	t := tree{root, root}
	d := document{Title: t.at("info").text("title"), Description: t.at("info").text("description")}
	if servers, ok := root["servers"].([]any); ok && len(servers) > 0 {
		d.Server = strings.TrimPrefix(t.follow(servers[0]).text("url"), "https://{host}") // the page is at that host
	}
	tags, _ := root["tags"].([]any)
	for _, entry := range tags {
		named := t.follow(entry)
		name := named.text("name")
		d.Tags = append(d.Tags, tag{ID: anchor(d.Title, name), Name: name, Description: named.text("description")})
	}
	for i := 0; i+1 < len(order.Paths.Content); i += 2 {
		path := order.Paths.Content[i].Value
		d.addPath(t.at("paths").at(path), d.Server+path)
	}
	for _, name := range sortedKeys(t.at("webhooks").node) {
		d.addPath(t.at("webhooks").at(name), "address of the webhook")
	}
	d.Tags = slices.DeleteFunc(d.Tags, func(t tag) bool { return len(t.Operations) == 0 })
	for _, name := range sortedKeys(t.at("components").at("schemas").node) {
		d.Schemas = append(d.Schemas, t.at("components").at("schemas").at(name).schema(name))
	}
	return d, nil
}

// addPath adds the operations of a path to their tags.
func (d *document) addPath(item tree, path string) {
	for _, method := range []string{"options", "get", "head", "post", "put", "patch", "delete"} {
		if item.node[method] == nil {
			continue
		}
		o := item.at(method)
		op := operation{
			ID: o.text("operationId"), Method: strings.ToUpper(method), Path: path, Summary: o.text("summary"),
			Description: o.text("description"), Auth: o.auth(), Body: "", Responses: o.responses(),
		}
		for _, source := range []any{item.node["parameters"], o.node["parameters"]} {
			list, _ := source.([]any)
			for _, entry := range list {
				one := item.follow(entry)
				op.Parameters = append(op.Parameters, parameter{one.text("name"), one.text("in"), one.text("description"), one.typeOf("schema")})
			}
		}
		op.Body, op.Example = o.at("requestBody").content()
		if media := sortedKeys(o.at("requestBody").at("content").node); len(media) > 0 {
			op.Media = media[0]
		}
		names, _ := o.node["tags"].([]any)
		for i := range d.Tags {
			if len(names) > 0 && d.Tags[i].Name == scalar(names[0]) {
				d.Tags[i].Operations = append(d.Tags[i].Operations, op)
			}
		}
	}
}

// auth returns the security schemes of an operation, with the scopes of API tokens. Without one is optional.
func (t tree) auth() string {
	list, ok := t.node["security"].([]any)
	if !ok {
		return ""
	}
	var names, scopes []string
	optional := false
	for _, entry := range list {
		one, _ := entry.(map[string]any)
		optional = optional || len(one) == 0
		if wanted, ok := one["apiToken"].([]any); ok && len(wanted) > 0 {
			scopes = append(scopes, scalar(wanted[0]))
			continue
		}
		if len(one) > 0 {
			names = append(names, strings.Join(sortedKeys(one), " + "))
		}
	}
	if len(scopes) > 0 {
		names = append(names, "apiToken with the scope "+strings.Join(scopes, " or "))
	}
	text := strings.Join(names, " | ")
	switch {
	case text == "":
		return "none"
	case optional:
		return text + " (optional)"
	}
	return text
}

// content returns the name of a body's schema and its example.
func (t tree) content() (schema, example string) {
	media := t.at("content")
	for _, name := range sortedKeys(media.node) {
		one := media.at(name)
		if schema = one.typeOf("schema"); schema == "" || schema == "any" {
			schema = name
		}
		example = cmp.Or(one.example(), example)
	}
	return schema, example
}

// example returns the example of a body, or the first by name of several.
func (t tree) example() string {
	if e, ok := t.node["example"]; ok {
		return pretty(e)
	}
	several := t.at("examples")
	for _, name := range sortedKeys(several.node) {
		return pretty(several.at(name).node["value"])
	}
	return ""
}

func (t tree) responses() []response {
	all := t.at("responses")
	var list []response
	for _, status := range sortedKeys(all.node) {
		one := all.at(status)
		r := response{Status: status, Description: one.text("description")}
		r.Type, r.Example = one.content()
		r.Headers = sortedKeys(one.at("headers").node)
		list = append(list, r)
	}
	return list
}

// typeOf describes a schema in short: the name of a referenced schema, or the type.
func (t tree) typeOf(name string) string {
	raw, _ := t.node[name].(map[string]any)
	if ref, ok := raw["$ref"].(string); ok {
		return ref[strings.LastIndexByte(ref, '/')+1:]
	}
	s := tree{t.root, raw}
	switch {
	case raw == nil:
		return ""
	case raw["enum"] != nil:
		var words []string
		values, _ := raw["enum"].([]any)
		for _, v := range values {
			words = append(words, scalar(v))
		}
		return strings.Join(words, " | ")
	case s.text("type") == "array":
		return s.typeOf("items") + "[]"
	case raw["type"] != nil:
		return strings.Trim(fmt.Sprint(raw["type"]), "[]") + strings.TrimSuffix(" ("+s.text("format")+")", " ()")
	}
	return "any"
}

func (t tree) schema(name string) schema {
	s := schema{Name: name, Description: t.text("description"), Type: tree{t.root, map[string]any{"x": t.node}}.typeOf("x")}
	required, _ := t.node["required"].([]any)
	properties := t.at("properties")
	for _, property := range sortedKeys(properties.node) {
		s.Members = append(s.Members, member{
			Name: property, Type: properties.typeOf(property), Description: properties.at(property).text("description"),
			Required: slices.ContainsFunc(required, func(r any) bool { return r == property }),
		})
	}
	return s
}

// pretty formats an example as on the wire: indented JSON, or a string as it is.
func pretty(v any) string {
	if s, ok := v.(string); ok {
		return strings.TrimSpace(s)
	}
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // the page escapes it
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return scalar(v)
	}
	return strings.TrimSpace(text.String())
}

func anchor(parts ...string) string {
	return strings.ToLower(strings.ReplaceAll(strings.Join(parts, "-"), " ", "-"))
}
