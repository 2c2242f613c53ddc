package web

import (
	"strings"

	"github.com/consign-dev/consign/internal/i18n"
)

// context is what a page is built from.
type context struct {
	i18n.Printer
	Options
	key string // the key in the path, escaped for a path
}

// view is a page as its template shows it.
type view struct {
	Template string // which one shows it
	Title    string
	Lead     string            // what this page, or the link that led here, is for
	Calls    []string          // which calls of the API do it
	Script   string            // module that works the form; empty: none
	Text     map[string]string // the template's further sentences, by the names it uses

	Lang           string // RFC 5646
	Locale         string // as the API spells it
	Product        string
	Provider       string
	ProviderURL    string
	Support        string
	Identity       string            // base path of the API that the forms call
	Shared         map[string]string // sentences of the layout
	KeepsNoKeyUsed bool              // the path holds a key, which opening the page has not used up
}

// builder makes the view of one page.
type builder func(c context) view

// entry is a row of the table of pages.
type entry struct {
	pattern string
	build   builder
}

// entries is the table of contract 8.
func entries() []entry {
	return []entry{
		{"/", homePage},
		{"/login", loginPage},
		{"/signup", signupPage},
		{"/confirm/{key}", confirmPage},
		{"/reset", resetPage},
		{"/reset/{key}", newPasswordPage},
		{"/invitation/{key}", invitationPage},
		{"/m/{key}", mailboxLinkPage},
		{"/g/{key}", groupLinkPage},
		{"/t/{key}", transferLinkPage},
		{"/inbox", inboxPage},
		{"/send", sendPage},
		{"/mailbox", mailboxPage},
		{"/account", accountPage},
		{"/organization", organizationPage},
		{"/api", referencePage},
		{"/api/", referencePage},
	}
}

// common fills in what every page shows.
func (v *view) common(c context, locale string) {
	v.Lang, v.Locale = strings.ReplaceAll(locale, "_", "-"), locale
	v.Product, v.Provider, v.ProviderURL, v.Support = c.ProductName, c.ProviderName, c.ProviderURL, c.SupportContact
	v.Identity = c.IdentityBasePath
	v.KeepsNoKeyUsed = c.key != "" && v.Script == ""
	v.Shared = map[string]string{
		"reference":   c.T("API reference"),
		"home":        c.T("Start page"),
		"support":     c.T("Support"),
		"script":      c.T("This page needs JavaScript."),
		"unreachable": c.T("The server could not be reached. Check the connection and try again."),
		"failed":      c.T("This did not work."),
		"calls":       c.T("For now, programs do this through the API:"),
		"unused":      c.T("Opening this page has not used up the link."),
	}
}

func homePage(c context) view {
	return view{
		Template: "home", Script: "home", Title: c.ProductName,
		Lead: c.F("%s hands files from one person to another, exactly as they were sent.", c.ProductName),
		Text: map[string]string{
			"login":   c.T("Sign in"),
			"signup":  c.T("Create an account"),
			"heading": c.T("Leave files in a mailbox"),
			"name":    c.T("Name of the mailbox"),
			"open":    c.T("Open"),
		},
	}
}

func loginPage(c context) view {
	return view{
		Template: "login", Script: "login", Title: c.T("Sign in"),
		Lead: c.T("Sign in with your email address and password."),
		Text: map[string]string{
			"email":    c.T("Email address"),
			"password": c.T("Password"),
			"second":   c.T("Code from your authenticator app, or a recovery code"),
			"submit":   c.T("Sign in"),
			"done":     c.T("You are signed in."),
			"signup":   c.T("Create an account"),
			"forgot":   c.T("Forgot your password?"),
		},
	}
}

func signupPage(c context) view {
	return view{
		Template: "signup", Script: "signup", Title: c.T("Create an account"),
		Lead: c.T("You need an email address that you can read."),
		Text: map[string]string{
			"name":     c.T("Name (optional)"),
			"email":    c.T("Email address"),
			"password": c.T("Password, at least 10 characters"),
			"submit":   c.T("Create an account"),
			"done":     c.T("Your account has been created. Open the link in the message we have sent you to confirm your address."),
			"login":    c.T("Sign in"),
		},
	}
}

func confirmPage(c context) view {
	return view{
		Template: "confirm", Script: "confirm", Title: c.T("Confirm your email address"),
		Lead: c.T("This link confirms that an email address is yours. It works once."),
		Text: map[string]string{
			"first":  c.T("Sign in first, to the account that the address belongs to."),
			"login":  c.T("Sign in"),
			"submit": c.T("Confirm the address"),
			"done":   c.T("The email address is confirmed."),
		},
	}
}

// plain is a page without a form: what the link is for, and the calls that do it.
func plain(title, lead string, calls ...string) view {
	return view{Template: "plain", Title: title, Lead: lead, Calls: calls}
}

func resetPage(c context) view {
	return plain(c.T("Forgot your password?"), c.T("Here you ask for a message with a link that lets you choose a new password."),
		"POST "+c.IdentityBasePath+"/auth/reset")
}

func newPasswordPage(c context) view {
	return plain(c.T("Choose a new password"), c.T("This link lets you choose a new password. It works once."),
		"POST "+c.IdentityBasePath+"/auth/reset/"+c.key, "PUT "+c.IdentityBasePath+"/profile/authenticators/{uid}")
}

func invitationPage(c context) view {
	return plain(c.T("Join an organization"), c.T("This link accepts an invitation to an organization."),
		"POST "+c.IdentityBasePath+"/invitations/"+c.key+"/accept")
}

func mailboxLinkPage(c context) view {
	return plain(c.T("Leave files in a mailbox"), c.T("This link leads to a mailbox: anybody can leave files in it for its owner."),
		"GET "+c.TransferBasePath+"/public/mailbox/"+c.key, "POST "+c.TransferBasePath+"/public/mailbox/"+c.key)
}

func groupLinkPage(c context) view {
	return plain(c.T("Leave files with a group"), c.T("This link leads to a group of mailboxes: choose one of them and leave files in it."),
		"GET "+c.TransferBasePath+"/public/mailboxgroup/"+c.key)
}

func transferLinkPage(c context) view {
	return plain(c.T("Files for you"), c.T("This link leads to files that somebody has sent you."),
		"GET "+c.TransferBasePath+"/public/transfers/"+c.key, "POST "+c.TransferBasePath+"/public/transfers/"+c.key+"/access")
}

func inboxPage(c context) view {
	return plain(c.T("Inbox"), c.T("Here you find the files that others have sent you."),
		"GET "+c.TransferBasePath+"/transfers?location=received")
}

func sendPage(c context) view {
	return plain(c.T("Send files"), c.T("Here you send files to others, or make a link to them."),
		"POST "+c.TransferBasePath+"/reservations")
}

func mailboxPage(c context) view {
	return plain(c.T("Your mailbox"), c.T("Here you set up the mailbox in which others leave files for you."),
		"GET "+c.TransferBasePath+"/mailbox", "PUT "+c.TransferBasePath+"/mailbox")
}

func accountPage(c context) view {
	return plain(c.T("Your account"), c.T("Here you find your profile, your email addresses and your ways to sign in."),
		"GET "+c.IdentityBasePath+"/profile", "GET "+c.IdentityBasePath+"/profile/emails", "GET "+c.IdentityBasePath+"/profile/authenticators")
}

func organizationPage(c context) view {
	return plain(c.T("Your organization"), c.T("Here you find your organization's profile and members."),
		"GET "+c.IdentityBasePath+"/organizations/{uid}", "GET "+c.IdentityBasePath+"/organizations/{uid}/members")
}

func referencePage(c context) view {
	return view{
		Template: "reference", Title: c.T("API reference"),
		Lead: c.T("This server speaks two APIs, each described by an OpenAPI document:"),
		Text: map[string]string{"identity": c.T("Identity API"), "transfer": c.T("Transfer API")},
	}
}

func missingPage(c context) view {
	return view{Template: "plain", Title: c.T("Page not found"), Lead: c.T("There is nothing at this address.")}
}
