// Adds and removes recipients of a delivered transfer, and mails or renews their links.

package service

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// How often the sender can have a recipient mailed (contract 4.22).
const (
	resendPause = time.Minute
	remindPause = day

	maxRemindBefore = 365 // days
)

// living is a sender's transfer that recipients reach, locked for a change of its recipients.
type living struct {
	postgres.SeenTransfer
	owner      transfer.Owner
	deliveries []transfer.Delivery // that of the link included
}

// recipients returns the deliveries to recipients.
func (l living) recipients() []transfer.Delivery {
	return slices.DeleteFunc(slices.Clone(l.deliveries), func(d transfer.Delivery) bool { return d.Destination == transfer.ToLink })
}

// lockLiving locks a transfer of the caller for a change of its recipients.
// Errors: transfer.ErrNotFound, transfer.ErrSenderOnly, transfer.ErrEnded, also for one that has expired.
func (s *Service) lockLiving(ctx context.Context, tx *postgres.Store, caller token.Caller, uid id.Transfer) (living, error) {
	t, err := tx.LockTransferOf(ctx, uid, caller.Person, s.scope(caller))
	if err != nil {
		return living{}, err
	}
	if err := s.mayChange(t); err != nil {
		return living{}, err
	}
	if !s.now().Before(t.ExpiresAt) {
		return living{}, transfer.ErrEnded.With("the transfer has expired; extend it first")
	}
	l := living{SeenTransfer: t}
	if l.owner, err = tx.Owner(ctx, caller.Person, s.scope(caller)); err != nil {
		return living{}, err
	}
	deliveries, err := tx.DeliveriesOfTransfers(ctx, []id.Transfer{uid})
	l.deliveries = deliveries[uid]
	return l, err
}

// AddRecipients delivers a transfer to more recipients, all or none, each with one mail.
// Errors: those of lockLiving, fault.ErrInvalid, transfer.ErrServiceDisabled, transfer.ErrRoleMissing, transfer.ErrRecipientTaken,
// transfer.ErrTooManyRecipients, transfer.ErrMessageToMany, transfer.ErrTooManyRecipientsToday, those of content.Service.ChargeMetadata.
func (s *Service) AddRecipients(ctx context.Context, caller token.Caller, uid id.Transfer, in []transfer.Recipient) error {
	var problems fault.Problems
	if len(in) == 0 {
		problems.Add("recipients", "must have at least one entry")
	}
	added := transfer.CheckRecipients(&problems, in)
	if err := problems.Err(); err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		t, err := s.lockLiving(ctx, tx, caller, uid)
		if err != nil {
			return err
		}
		if err := s.mayAdd(t, added); err != nil {
			return err
		}
		if err := findRecipients(ctx, tx, added); err != nil {
			return err
		}
		if err := s.countRecipients(ctx, tx, caller.Person, t.owner.Account, len(added)); err != nil {
			return err
		}
		now, fresh := s.now(), make([]postgres.NewDelivery, len(added))
		var names int
		for i, to := range added {
			fresh[i] = s.newDelivery(transfer.Delivery{Person: to.Person, Name: to.Name, Email: to.Email, Destination: to.Destination})
			names += len(to.Name) + len(to.Email)
		}
		if err := tx.AddDeliveries(ctx, t.Transfer, fresh, now); err != nil {
			return err
		}
		if err := s.mailTo(ctx, tx, t, fresh, nil); err != nil {
			return err
		}
		details := map[string]string{"recipients": strconv.Itoa(len(fresh))}
		if err := s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "transfer.recipients.add", Object: uid.String(),
			Details: details}); err != nil {
			return err
		}
		if err := s.chargeDelivered(ctx, tx, t.Reservation, names); err != nil {
			return err
		}
		received := make([]id.Person, 0, len(fresh))
		for _, d := range fresh {
			if !d.Person.IsZero() {
				received = append(received, d.Person)
			}
		}
		if err := s.tell(ctx, tx, events.TransferReceived, uid, received); err != nil {
			return err
		}
		return s.tell(ctx, tx, events.TransferUpdated, uid, parties(t.SeenTransfer, t.deliveries))
	})
}

// mayAdd checks that a transfer can have more recipients.
// Errors: transfer.ErrServiceDisabled, transfer.ErrRoleMissing, transfer.ErrRecipientTaken, transfer.ErrTooManyRecipients,
// transfer.ErrMessageToMany.
func (s *Service) mayAdd(t living, added []transfer.Recipient) error {
	if err := t.owner.MayKeep(); err != nil {
		return err
	}
	present := t.recipients()
	most := int(min(t.owner.MaxRecipients, t.owner.ReceiversLimit, int32(s.recipients.PerDay)))
	if len(present)+len(added) > most {
		return transfer.ErrTooManyRecipients.With(fmt.Sprintf("recipients: at most %d, and there are %d", most, len(present))).AtMost(int64(most))
	}
	if t.TotalBytes == 0 && (len(present)+len(added) > 1 || strings.TrimSpace(t.Message) == "") {
		return transfer.ErrMessageToMany
	}
	var taken []string
	for i, r := range added {
		if slices.ContainsFunc(present, func(d transfer.Delivery) bool { return d.Email == r.Email }) {
			taken = append(taken, fmt.Sprintf("recipients[%d].email: is a recipient already", i))
		}
	}
	if len(taken) > 0 {
		return transfer.ErrRecipientTaken.With(taken...)
	}
	return nil
}

// tell appends an event about a transfer to the feeds of persons.
func (s *Service) tell(ctx context.Context, tx *postgres.Store, kind string, uid id.Transfer, persons []id.Person) error {
	return events.Append(ctx, tx.Tx(), s.now(), events.Event{Kind: kind, Subject: uid.String(), Receivers: persons})
}

// RemoveRecipient takes a transfer back from one recipient. The recipient's link and downloads end within a second.
// Errors: those of lockLiving.
func (s *Service) RemoveRecipient(ctx context.Context, caller token.Caller, uid id.Transfer, recipient id.Delivery) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		t, err := s.lockLiving(ctx, tx, caller, uid)
		if err != nil {
			return err
		}
		if err := s.mailer.Cancel(ctx, tx.Tx(), deliveryReference+recipient.String()); err != nil {
			return err
		}
		gone, err := tx.DeleteDelivery(ctx, uid, recipient)
		if err != nil {
			return err
		}
		if err := s.revocations.Publish(ctx, tx.Tx(), token.Revocation{Ended: recipient.UUID}); err != nil {
			return err
		}
		if err := s.record(ctx, tx, audit.Of(caller), audit.Entry{
			Action: "transfer.recipients.remove", Object: uid.String(), Target: gone.Person,
			Details: map[string]string{deliveryDetail: recipient.String()},
		}); err != nil {
			return err
		}
		if err := s.chargeDelivered(ctx, tx, t.Reservation, -len(gone.Name)-len(gone.Email)); err != nil {
			return err
		}
		left := slices.DeleteFunc(t.deliveries, func(d transfer.Delivery) bool { return d.UID == recipient })
		persons := parties(t.SeenTransfer, left)
		if !gone.Person.IsZero() && !slices.Contains(persons, gone.Person) {
			if err := s.tell(ctx, tx, events.TransferRevoked, uid, []id.Person{gone.Person}); err != nil {
				return err
			}
		}
		return s.tell(ctx, tx, events.TransferUpdated, uid, persons)
	})
}

// Resend mails the link of a transfer to one recipient again, once a minute. newLink replaces the link: the one before ends.
// Errors: those of lockLiving, transfer.ErrResent, transfer.ErrTooManyRecipientsToday.
func (s *Service) Resend(ctx context.Context, caller token.Caller, uid id.Transfer, recipient id.Delivery, newLink bool) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		t, err := s.lockLiving(ctx, tx, caller, uid)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(t.deliveries, func(d transfer.Delivery) bool { return d.UID == recipient && d.Destination != transfer.ToLink })
		if i < 0 {
			return transfer.ErrNotFound
		}
		if err := s.countRecipients(ctx, tx, caller.Person, t.owner.Account, 1); err != nil {
			return err
		}
		if err := s.mailer.Cancel(ctx, tx.Tx(), deliveryReference+recipient.String()); err != nil {
			return err
		}
		now := s.now()
		version, err := tx.Remail(ctx, uid, recipient, newLink, now, now.Add(-resendPause))
		if err != nil {
			return err
		}
		if version == 0 {
			return transfer.ErrResent
		}
		key := s.deliveryKeys(recipient, version)[0]
		if newLink {
			if err := tx.SetKey(ctx, recipient, seal.Hash(key)); err != nil {
				return err
			}
		}
		again := []postgres.NewDelivery{{Delivery: t.deliveries[i]}}
		if err := s.mailTo(ctx, tx, t, again, map[id.Delivery]string{recipient: key}); err != nil {
			return err
		}
		details := map[string]string{"newLink": strconv.FormatBool(newLink), deliveryDetail: recipient.String()}
		if err := s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "transfer.resend", Object: uid.String(), Target: t.deliveries[i].Person,
			Details: details}); err != nil {
			return err
		}
		return s.tell(ctx, tx, events.TransferUpdated, uid, []id.Person{caller.Person})
	})
}

// mailTo mails a transfer to recipients, as at its confirm. keys holds the keys of links that are not new.
func (s *Service) mailTo(ctx context.Context, tx *postgres.Store, t living, list []postgres.NewDelivery,
	keys map[id.Delivery]string) error {
	mailed := announced{Transfer: t.Transfer, keys: keys}
	mailed.Recipients = nil
	for _, d := range list {
		mailed.Recipients = append(mailed.Recipients, d.Delivery)
	}
	var err error
	if mailed.first, _, err = tx.ObjectsAfter(ctx, t.Reservation, 0, mail.MaxNamed); err != nil {
		return err
	}
	return s.mailDeliveries(ctx, tx, t.owner, mailed)
}

// chargeDelivered charges the texts of a delivered transfer that become longer by bytes; it refunds a negative number.
// Errors: those of content.Service.ChargeMetadata.
func (s *Service) chargeDelivered(ctx context.Context, tx *postgres.Store, r id.Reservation, bytes int) error {
	if bytes == 0 {
		return nil
	}
	c, err := tx.AddMetadata(ctx, r, int64(bytes))
	if err != nil {
		return err
	}
	if c.Bytes > 0 {
		owner, err := tx.Owner(ctx, c.Owner, s.anyHost())
		if err != nil {
			return err
		}
		c.UploadLimit, c.OrganizationLimit, c.StorageLimit = owner.UploadLimit, owner.OrganizationLimit, owner.StorageLimit
	}
	return s.content.ChargeMetadata(ctx, tx, c.Payer, c.Bytes, transfer.Month(c.CreatedAt))
}
