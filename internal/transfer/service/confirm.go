// Confirm: makes a transfer of a reservation, with its deliveries, mails and receipt.

package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
	"github.com/consign-dev/consign/internal/transfer/request"
)

// firstObjects is how many objects a confirm reads in its transaction: usually all, so that most database errors come before the
// answer begins.
const firstObjects = 1000

// Confirm turns an open reservation into a transfer and delivers it. Of parallel calls one succeeds, the others return
// transfer.ErrConfirmed with the transfer's uid.
// Errors: transfer.ErrNotFound, transfer.ErrConfirmed, transfer.ErrUnconfirmable with one detail for each unmet condition,
// transfer.ErrJoining, transfer.ErrMIMEType, transfer.ErrMessageToMany, transfer.ErrTooManyRecipientsToday, those of
// Requests.HandIn, those of content.Service.ChargeMetadata.
func (s *Service) Confirm(ctx context.Context, caller token.Caller, uid id.Reservation) (transfer.Transfer, Objects, error) {
	var d delivered
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		r, err := s.lockOpen(ctx, tx, caller, uid)
		if err != nil {
			return err
		}
		d, err = s.deliver(ctx, tx, caller, r, uncharged(r))
		return err
	})
	if errors.Is(err, transfer.ErrJoining) {
		if failure := s.sealSome(ctx, uid); failure != nil {
			err = failure
		}
	}
	if err != nil {
		return transfer.Transfer{}, nil, err
	}
	return d.Transfer, s.streamDelivered(ctx, d), nil
}

// sealSome seals one object that the confirm waits for. The client repeats the confirm.
// Errors: transfer.ErrMIMEType.
func (s *Service) sealSome(ctx context.Context, r id.Reservation) error {
	incomplete, err := s.store.IncompleteObjects(ctx, r, 1)
	if err != nil || len(incomplete) == 0 {
		return err
	}
	return s.content.SealSome(ctx, incomplete[0].UID)
}

// delivered is a new transfer with its first objects, up to position last.
type delivered struct {
	transfer.Transfer
	first []transfer.Object
	last  int64
}

// streamDelivered streams the objects of a new transfer.
func (s *Service) streamDelivered(ctx context.Context, d delivered) Objects {
	return func(yield func(transfer.Object, error) bool) {
		for o, err := range s.streamObjects(ctx, d.Reservation, d.first, d.last, len(d.first) == firstObjects) {
			d.Mark(&o)
			if !yield(o, err) {
				return
			}
		}
	}
}

// deliver makes a transfer of a locked, open reservation. charge is the volume that no request has charged.
// Errors: those of Confirm.
func (s *Service) deliver(ctx context.Context, tx *postgres.Store, caller token.Caller, r postgres.HeldReservation,
	charge int64) (d delivered, err error) {
	if err := s.checkConfirmable(ctx, tx, r); err != nil {
		return d, err
	}
	refund, err := s.content.DeletePartials(ctx, tx, r.UID) // those without a final upload, and the names of the others
	if err != nil {
		return d, err
	}
	if r.Kind == transfer.KindP2P {
		if err := findRecipients(ctx, tx, r.Recipients); err != nil { // recipients may have created accounts since
			return d, err
		}
		if err := s.countRecipients(ctx, tx, r.Owner, r.Facts.Account, len(r.Recipients)); err != nil {
			return d, err
		}
	}
	handed := request.HandIn{Received: s.now()}
	if !r.Party.IsZero() {
		if handed, err = s.requests.HandIn(ctx, tx, r.Reservation); err != nil {
			return d, err
		}
	}
	n := s.newTransfer(r, handed.Received)
	lastMail := false
	if r.Kind == transfer.KindMailbox {
		if n.Unmailed, lastMail, err = s.countMailboxMail(ctx, tx, r); err != nil {
			return d, err
		}
	}
	if err := tx.InsertTransfer(ctx, n); err != nil {
		return d, err
	}
	if err := s.queueInspection(ctx, tx, r, n.UID); err != nil {
		return d, err
	}
	if d, err = s.readDelivered(ctx, tx, r, n); err != nil {
		return d, err
	}
	if err := s.writeReceipt(ctx, tx, r, d, handed.Due); err != nil {
		return d, err
	}
	if err := s.content.ThumbnailsLater(ctx, tx, r.UID, d.first); err != nil {
		return d, err
	}
	if err := s.announce(ctx, tx, caller, r, announced{Transfer: d.Transfer, first: d.first, lastMail: lastMail, charge: charge,
		refund: refund}); err != nil {
		return d, err
	}
	d.Unmailed = false // for the owner of the mailbox only
	return d, nil
}

// readDelivered reads a transfer that was just stored.
func (s *Service) readDelivered(ctx context.Context, tx *postgres.Store, r postgres.HeldReservation,
	n postgres.NewTransfer) (d delivered, err error) {
	seen, err := tx.TransferOfReservation(ctx, r.UID)
	if err != nil {
		return d, err
	}
	d.Transfer = seen.Transfer
	if d.Kind == transfer.KindMailbox {
		d.Answers = transfer.Answers(r.FieldsSchema, r.UISchema, d.Fields)
	}
	for _, x := range n.Deliveries {
		if x.Destination != transfer.ToLink {
			d.Recipients = append(d.Recipients, x.Delivery)
		} else {
			d.Link = s.newLink(r.Facts.Host, x.UID)
		}
	}
	d.first, d.last, err = tx.ObjectsAfter(ctx, r.UID, 0, firstObjects)
	return d, err
}

// checkConfirmable checks the conditions of a confirm.
// Errors: transfer.ErrUnconfirmable with all details, transfer.ErrJoining, transfer.ErrMessageToMany.
func (s *Service) checkConfirmable(ctx context.Context, tx *postgres.Store, r postgres.HeldReservation) error {
	var missing []string
	if r.Kind == transfer.KindMailbox {
		if r.AnonSender == "" {
			missing = append(missing, "anonSender: is required")
		}
		if r.AnonEmail == "" {
			missing = append(missing, "anonEmail: is required")
		} else if r.VerifySender && !r.SenderVerified() {
			missing = append(missing, "code: anonEmail must be verified; POST …/code mails a code to it, POST …/verify takes the code")
		}
		missing = append(missing, transfer.ValidateFields(r.FieldsSchema, r.Fields)...)
	}
	mailOnly, err := s.mailOnly(ctx, tx, r)
	if err != nil {
		return err
	}
	if mailOnly && !r.HasText() {
		missing = append(missing, "objects: at least one that is not empty is required, or for a single recipient a message or fields")
	}
	if r.Protection == transfer.ProtectPassword && r.PasswordHash == "" {
		missing = append(missing, "password: is required for the protection password")
	}
	if r.Protection == transfer.ProtectIdentity && len(r.Recipients) == 0 {
		missing = append(missing, "recipients: at least one is required for the protection recipientAuthentication")
	}
	incomplete, err := tx.IncompleteObjects(ctx, r.UID, fault.MaxProblems)
	if err != nil {
		return err
	}
	var joining []string
	for _, o := range incomplete {
		if o.Segmented && o.InSegments == o.IntendedSize {
			joining = append(joining, fmt.Sprintf("objects: the parts of %s are all held, %d of %d bytes are joined", o.ClientID, o.Held,
				o.IntendedSize))
			continue
		}
		missing = append(missing, fmt.Sprintf("objects: %s holds %d of %d bytes", o.ClientID, o.Held, o.IntendedSize))
	}
	if len(missing) > 0 {
		return transfer.ErrUnconfirmable.With(missing...)
	}
	if len(joining) > 0 {
		return transfer.ErrJoining.With(joining...)
	}
	if mailOnly && len(r.Recipients) > 1 {
		return transfer.ErrMessageToMany
	}
	return nil
}

// mailOnly reports whether a transfer to recipients has no bytes, so that its mail is the whole delivery. Empty objects have none.
func (s *Service) mailOnly(ctx context.Context, tx *postgres.Store, r postgres.HeldReservation) (bool, error) {
	if r.Kind != transfer.KindP2P || r.ObjectCount == 0 {
		return r.Kind == transfer.KindP2P, nil
	}
	announced, err := tx.BytesAnnounced(ctx, r.UID)
	return !announced, err
}

// countRecipients adds n recipients to those of a person today.
// Errors: transfer.ErrTooManyRecipientsToday.
func (s *Service) countRecipients(ctx context.Context, tx *postgres.Store, p id.Person, a transfer.Account, n int) error {
	now := s.now()
	limit := s.recipients.On(now, a)
	within, err := tx.CountRecipients(ctx, p, now.UTC().Truncate(day), n, limit)
	if err != nil || within {
		return err
	}
	return transfer.ErrTooManyRecipientsToday.
		With(fmt.Sprintf("recipients: your transfers may have %d recipients a day", limit)).AtMost(int64(limit)).
		WithRetryAfter(s.recipients.Wait(now, a, n))
}

// firstVersion is the version of a new delivery's key.
const firstVersion = 1

// newTransfer returns the transfer that a confirmable reservation becomes.
func (s *Service) newTransfer(r postgres.HeldReservation, now time.Time) postgres.NewTransfer {
	n := postgres.NewTransfer{
		UID: id.New[id.Transfer](), Reservation: r.UID, CreatedAt: now, ExpiresAt: now.Add(time.Duration(r.TTL) * day), Answers: r.Answers(),
	}
	if r.Kind == transfer.KindMailbox {
		n.Sender = transfer.Sender{Name: r.AnonSender, Email: r.AnonEmail, Person: r.Sender}
	} else {
		n.Sender = transfer.Sender{Name: r.Facts.Name, Email: r.Facts.Email, Person: r.Owner}
		n.SenderManaged = true
	}
	n.Sender.Verified = r.SenderVerified()
	for _, to := range r.Recipients {
		n.Deliveries = append(n.Deliveries, s.newDelivery(
			transfer.Delivery{Person: to.Person, Name: to.Name, Email: to.Email, Destination: to.Destination}))
	}
	if r.Kind != transfer.KindMailbox {
		n.Deliveries = append(n.Deliveries, s.newDelivery(transfer.Delivery{Destination: transfer.ToLink}))
	}
	return n
}

func (s *Service) newDelivery(d transfer.Delivery) postgres.NewDelivery {
	d.UID = id.New[id.Delivery]()
	return postgres.NewDelivery{Delivery: d, KeyHash: seal.Hash(s.deliveryKey(d.UID))}
}

// announced is a new transfer that announce tells people about.
type announced struct {
	transfer.Transfer
	first    []transfer.Object      // its first objects
	keys     map[id.Delivery]string // keys in the links of deliveries that are not new
	lastMail bool                   // the owner of the mailbox gets the last mail of the day
	charge   int64                  // volume that no request has charged
	refund   postgres.Refund        // volume of partial uploads that are deleted
}

// announce queues the mails to the recipients, the upload confirmation with the first files, the audit entry and the event. Between them
// it charges what no request has charged: volumes are locked after mails, and feeds last.
// Errors: those of content.Service.ChargeMetadata.
func (s *Service) announce(ctx context.Context, tx *postgres.Store, caller token.Caller, r postgres.HeldReservation, t announced) error {
	if !t.Unmailed {
		if err := s.mailDeliveries(ctx, tx, r.Facts, t); err != nil {
			return err
		}
	}
	if r.Kind == transfer.KindMailbox {
		if err := s.mailUploadConfirmation(ctx, tx, r, t); err != nil {
			return err
		}
	}
	err := s.record(ctx, tx, audit.Of(caller), audit.Entry{
		Action: "transfer.deliver", Object: t.UID.String(), Target: r.Owner, Organization: r.Organization,
		Details: map[string]string{"reservation": r.UID.String(), "objects": strconv.Itoa(int(t.ObjectCount)),
			"bytes": strconv.FormatInt(t.TotalBytes, 10)},
	})
	if err != nil {
		return err
	}
	if uncharged(r) != 0 {
		if err := tx.SetMetadata(ctx, r.UID, r.MetadataBytes()); err != nil {
			return err
		}
	}
	if err := tx.GiveBack(ctx, t.refund); err != nil {
		return err
	}
	if err := s.content.ChargeMetadata(ctx, tx, payer(r.Reservation, r.Facts), t.charge, transfer.Month(r.CreatedAt)); err != nil {
		return err
	}
	var receivers []id.Person
	for _, d := range t.Recipients {
		if !d.Person.IsZero() {
			receivers = append(receivers, d.Person)
		}
	}
	if err := s.tell(ctx, tx, events.TransferReceived, t.UID, receivers); err != nil || r.Party.IsZero() {
		return err
	}
	return events.Append(ctx, tx.Tx(), s.now(), events.Event{Kind: events.RequestHandedIn, Subject: r.Request.String(),
		Receivers: []id.Person{r.Owner}})
}
