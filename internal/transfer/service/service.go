// Package service holds the rules of the transfer domain: who may do what to a mailbox, a reservation, an object or a
// transfer. An exported method validates its input, decides, and writes in one transaction. Its comment lists the errors it
// returns. The package contains no SQL (transfer/postgres) and knows no HTTP (transfer/handler). The bytes of objects are
// handled by transfer/content.
//
// Passwords are hashed and compared outside of transactions. Mails, events, audit entries and jobs are written inside the
// transaction of the change.
//
// # Locks
//
// A transaction takes its locks in this order:
//
//  1. The homes (LockHomes, an advisory lock): shared by writers of anything with a home host, exclusive for moves to
//     another home host and for deletions.
//  2. The groups of an organization (LockGroups, an advisory lock): before a group is added.
//     Likewise the strangers of an organization, of a client network there and of a mailbox (InsertMailboxReservation,
//     advisory locks): before a stranger's reservation is added.
//  3. The reservation (LockReservation, LockMailboxReservation, LockExpiredReservations; LockUpload for share): before it or
//     its objects change.
//     Then the request and the party of a reservation that has them (Requests).
//  4. Its objects (LockUpload, DeleteObjects).
//  5. The transfer (LockTransferOf, LockExpiredTransfers): before it ends, is hidden, revoked or forwarded. Then the contents that it
//     shares, in the order of their uids (InsertForwarded, EndTransfers), or the inspections of its contents (LockInspected).
//     Then the sender's count of recipients (CountRecipients).
//  6. Mails (mail.Mailer), then the deliveries that refer to them.
//  7. The volumes: stored volumes first, then monthly volumes, the older month first, persons before organizations, then the sums of
//     strangers. Of each volume the advance of the connection is locked before the row. Every upload of the organization needs them, so
//     they are locked after everything that takes long.
//  8. The feeds of persons (package events), in the order of their uids.
//
// Jobs that lock many rows skip rows that others have locked.
package service

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/imaging"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/microcache"
	"github.com/consign-dev/consign/internal/password"
	"github.com/consign-dev/consign/internal/pdf"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/postgres"
	"github.com/consign-dev/consign/internal/transfer/request"
	"github.com/consign-dev/consign/internal/translog"
)

// Options are the dependencies and settings of a Service. All are required unless noted.
type Options struct {
	Store       *postgres.Store
	Content     *content.Service
	Issuer      *token.Issuer
	Revocations *token.Revocations
	Mailer      *mail.Mailer
	Jobs        *jobs.Runner
	Sealer      *seal.Sealer
	Limiter     *ratelimit.Limiter
	Hosts       *hosts.Directory
	Hasher      *password.Hasher                                          // hashes and compares the passwords of transfers
	Proofs      *translog.Log                                             // proves receipts
	Documents   *pdf.Renderer                                             // prints them
	Look        func(ctx context.Context, host string) (pdf.Brand, error) // of the organization at a host; always with a name
	Requests    Requests
	Imaging     *imaging.Processor

	Version             string
	AuditAge            time.Duration // how long activities are shown, and addresses of recipients kept
	Defaults            transfer.Defaults
	ReservationLifetime time.Duration
	OpenObjects         int           // of all open reservations of a person
	ExpiryWarning       time.Duration // notice before a transfer expires
	ExpiryGrace         time.Duration // how long its sender can extend an expired transfer
	ResumeLifetime      time.Duration // how long a download started with a one-time key may continue
	DownloadBudget      int           // times the size of a download that a one-time key sends in all
	RecordAge           time.Duration // how long the record of an ended transfer is kept
	UploadConfirmations int           // mails a day to one uploader's address; 0: none
	SenderCodes         int           // codes a day to one uploader's address; 0: none
	Strangers           transfer.StrangerLimits
	Recipients          transfer.RecipientLimits
	Links               LinkRules
	ForwardVolume       bool // the bytes of a forward count as volume of who forwards
	DirectDownloads     bool // the storage serves downloads itself where it can
	Scan                ScanOptions

	Now func() time.Time
	Log *slog.Logger
}

// Requests is what reservations of parties need of the requests that they answer. Its methods join tx, whose reservation is locked.
type Requests interface {
	// Announce decides whether new files may be added to the items that they name.
	// Errors: fault.ErrInvalid, transfer.ErrRequestClosed, transfer.ErrItemTaken, transfer.ErrTooManyFiles, transfer.ErrFileTooLarge,
	// transfer.ErrMIMEType.
	Announce(ctx context.Context, tx *postgres.Store, r transfer.Reservation, fresh []transfer.Object) error
	// HandIn hands in what a party's reservation has, and says when that was received.
	// Errors: transfer.ErrNotFound, transfer.ErrRequestClosed, transfer.ErrLate, transfer.ErrUnconfirmable.
	HandIn(ctx context.Context, tx *postgres.Store, r transfer.Reservation) (request.HandIn, error)
	// LastHandIn returns the transfer that the holder of a party's link has handed in last.
	// Errors: transfer.ErrNotFound.
	LastHandIn(ctx context.Context, caller token.Caller, key string) (id.Transfer, error)
	// CheckOwner asks whether a request is the caller's.
	// Errors: transfer.ErrNotFound.
	CheckOwner(ctx context.Context, caller token.Caller, uid id.Request) error
	// OpenArchive opens the zip of what was handed in. The caller closes its Content.
	// Errors: transfer.ErrNotFound.
	OpenArchive(ctx context.Context, caller token.Caller, uid id.Request) (request.Archive, error)
	// DeletePersonData deletes the requests of a person.
	DeletePersonData(ctx context.Context, p id.Person) error
}

// Service is the transfer service. It is safe for concurrent use.
type Service struct {
	store         *postgres.Store
	content       *content.Service
	issuer        *token.Issuer
	revocations   *token.Revocations
	organizations Organizations
	mailer        *mail.Mailer
	jobs          *jobs.Runner
	sealer        *seal.Sealer
	limiter       *ratelimit.Limiter
	hosts         *hosts.Directory
	hasher        *password.Hasher
	proofs        *translog.Log
	documents     *pdf.Renderer
	look          func(ctx context.Context, host string) (pdf.Brand, error)
	requests      Requests
	imaging       *imaging.Processor

	version             string
	auditAge            time.Duration
	defaults            transfer.Defaults
	reservationLifetime time.Duration
	openObjects         int64
	expiryWarning       time.Duration
	expiryGrace         time.Duration
	resumeLifetime      time.Duration
	downloadBudget      int64
	recordAge           time.Duration
	uploadConfirmations int
	senderCodes         int
	strangers           transfer.StrangerLimits
	recipients          transfer.RecipientLimits
	links               LinkRules
	forwardVolume       bool
	directDownloads     bool
	inspections         *inspections

	now func() time.Time
	log *slog.Logger

	mailboxes    *microcache.Cache[mailboxOnHost, transfer.PublicMailbox]
	slowSearches atomic.Int64
}

const day = 24 * time.Hour

// New returns a Service and registers its jobs.
func New(o Options) *Service {
	s := &Service{
		store: o.Store, content: o.Content, issuer: o.Issuer, revocations: o.Revocations, mailer: o.Mailer, jobs: o.Jobs, sealer: o.Sealer,
		limiter: o.Limiter, hosts: o.Hosts, hasher: o.Hasher, proofs: o.Proofs, documents: o.Documents, look: o.Look, imaging: o.Imaging,
		requests: o.Requests,
		version:  o.Version, auditAge: o.AuditAge, defaults: o.Defaults, reservationLifetime: o.ReservationLifetime,
		openObjects:   int64(o.OpenObjects),
		expiryWarning: o.ExpiryWarning, expiryGrace: o.ExpiryGrace,
		resumeLifetime: o.ResumeLifetime, downloadBudget: int64(o.DownloadBudget), recordAge: o.RecordAge,
		uploadConfirmations: o.UploadConfirmations,
		senderCodes:         o.SenderCodes, strangers: o.Strangers, recipients: o.Recipients, links: o.Links, forwardVolume: o.ForwardVolume,
		directDownloads: o.DirectDownloads,
		inspections:     newInspections(o.Scan),
		now:             o.Now, log: o.Log,
		mailboxes: microcache.New[mailboxOnHost, transfer.PublicMailbox](o.Store.Changes),
	}
	s.registerJobs()
	return s
}

// scope returns the scope of a caller's queries: they find nothing whose home is on another host.
func (s *Service) scope(caller token.Caller) postgres.Scope {
	return postgres.Scope{Host: caller.Client.Host.Name, HostOrganization: caller.Client.Host.Organization, Now: s.now(), Defaults: s.defaults}
}

// anyHost returns the scope of work without a request.
func (s *Service) anyHost() postgres.Scope {
	return postgres.Scope{Host: postgres.AnyHost, Now: s.now(), Defaults: s.defaults}
}

// record writes an audit entry in tx's transaction.
func (s *Service) record(ctx context.Context, tx *postgres.Store, by audit.Actor, e audit.Entry) error {
	e.Actor = by
	return audit.Append(ctx, tx.Tx(), s.now(), e)
}

// deliveryKey returns the secret in the link to a new delivery. It is derived, so that a later mail can contain the link
// again. The row holds its SHA-256 (contract 1.5).
func (s *Service) deliveryKey(d id.Delivery) string { return s.deliveryKeys(d, firstVersion)[0] }

// deliveryKeys returns the secret of a delivery under the current secret key, then under the previous one if there is one.
func (s *Service) deliveryKeys(d id.Delivery, version int32) []string {
	var keys []string
	for _, mac := range s.sealer.MACs("transfer key", d.UUID[:], binary.BigEndian.AppendUint32(nil, uint32(version))) {
		keys = append(keys, base64.RawURLEncoding.EncodeToString(mac))
	}
	return keys
}

// newLink returns the page URL of a new delivery.
func (s *Service) newLink(host string, d id.Delivery) string {
	return s.hosts.URL(host, "/t/"+s.deliveryKey(d))
}

// storedLink returns the page URL of a stored delivery. It is empty when the secret key that derived the link is no longer
// configured.
func (s *Service) storedLink(l postgres.Link) string {
	for _, key := range s.deliveryKeys(l.Delivery, l.Version) {
		if l.Host != "" && bytes.Equal(seal.Hash(key), l.KeyHash) {
			return s.hosts.URL(l.Host, "/t/"+key)
		}
	}
	return ""
}
