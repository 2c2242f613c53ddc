package web

import (
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// layout returns the frame of a page. The markup is Go code (gomponents), which escapes text and lets the compiler check fields.
func (v view) layout() g.Node {
	return h.Doctype(h.HTML(h.Lang(v.Lang), h.Data("locale", v.Locale), h.Data("now", v.Now), h.Data("product", v.Product),
		h.Data("identity", v.Identity), h.Data("transfer", v.Transfer), h.Data("password-minimum", v.PasswordMinimum),
		v.head(),
		h.Body(h.Class(v.classes()),
			h.A(h.Class("skip"), h.Href("#main"), g.Text(v.T("Skip to the content"))),
			h.Header(h.Class("top"),
				h.A(h.Class("brand"), h.Href("/"), mark(), h.Span(g.Text(v.Product))),
				h.Div(h.ID("nav"))),
			v.announced(),
			h.Main(h.ID("main"), h.TabIndex("-1"),
				h.Div(h.Class("early"),
					h.H1(g.Text(v.heading())),
					g.If(v.Title != "", h.P(h.Class("lead"), g.Text(v.Lead))),
					g.If(v.Waits, g.Group{
						h.NoScript(h.P(h.Class("notice bad"), g.Text(
							v.T("This page needs JavaScript. Switch it on in your browser, or ask the person who sent you this link for another way.")))),
						h.P(h.Class("loading"), h.Role("status"), g.Text(v.T("One moment…"))),
					})),
				v.Body),
			v.foot(),
			g.If(v.Waits, v.stylesheet()),
			g.Map(v.OwnStyles, func(path string) g.Node { return h.Link(h.Rel("stylesheet"), h.Href(v.Assets+path)) }),
			h.Script(h.Type("application/json"), h.ID("translations"), g.Raw(v.Translations))),
	))
}

// classes returns the classes of the body.
func (v view) classes() string {
	own := "page-" + strings.ReplaceAll(v.Script, "/", "-")
	if v.House {
		own += " in-house"
	}
	return own
}

func (v view) head() g.Node {
	return h.Head(
		h.Meta(h.Charset("utf-8")),
		h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
		h.Meta(h.Name("robots"), h.Content("noindex")),
		h.Meta(h.Name("color-scheme"), h.Content("light dark")),
		h.TitleEl(g.If(v.Title != "", g.Text(v.Title+" · ")), g.Text(v.Product)),
		h.StyleEl(g.Raw(v.Style)),
		g.If(!v.Waits, v.stylesheet()),
		g.If(v.Latin, h.Link(h.Rel("preload"), g.Attr("fetchpriority", "low"), h.As("font"), h.Type("font/woff2"), h.CrossOrigin("anonymous"),
			h.Href(v.Assets+"thirdparty/figtree.woff2"))),
		h.Link(h.Rel("icon"), h.Href(v.Assets+"icon.svg")),
		h.Script(h.Type("importmap"), g.Raw(v.Hashes)),
		g.Map(v.Modules, func(name string) g.Node { return h.Link(h.Rel("modulepreload"), h.Href(v.Assets+name), v.hash(name)) }),
		h.Script(h.Type("module"), h.Src(v.Assets+v.Script+".js"), v.hash(v.Script+".js")),
	)
}

// hash returns the attribute with the hash of a script. The import map has it, too, which older browsers do not read.
func (v view) hash(name string) g.Node { return g.Attr("integrity", v.integrity(name)) }

// stylesheet returns the link of the rules that the first paint does not need. At the end of a page it delays its script only, in its
// head the first paint, too.
func (v view) stylesheet() g.Node {
	return h.Link(h.Rel("stylesheet"), h.Href(v.Assets+"style.css"))
}

// heading returns the title. The start page has none: its lead is the heading, as in its script.
func (v view) heading() string {
	if v.Title == "" {
		return v.Lead
	}
	return v.Title
}

// mark returns the logo beside the product's name.
func mark() g.Node {
	path := func(d string) g.Node { return g.El("path", g.Attr("d", d)) }
	return h.SVG(h.Class("mark"), g.Attr("viewBox", "0 0 32 32"), h.Aria("hidden", "true"),
		path("M4 12.5 16 5l12 7.5v11A2.5 2.5 0 0 1 25.5 26h-19A2.5 2.5 0 0 1 4 23.5z"), path("M16 11v9m-3.6-3.4L16 20.2l3.6-3.6"))
}

func (v view) foot() g.Node {
	return h.Footer(h.Class("foot"),
		h.Label(h.Class("language"), g.Text(v.T("Language")+" "), h.Select(h.ID("locale"), g.Map(v.Locales, func(l localeName) g.Node {
			return h.Option(h.Value(l.Locale), h.Lang(l.Lang), g.If(l.Chosen, h.Selected()), g.Text(l.Name))
		}))),
		h.Span(h.ID("legal")),
		h.Span(h.ID("shortcuts")),
		h.A(h.Href("/api/"), g.Text(v.T("API reference"))),
		g.If(v.Support != "", externalLink(v.Support, v.T("Support"))),
		g.If(v.Provider != "", externalLink(v.ProviderURL, v.Provider)),
	)
}

// externalLink returns a link to an address from the settings. gomponents does not check schemes, so an address such as
// javascript: becomes text without a link.
func externalLink(address, text string) g.Node {
	for _, scheme := range []string{"https://", "http://", "mailto:"} {
		if strings.HasPrefix(address, scheme) {
			return h.A(h.Href(address), g.Text(text))
		}
	}
	return h.Span(g.Text(text))
}
