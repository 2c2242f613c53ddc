// The list of pages, and what each tells its script.

package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/consign-dev/consign/internal/i18n"
)

// entry describes one page.
type entry struct {
	pattern string
	script  string   // name of its module, without .js
	styles  []string // paths of its own stylesheets below assets
	house   bool     // a panel before a backdrop: what strangers see
	title   func(p i18n.Printer) string
	lead    func(p i18n.Printer) string          // says what the page, or the link to it, is for
	body    func(p i18n.Printer) (g.Node, error) // content rendered by the server; nil: none
}

// entries are the pages of contract 8 except /api/, which reference.go has.
var entries = slices.Concat(publicEntries, consoleEntries)

var publicEntries = []entry{
	{pattern: "/", script: "home",
		title: func(i18n.Printer) string { return "" },
		lead:  func(p i18n.Printer) string { return p.T("Hand over files of any size, exactly as they are.") }},
	{pattern: "/login", script: "login", house: true,
		title: func(p i18n.Printer) string { return p.T("Sign in") },
		lead:  func(p i18n.Printer) string { return p.T("Sign in with your email address and password.") }},
	{pattern: "/continue", script: "continue",
		title: func(p i18n.Printer) string { return p.T("Continue to sign in?") },
		lead: func(p i18n.Printer) string {
			return p.T("Somebody is signing in with an account of another service. You decide here.")
		}},
	{pattern: "/signup", script: "signup",
		title: func(p i18n.Printer) string { return p.T("Create an account") },
		lead: func(p i18n.Printer) string {
			return p.T("Use an address you can open: we’ll send a link to confirm it.")
		}},
	{pattern: "/confirm/{key}", script: "confirm",
		title: func(p i18n.Printer) string { return p.T("Confirm your email address") },
		lead: func(p i18n.Printer) string {
			return p.T("This link confirms that an email address is yours. It works once.")
		}},
	{pattern: "/reset", script: "reset",
		title: func(p i18n.Printer) string { return p.T("Forgot your password?") },
		lead: func(p i18n.Printer) string {
			return p.T("Get an email with a link to choose a new password.")
		}},
	{pattern: "/reset/{key}", script: "newpassword",
		title: func(p i18n.Printer) string { return p.T("Choose a new password") },
		lead:  func(p i18n.Printer) string { return p.T("This link lets you choose a new password. It works once.") }},
	{pattern: "/undo/{key}", script: "undo",
		title: func(p i18n.Printer) string { return p.T("This wasn’t me") },
		lead: func(p i18n.Printer) string {
			return p.T("This link signs out every device and undoes a change to your account. It works once.")
		}},
	{pattern: "/invitation/{key}", script: "invitation",
		title: func(p i18n.Printer) string { return p.T("Join an organization") },
		lead:  func(p i18n.Printer) string { return p.T("This link accepts an invitation to an organization.") }},
	{pattern: "/m/{key}", script: "mailboxpage", house: true,
		title: func(p i18n.Printer) string { return p.T("Send files to a mailbox") },
		lead: func(p i18n.Printer) string {
			return p.T("Send files of any size through this link. You don’t need an account.")
		}},
	{pattern: "/q/{key}", script: "requested", house: true, styles: []string{"requests.css"},
		title: func(p i18n.Printer) string { return p.T("Hand in documents") },
		lead: func(p i18n.Printer) string {
			return p.T("Someone asks you for documents through this link. You don’t need an account.")
		}},
	{pattern: "/g/{key}", script: "group",
		title: func(p i18n.Printer) string { return p.T("Send files to a group") },
		lead: func(p i18n.Printer) string {
			return p.T("Choose who your files are for. You don’t need an account.")
		}},
	{pattern: "/t/{key}", script: "transfer", house: true,
		title: func(p i18n.Printer) string { return p.T("Files for you") },
		lead:  func(p i18n.Printer) string { return p.T("Someone sent you files through this link.") }},
	{pattern: "/r/{key}", script: "senderreceipt", house: true,
		title: func(p i18n.Printer) string { return p.T("Your receipt") },
		lead:  func(p i18n.Printer) string { return p.T("This link opens the receipt of files that you have sent.") }},
	{pattern: "/verify", script: "verify", house: true,
		title: func(p i18n.Printer) string { return p.T("Check a receipt") },
		lead: func(p i18n.Printer) string {
			return p.T("Check a receipt and the files it lists. Nothing leaves your device.")
		}},
	{pattern: "/inbox", script: "inbox",
		title: func(p i18n.Printer) string { return p.T("Inbox") },
		lead:  func(p i18n.Printer) string { return p.T("Files that others have sent you.") }},
	{pattern: "/inbox/{uid}", script: "inbox",
		title: func(p i18n.Printer) string { return p.T("Inbox") },
		lead:  func(p i18n.Printer) string { return p.T("Files that others have sent you.") }},
	requestsPage("/requests"), requestsPage("/requests/{uid}"),
	{pattern: "/requests/new", script: "newrequest", styles: []string{"requests.css"},
		title: func(p i18n.Printer) string { return p.T("New request") },
		lead:  func(p i18n.Printer) string { return p.T("Ask people for documents.") }},
	{pattern: "/send", script: "send",
		title: func(p i18n.Printer) string { return p.T("Send files") },
		lead:  func(p i18n.Printer) string { return p.T("Send files to others, or make a link.") }},
	{pattern: "/mailbox", script: "mailbox",
		title: func(p i18n.Printer) string { return p.T("Your mailbox") },
		lead: func(p i18n.Printer) string {
			return p.T("Set up the mailbox where others send you files.")
		}},
	accountPage("", "account", func(p i18n.Printer) string { return p.T("Your account") }),
	accountPage("/security", "account-security", func(p i18n.Printer) string { return p.T("Sign-in and security") }),
	accountPage("/devices", "account-devices", func(p i18n.Printer) string { return p.T("Devices and programs") }),
	accountPage("/privacy", "account-privacy", func(p i18n.Printer) string { return p.T("Data and activity") }),
	{pattern: "/device", script: "device",
		title: func(p i18n.Printer) string { return p.T("Sign in a program") },
		lead: func(p i18n.Printer) string {
			return p.T("A program asks for access to your account. You decide here.")
		}},
	{pattern: "/organization", script: "organization", styles: []string{"lists.css"},
		title: func(p i18n.Printer) string { return p.T("Your organization") },
		lead: func(p i18n.Printer) string {
			return p.T("Your organization’s profile and members.")
		}},
}

// demoEntries are the pages that exist only in a demo.
var demoEntries = []entry{
	{pattern: "/demo/webhooks", script: "demowebhooks", styles: []string{"lists.css"},
		title: func(p i18n.Printer) string { return p.T("Webhook inspector") },
		lead:  func(p i18n.Printer) string { return p.T("The last messages that webhooks sent to this page.") }},
}

// requestsPage returns the page of the requests of a person, or of one.
func requestsPage(pattern string) entry {
	return entry{pattern: pattern, script: "requests", styles: []string{"requests.css"},
		title: func(p i18n.Printer) string { return p.T("Requests") },
		lead:  func(p i18n.Printer) string { return p.T("Documents that you have asked others for.") }}
}

// accountPage returns one of the pages of a person's account.
func accountPage(below, script string, title func(p i18n.Printer) string) entry {
	return entry{pattern: "/account" + below, script: script, title: title,
		lead: func(p i18n.Printer) string { return p.T("Your profile, your email addresses and ways to sign in.") }}
}

// frame is the script of pages whose content the server renders.
const frame = "frame"

var missing = entry{
	pattern: "not found",
	script:  frame,
	title:   func(p i18n.Printer) string { return p.T("Page not found") },
	lead:    func(p i18n.Printer) string { return p.T("The link may be mistyped or out of date.") },
	body:    lost,
}

// lost returns a drawing and the way to the start page. Its lines are those of assets/drawings.js.
func lost(p i18n.Printer) (g.Node, error) {
	lines := g.El("path", g.Attr("d",
		"M40 46 30 56a11 11 0 0 1-15-15l12-12a11 11 0 0 1 14-1M56 26l10-10a11 11 0 0 1 15 15L69 43a11 11 0 0 1-14 1"))
	accent := g.El("path", h.Class("accent"), g.Attr("d", "M48 10v8m-10-4 4 6m6 42v-8m10 4-4-6"))
	return h.Div(h.Class("blank lost"),
		h.SVG(h.Class("drawing"), g.Attr("viewBox", "0 0 96 72"), h.Aria("hidden", "true"), lines, accent),
		h.A(h.Class("button"), h.Href("/"), g.Text(p.T("Go to the start page")))), nil
}

// closedUntil returns the page of a maintenance. The script of the frame shows the time as the visitor's clock has it.
func closedUntil(until time.Time) entry {
	return entry{
		pattern: "maintenance",
		script:  frame,
		title:   func(p i18n.Printer) string { return p.T("We’ll be right back") },
		lead: func(p i18n.Printer) string {
			return p.T("The service is under maintenance. Uploads that were begun go on afterwards.")
		},
		body: func(p i18n.Printer) (g.Node, error) {
			return h.Div(h.Class("blank lost"),
				g.If(!until.IsZero(), h.P(g.Text(p.T("It is expected to end:")+" "), moment(until))),
				h.A(h.Class("button"), h.Href(""), g.Text(p.T("Try again")))), nil
		},
	}
}

// moment returns a time in UTC, which the script of the frame writes as the visitor's clock has it.
func moment(at time.Time) g.Node {
	return h.Time(h.DateTime(at.UTC().Format(time.RFC3339)), g.Text(at.UTC().Format("2006-01-02 15:04 UTC")))
}

// announced returns the notice of a maintenance to come, which the script of the frame shows to people who are signed in.
func (v view) announced() g.Node {
	if v.From.IsZero() {
		return nil
	}
	return h.Aside(h.ID("announced"), h.Class("announced"), g.Attr("hidden"),
		g.Text(v.T("Maintenance is planned. Uploads stop then, and go on afterwards.")+" "),
		moment(v.From), g.If(!v.Until.IsZero(), g.Group{g.Text(" – "), moment(v.Until)}))
}

// view holds the data of the layout.
type view struct {
	i18n.Printer        // of the visitor's language
	Lang, Locale string // RFC 5646, and as the API spells it
	Latin        bool   // the language is written in Latin letters, which the pages bring a typeface for
	Now          string // server time in Unix milliseconds: the visitor's clock may be wrong
	Title, Lead  string
	Locales      []localeName
	Assets       string   // path of the assets, with a slash at the end
	Style        string   // rules of the first paint
	OwnStyles    []string // paths of the page's own stylesheets
	Script       string
	House        bool
	Waits        bool      // the script renders the content; show a loading notice until then
	Modules      []string  // imports of the script, for modulepreload
	Hashes       string    // the import map
	Policy       string    // the Content-Security-Policy
	Translations string    // JSON of the script's sentences: msgid to its translation, or to the list of plural forms
	Body         g.Node    // nil: none
	From, Until  time.Time // of an announced maintenance

	Product, Provider, ProviderURL, Support string
	Identity, Transfer                      string // base paths of the APIs
	PasswordMinimum                         string

	integrity func(asset string) string // its hash
}

type localeName struct {
	Locale, Lang, Name string
	Chosen             bool
}

// localeNames holds the name of each language in that language.
var localeNames = map[string]string{
	"de_DE": "Deutsch", "en_US": "English", "fr_FR": "Français", "ru_RU": "Русский",
	"ko_KR": "한국어", "zh_CN": "简体中文", "zh_TW": "繁體中文", "ja_JP": "日本語",
}

func (p *Pages) view(e entry, locale string) (view, error) {
	o, t := p.options, p.options.Catalog.Printer(locale)
	scripts, err := p.scripts()
	if err != nil {
		return view{}, err
	}
	own := scripts[e.script]
	encoded, err := json.Marshal(translations(o.Catalog, locale, own.sentences)) // escapes <, which could end the script element
	if err != nil {
		return view{}, fmt.Errorf("encode sentences of page %s: %w", e.pattern, err)
	}
	v := view{
		Printer: t, Lang: strings.ReplaceAll(locale, "_", "-"), Locale: locale, Latin: slices.Contains([]string{"de", "en", "fr"}, locale[:2]),
		Now: strconv.FormatInt(o.Now().UnixMilli(), 10), Title: e.title(t), Lead: e.lead(t),
		Assets: p.assets.path(), Style: p.assets.style(), OwnStyles: e.styles, Script: e.script, House: e.house,
		Waits: e.body == nil, Modules: own.modules, Hashes: own.hashes, Policy: own.policy, integrity: p.assets.integrity,
		Translations: string(encoded),
		Product:      o.ProductName, Provider: o.ProviderName, ProviderURL: o.ProviderURL, Support: contactURL(o.SupportContact),
		Identity: o.IdentityBasePath, Transfer: o.TransferBasePath, PasswordMinimum: strconv.Itoa(o.PasswordMinimum),
	}
	if o.Announced != nil {
		v.From, v.Until = o.Announced()
	}
	for _, name := range i18n.Locales() {
		v.Locales = append(v.Locales, localeName{name, strings.ReplaceAll(name, "_", "-"), localeNames[name], name == locale})
	}
	slices.SortFunc(v.Locales, func(a, b localeName) int { return strings.Compare(a.Name, b.Name) })
	if e.body == nil {
		return v, nil
	}
	v.Body, err = e.body(t)
	return v, err
}

// supportURL returns the link of the support contact: mailto: for an email address.
func contactURL(contact string) string {
	if contact == "" || strings.Contains(contact, "://") {
		return contact
	}
	return "mailto:" + contact
}
