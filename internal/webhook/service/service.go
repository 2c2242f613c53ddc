// Package service holds the rules of webhooks and export targets: who may make one, and when what is sent. It knows no HTTP.
//
// # Locks
//
// A transaction takes the locks of identity (Accounts.LockOwner: an organization, then the caller) before rows of webhooks, and these
// before rows of deliveries.
package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/outbound"
	"github.com/consign-dev/consign/internal/outbound/target"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/webhook/postgres"
)

// Accounts is what webhooks need of people and organizations. The service of identity implements it. Refusals are fault.Errors.
type Accounts interface {
	// Administers checks that the caller is an administrator of an organization. tx may be nil.
	Administers(ctx context.Context, tx database.Tx, caller token.Caller, o id.Organization) error
	// LockOwner locks an organization, which the caller must administer, unless it is zero, and then the caller.
	LockOwner(ctx context.Context, tx database.Tx, caller token.Caller, o id.Organization) error
	// StepUp checks that the caller has proved who it is. use consumes the proof, in the transaction of the change.
	StepUp(ctx context.Context, caller token.Caller, p token.Proof) (use func(context.Context, database.Tx) error, err error)
	// ChangeOrganization records a sensitive change of an organization and mails its administrators, in the transaction of the change. It
	// refuses export targets of those who have not been administrators for long.
	ChangeOrganization(ctx context.Context, tx database.Tx, caller token.Caller, o id.Organization, c token.SensitiveChange) error
	// MailChange mails the caller about a change of what the account depends on, with a link that undoes it.
	MailChange(ctx context.Context, tx database.Tx, caller token.Caller, template string, data map[string]any) error
}

// Transfers reads the transfers that are copied to export targets. The service of transfer implements it.
type Transfers interface {
	// ExportedTransfer returns a delivered transfer as one of the receivers may download it. mailbox: only one that was sent to a mailbox.
	// Errors: target.ErrEnded, target.ErrProtected, target.ErrPersonal, target.ErrHeld.
	ExportedTransfer(ctx context.Context, uid string, receivers []id.Person, mailbox bool) (target.Transfer, error)
}

// Options are the dependencies of a Service. All are required.
type Options struct {
	Store     *postgres.Store
	Accounts  Accounts
	Transfers Transfers
	Guard     *outbound.Guard
	Sender    *outbound.Sender
	Copier    *target.Copier
	Mailer    *mail.Mailer
	Jobs      *jobs.Runner
	Sealer    *seal.Sealer
	Hosts     *hosts.Directory // builds links
	Now       func() time.Time
	Log       *slog.Logger
}

// Service is the domain of webhooks. It is safe for concurrent use.
type Service struct {
	Options
	box              seal.Box
	messages, copies *deliveryQueue
	settling         chan struct{} // semaphore: outcomes must not take the connections of requests
	outcomes         counters
}

// TidyJob bounds the deliveries that wait, and the logs of webhooks.
const TidyJob = "identity-webhooks"

// New returns a Service. It registers the service's jobs, so call it before the runner runs.
func New(o Options) *Service {
	s := &Service{
		Options: o, box: o.Sealer.Box("webhook"), messages: newQueue(messagePlaces), copies: newQueue(copyPlaces),
		settling: make(chan struct{}, settleAtATime),
	}
	o.Jobs.Every(TidyJob, time.Minute, s.Tidy)
	return s
}
