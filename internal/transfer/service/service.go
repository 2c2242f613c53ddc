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
	"github.com/consign-dev/consign/internal/bcrypt"
	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/recent"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Options are what a Service works with. Durations of zero take the defaults in brackets, as an empty adminunit does.
type Options struct {
	Store       *postgres.Store
	Blobs       blob.Store // nil where no file is touched
	Issuer      *token.Issuer
	Revocations *token.Revocations
	Mailer      *mail.Mailer
	Jobs        *jobs.Runner
	Sealer      *seal.Sealer
	Limiter     *ratelimit.Limiter
	Hosts       *hosts.Directory
	Bcrypt      *bcrypt.Hasher // hashes and compares the passwords of transfers

	Version             string
	Defaults            transfer.Defaults
	ReservationLifetime time.Duration // [48 h]
	ExpiryWarning       time.Duration // how long before a transfer expires its recipients are told [3 days]
	OrphanAge           time.Duration // bytes without a row are left alone for so long [7 days]
	ResumeLifetime      time.Duration // a download started with a one-time key may go on for so long [1 h]
	RecordAge           time.Duration // what is left of an ended transfer is kept for so long [90 days]
	UploadConfirmations int           // mails a day to one uploader's address; 0: none

	Now func() time.Time
	Log *slog.Logger
}

// Service is the transfer service. It is safe for concurrent use.
type Service struct {
	Options
	writers   writers
	removals  removals
	layouts   *layouts
	mailboxes *recent.Copies[mailboxOnHost, transfer.PublicMailbox]
}

const day = 24 * time.Hour

// New makes a Service and registers its jobs.
func New(o Options) *Service {
	o.ReservationLifetime = orDefault(o.ReservationLifetime, 48*time.Hour)
	o.ExpiryWarning = orDefault(o.ExpiryWarning, 3*day)
	o.OrphanAge = orDefault(o.OrphanAge, 7*day)
	o.ResumeLifetime = orDefault(o.ResumeLifetime, time.Hour)
	o.RecordAge = orDefault(o.RecordAge, 90*day)
	if o.Defaults.Adminunit.DefaultTTL == 0 {
		o.Defaults.Adminunit = DefaultAdminunit()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{Options: o, layouts: newLayouts(), mailboxes: recent.New[mailboxOnHost, transfer.PublicMailbox](o.Store.Changes)}
	s.registerJobs()
	return s
}

// DefaultAdminunit is what holds for organizations that have decided nothing (contract 4.2).
func DefaultAdminunit() transfer.Adminunit {
	return transfer.Adminunit{
		AvailableTTL: []int32{1, 3, 7, 14, 30}, DefaultTTL: 7, PriorityEnabled: true, ProtectionLevel: transfer.ProtectNone,
		MaxFiles: 10_000, MaxFileSizeMB: 50_000, MaxRecipients: 100,
	}
}

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// scope is a caller's point of view: what is at home on another host than the request's does not exist.
func (s *Service) scope(c token.Caller) postgres.Scope {
	return postgres.Scope{Host: c.Client.Host.Name, HostOrganization: c.Client.Host.Organization, Now: s.Now(), Defaults: s.Defaults}
}

// anywhere is the point of view of work that no request asks for.
func (s *Service) anywhere() postgres.Scope {
	return postgres.Scope{Host: postgres.AnyHost, Now: s.Now(), Defaults: s.Defaults}
}

// audit records a change in tx's transaction.
func (s *Service) audit(ctx context.Context, tx *postgres.Store, c token.Caller, e audit.Entry) error {
	e.Actor, e.Client = c.Person, c.Client
	return audit.Append(ctx, tx.Tx(), s.Now(), e)
}

// deliveryKey is the secret in the link to a new delivery. It is derived, so that a mail can be written again; the row holds
// its SHA-256 (contract 1.5).
func (s *Service) deliveryKey(d id.Delivery) string { return s.deliveryKeys(d, firstVersion)[0] }

// deliveryKeys are the secret of a delivery under the present secret key and under the previous one, if there is one.
func (s *Service) deliveryKeys(d id.Delivery, version int32) []string {
	var keys []string
	for _, mac := range s.Sealer.MACs("transfer key", d.UUID[:], binary.BigEndian.AppendUint32(nil, uint32(version))) {
		keys = append(keys, base64.RawURLEncoding.EncodeToString(mac))
	}
	return keys
}

// newLink is the page of a new delivery.
func (s *Service) newLink(host string, d id.Delivery) string {
	return s.Hosts.URL(host, "/t/"+s.deliveryKey(d))
}

// linkAgain is the page of a delivery whose row knows its key: made under the secret key of its time, any other opens nothing. It is
// empty when that secret key is gone.
func (s *Service) linkAgain(l postgres.Link) string {
	for _, key := range s.deliveryKeys(l.Delivery, l.Version) {
		if l.Host != "" && bytes.Equal(seal.Hash(key), l.KeyHash) {
			return s.Hosts.URL(l.Host, "/t/"+key)
		}
	}
	return ""
}
