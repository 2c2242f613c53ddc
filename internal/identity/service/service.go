// Package service holds the rules of the identity domain. An exported method validates its input, decides, and writes
// in one transaction or one guarded statement. Its comment lists the errors it returns. The package knows no HTTP.
//
// Passwords are hashed and compared outside of transactions. Mails, events, audit entries, revocations and jobs are
// written inside the transaction of the change.
//
// # Locks
//
// A transaction takes its locks in this order:
//
//  1. The external identity (LockExternal, an advisory lock): one login of an issuer and subject at a time.
//  2. The hostnames (LockHosts, an advisory lock): one change of hostnames at a time.
//  3. Organizations (LockOrganizations, row locks in the order of their uids): before a decision that depends on their
//     members, administrators or number of members.
//  4. The address (LockAddress, an advisory lock): before an address is claimed or verified.
//  5. Persons (LockPerson, RaiseEpoch, RaiseEpochs, LockExternalSessions; row locks, of several persons in the order of
//     their uids): before sessions end or credentials change. Statements that create ID tokens update the person's row or
//     lock it for share, so that no token is created beside such a change and missed by it.
//  6. The feeds of persons (package events), in the order of their uids.
//
// evict is an exception: after its own person a transaction locks the persons whom it deletes for an unverified address, in
// no fixed order. database.InTx retries the deadlock that two such transactions can cause.
//
// LockBootstrap is not combined with these locks. It serializes replicas that start at the same time.
package service

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity/agreement"
	"github.com/consign-dev/consign/internal/identity/notice"
	"github.com/consign-dev/consign/internal/identity/oidc"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/identity/session"
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
	// PersonDeleted returns what the person had, for a mail: the last segment of the mailbox's link (empty: none), and the
	// number of transfers, each counted up to most.
	PersonDeleted(ctx context.Context, tx database.Tx, p id.Person, most int) (mailbox string, received, sent int, err error)
	// PersonErased begins the certificate of the erasure of a person, and returns the key in its link (contract 4.32).
	PersonErased(ctx context.Context, tx database.Tx, p id.Person, byOperator bool) (key string, err error)
	OrganizationDeleted(ctx context.Context, tx database.Tx, o id.Organization) error
	MembershipChanged(ctx context.Context, tx database.Tx, persons ...id.Person) error
	// RestoreAdminunit stores the settings of an organization for transfers as they were before a change (token.RulesLowered).
	RestoreAdminunit(ctx context.Context, tx database.Tx, o id.Organization, before json.RawMessage) error
	// MailboxOwner returns the person of a mailbox, by its link or uid. It needs no transaction.
	// Errors: a fault.Error of the kind NotFound or Invalid when there is none on the caller's host.
	MailboxOwner(ctx context.Context, caller token.Caller, key string) (id.Person, error)
}

// Webhooks are changed in the transaction of a change of people. The store of webhooks implements it.
type Webhooks interface {
	// DeleteOfPerson deletes those of a person.
	DeleteOfPerson(ctx context.Context, tx database.Tx, p id.Person) error
	// PauseTargets pauses the export targets that a person has or has made; with an organization only those of that one. It returns their
	// hosts.
	PauseTargets(ctx context.Context, tx database.Tx, p id.Person, o id.Organization, reason string) (hosts []string, err error)
	// PauseOfPerson pauses all webhooks and export targets of a person.
	PauseOfPerson(ctx context.Context, tx database.Tx, p id.Person, reason string) error
	// PauseTarget pauses one of them, if it is still there.
	PauseTarget(ctx context.Context, tx database.Tx, target id.Webhook, reason string) error
}

// Settings are the values that an operator can change. All are required unless noted. Their defaults are in package
// config.
type Settings struct {
	PublicURL         *url.URL
	RedirectOrigins   []string // scheme://host[:port], allowed as redirects besides the organization's hosts; may be empty
	ProductName       string
	StrictEnumeration bool            // exists and reset answer the same for every address (contract 3.17)
	PasswordMinimum   int             // least number of characters in a new password
	VerificationKey   time.Duration   // lifetime of a verification key
	ResetKey          time.Duration   // lifetime of a reset key
	UnverifiedEmail   time.Duration   // how long an address may stay unverified
	SetPassword       time.Duration   // how long after a reset the password can be set without the old one
	SessionIdle       time.Duration   // how long an ID token may stay unused
	Device            time.Duration   // how long after its last sign-in a device is known
	YoungSession      time.Duration   // greatest age of a login that may change what the account depends on
	RecentEmail       time.Duration   // greatest age of the verification of the primary address for that
	ResetAddressAge   time.Duration   // how long a secondary address must have been verified to reset the password
	Undo              time.Duration   // how long a mailed link undoes a change of an account
	Invitation        time.Duration   // lifetime of an invitation to an address
	NewTransfers      ratelimit.Limit // newTransferLimit and newTransferDrainRate of the free organization's plan
	UploadVolumeGB    int             // monthly volume of a person, and of an organization that a person makes
	BaseDomain        string          // organizations can choose hostnames below it; empty: none
	Providers         []oidc.Client   // external providers listed in the client environment; may be empty
	ProviderRedirect  string          // oidcSettings.redirectUrl: the redirect_uri of every code exchange
	Provider          agreement.Facts // the provider's part of contractual documents
}

// Options are the dependencies of a Service. All are required unless noted.
type Options struct {
	Store       *postgres.Store
	Issuer      *token.Issuer
	Revocations *token.Revocations
	Mailer      *mail.Mailer
	Jobs        *jobs.Runner
	Sealer      *seal.Sealer
	Hosts       *hosts.Directory                                         // builds links
	Hasher      *password.Hasher                                         // hashes and compares passwords
	External    *oidc.Providers                                          // external identity providers; nil: none
	Imaging     *imaging.Processor                                       // makes avatars
	LookupTXT   func(ctx context.Context, name string) ([]string, error) // net.Resolver's method
	Agreements  *agreement.Texts
	Documents   *pdf.Renderer
	Hooks       IdentityHooks // nil: none
	Webhooks    Webhooks      // nil: none
	Room        func() error  // an error when the volume has no room for new people; nil: it has always
	Settings    Settings
	Now         func() time.Time
	Log         *slog.Logger
}

// Service is the identity domain. It is safe for concurrent use. Its Tokens answer the calls about the caller's own sessions.
type Service struct {
	*session.Tokens
	notices      *notice.Notices
	store        *postgres.Store
	issuer       *token.Issuer
	revocations  *token.Revocations
	mailer       *mail.Mailer
	jobs         *jobs.Runner
	sealer       *seal.Sealer
	secrets      seal.Box // seals TOTP secrets
	challenges   seal.Box // seals challenges of passkeys
	hosts        *hosts.Directory
	hasher       *password.Hasher
	external     *oidc.Providers
	imaging      *imaging.Processor
	lookupTXT    func(ctx context.Context, name string) ([]string, error)
	agreements   *agreement.Texts
	documents    *pdf.Renderer
	environments *microcache.Cache[id.Organization, Environment]
	related      *microcache.Cache[id.Organization, []string] // origins that may use an organization's passkeys
	hooks        IdentityHooks                                // may be nil
	webhooks     Webhooks                                     // may be nil
	room         func() error                                 // may be nil
	settings     Settings
	now          func() time.Time
	log          *slog.Logger
}

// New returns a Service. It registers the service's jobs, so call it before the runner runs.
func New(o Options) *Service {
	notices := notice.New(notice.Options{
		Store: o.Store, Mailer: o.Mailer, Jobs: o.Jobs, Hosts: o.Hosts, PublicURL: o.Settings.PublicURL, Undo: o.Settings.Undo, Now: o.Now,
	})
	s := &Service{
		notices: notices,
		Tokens: session.New(session.Options{
			Store: o.Store, Issuer: o.Issuer, Revocations: o.Revocations, Notices: notices, Sealer: o.Sealer, Hosts: o.Hosts, Now: o.Now,
			Settings: session.Settings{
				PublicURL: o.Settings.PublicURL, RedirectOrigins: o.Settings.RedirectOrigins, Idle: o.Settings.SessionIdle, Device: o.Settings.Device,
			},
		}),
		store: o.Store, issuer: o.Issuer, revocations: o.Revocations, mailer: o.Mailer, jobs: o.Jobs, hosts: o.Hosts,
		sealer: o.Sealer, secrets: o.Sealer.Box("totp"), challenges: o.Sealer.Box("passkey challenge"), hasher: o.Hasher, external: o.External,
		imaging: o.Imaging, lookupTXT: o.LookupTXT,
		agreements: o.Agreements, documents: o.Documents,
		hooks: o.Hooks, webhooks: o.Webhooks, room: o.Room, settings: o.Settings, now: o.Now, log: o.Log,
		environments: microcache.New[id.Organization, Environment](nil), related: microcache.New[id.Organization, []string](nil),
	}
	if s.external == nil {
		s.external = new(oidc.Providers)
	}
	s.registerJobs()
	return s
}

// record appends an audit entry in the transaction of store, if it is in one.
func (s *Service) record(ctx context.Context, store *postgres.Store, e audit.Entry) error {
	return audit.Append(ctx, store.Querier(), s.now(), e)
}
