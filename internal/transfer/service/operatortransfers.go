// What the console and administrators see of transfers.

package service

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Administrators of organizations use these methods through organizationtransfers.go.

const (
	// operatorPage is how many items a list of the console has.
	operatorPage = 50
	// operatorCandidates is how many transfers a page with a state examines.
	operatorCandidates = 2000
)

// OperatorTransfers selects transfers for an operator. At most one of Person, Mailbox and Organization is given.
type OperatorTransfers struct {
	Person       string // uid or address of sender or recipient
	Mailbox      string // uid or address of its owner
	Organization string // uid or hostname
	State        transfer.State
	After        string // next of the page before; empty: the newest
}

// FindTransfers lists transfers, newest first. next is empty on the last page. With a state, a page may be empty and have a next one.
// Errors: fault.ErrInvalid.
func (s *Service) FindTransfers(ctx context.Context, in OperatorTransfers) (list []transfer.ListedTransfer, next string, err error) {
	q, err := s.transferSearch(in.State, in.After)
	if err != nil {
		return nil, "", err
	}
	known, err := s.narrow(ctx, &q, in)
	if err != nil || !known {
		return nil, "", err
	}
	return s.findTransfers(ctx, q)
}

// findTransfers returns a page of the transfers of a search, and the position of the next page, which is empty on the last one.
func (s *Service) findTransfers(ctx context.Context, q postgres.TransferSearch) (list []transfer.ListedTransfer, next string, err error) {
	list, after, err := s.store.FindTransfers(ctx, q, s.now())
	if after != (postgres.Position{}) {
		next = id.TimePosition(after.UID, after.At)
	}
	return list, next, err
}

// transferSearch returns a search that begins at a position.
// Errors: fault.ErrInvalid.
func (s *Service) transferSearch(state transfer.State, after string) (q postgres.TransferSearch, err error) {
	position, ok := operatorPosition(after, s.now())
	if !ok {
		return q, fault.ErrInvalid.With("after: " + id.NotNext)
	}
	return postgres.TransferSearch{State: state, After: position, Candidates: operatorCandidates, Limit: operatorPage}, nil
}

// operatorPosition parses the position of a page. The empty one is before everything.
func operatorPosition(after string, now time.Time) (p postgres.Position, ok bool) {
	if after == "" {
		return postgres.Position{At: now.Add(day), UID: id.Transfer{UUID: uuid.Max}}, true
	}
	p.UID, p.At, ok = id.ParseTimePosition[id.Transfer](after)
	return p, ok
}

// narrow sets whose transfers q selects. It reports whether who is named is known.
// Errors: fault.ErrInvalid.
func (s *Service) narrow(ctx context.Context, q *postgres.TransferSearch, in OperatorTransfers) (known bool, err error) {
	given := 0
	for _, reference := range []string{in.Person, in.Mailbox, in.Organization} {
		if reference != "" {
			given++
		}
	}
	switch {
	case given > 1:
		return false, fault.ErrInvalid.With("query: give one of person, mailbox and organization")
	case in.Person != "":
		q.Person, err = s.PersonNamed(ctx, in.Person)
		return !q.Person.IsZero(), err
	case in.Mailbox != "":
		q.Mailbox, err = s.PersonNamed(ctx, in.Mailbox)
		return !q.Mailbox.IsZero(), err
	case in.Organization != "":
		q.Organization, err = s.organizationNamed(ctx, in.Organization)
		return !q.Organization.IsZero(), err
	}
	return true, nil
}

// PersonNamed returns the person with a uid or an address; zero if there is none at the address.
func (s *Service) PersonNamed(ctx context.Context, reference string) (id.Person, error) {
	reference = strings.ToLower(strings.TrimSpace(reference))
	if p, err := id.Parse[id.Person](reference); err == nil {
		return p, nil
	}
	return s.store.PersonAt(ctx, reference)
}

// organizationNamed returns the organization with a uid or a hostname; zero if there is none at the hostname.
func (s *Service) organizationNamed(ctx context.Context, reference string) (id.Organization, error) {
	reference = strings.ToLower(strings.TrimSpace(reference))
	if o, err := id.Parse[id.Organization](reference); err == nil {
		return o, nil
	}
	o, err := s.store.HomeOrganization(ctx, reference)
	if errors.Is(err, transfer.ErrNotFound) {
		return o, nil
	}
	return o, err
}

// TransferReport is what an operator or administrator sees of a transfer. Handlers leave out subject, message and answers.
type TransferReport struct {
	transfer.Transfer
	postgres.TransferHolders
}

// ReportTransfer returns a transfer with its recipients, and whose limits it uses.
// Errors: transfer.ErrNotFound.
func (s *Service) ReportTransfer(ctx context.Context, uid id.Transfer) (r TransferReport, err error) {
	if r.Transfer, err = s.ShowTransfer(ctx, uid); err != nil {
		return r, err
	}
	r.TransferHolders, err = s.store.TransferHolders(ctx, uid)
	return r, err
}

// MaxOperatorDays is the longest life of a transfer that an operator can choose.
const MaxOperatorDays = 3650

// ShowTransfer returns a transfer with its recipients.
// Errors: transfer.ErrNotFound.
func (s *Service) ShowTransfer(ctx context.Context, uid id.Transfer) (transfer.Transfer, error) {
	t, err := s.store.AnyTransfer(ctx, uid)
	if err != nil {
		return transfer.Transfer{}, err
	}
	if !t.State.Ended() && !s.now().Before(t.ExpiresAt) {
		t.State = transfer.Expired
		if until := s.extendableUntil(t); s.now().Before(until) {
			t.ExtendableUntil = until
		}
	}
	deliveries, err := s.store.DeliveriesOfTransfers(ctx, []id.Transfer{uid})
	t.Recipients = deliveries[uid]
	return t.Transfer, err
}

// CountAlive returns how many transfers have not ended.
func (s *Service) CountAlive(ctx context.Context) (int64, error) { return s.store.CountAlive(ctx) }

// extendableUntil returns until when a transfer that has not ended can be extended. Only those of a sender have a grace.
func (s *Service) extendableUntil(t postgres.SeenTransfer) time.Time {
	if !t.AsSender {
		return t.ExpiresAt
	}
	return t.KeptUntil(s.expiryGrace)
}

// lockIn locks a transfer, which must use the limits of an organization unless that is zero.
// Errors: transfer.ErrNotFound.
func lockIn(ctx context.Context, tx *postgres.Store, o id.Organization, uid id.Transfer) (postgres.SeenTransfer, error) {
	t, err := tx.LockTransfer(ctx, uid)
	if err != nil || o.IsZero() {
		return t, err
	}
	holders, err := tx.TransferHolders(ctx, uid)
	if err == nil && holders.Organization != o {
		err = transfer.ErrNotFound
	}
	return t, err
}

// ExtendTransfer makes a transfer available for some days from now, whatever the adminunit's lives are.
// Errors: those of extendIn.
func (s *Service) ExtendTransfer(ctx context.Context, by audit.Actor, uid id.Transfer, days int) error {
	return s.extendIn(ctx, by, id.Organization{}, uid, days, MaxOperatorDays)
}

// extendIn makes a transfer available for some days from now, most days at most.
// Errors: transfer.ErrNotFound, transfer.ErrEnded, fault.ErrInvalid, also when it expires later already.
func (s *Service) extendIn(ctx context.Context, by audit.Actor, o id.Organization, uid id.Transfer, days, most int) error {
	if days < 1 || days > most {
		return fault.ErrInvalid.With("days: must be from 1 to " + strconv.Itoa(most))
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		t, err := lockIn(ctx, tx, o, uid)
		if err != nil {
			return err
		}
		expires := s.now().Add(time.Duration(days) * day)
		switch {
		case t.State.Ended() || !s.now().Before(s.extendableUntil(t)):
			return transfer.ErrEnded
		case !expires.After(t.ExpiresAt):
			return fault.ErrInvalid.With("the transfer expires later already")
		}
		deliveries, err := tx.DeliveriesOfTransfers(ctx, []id.Transfer{uid})
		if err != nil {
			return err
		}
		terms := postgres.TransferTerms{
			Subject: t.Subject, Protection: t.Protection, DeliveryNotification: t.Notify, ExpiresAt: expires, Limits: t.Limits,
			RemindBefore: t.RemindBefore, Forwarding: t.Forwarding, Rescheduled: true,
		}
		terms.RemindAt = s.remindAt(terms)
		if err := tx.UpdateTransfer(ctx, uid, terms); err != nil {
			return err
		}
		if s.extended(t, expires) {
			if err := s.mailExtended(ctx, tx, uid); err != nil {
				return err
			}
		}
		if err := s.record(ctx, tx, by, audit.Entry{
			Action: "transfer.update", Object: uid.String(), Target: t.Sender.Person, Organization: o,
			Details: map[string]string{"members": "expiresAt", "expiresAt": expires.UTC().Format(time.RFC3339)},
		}); err != nil {
			return err
		}
		return s.tell(ctx, tx, events.TransferUpdated, uid, parties(t, deliveries[uid]))
	})
}

// RevokeTransfer ends a transfer and erases its content.
// Errors: those of revokeIn.
func (s *Service) RevokeTransfer(ctx context.Context, by audit.Actor, uid id.Transfer) error {
	return s.revokeIn(ctx, by, id.Organization{}, uid)
}

// revokeIn ends a transfer and erases its content.
// Errors: transfer.ErrNotFound, transfer.ErrEnded.
func (s *Service) revokeIn(ctx context.Context, by audit.Actor, o id.Organization, uid id.Transfer) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		t, err := lockIn(ctx, tx, o, uid)
		if err != nil {
			return err
		}
		if t.State.Ended() {
			return transfer.ErrEnded
		}
		return s.revoke(ctx, tx, t, audit.Entry{Actor: by, Organization: o})
	})
}

// RemoveTransfer ends a transfer and deletes its record at once instead of after the retention time. The audit keeps its identifier, the
// transparency log the hashes of its statements.
func (s *Service) RemoveTransfer(ctx context.Context, by audit.Actor, uid id.Transfer) error {
	if err := s.RevokeTransfer(ctx, by, uid); err != nil && !errors.Is(err, transfer.ErrEnded) {
		return err
	}
	if err := s.EraseReceipts(ctx, by, uid); err != nil && !errors.Is(err, transfer.ErrNotFound) {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error { return tx.DeleteEndedTransfer(ctx, uid) })
}
