package web

import (
	"strings"

	"github.com/consign-dev/consign/internal/i18n"
)

// consolePath is the path of the console's pages.
const consolePath = "/admin"

// OfConsole reports whether a pattern is that of a page of the console, which exists only where operators reach it.
func OfConsole(pattern string) bool {
	return pattern == consolePath || strings.HasPrefix(pattern, consolePath+"/")
}

// OfSignIn reports whether a pattern is that of the sign-in page.
func OfSignIn(pattern string) bool { return pattern == "/login" }

// OfFiles reports whether a pattern is that of files that pages load.
func OfFiles(pattern string) bool { return strings.HasPrefix(pattern, "/assets/") }

// consoleEntries are the pages of the console (contract 9.2). Their scripts and their own stylesheet are in assets/admin.
var consoleEntries = []entry{
	consolePage("", "overview", func(p i18n.Printer) string { return p.T("Overview") }),
	consolePage("charts", "charts", func(p i18n.Printer) string { return p.T("Charts") }),
	consolePage("people", "people", func(p i18n.Printer) string { return p.T("People") }),
	consolePage("mailboxes", "mailboxes", func(p i18n.Printer) string { return p.T("Mailboxes") }),
	consolePage("organizations", "organizations", func(p i18n.Printer) string { return p.T("Organizations") }),
	consolePage("transfers", "transfers", func(p i18n.Printer) string { return p.T("Transfers") }),
	consolePage("mails", "mails", func(p i18n.Printer) string { return p.T("Mail queue") }),
	consolePage("jobs", "jobs", func(p i18n.Printer) string { return p.T("Background jobs") }),
	consolePage("storage", "storage", func(p i18n.Printer) string { return p.T("Storage") }),
	consolePage("holds", "holds", func(p i18n.Printer) string { return p.T("Legal holds") }),
	consolePage("keys", "keys", func(p i18n.Printer) string { return p.T("Keys") }),
	consolePage("settings", "settings", func(p i18n.Printer) string { return p.T("Settings") }),
	consolePage("audit", "audit", func(p i18n.Printer) string { return p.T("Audit") }),
}

// consolePage returns the page of the console at /admin/name.
func consolePage(name, script string, title func(p i18n.Printer) string) entry {
	pattern := consolePath
	if name != "" {
		pattern += "/" + name
	}
	return entry{
		pattern: pattern, script: "admin/" + script, styles: []string{"lists.css", "admin/console.css"}, title: title,
		lead: func(p i18n.Printer) string { return p.T("For the operators of this installation.") },
	}
}
