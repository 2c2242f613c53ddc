// Package service holds the rules of the transfer service: who may do what to a mailbox, a reservation, an object or a
// transfer, and what follows from it. It opens the transactions, one a change; the mails, events and audit entries that
// a change causes are queued in it.
//
// It writes no SQL (transfer/postgres) and knows no HTTP (transfer/handler). Bytes go to the blob store outside of any
// transaction: first the bytes, then the row that says how many are held; what a crash leaves behind is swept by jobs.
package service

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"log/slog"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/microcache"
	"github.com/consign-dev/consign/internal/password"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/postgres"
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
	Hasher      *password.Hasher // hashes and compares the passwords of transfers

	Version             string
	Defaults            transfer.Defaults
	ReservationLifetime time.Duration
	ExpiryWarning       time.Duration // notice before a transfer expires
	ResumeLifetime      time.Duration // how long a download started with a one-time key may continue
	RecordAge           time.Duration // how long the record of an ended transfer is kept
	UploadConfirmations int           // mails a day to one uploader's address; 0: none

	Now func() time.Time
	Log *slog.Logger
}

// Service is the transfer service. It is safe for concurrent use.
type Service struct {
	store       *postgres.Store
	content     *content.Service
	issuer      *token.Issuer
	revocations *token.Revocations
	mailer      *mail.Mailer
	jobs        *jobs.Runner
	sealer      *seal.Sealer
	limiter     *ratelimit.Limiter
	hosts       *hosts.Directory
	hasher      *password.Hasher

	version             string
	defaults            transfer.Defaults
	reservationLifetime time.Duration
	expiryWarning       time.Duration
	resumeLifetime      time.Duration
	recordAge           time.Duration
	uploadConfirmations int

	now func() time.Time
	log *slog.Logger

	mailboxes *microcache.Cache[mailboxOnHost, transfer.PublicMailbox]
}

const day = 24 * time.Hour

// New returns a Service and registers its jobs.
func New(o Options) *Service {
	s := &Service{
		store: o.Store, content: o.Content, issuer: o.Issuer, revocations: o.Revocations, mailer: o.Mailer, jobs: o.Jobs, sealer: o.Sealer,
		limiter: o.Limiter, hosts: o.Hosts, hasher: o.Hasher,
		version: o.Version, defaults: o.Defaults, reservationLifetime: o.ReservationLifetime, expiryWarning: o.ExpiryWarning,
		resumeLifetime: o.ResumeLifetime, recordAge: o.RecordAge, uploadConfirmations: o.UploadConfirmations,
		now: o.Now, log: o.Log,
		mailboxes: microcache.New[mailboxOnHost, transfer.PublicMailbox](o.Store.Changes),
	}
	s.registerJobs()
	return s
}

// scope is a caller's point of view: what is at home on another host than the request's does not exist.
func (s *Service) scope(c token.Caller) postgres.Scope {
	return postgres.Scope{Host: c.Client.Host.Name, HostOrganization: c.Client.Host.Organization, Now: s.now(), Defaults: s.defaults}
}

// anywhere is the point of view of work that no request asks for.
func (s *Service) anywhere() postgres.Scope {
	return postgres.Scope{Host: postgres.AnyHost, Now: s.now(), Defaults: s.defaults}
}

// audit records a change in tx's transaction.
func (s *Service) audit(ctx context.Context, tx *postgres.Store, c token.Caller, e audit.Entry) error {
	e.Actor, e.Client = c.Person, c.Client
	return audit.Append(ctx, tx.Tx(), s.now(), e)
}

// deliveryKey is the secret in the link to a new delivery. It is derived, so that a mail can be written again; the row holds
// its SHA-256 (contract 1.5).
func (s *Service) deliveryKey(d id.Delivery) string { return s.deliveryKeys(d, firstVersion)[0] }

// deliveryKeys are the secret of a delivery under the present secret key and under the previous one, if there is one.
func (s *Service) deliveryKeys(d id.Delivery, version int32) []string {
	var keys []string
	for _, mac := range s.sealer.MACs("transfer key", d.UUID[:], binary.BigEndian.AppendUint32(nil, uint32(version))) {
		keys = append(keys, base64.RawURLEncoding.EncodeToString(mac))
	}
	return keys
}

// newLink is the page of a new delivery.
func (s *Service) newLink(host string, d id.Delivery) string {
	return s.hosts.URL(host, "/t/"+s.deliveryKey(d))
}

// linkAgain is the page of a delivery whose row knows its key: made under the secret key of its time, any other opens nothing. It is
// empty when that secret key is gone.
func (s *Service) linkAgain(l postgres.Link) string {
	for _, key := range s.deliveryKeys(l.Delivery, l.Version) {
		if l.Host != "" && bytes.Equal(seal.Hash(key), l.KeyHash) {
			return s.hosts.URL(l.Host, "/t/"+key)
		}
	}
	return ""
}
