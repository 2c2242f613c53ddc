// Package service holds the rules of requests: what owners ask for and decide, what parties upload and hand in, reminders, and evidence of
// deadlines. It knows no HTTP (request/handler) and no SQL (request/postgres). The reservations and transfers of parties are those of the
// transfer domain: transfer/service asks this package, as its Requests, in the transactions that change them.
//
// # Locks
//
// The reservation of a party (transfer/service) comes first, then the request, the party, mails, feeds. A change by the owner locks no
// reservation: what ends or prolongs those of a request is a statement of its own, after the transaction.
package service

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"log/slog"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	transferpostgres "github.com/consign-dev/consign/internal/transfer/postgres"
	"github.com/consign-dev/consign/internal/transfer/request"
	"github.com/consign-dev/consign/internal/transfer/request/postgres"
	"github.com/consign-dev/consign/internal/translog"
)

// Options are the dependencies and settings of a Service. All are required unless noted.
type Options struct {
	Store     *postgres.Store
	Transfers *transferpostgres.Store
	Content   *content.Service
	Issuer    *token.Issuer
	Mailer    *mail.Mailer
	Jobs      *jobs.Runner
	Sealer    *seal.Sealer
	Hosts     *hosts.Directory
	Proofs    *translog.Log
	// Confirm hands in a party's reservation: it is the confirm of transfer/service.
	Confirm func(ctx context.Context, caller token.Caller, uid id.Reservation) (transfer.Transfer, error)

	Host       string // of the installation: heartbeats name it
	Defaults   transfer.Defaults
	Recipients transfer.RecipientLimits
	Strangers  transfer.StrangerLimits
	Links      int           // links a day that strangers may have mailed to one address at public links
	RecordAge  time.Duration // how long heartbeats are kept

	Now  func() time.Time
	Skew func() time.Duration // of Now to the clock of Postgres, in tests; nil: none
	Log  *slog.Logger
}

// Service is the service of requests. It is safe for concurrent use.
type Service struct {
	Options
}

const day = 24 * time.Hour

// New returns a Service and registers its jobs.
func New(o Options) *Service {
	s := &Service{Options: o}
	s.registerJobs()
	return s
}

// stores are the stores of one transaction.
type stores struct {
	*postgres.Store
	transfers *transferpostgres.Store
}

func (s *Service) inTx(ctx context.Context, fn func(tx stores) error) error {
	return s.Store.InTx(ctx, func(tx *postgres.Store) error { return fn(stores{tx, s.Transfers.Within(tx.Tx())}) })
}

// clock returns the time of Postgres. It decides what was received when.
func (s *Service) clock(ctx context.Context, tx *postgres.Store) (time.Time, error) {
	now, err := tx.Clock(ctx)
	if s.Skew != nil {
		now = now.Add(s.Skew()).Truncate(time.Millisecond)
	}
	return now, err
}

func (s *Service) scope(c token.Client) transferpostgres.Scope {
	return transferpostgres.Scope{Host: c.Host.Name, HostOrganization: c.Host.Organization, Now: s.Now(), Defaults: s.Defaults}
}

func (s *Service) anyHost() transferpostgres.Scope {
	return transferpostgres.Scope{Host: transferpostgres.AnyHost, Now: s.Now(), Defaults: s.Defaults}
}

// owner returns the caller as the owner of requests.
// Errors: transfer.ErrNotFound on another host than the caller's home host.
func (s *Service) owner(ctx context.Context, caller token.Caller) (transfer.Owner, error) {
	return s.Transfers.Owner(ctx, caller.Person, s.scope(caller.Client))
}

// record writes an audit entry.
func (s *Service) record(ctx context.Context, tx stores, by audit.Actor, e audit.Entry) error {
	e.Actor = by
	return audit.Append(ctx, tx.Tx(), s.Now(), e)
}

// tell appends an event for the owner. It is the last statement of a transaction.
func (s *Service) tell(ctx context.Context, tx stores, kind string, r request.Request) error {
	return events.Append(ctx, tx.Tx(), s.Now(), events.Event{Kind: kind, Subject: r.UID.String(), Receivers: []id.Person{r.Owner}})
}

// The keys of links are derived, so that a later mail and the owner can have the link again. Rows have their SHA-256 (contract 1.5).

func (s *Service) partyKeys(p id.Party, version int32) []string {
	return encoded(s.Sealer.MACs("party key", p.UUID[:], binary.BigEndian.AppendUint32(nil, uint32(version))))
}

func (s *Service) publicKeys(r id.Request) []string {
	return encoded(s.Sealer.MACs("request key", r.UUID[:]))
}

func encoded(macs [][]byte) []string {
	keys := make([]string, len(macs))
	for i, mac := range macs {
		keys[i] = base64.RawURLEncoding.EncodeToString(mac)
	}
	return keys
}

// Link returns the link of a party, empty when the secret key that derived it is no longer configured.
func (s *Service) link(host string, p request.Party) string {
	for _, key := range s.partyKeys(p.UID, p.KeyVersion) {
		if host != "" && string(seal.Hash(key)) == string(p.KeyHash) {
			return s.Hosts.URL(host, "/q/"+key)
		}
	}
	return ""
}
