// The layout of mails as HTML and as plain text.

package mail

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/consign-dev/consign/internal/i18n"
)

// Inline styles: some mail programs remove style sheets. The classes belong to sheet, for dark mode and phones.
const (
	fixed = "font-family:ui-monospace,Menlo,Consolas,monospace"
	sans  = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Noto Sans',sans-serif"
	wraps = "overflow-wrap:anywhere;word-break:break-word"
	grey  = "color:#566360"
	rule  = "1px solid #dbe1df"
	tint  = "background-color:#f2f5f4"
)

// sheet is the style sheet: dark colours where the mail program asks for them (data-ogsc: Outlook on the web), and less room on phones.
const sheet = `:root{color-scheme:light dark;supported-color-schemes:light dark}
body{-webkit-text-size-adjust:100%%;text-size-adjust:100%%}
@media (max-width:480px){.page{padding:16px 8px 24px!important}.side{padding-left:20px!important;padding-right:20px!important}
.title{font-size:22px!important}.action,.action tbody,.action tr,.action td,.action a{display:block!important;width:auto!important;text-align:center!important}
.label,.value{display:block!important;width:auto!important;padding-top:0!important}.label{padding-bottom:0!important}}
@media (prefers-color-scheme:dark){body,.page{background-color:#111514!important}.card{background-color:%[1]s!important;border-color:#2f3937!important}
.ink{color:#e8eeec!important}.dim{color:#a3b1ae!important}.rule{border-color:#2f3937!important}.tint{background-color:#252d2b!important}
.accent{color:%[2]s!important}.edge{border-color:%[2]s!important}.fill{background-color:%[2]s!important}.on{color:%[1]s!important}}
[data-ogsc] .ink{color:#e8eeec!important}[data-ogsc] .dim{color:#a3b1ae!important}[data-ogsc] .accent{color:%[2]s!important}[data-ogsc] .on{color:%[1]s!important}
[data-ogsb] .card{background-color:%[1]s!important}[data-ogsb] .tint{background-color:#252d2b!important}[data-ogsb] .fill{background-color:%[2]s!important}`

// pictureID is the Content-ID of the picture at the head of a mail.
const pictureID = "picture"

// page renders a mail as HTML. The markup is Go code (gomponents), which escapes text and lets the compiler check fields.
type page struct {
	content
	i18n.Printer
	accents
	product string
	look    Look
}

// html returns a mail as HTML.
func html(c content, product string, p i18n.Printer, look Look) []byte {
	m := page{content: c, Printer: p, accents: accentsOf(look.Colour), product: product, look: look}
	var b bytes.Buffer
	_ = h.Doctype(h.HTML(h.Lang(languageTag(p.Locale())), // into memory: cannot fail
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("format-detection"), h.Content("telephone=no, date=no, address=no, email=no, url=no")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")),
			h.Meta(h.Name("supported-color-schemes"), h.Content("light dark")),
			h.TitleEl(g.Text(c.Subject)),
			h.StyleEl(g.Rawf(sheet, darkPaper, m.dark)),
		),
		h.Body(h.Style("margin:0;padding:0;background-color:#f6f7f6"),
			m.preview(),
			layout(h.Width("100%"), h.Tr(h.Td(h.Class("page"), g.Attr("align", "center"), h.Style("padding:32px 12px 40px;background-color:#f6f7f6"),
				g.Raw("<!--[if mso]><table role=\"presentation\" width=\"600\"><tr><td><![endif]-->"),
				layout(h.Width("100%"), h.Style("max-width:600px;"+sans+";text-align:left"), m.head(), m.card(), m.foot()),
				g.Raw("<!--[if mso]></td></tr></table><![endif]-->")))),
		),
	)).Render(&b)
	return b.Bytes()
}

// layout returns a table that only positions its children; mail programs support no other layout.
func layout(children ...g.Node) g.Node {
	return h.Table(h.Role("presentation"), g.Attr("cellspacing", "0"), g.Attr("cellpadding", "0"), g.Attr("border", "0"), g.Group(children))
}

// preview returns the line that lists of mails show after the subject. Invisible characters keep the text of the mail out of it.
func (m page) preview() g.Node {
	return h.Div(h.Style("display:none;max-height:0;overflow:hidden;mso-hide:all;font-size:1px;line-height:1px;color:#f6f7f6;opacity:0"),
		g.Attr("aria-hidden", "true"),
		breakable(m.Preview), g.Raw(strings.Repeat("&#847;&zwnj;&nbsp;", 60)))
}

// head returns the row with the picture and the name of the product.
func (m page) head() g.Node {
	source := h.Src("cid:" + pictureID)
	var shown g.Node
	if m.look.Logo != nil {
		shown = h.Td(h.Width("40"), h.Img(source, h.Width("40"), h.Height("40"), h.Alt(m.look.Name),
			h.Style("display:block;border:0;border-radius:8px")))
	} else {
		shown = h.Td(h.Width("40"), h.Height("40"), g.Attr("align", "center"), g.Attr("bgcolor", m.link),
			h.Style("border-radius:10px;background-color:"+m.link),
			h.Img(source, h.Width("28"), h.Height("28"), h.Alt(""), h.Style("display:block;border:0")))
	}
	return h.Tr(h.Td(h.Class("side"), h.Style("padding:0 32px 16px"), layout(h.Tr(shown,
		h.Td(h.Class("ink"), h.Style("padding-left:12px;font-size:18px;line-height:24px;font-weight:600;color:#1a2120"), g.Text(m.product))))))
}

// card returns the row with the white box.
func (m page) card() g.Node {
	return h.Tr(h.Td(h.Class("card side"), h.Style("padding:32px 32px 16px;background-color:#ffffff;border:"+rule+";border-radius:12px"),
		h.H1(h.Class("ink title"), h.Style("margin:0 0 16px;font-size:24px;line-height:1.3;font-weight:650;color:#1a2120;"+wraps),
			breakable(m.Title)),
		paragraph("ink", "color:#1a2120", g.Text(m.Greeting)),
		g.Map(m.Lines, func(line string) g.Node { return paragraph("ink", "color:#1a2120;"+wraps, breakable(line)) }),
		g.If(m.Code != "", layout(h.Width("100%"), h.Style("margin:8px 0 24px"), h.Tr(h.Td(h.Class("ink tint"), g.Attr("align", "center"),
			h.Style("padding:20px;border-radius:8px;"+tint+";color:#1a2120;"+fixed+
				";font-size:32px;line-height:40px;font-weight:600;letter-spacing:8px"), g.Text(m.Code))))),
		g.If(m.Quote != "", h.BlockQuote(h.Class("ink tint edge"),
			h.Style("margin:8px 0 24px;padding:16px 20px;border-left:4px solid "+m.link+";border-radius:4px;"+tint+
				";font-size:16px;line-height:1.55;color:#1a2120;"+wraps),
			lines(strings.Split(m.Quote, "\n")))),
		g.If(len(m.Facts) > 0, layout(h.Width("100%"), h.Style("margin:0 0 24px"), g.Map(m.Facts, fact.row))),
		m.files(),
		g.If(m.Link != "", m.button()),
		g.Map(m.Notes, func(line string) g.Node { return paragraph("dim", grey+";font-size:14px;"+wraps, g.Text(line)) }),
	))
}

// foot returns the row below the box.
func (m page) foot() g.Node {
	return h.Tr(h.Td(h.Class("side dim"), h.Style("padding:20px 32px 0;"+grey+";font-size:13px;line-height:1.6;"+wraps), lines(m.Footer)))
}

func paragraph(class, style string, children ...g.Node) g.Node {
	return h.P(h.Class(class), h.Style("margin:0 0 16px;font-size:16px;line-height:1.55;"+style), g.Group(children))
}

func (f fact) row() g.Node {
	return h.Tr(
		h.Td(h.Class("dim label"), h.Width("150"), h.Style("padding:4px 16px 4px 0;"+grey+";font-size:14px;line-height:1.5;vertical-align:top"),
			g.Text(f.Label)),
		h.Td(h.Class("ink value"), h.Style("padding:4px 0;font-size:15px;line-height:1.5;vertical-align:top;color:#1a2120;"+wraps),
			g.Text(f.Value)),
	)
}

// files returns the list of files, with a row for how many are not listed.
func (m page) files() g.Node {
	if len(m.Files) == 0 {
		return nil
	}
	return layout(h.Width("100%"), h.Style("margin:0 0 24px"), g.Map(m.Files, listed.row),
		g.If(m.More != "", h.Tr(h.Td(h.Class("dim rule"), h.ColSpan("3"), h.Style("padding:12px 0;border-top:"+rule+";"+grey+";font-size:14px"),
			g.Text(m.More)))))
}

// row shows a file with its kind, as the pages do.
func (f listed) row() g.Node {
	cell := func(class, style string, children ...g.Node) g.Node {
		return h.Td(h.Class("rule "+class), h.Style("border-top:"+rule+";padding:12px 0;vertical-align:top;"+style), g.Group(children))
	}
	return h.Tr(
		cell("", "width:52px", layout(h.Tr(h.Td(h.Class("dim tint"), g.Attr("align", "center"), h.Width("40"), h.Height("40"),
			g.Attr("aria-hidden", "true"),
			h.Style("border-radius:8px;"+tint+";"+grey+";font-size:11px;line-height:14px;font-weight:700"), g.Text(kind(f.Name)))))),
		cell("ink", "font-size:15px;line-height:1.45;color:#1a2120;"+wraps, h.Strong(h.Style("font-weight:600"), breakable(f.Name)),
			g.If(f.SHA256 != "", h.Div(h.Class("dim"), h.Style("padding-top:2px;"+grey+";font-size:12px;line-height:1.5"),
				g.Text("SHA-256 "), h.Span(h.Style(fixed+";word-break:break-all"), g.Text(f.SHA256))))),
		cell("dim", "padding-left:16px;"+grey+";font-size:14px;line-height:1.55;text-align:right;white-space:nowrap", g.Text(f.Size)),
	)
}

// kind returns the ending of a file name in capitals, for its icon, or nothing when it is no usual one.
func kind(name string) string {
	ending := strings.TrimPrefix(path.Ext(name), ".")
	unusual := func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	if len(ending) > 4 || strings.ContainsFunc(ending, unusual) {
		return ""
	}
	return strings.ToUpper(ending)
}

// button returns the mail's link as a button and as text to copy, and the second link between them.
func (m page) button() g.Node {
	second := g.If(m.Second != "", paragraph("ink", "color:#1a2120",
		h.A(h.Class("accent"), h.Href(web(m.Second)), h.Style("color:"+m.link), g.Text(m.SecondLabel))))
	return g.Group{
		layout(h.Class("action"), h.Style("margin:8px 0 20px"),
			h.Tr(h.Td(h.Class("fill"), g.Attr("bgcolor", m.fill), h.Style("border-radius:8px;background-color:"+m.fill),
				h.A(h.Class("on"), h.Href(web(m.Link)),
					h.Style("display:inline-block;padding:14px 28px;font-size:16px;line-height:20px;font-weight:600;text-decoration:none;color:"+m.on),
					g.Text(m.Label))))),
		second,
		paragraph("dim", grey+";font-size:13px", g.Text(m.T("If the button does not work, copy this address into your browser:")), h.Br(),
			h.Span(h.Style("word-break:break-all"), g.Text(m.Link))),
	}
}

// web returns an address of a page, or "#": gomponents does not check schemes, and javascript: must never be linked.
func web(link string) string {
	if strings.HasPrefix(link, "https://") || strings.HasPrefix(link, "http://") {
		return link
	}
	return "#"
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
	paragraph := func(lines ...string) { fmt.Fprintf(&b, "%s\n\n", strings.Join(lines, "\n")) }
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
	var list []string
	for _, f := range c.Facts {
		list = append(list, f.Label+": "+f.Value)
	}
	if len(list) > 0 {
		paragraph(list...)
	}
	list = nil
	for _, f := range c.Files {
		size := ""
		if f.Size != "" {
			size = " (" + f.Size + ")"
		}
		list = append(list, "- "+f.Name+size)
		if f.SHA256 != "" {
			list = append(list, "  SHA-256 "+f.SHA256)
		}
	}
	if c.More != "" {
		list = append(list, c.More)
	}
	if len(list) > 0 {
		paragraph(list...)
	}
	if c.Link != "" {
		paragraph(c.Label+":", c.Link)
	}
	if c.Second != "" {
		paragraph(c.SecondLabel+":", c.Second)
	}
	for _, l := range c.Notes {
		paragraph(l)
	}
	b.WriteString("--\n" + strings.Join(c.Footer, "\n") + "\n")
	return []byte(b.String())
}
