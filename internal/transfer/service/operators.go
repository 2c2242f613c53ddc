// What operators and their commands change of mailboxes and transfers, and a person's data for the export.

package service

import (
	"context"
	"errors"
	"iter"
	"maps"
	"strconv"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// The methods of this file serve `consign mailbox …`, `consign transfer …`, `consign person export` and GET /profile/export.

// SetMailbox creates or replaces the mailbox of m.Person on the person's home host, and reports whether it created it. The
// rules are those for the owner.
// Errors: those of PutMailbox.
func (s *Service) SetMailbox(ctx context.Context, m transfer.Mailbox) (_ transfer.PublicMailbox, created bool, err error) {
	owner, err := s.store.Owner(ctx, m.Person, s.anyHost())
	if err != nil {
		return transfer.PublicMailbox{}, false, err
	}
	host, err := s.hosts.Resolve(ctx, owner.Host)
	if err != nil {
		return transfer.PublicMailbox{}, false, err
	}
	return s.putMailbox(ctx, token.Caller{Client: token.Client{Host: host}}, m)
}

// PersonMailbox returns a person's mailbox on any host.
// Errors: transfer.ErrNotFound.
func (s *Service) PersonMailbox(ctx context.Context, p id.Person) (transfer.PublicMailbox, error) {
	return s.store.PublicMailbox(ctx, transfer.Key{UID: p.String()}, s.anyHost())
}

// PersonGroups returns the groups that list a person's mailbox, by name.
func (s *Service) PersonGroups(ctx context.Context, p id.Person) ([]transfer.MailboxGroup, error) {
	return s.store.GroupsOf(ctx, p)
}

// MailboxPage returns the URL of the page where strangers upload to the mailbox.
func (s *Service) MailboxPage(m transfer.PublicMailbox) string {
	name := m.VanityLink
	if name == "" {
		name = m.Person.String()
	}
	return s.hosts.URL(m.Owner.Host, "/m/"+name)
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
	return t.ExpiresAt.Add(s.expiryGrace)
}

// authority changes a transfer in place of its sender.
type authority struct {
	caller       token.Caller      // zero: an operator
	organization id.Organization   // whose limits the transfer must use; zero: any
	details      map[string]string // of the audit entry
}

// entry returns the part of an audit entry that tells of the authority, with more details.
func (a authority) entry(more map[string]string) audit.Entry {
	details := maps.Clone(a.details)
	maps.Copy(details, more)
	return audit.Entry{Organization: a.organization, Details: details}
}

// lockFor locks a transfer that an authority may change.
// Errors: transfer.ErrNotFound.
func lockFor(ctx context.Context, tx *postgres.Store, a authority, uid id.Transfer) (postgres.SeenTransfer, error) {
	t, err := tx.LockTransfer(ctx, uid)
	if err != nil || a.organization.IsZero() {
		return t, err
	}
	holders, err := tx.TransferHolders(ctx, uid)
	if err == nil && holders.Organization != a.organization {
		err = transfer.ErrNotFound
	}
	return t, err
}

// ExtendByOperator makes a transfer available for some days from now, whatever the adminunit's lives are. by names the operator.
// Errors: those of extendFor.
func (s *Service) ExtendByOperator(ctx context.Context, uid id.Transfer, days int, by string) error {
	return s.extendFor(ctx, authority{details: map[string]string{operatorDetail: by}}, uid, days, MaxOperatorDays)
}

// extendFor makes a transfer available for some days from now, most days at most.
// Errors: transfer.ErrNotFound, transfer.ErrEnded, fault.ErrInvalid, also when it expires later already.
func (s *Service) extendFor(ctx context.Context, a authority, uid id.Transfer, days, most int) error {
	if days < 1 || days > most {
		return fault.ErrInvalid.With("days: must be from 1 to " + strconv.Itoa(most))
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		t, err := lockFor(ctx, tx, a, uid)
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
		e := a.entry(map[string]string{"members": "expiresAt", "expiresAt": expires.UTC().Format(time.RFC3339)})
		e.Action, e.Object, e.Target = "transfer.update", uid.String(), t.Sender.Person
		if err := s.record(ctx, tx, a.caller, e); err != nil {
			return err
		}
		return s.tell(ctx, tx, events.TransferUpdated, uid, parties(t, deliveries[uid]))
	})
}

const (
	// operatorDetail names the operator in an audit entry.
	operatorDetail = "operator"
	// reasonDetail says in an audit entry why a transfer was revoked, or who changed it in place of its sender.
	reasonDetail = "reason"
	// byAdministrator is the reason of a change by an administrator of the organization.
	byAdministrator = "administrator"
)

// RevokeByOperator ends a transfer and erases its content. by names the operator.
// Errors: those of revokeFor.
func (s *Service) RevokeByOperator(ctx context.Context, uid id.Transfer, by string) error {
	return s.revokeFor(ctx, authority{details: map[string]string{operatorDetail: by}}, uid)
}

// revokeFor ends a transfer and erases its content.
// Errors: transfer.ErrNotFound, transfer.ErrEnded.
func (s *Service) revokeFor(ctx context.Context, a authority, uid id.Transfer) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		t, err := lockFor(ctx, tx, a, uid)
		if err != nil {
			return err
		}
		if t.State.Ended() {
			return transfer.ErrEnded
		}
		return s.revoke(ctx, tx, a.caller, t, a.entry(nil))
	})
}

// RemoveByOperator ends a transfer and deletes its record at once instead of after the retention time. The audit keeps its identifier, the
// transparency log the hashes of its statements.
func (s *Service) RemoveByOperator(ctx context.Context, uid id.Transfer, by string) error {
	if err := s.RevokeByOperator(ctx, uid, by); err != nil && !errors.Is(err, transfer.ErrEnded) {
		return err
	}
	if err := s.EraseReceipts(ctx, uid); err != nil && !errors.Is(err, transfer.ErrNotFound) {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error { return tx.DeleteEndedTransfer(ctx, uid) })
}

// PersonTransfers streams all transfers that a person sent and received, newest first, as the person sees them. It reads
// them in batches.
// Errors: transfer.ErrNotFound.
func (s *Service) PersonTransfers(ctx context.Context, p id.Person) iter.Seq2[SeenTransfer, error] {
	return func(yield func(SeenTransfer, error) bool) {
		if err := s.eachTransfer(ctx, p, func(t SeenTransfer) bool { return yield(t, nil) }); err != nil {
			yield(SeenTransfer{}, err)
		}
	}
}

// eachTransfer calls visit for each transfer of a person until visit returns false.
func (s *Service) eachTransfer(ctx context.Context, p id.Person, visit func(SeenTransfer) bool) error {
	owner, err := s.store.Owner(ctx, p, s.anyHost())
	if err != nil {
		return err
	}
	host, err := s.hosts.Resolve(ctx, owner.Host)
	if err != nil {
		return err
	}
	c := token.Caller{Person: p, Client: token.Client{Host: host}}
	for q := (TransferQuery{Received: true, Sent: true, Limit: transfer.MaxPage}); ; {
		page, next, err := s.Transfers(ctx, c, q)
		if err != nil {
			return err
		}
		for t, err := range page {
			if err == nil && t.Brief && !t.Locked {
				t, err = s.withObjects(ctx, t)
			}
			if err != nil {
				return err
			}
			if !visit(t) {
				return nil
			}
		}
		if next == "" {
			return nil
		}
		q.Cursor = next
	}
}

// withObjects returns t with the objects that lists leave out.
func (s *Service) withObjects(ctx context.Context, t SeenTransfer) (SeenTransfer, error) {
	for o, err := range s.attached(ctx, t.Reservation) { // the names are empty if the transfer has ended
		if err != nil {
			return t, err
		}
		o.Downloads += t.Archives
		if t.withheld {
			withholdNames(&o)
		}
		t.Objects = append(t.Objects, o)
	}
	t.Brief = false
	return t, nil
}
