// Package doctor looks for what goes wrong at an installation: address, proxy, TLS, mail, database, storage, stored files, keys, clock and
// limits. Each check returns findings: sentences for the operator, with what to do. consign doctor prints them.
//
// It changes nothing that stays: it sends no mail, and removes its files and objects. A finding never contains a secret.
package doctor

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/audit/stream"
	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/floor"
	"github.com/consign-dev/consign/internal/blob/s3"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/kms"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/scan"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/translog"
)

// Severity says how much a finding matters.
type Severity string

// The severities. Hint: worth knowing, or what nobody can check. Warning: works, but not well or not for long. Error: does not work.
const (
	OK      Severity = "ok"
	Hint    Severity = "hint"
	Warning Severity = "warning"
	Error   Severity = "error"
)

var severities = []Severity{OK, Hint, Warning, Error}

// Worst returns the highest severity of findings.
func Worst(findings []Finding) Severity {
	worst := OK
	for _, f := range findings {
		if slices.Index(severities, f.Severity) > slices.Index(severities, worst) {
			worst = f.Severity
		}
	}
	return worst
}

// Finding is one thing that a check found.
type Finding struct {
	ID       string   `json:"id"` // stable: check.cause, such as tls.expired
	Severity Severity `json:"severity"`
	Sentence string   `json:"sentence"`
	Advice   string   `json:"advice,omitempty"` // what to do
}

// Options are the parts of an installation. An absent part is nil or empty.
type Options struct {
	PublicURL      *url.URL
	RequireHTTPS   bool
	OwnTLS         bool // the server ends TLS itself
	Serving        bool // the checks run inside the server
	TrustedProxies []netip.Prefix
	AdminListen    string
	Uploads        int // parallel uploads of a replica

	Fingerprint string            // of the settings without secrets
	Settings    map[string]string // their marks, as in probe.Answer
	OwnSettings map[string]bool   // the names of those in which replicas may differ

	Sealer      *seal.Sealer
	SecretFile  string // the file with the secret key; empty: it is a setting
	PreviousKey bool   // CONSIGN_SECRET_KEY_PREVIOUS is set

	Database       *database.DB
	DatabaseError  error // why Database is nil
	OwnDatabase    bool  // the private cluster, whose only role is a superuser
	ListenURL      string
	MaxConnections int
	Examine        func(context.Context) (database.Examination, error) // nil: Database does
	// SealedKeys returns how many signing keys there are, and those in use that the secret key does not open.
	SealedKeys func(context.Context) (all int, shut []string, err error)
	// FreeOrganization reports whether the host of PublicURL is that of the free organization.
	FreeOrganization func(context.Context) (bool, error)

	DataDir string
	Place
	Second  Place // of CONSIGN_STORAGE_SECOND_URL
	Floor   floor.Options
	KMS     kms.Command
	Wrapped func(context.Context) ([]byte, error) // the key of files, wrapped by KMS; nil: there is none

	RedisURL string
	SMTP     *mail.SMTP
	Mails    func(context.Context) (mail.Waiting, error) // what became of mails; nil: without database
	MailFrom string                                      // bare address
	Scanner  scan.Scanner
	// Integrity asks the database about the stored files; nil without it.
	Integrity func(context.Context) (blob.Integrity, error)
	// Audit is the stream of the audit; nil without the setting.
	Audit *stream.Stream
	// Attesters asks the witnesses and the time stamp service of the log; nil without any, and without database.
	Attesters func(context.Context) ([]translog.Attester, error)

	Now       func() time.Time
	Roots     *x509.CertPool // nil: the system's
	Resolver  Resolver
	OpenFiles func() uint64
	Secrets   []string // are removed from sentences
}

// Place is where files are stored. The zero value is none.
type Place struct {
	StorageDir string      // of a store on disk
	Bucket     *s3.Options // of a store in a bucket
}

// Resolver answers questions for DNS records; net.Resolver does.
type Resolver interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
	LookupMX(ctx context.Context, name string) ([]*net.MX, error)
}

// Doctor runs the checks.
type Doctor struct{ Options }

// check is one row of the table. The checks of one phase run in parallel.
type check struct {
	name  string
	limit time.Duration
	alone bool // after the others, one by one: it measures
	run   func(*run, context.Context) []Finding
}

func checks() []check {
	return []check{
		{"public-url", 20 * time.Second, false, (*run).publicURL},
		{"settings", 20 * time.Second, false, (*run).settings},
		{"tls", 10 * time.Second, false, (*run).tls},
		{"proxies", time.Second, false, (*run).proxies},
		{"proxy", 40 * time.Second, false, (*run).proxy},
		{"admin", time.Second, false, (*run).admin},
		{"database", 10 * time.Second, false, (*run).database},
		{"migrations", 10 * time.Second, false, (*run).migrations},
		{"listen", 10 * time.Second, false, (*run).listen},
		{"secret-key", 10 * time.Second, false, (*run).secretKey},
		{"organization", 10 * time.Second, false, (*run).organization},
		{"integrity", 10 * time.Second, false, (*run).integrity},
		{"data", 10 * time.Second, false, (*run).data},
		{"bucket", 40 * time.Second, false, (*run).bucket},
		{"second-bucket", 40 * time.Second, false, second((*run).bucket)},
		{"kms", 40 * time.Second, false, (*run).kms},
		{"redis", 10 * time.Second, false, (*run).redis},
		{"smtp", 25 * time.Second, false, (*run).smtp},
		{"mails", 10 * time.Second, false, (*run).mails},
		{"mail-dns", 10 * time.Second, false, (*run).mailDNS},
		{"scanner", 15 * time.Second, false, (*run).scanner},
		{"audit", 25 * time.Second, false, (*run).audit},
		{"log", 25 * time.Second, false, (*run).log},
		{"clock", 25 * time.Second, false, (*run).clock},
		{"files", 25 * time.Second, false, (*run).files},
		{"memory", 25 * time.Second, false, (*run).memory},
		{"storage", 20 * time.Second, true, (*run).storage},
		{"second-storage", 20 * time.Second, true, second((*run).storage)},
	}
}

// second is a check of the storage for the place of CONSIGN_STORAGE_SECOND_URL. Its findings name that setting.
func second(check func(*run, context.Context) []Finding) func(*run, context.Context) []Finding {
	return func(r *run, ctx context.Context) []Finding {
		d, there := *r.Doctor, *r
		d.Place, there.Doctor = r.Second, &d
		found := check(&there, ctx)
		for i := range found {
			found[i].ID = "second-" + found[i].ID
			found[i].Sentence = "CONSIGN_STORAGE_SECOND_URL: " + found[i].Sentence
			found[i].Advice = strings.ReplaceAll(found[i].Advice, "CONSIGN_STORAGE_URL", "CONSIGN_STORAGE_SECOND_URL")
		}
		return found
	}
}

// New returns a Doctor.
func New(o Options) *Doctor { return &Doctor{o} }

// Run runs all checks and returns what they found, in the order of the table.
func (d *Doctor) Run(ctx context.Context) []Finding {
	r := &run{Doctor: d}
	r.asked = sync.OnceValue(func() answered { return r.ask(ctx) })
	r.examined = sync.OnceValues(func() (database.Examination, error) { return r.examine(ctx) })
	all := checks()
	results := make([][]Finding, len(all))
	var parallel sync.WaitGroup
	for i, c := range all {
		if !c.alone {
			parallel.Go(func() { results[i] = r.one(ctx, c) })
		}
	}
	parallel.Wait()
	for i, c := range all {
		if c.alone {
			results[i] = r.one(ctx, c)
		}
	}
	findings := slices.Concat(results...)
	for i := range findings {
		findings[i].Sentence, findings[i].Advice = d.clean(findings[i].Sentence), d.clean(findings[i].Advice)
	}
	return findings
}

// run is one run of all checks, with what several of them use.
type run struct {
	*Doctor
	asked    func() answered
	examined func() (database.Examination, error)
}

// one runs a check within its time and that of ctx. A check that does not end is left behind.
func (r *run) one(ctx context.Context, c check) []Finding {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	done := make(chan []Finding, 1)
	go func() { done <- c.run(r, ctx) }()
	select {
	case found := <-done:
		return found
	case <-ctx.Done():
	}
	select {
	case found := <-done:
		return found
	case <-time.After(time.Second): // for a check that gives up with its context
		return []Finding{{c.name + ".slow", Warning, fmt.Sprintf("The check %s did not end within %s.", c.name, inWords(time.Since(began))),
			"Run it again; if it stays so, something it asks does not answer."}}
	}
}

// clean removes secrets from a text, and makes one line of it.
func (d *Doctor) clean(text string) string {
	for _, s := range d.Secrets {
		if len(s) > 3 {
			text = strings.ReplaceAll(text, s, "****")
		}
	}
	return strings.Join(strings.Fields(text), " ")
}

func found(id string, s Severity, advice, sentence string, values ...any) []Finding {
	return []Finding{{id, s, fmt.Sprintf(sentence, values...), advice}}
}

func fine(id, sentence string, values ...any) []Finding {
	return []Finding{{id + ".ok", OK, fmt.Sprintf(sentence, values...), ""}}
}

// skipped is the finding of a check that needs the database while there is none; the check database says why.
func skipped(id string) []Finding {
	return found(id+".skipped", Hint, "Mend the database first, then run this again.", "Not checked, because the database is not reached.")
}

// short returns the first part of an error: some libraries write a paragraph.
func short(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}

// inWords returns a duration for people.
func inWords(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
