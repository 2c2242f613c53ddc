package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"

	"github.com/consign-dev/consign/internal/i18n"
)

// entry describes one page.
type entry struct {
	pattern string
	script  string // name of its module, without .js
	title   func(p i18n.Printer) string
	lead    func(p i18n.Printer) string // says what the page, or the link to it, is for
	body    func() (g.Node, error)      // content rendered by the server; nil: none
}

// entries are the pages of contract 8 except /api/, which needs no script.
var entries = []entry{
	{pattern: "/", script: "home",
		title: func(i18n.Printer) string { return "" },
		lead:  func(p i18n.Printer) string { return p.T("Hand over files of any size, exactly as they are.") }},
	{pattern: "/login", script: "login",
		title: func(p i18n.Printer) string { return p.T("Sign in") },
		lead:  func(p i18n.Printer) string { return p.T("Sign in with your email address and password.") }},
	{pattern: "/signup", script: "signup",
		title: func(p i18n.Printer) string { return p.T("Create an account") },
		lead:  func(p i18n.Printer) string { return p.T("You need an email address that you can read.") }},
	{pattern: "/confirm/{key}", script: "confirm",
		title: func(p i18n.Printer) string { return p.T("Confirm your email address") },
		lead: func(p i18n.Printer) string {
			return p.T("This link confirms that an email address is yours. It works once.")
		}},
	{pattern: "/reset", script: "reset",
		title: func(p i18n.Printer) string { return p.T("Forgot your password?") },
		lead: func(p i18n.Printer) string {
			return p.T("Here you ask for a message with a link that lets you choose a new password.")
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
	{pattern: "/m/{key}", script: "mailboxpage",
		title: func(p i18n.Printer) string { return p.T("Leave files in a mailbox") },
		lead: func(p i18n.Printer) string {
			return p.T("This link leads to a mailbox: anybody can leave files in it for its owner.")
		}},
	{pattern: "/g/{key}", script: "group",
		title: func(p i18n.Printer) string { return p.T("Leave files with a group") },
		lead: func(p i18n.Printer) string {
			return p.T("This link leads to a group of mailboxes: choose one of them and leave files in it.")
		}},
	{pattern: "/t/{key}", script: "transfer",
		title: func(p i18n.Printer) string { return p.T("Files for you") },
		lead:  func(p i18n.Printer) string { return p.T("This link leads to files that somebody has sent you.") }},
	{pattern: "/verify", script: "verify",
		title: func(p i18n.Printer) string { return p.T("Check a receipt") },
		lead: func(p i18n.Printer) string {
			return p.T("Here you check a receipt and the files that it lists. Nothing leaves your device.")
		}},
	{pattern: "/inbox", script: "inbox",
		title: func(p i18n.Printer) string { return p.T("Inbox") },
		lead:  func(p i18n.Printer) string { return p.T("Here you find the files that others have sent you.") }},
	{pattern: "/send", script: "send",
		title: func(p i18n.Printer) string { return p.T("Send files") },
		lead:  func(p i18n.Printer) string { return p.T("Here you send files to others, or make a link to them.") }},
	{pattern: "/mailbox", script: "mailbox",
		title: func(p i18n.Printer) string { return p.T("Your mailbox") },
		lead: func(p i18n.Printer) string {
			return p.T("Here you set up the mailbox in which others leave files for you.")
		}},
	{pattern: "/account", script: "account",
		title: func(p i18n.Printer) string { return p.T("Your account") },
		lead: func(p i18n.Printer) string {
			return p.T("Here you find your profile, your email addresses and your ways to sign in.")
		}},
	{pattern: "/organization", script: "organization",
		title: func(p i18n.Printer) string { return p.T("Your organization") },
		lead: func(p i18n.Printer) string {
			return p.T("Here you find your organization's profile and members.")
		}},
}

// frame is the script of pages whose content the server renders.
const frame = "frame"

var missing = entry{
	pattern: "not found",
	script:  frame,
	title:   func(p i18n.Printer) string { return p.T("Page not found") },
	lead:    func(p i18n.Printer) string { return p.T("There’s nothing at this address.") },
}

// view holds the data of the layout.
type view struct {
	i18n.Printer        // of the visitor's language
	Lang, Locale string // RFC 5646, and as the API spells it
	Latin        bool   // the language is written in Latin letters, which the pages bring a typeface for
	Now          string // server time in Unix milliseconds: the visitor's clock may be wrong
	Title, Lead  string
	Locales      []localeName
	Assets       string // path of the assets, with a slash at the end
	Branded      bool   // the configured colour has a stylesheet
	Script       string
	Waits        bool     // the script renders the content; show a loading notice until then
	Modules      []string // imports of the script, for modulepreload
	Translations string   // JSON of the script's sentences: msgid to its translation, or to the list of plural forms
	Body         g.Node   // nil: none

	Product, Provider, ProviderURL, Support string
	Identity, Transfer                      string // base paths of the APIs
	PasswordMinimum                         string
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
		Printer: t, Lang: strings.ReplaceAll(locale, "_", "-"), Locale: locale, Latin: slices.Contains([]string{"de", "en", "fr"}, locale[:2]), Now: strconv.FormatInt(o.Now().UnixMilli(), 10), Title: e.title(t), Lead: e.lead(t),
		Assets: p.assets.path(), Branded: len(p.assets.brand) > 0, Script: e.script, Waits: e.script != frame, Modules: own.modules, Translations: string(encoded),
		Product: o.ProductName, Provider: o.ProviderName, ProviderURL: o.ProviderURL, Support: contactURL(o.SupportContact),
		Identity: o.IdentityBasePath, Transfer: o.TransferBasePath, PasswordMinimum: strconv.Itoa(o.PasswordMinimum),
	}
	for _, name := range i18n.Locales() {
		v.Locales = append(v.Locales, localeName{name, strings.ReplaceAll(name, "_", "-"), localeNames[name], name == locale})
	}
	slices.SortFunc(v.Locales, func(a, b localeName) int { return strings.Compare(a.Name, b.Name) })
	if e.body == nil {
		return v, nil
	}
	v.Body, err = e.body()
	return v, err
}

// supportURL returns the link of the support contact: mailto: for an email address.
func contactURL(contact string) string {
	if contact == "" || strings.Contains(contact, "://") {
		return contact
	}
	return "mailto:" + contact
}
