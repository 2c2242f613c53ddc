package mail

import (
	"bytes"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/consign-dev/consign/internal/i18n"
)

// Inline styles: mail programs remove style sheets.
const (
	grey  = "color:#52606d"
	fixed = "font-family:Menlo,Consolas,monospace"
	sans  = "font-family:-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Noto Sans',sans-serif"
	wraps = "overflow-wrap:anywhere"
)

// html returns a mail as HTML. The markup is Go code (gomponents), which escapes text and lets the compiler check fields.
func html(c content, product string, p i18n.Printer) []byte {
	var b bytes.Buffer
	_ = h.Doctype(h.HTML(h.Lang(languageTag(p.Locale())), // into memory: cannot fail
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("format-detection"), h.Content("telephone=no, date=no, address=no, email=no")),
			h.TitleEl(g.Text(c.Subject)),
		),
		h.Body(h.Style("margin:0;padding:0;background:#f3f4f6;color:#1f2933"),
			layout(h.Width("100%"), h.Style("background:#f3f4f6"),
				h.Tr(h.Td(g.Attr("align", "center"), h.Style("padding:24px 12px"), card(c, product, p)))),
		),
	)).Render(&b)
	return b.Bytes()
}

// layout returns a table that only positions its children; mail programs support no other layout.
func layout(children ...g.Node) g.Node {
	return h.Table(h.Role("presentation"), g.Attr("cellspacing", "0"), g.Attr("cellpadding", "0"), g.Group(children))
}

// card returns the white box with the content.
func card(c content, product string, p i18n.Printer) g.Node {
	return layout(h.Width("100%"),
		h.Style("max-width:600px;background:#ffffff;border:1px solid #d9dee4;border-radius:8px;"+sans+";font-size:16px;line-height:1.5;text-align:left"),
		h.Tr(h.Td(h.Style("padding:20px 28px;border-bottom:1px solid #d9dee4;font-size:18px;font-weight:bold"), g.Text(product))),
		h.Tr(h.Td(h.Style("padding:24px 28px 8px"),
			paragraph("", g.Text(c.Greeting)),
			g.Map(c.Lines, func(line string) g.Node { return paragraph(wraps, breakable(line)) }),
			g.If(c.Code != "", paragraph(fixed+";font-size:28px;letter-spacing:4px", g.Text(c.Code))),
			g.If(c.Quote != "", h.BlockQuote(h.Style("margin:0 0 16px;padding:4px 0 4px 16px;border-left:3px solid #9aa5b1;"+wraps),
				lines(strings.Split(c.Quote, "\n")))),
			g.If(len(c.Facts) > 0, layout(h.Style("margin:0 0 16px;font-size:15px"), g.Map(c.Facts, fact.row))),
			g.Map(c.Files, listed.paragraph),
			g.If(c.More != "", paragraph("", g.Text(c.More))),
			g.If(c.Link != "", button(c.Link, c.Label, p.T("If the button does not work, copy this address into your browser:"))),
			g.Map(c.Notes, func(line string) g.Node { return paragraph(grey+";font-size:15px", g.Text(line)) }),
		)),
		h.Tr(h.Td(h.Style("padding:16px 28px;border-top:1px solid #d9dee4;"+grey+";font-size:13px"), lines(c.Footer))),
	)
}

func paragraph(style string, children ...g.Node) g.Node {
	return h.P(h.Style(strings.TrimSuffix("margin:0 0 16px;"+style, ";")), g.Group(children))
}

func (f fact) row() g.Node {
	return h.Tr(
		h.Td(h.Style("padding:2px 16px 2px 0;"+grey+";vertical-align:top"), g.Text(f.Label)),
		h.Td(h.Style("padding:2px 0;"+wraps), g.Text(f.Value)),
	)
}

func (f listed) paragraph() g.Node {
	return h.P(h.Style("margin:0 0 12px;"+wraps),
		h.Strong(breakable(f.Name)), g.Text(" "), h.Span(h.Style(grey+";white-space:nowrap"), g.Text(f.Size)),
		g.If(f.SHA256 != "", g.Group{h.Br(), h.Span(h.Style(grey+";font-size:13px"), g.Text("SHA-256 "), h.Span(h.Style(fixed+";word-break:break-all"), g.Text(f.SHA256)))}),
	)
}

// button returns the mail's link as a button and as text to copy.
func button(link, label, orCopy string) g.Node {
	target := link
	if !strings.HasPrefix(link, "https://") && !strings.HasPrefix(link, "http://") {
		target = "#" // gomponents does not check schemes; javascript: must never be linked
	}
	return g.Group{
		h.P(h.Style("margin:8px 0 16px"), h.A(h.Href(target), h.Style("display:inline-block;padding:12px 22px;background:#1d4f91;border-radius:6px;color:#ffffff;font-weight:bold;text-decoration:none"), g.Text(label))),
		paragraph(grey+";font-size:13px", g.Text(orCopy), h.Br(), h.Span(h.Style("word-break:break-all"), g.Text(link))),
	}
}

// breakable returns text with a break opportunity after each of its pieces.
func breakable(s string) g.Node {
	return g.Map(pieces(s), func(piece string) g.Node { return g.Group{g.Text(piece), h.Wbr()} })
}

// lines joins texts with line breaks.
func lines(list []string) g.Node {
	var nodes g.Group
	for i, line := range list {
		nodes = append(nodes, g.If(i > 0, h.Br()), g.Text(line))
	}
	return nodes
}

// languageTag returns a locale such as de_DE as a language tag, de-DE (RFC 5646).
func languageTag(locale string) string { return strings.ReplaceAll(locale, "_", "-") }

// text returns a mail as plain text with the same content as the HTML. A link is on its own line.
func text(c content) []byte {
	var b strings.Builder
	paragraph := func(lines ...string) {
		for _, l := range lines {
			b.WriteString(l + "\n")
		}
		b.WriteString("\n")
	}
	paragraph(c.Greeting)
	for _, l := range c.Lines {
		paragraph(l)
	}
	if c.Code != "" {
		paragraph("    " + c.Code)
	}
	if c.Quote != "" {
		paragraph("> " + strings.ReplaceAll(c.Quote, "\n", "\n> "))
	}
	if len(c.Facts) > 0 {
		for _, f := range c.Facts {
			b.WriteString(f.Label + ": " + f.Value + "\n")
		}
		b.WriteString("\n")
	}
	for _, f := range c.Files {
		if f.SHA256 == "" {
			b.WriteString("- " + f.Name + " (" + f.Size + ")\n")
		} else {
			b.WriteString("- " + f.Name + "\n  " + f.Size + "\n  SHA-256 " + f.SHA256 + "\n")
		}
	}
	if c.More != "" {
		b.WriteString(c.More + "\n")
	}
	if len(c.Files) > 0 {
		b.WriteString("\n")
	}
	if c.Link != "" {
		paragraph(c.Label+":", c.Link)
	}
	for _, l := range c.Notes {
		paragraph(l)
	}
	b.WriteString("--\n" + strings.Join(c.Footer, "\n") + "\n")
	return []byte(b.String())
}
