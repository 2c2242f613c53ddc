// Package service holds the rules of the identity domain. Each exported method validates, decides, and writes in one
// transaction or one guarded statement; its comment names the errors it returns. It knows no HTTP. Passwords are hashed
// and compared outside of transactions; mails, events, audit entries and revocations are written inside.
package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/agreement"
	"github.com/consign-dev/consign/internal/identity/oidc"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/imaging"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/microcache"
	"github.com/consign-dev/consign/internal/password"
	"github.com/consign-dev/consign/internal/pdf"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
)

// IdentityHooks are called inside the transaction of a change, so that other domains can react to it. The transfer
// service implements them: it enqueues jobs in the same transaction.
type IdentityHooks interface {
	PersonDeleted(ctx context.Context, tx database.Tx, p id.Person) error
	OrganizationDeleted(ctx context.Context, tx database.Tx, o id.Organization) error
	MembershipChanged(ctx context.Context, tx database.Tx, persons ...id.Person) error
}

// Settings are the numbers and names that an operator may change; all are required unless said otherwise.
type Settings struct {
	PublicURL         *url.URL
	RedirectOrigins   []string // scheme://host[:port] where parked sessions may go beside the organization's hosts; may be empty
	ProductName       string
	StrictEnumeration bool            // exists and reset answer the same for every address (contract 3.17)
	VerificationKey   time.Duration   // life of a verification key
	ResetKey          time.Duration   // life of a reset key
	UnverifiedEmail   time.Duration   // how long an address may stay unverified
	SetPassword       time.Duration   // how long after a reset the password may be set without the old one
	YoungSession      time.Duration   // age of a login up to which it may register authenticators
	RecentEmail       time.Duration   // age of a proof of the primary address up to which it counts for that
	Invitation        time.Duration   // life of an invitation to an address
	NewTransfers      ratelimit.Limit // limitations.newTransferLimit and newTransferDrainRate of the plan; zero: 20, one a minute
	BaseDomain        string          // below which organizations may choose hostnames; empty: none
	Providers         []oidc.Client   // what the client environment tells of External; may be empty
	ProviderRedirect  string          // oidcSettings.redirectUrl: the redirect_uri of every request to External
	Provider          agreement.Facts // what documents say of who runs the installation
}

// Options are what a Service is built from. All are required, except Hooks.
type Options struct {
	Store       *postgres.Store
	Issuer      *token.Issuer
	Revocations *token.Revocations
	Mailer      *mail.Mailer
	Jobs        *jobs.Runner
	Sealer      *seal.Sealer
	Hosts       *hosts.Directory // builds links
	Bcrypt      *password.Hasher
	External    *oidc.Providers                                          // external identity providers; nil: none
	Imaging     *imaging.Processor                                       // makes avatars
	LookupTXT   func(ctx context.Context, name string) ([]string, error) // net.Resolver's method
	Agreements  *agreement.Texts
	Documents   *pdf.Renderer
	Hooks       IdentityHooks // nil: none
	Settings    Settings
	Now         func() time.Time
	Log         *slog.Logger
}

// Service is the identity domain. It is safe for concurrent use.
type Service struct {
	store        *postgres.Store
	issuer       *token.Issuer
	revocations  *token.Revocations
	mailer       *mail.Mailer
	jobs         *jobs.Runner
	secrets      seal.Box // seals TOTP secrets
	hosts        *hosts.Directory
	bcrypt       *password.Hasher
	external     *oidc.Providers
	imaging      *imaging.Processor
	lookupTXT    func(ctx context.Context, name string) ([]string, error)
	agreements   *agreement.Texts
	documents    *pdf.Renderer
	environments *microcache.Cache[id.Organization, Environment]
	hooks        IdentityHooks // may be nil
	settings     Settings
	now          func() time.Time
	log          *slog.Logger
}

// New makes a Service and registers its jobs with the runner, before the runner runs.
func New(o Options) *Service {
	if o.Settings.NewTransfers.Capacity == 0 {
		o.Settings.NewTransfers = ratelimit.Limit{Capacity: 20, PerSecond: ratelimit.Every(time.Minute)}
	}
	s := &Service{
		store: o.Store, issuer: o.Issuer, revocations: o.Revocations, mailer: o.Mailer, jobs: o.Jobs, hosts: o.Hosts,
		secrets: o.Sealer.Box("totp"), bcrypt: o.Bcrypt, external: o.External, imaging: o.Imaging, lookupTXT: o.LookupTXT, agreements: o.Agreements, documents: o.Documents,
		hooks: o.Hooks, settings: o.Settings, now: o.Now, log: o.Log,
		environments: microcache.New[id.Organization, Environment](nil),
	}
	if s.external == nil {
		s.external = new(oidc.Providers)
	}
	jobs.Register(o.Jobs, s.workReset)
	jobs.Register(o.Jobs, s.workAnnouncement)
	s.periodic(o.Jobs)
	return s
}

// record appends an audit entry in tx.
func (s *Service) record(ctx context.Context, tx *postgres.Store, e audit.Entry) error {
	return audit.Append(ctx, tx.Querier(), s.now(), e)
}

// idToken signs the ID token of a stored row.
func (s *Service) idToken(ctx context.Context, t postgres.Issued) (string, error) {
	return s.issuer.Issue(ctx, token.KindID, s.claims(t))
}

// claims are what an ID token says; an access token says less of it.
func (s *Service) claims(t postgres.Issued) token.Claims {
	return token.Claims{
		Person: t.Person, Session: t.SID, JTI: t.JTI, Organization: t.Organization, Roles: t.Roles, AuthLevel: t.AuthLevel,
		AuthTime: t.AuthTime, IssuedAt: t.IssuedAt, ExpiresAt: t.ExpiresAt, Email: t.Email, EmailVerified: t.EmailVerified,
		Locale: t.Locale, ZoneInfo: t.TimeZone, Epoch: t.Epoch, FactorRequired: factorRequired(t),
		SetPassword: t.SetPasswordUntil != nil && s.now().Before(*t.SetPasswordUntil),
	}
}

// factorRequired reports whether a session lacks the second factor that the organization demands; an external provider's
// login counts as one (contract 3.2).
func factorRequired(t postgres.Issued) bool {
	return t.MFARequired && t.AuthLevel < identity.LevelTwo && !t.Federated
}

// replacement prepares the successor of an ID token.
func (s *Service) replacement(c token.Client) postgres.Replacement {
	now := s.now()
	return postgres.Replacement{
		JTI: id.New[id.Token](), Now: now, RaisedExpires: now.Add(s.issuer.Lifetimes().ID), UserAgent: userAgent(c), IP: address(c),
	}
}

// ended turns "no such usable ID token" into the refusal of the one presented.
func ended(err error) error {
	if errors.Is(err, identity.ErrTokenNotFound) {
		return token.ErrEnded
	}
	return err
}

// active returns the row of the caller's ID token. Errors: token.ErrEnded.
func (s *Service) active(ctx context.Context, store *postgres.Store, caller token.Caller) (postgres.Issued, error) {
	t, err := store.Usable(ctx, caller.Person, caller.JTI, s.now())
	if err != nil {
		return t, ended(err)
	}
	if t.State != "active" {
		return t, token.ErrEnded
	}
	return t, nil
}

const maxUserAgent = 255

// userAgent is what is kept of the client's own description.
func userAgent(c token.Client) string { return printable(c.UserAgent, maxUserAgent) }

// printable makes a text from the outside, which may hold anything, one of at most so many bytes without control
// characters.
func printable(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}

// address is the client's address as text, empty if unknown.
func address(c token.Client) string {
	if !c.Address.IsValid() {
		return ""
	}
	return c.Address.String()
}

// link is an absolute address on a person's home host.
func (s *Service) link(host, path string) string {
	if host == "" {
		host = s.settings.PublicURL.Hostname()
	}
	return s.hosts.URL(host, path)
}

// describe wraps an error with what was being done; nil stays nil.
func describe(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", operation, err)
}
