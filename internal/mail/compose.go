// The building blocks of mails, and which function composes which template.

package mail

import (
	"cmp"

	"github.com/consign-dev/consign/internal/i18n"
)

// content is the content of a mail, from which text and HTML are made. Both show the fields in this order.
type content struct {
	Subject     string
	Preview     string // what lists of mails show after the subject; only in the HTML; empty: the first of Lines
	Title       string // heading of the HTML; empty: Subject
	Greeting    string
	Lines       []string // paragraphs
	Code        string
	Quote       string // a message written by a person, with its line ends
	Facts       []fact
	Files       []listed
	More        string // after Files: how many are not listed
	Label       string // of the button
	Link        string
	SecondLabel string // of another link, which has no button
	Second      string
	Notes       []string // paragraphs after the button
	Footer      []string
}

type fact struct{ Label, Value string }

// listed is a file in the list, formatted. SHA256 may be empty.
type listed struct{ Name, Size, SHA256 string }

// Bounds of the lists in a mail (contract 4.10).
const (
	MaxFiles   = 50 // files with their SHA-256
	MaxNamed   = 10 // files that a mail to a recipient names
	MaxAnswers = 50 // answers to the questions of a mailbox
)

// composer builds the content of one mail.
type composer struct {
	i18n.Printer
	zone    string
	product string
	data    values
	secret  map[string]string
	out     *content
}

func (c *composer) say(line string)  { c.out.Lines = append(c.out.Lines, line) }
func (c *composer) note(line string) { c.out.Notes = append(c.out.Notes, line) }

// fact adds a labelled value, unless it is empty.
func (c *composer) fact(label, value string) {
	if value != "" {
		c.out.Facts = append(c.out.Facts, fact{label, value})
	}
}

func (c *composer) moment(key string) string {
	t := c.data.time(key)
	if t.IsZero() {
		return ""
	}
	return c.Time(t, c.zone)
}

// button adds the mail's link. It is in the secret, or in the data when it holds no key.
func (c *composer) button(label string) {
	c.out.Label, c.out.Link = label, cmp.Or(c.secret["link"], c.data.text("link"))
}

// inbox adds the link to the inbox, which mails to people with an account have. It is the button of a mail without another one.
func (c *composer) inbox() {
	label, link := c.T("Open your inbox"), c.data.text("inbox")
	if c.out.Link == "" {
		c.out.Label, c.out.Link = label, link
	} else {
		c.out.SecondLabel, c.out.Second = label, link
	}
}

// compose returns the content of a mail. check has verified that its template exists.
func compose(r row, s sender, p i18n.Printer, data values, secret map[string]string) content {
	out := content{}
	c := &composer{Printer: p, zone: r.TimeZone, product: s.Product, data: data, secret: secret, out: &out}
	out.Greeting = c.T("Hello,")
	if r.RecipientName != "" {
		out.Greeting = c.F("Hello %s,", inert(r.RecipientName))
	}
	compositions[r.Template](c)
	out.Subject = line(out.Subject, maxSubject)
	out.Title = cmp.Or(out.Title, out.Subject)
	if out.Preview == "" && len(out.Lines) > 0 {
		out.Preview = out.Lines[0]
	}
	out.Footer = append(out.Footer, c.F("This email was sent automatically by %s.", s.Product))
	if s.Support != "" {
		out.Footer = append(out.Footer, c.F("Help: %s", s.Support))
	}
	if s.URL != "" {
		out.Footer = append(out.Footer, s.URL)
	}
	return out
}

// compositions holds the function that builds each mail, by template.
var compositions = map[string]func(c *composer){
	VerifyEmail:         verifyEmail,
	ResetPassword:       resetPassword,
	AddressAdded:        addressAdded,
	AddressVerified:     addressVerified,
	AddressRemoved:      addressRemoved,
	PrimaryChanged:      primaryChanged,
	PasswordChanged:     passwordChanged,
	PasswordReset:       passwordReset,
	FactorAdded:         factorAdded,
	FactorRemoved:       factorRemoved,
	NewDevice:           newDevice,
	DataExported:        dataExported,
	ChangeUndone:        changeUndone,
	SessionsEnded:       sessionsEnded,
	AccountDeleted:      accountDeleted,
	MemberRemoved:       memberRemoved,
	MemberLeft:          memberLeft,
	OrganizationDeleted: organizationDeleted,
	OrganizationChanged: organizationChanged,
	TargetsPaused:       targetsPaused,
	FactorRequired:      factorRequired,
	APITokenCreated:     apiTokenCreated,
	APITokenExpiring:    apiTokenExpiring,
	ExportTarget:        exportTarget,
	WebhookDisabled:     webhookDisabled,
	FactorGuesses:       factorGuesses,
	PasskeyCloned:       passkeyCloned,
	Invitation:          invitation,
	TransferDelivered:   transferDelivered,
	UploadConfirmation:  uploadConfirmation,
	UploadUnfinished:    uploadUnfinished,
	TransferInfected:    transferInfected,
	TransferAccessed:    transferAccessed,
	TransferExpiring:    transferExpiring,
	TransferReminder:    transferReminder,
	ExtensionAsked:      extensionAsked,
	TransferExtended:    transferExtended,
	AccessCode:          accessCode,
	SenderCode:          senderCode,
	DeliveryFailed:      deliveryFailed,
	VanityLinkCleared:   vanityLinkCleared,
	RequestInvitation:   requestInvitation,
	RequestReminder:     requestReminder,
	RequestReturned:     requestReturned,
	RequestComplete:     requestComplete,
	RequestLink:         requestLink,
	TestMail:            testMail,
}

func testMail(c *composer) {
	c.out.Subject = c.F("Test message from %s", c.product)
	c.say(c.F("This is a test. If you can read it, %s can send email.", c.product))
	c.fact(c.T("Time"), c.moment("at"))
}
