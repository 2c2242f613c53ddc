// Package mail sends mails: it owns their queue (the table mails), their text in plain text and HTML, and two transports,
// SMTP and a directory of .eml files. Sentences are translated by package i18n.
//
// A mail is queued in the transaction that causes it. A job sends it at least once. Every attempt sends the same bytes
// (Message-ID, Date, boundary, text), so that the receiver can recognize a duplicate; only an organization's logo and colour may
// have changed, and an attachment that was not ready. Links with keys are sealed in the row until they are sent (contract 1.5, 4.10).
//
// Domains pass the data of a mail by the keys listed in templates.go. Options.OnFailed tells them that an address could
// not be reached.
package mail

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/mail"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/seal"
)

// The names of the periodic jobs. jobs.Runner.RunOnce runs one of them on demand.
const (
	ResumeJob  = "mail-resume"  // every 15 s: mails that a killed server was sending
	RequeueJob = "mail-requeue" // every 5 min: mails whose job got lost
	CleanJob   = "mail-clean"   // every hour: mails finished longer than Options.Retention ago
)

// Message is a mail to be queued. Template, Data and Secret belong together: see templates.go.
type Message struct {
	To          string // a bare address
	ToName      string // may be empty
	Proved      bool   // the address is the addressee's: see stated
	Locale      string // of the addressee; unsupported: i18n.Default
	TimeZone    string // of the addressee, IANA name; unknown: UTC
	ReplyTo     string // address of the person who caused the mail; empty: no Reply-To
	ReplyToName string
	Host        string // host of the organization whose look the mail has; empty: that of its link
	Template    string
	Data        map[string]any    // stored in plain text until the mail is sent, or while a failed mail can be retried
	Secret      map[string]string // sealed in the row, erased when the mail is sent or failed for good
	Reference   string            // the resource the mail is about, e.g. a delivery's uid: for OnFailed, Cancel and Erase; may be empty
	GiveUpAt    time.Time         // no attempt is repeated after this; zero: Options.GiveUpAfter from now
}

// The states of a mail.
const (
	Queued    = "queued"    // waiting for its first or next attempt
	Sent      = "sent"      // accepted by the mail server
	Failed    = "failed"    // rejected for good, or not accepted until GiveUpAt
	Cancelled = "cancelled" // cancelled before it was sent
)

// Mail describes one mail in the queue, without its contents.
type Mail struct {
	UID           id.Mail
	CreatedAt     time.Time
	Template      string
	Reference     string
	To            string
	Locale        string
	MessageID     string // with angle brackets, the same at every attempt
	State         string
	Attempts      int
	LastAttemptAt *time.Time
	LastAnswer    string // of the SMTP server, or the error before it answered
	NextAttemptAt *time.Time
	FinishedAt    *time.Time
}

// Options of a Mailer. Zero values take the defaults in brackets.
type Options struct {
	From           string        // address or "Name <address>" that every mail comes from; required
	ProductName    string        // required
	ProductURL     string        // shown in the footer if set
	SupportContact string        // shown in the footer if set
	Workers        int           // mails sent in parallel [4]
	SendTimeout    time.Duration // bounds one attempt [1 min]
	Lease          time.Duration // after which another server takes over the mail of a killed one [20 s]
	FirstRetry     time.Duration // wait after the first temporary failure, doubled each time up to 4 h [30 s]
	GiveUpAfter    time.Duration // age at which a temporary failure becomes final [3 d]
	Retention      time.Duration // age at which rows of finished mails are deleted [30 d]
	// Look returns the look of the organization that a host selects. It runs at each attempt to send a mail. nil: that of the product.
	Look func(ctx context.Context, host string) (Look, error)
	// Attach returns the attachment of a mail whose data has attach, by the mail's reference; nil: none. While it fails, the mail waits, at
	// most attachmentWithin.
	Attach func(ctx context.Context, reference string) (*Attachment, error)
	// OnFailed runs in the transaction that marks a mail as failed for good. Its error rolls the transaction back, and the
	// mail is tried again. May be nil.
	OnFailed func(ctx context.Context, tx database.Tx, m Mail) error
}

// Mailer queues mails and, through the jobs of its Runner, sends them.
type Mailer struct {
	db        *database.DB
	runner    *jobs.Runner
	box       seal.Box
	catalog   *i18n.Catalog
	transport Transport
	options   Options
	from      mail.Address
	now       func() time.Time
	log       *slog.Logger
	outcomes  outcomes
}

// sender is the part of the configuration that a mail's bytes depend on. It is stored in the row, so that a retry after a
// restart with another configuration sends the same bytes.
type sender struct {
	From    string `json:"from"`
	Product string `json:"product"`
	URL     string `json:"url,omitempty"`
	Support string `json:"support,omitempty"`
	Host    string `json:"host,omitempty"` // of the organization whose look the mail has
}

// New returns a Mailer and registers its jobs with runner. It must be called before runner.Run. transport may be nil in a
// command that only queues and lists. It fails only when From is not an address.
func New(
	db *database.DB, runner *jobs.Runner, sealer *seal.Sealer, catalog *i18n.Catalog, transport Transport,
	o Options, now func() time.Time, log *slog.Logger,
) (*Mailer, error) {
	from, err := mail.ParseAddress(o.From)
	if err != nil {
		return nil, fmt.Errorf("sender address %q: %w", o.From, err)
	}
	from.Name = cmp.Or(line(from.Name, maxName), line(o.ProductName, maxName))
	o.Workers = cmp.Or(o.Workers, 4)
	o.SendTimeout = cmp.Or(o.SendTimeout, time.Minute)
	o.Lease = cmp.Or(o.Lease, 20*time.Second)
	o.FirstRetry = cmp.Or(o.FirstRetry, 30*time.Second)
	o.GiveUpAfter = cmp.Or(o.GiveUpAfter, 72*time.Hour)
	o.Retention = cmp.Or(o.Retention, 30*24*time.Hour)
	m := &Mailer{
		db: db, runner: runner, box: sealer.Box("mail"), catalog: catalog, transport: transport,
		options: o, from: *from, now: now, log: log,
	}
	runner.AddQueue(queueName, o.Workers)
	jobs.Register(runner, m.workSend)
	runner.Every(ResumeJob, resumeInterval, m.Resume)
	runner.Every(RequeueJob, 5*time.Minute, m.Requeue)
	runner.Every(CleanJob, time.Hour, m.Clean)
	return m, nil
}

func (m *Mailer) sender(host string) sender {
	return sender{
		Host: host, From: m.from.String(), Product: m.options.ProductName, URL: m.options.ProductURL, Support: m.options.SupportContact,
	}
}

// Test sends a test mail without the queue and returns the server's answer. An empty locale is i18n.Default.
func (m *Mailer) Test(ctx context.Context, to, locale string) (answer string, err error) {
	msg := Message{To: to, Locale: locale, Template: TestMail, Data: map[string]any{"at": m.now()}}
	if err := msg.check(); err != nil {
		return "", err
	}
	r, err := m.row(msg)
	if err != nil {
		return "", err
	}
	e, err := m.render(ctx, r, nil)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, m.options.SendTimeout)
	defer cancel()
	return m.transport.Send(ctx, e)
}

// check rejects invalid addresses and unknown templates.
func (msg Message) check() error {
	for name, address := range map[string]string{"recipient": msg.To, "reply": msg.ReplyTo} {
		if address == "" && name == "reply" {
			continue
		}
		parsed, err := mail.ParseAddress(address)
		if err != nil || parsed.Address != address || strings.ContainsAny(address, "<>") {
			return fmt.Errorf("%s address of a %s mail is not an address", name, msg.Template)
		}
	}
	if _, ok := compositions[msg.Template]; !ok {
		return fmt.Errorf("unknown mail template %q", msg.Template)
	}
	return nil
}

// row returns the row to insert for a message, with its secrets sealed.
func (m *Mailer) row(msg Message) (row, error) {
	now := m.now()
	r := row{
		UID: id.New[id.Mail](), CreatedAt: now.UTC().Truncate(time.Second), Template: msg.Template, Reference: msg.Reference,
		Recipient: msg.To, RecipientName: line(msg.ToName, maxName), ReplyTo: msg.ReplyTo,
		ReplyToName: line(msg.ReplyToName, maxName), Locale: msg.Locale, TimeZone: msg.TimeZone,
		GiveUpAt: msg.GiveUpAt, HasSecret: len(msg.Secret) > 0,
	}
	if !i18n.Supported(r.Locale) {
		r.Locale = i18n.Default
	}
	if r.GiveUpAt.IsZero() {
		r.GiveUpAt = now.Add(m.options.GiveUpAfter)
	}
	domain := m.from.Address[strings.LastIndexByte(m.from.Address, '@')+1:]
	r.MessageID = "<" + r.UID.String() + "@" + domain + ">"
	var err error
	if r.Sender, err = json.Marshal(m.sender(msg.host())); err != nil {
		return row{}, fmt.Errorf("encode sender of mail: %w", err)
	}
	if msg.Data == nil {
		msg.Data = map[string]any{}
	}
	if r.Data, err = json.Marshal(msg.Data); err != nil {
		return row{}, fmt.Errorf("encode data of %s mail: %w", msg.Template, err)
	}
	if r.HasSecret {
		plain, err := json.Marshal(msg.Secret)
		if err != nil {
			return row{}, fmt.Errorf("encode secret of %s mail: %w", msg.Template, err)
		}
		r.Secret = m.box.Seal(plain, r.UID.UUID[:])
	}
	return r, nil
}
