package service

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Introduction is what a stranger may say when reserving a mailbox. Nil members are not given.
type Introduction struct {
	Subject, Message, AnonSender, AnonEmail *string
	Locale                                  string // for the upload confirmation
}

// Reserved is a new reservation with the token that opens it.
type Reserved struct {
	Reservation transfer.Reservation
	Token       string
}

// ReserveMailbox begins a transfer to the mailbox that key names. ErrKeyInvalid, ErrNotFound, ErrInvalid, what
// transfer.PublicMailbox.Rejection returns, ErrNewTransfers.
func (s *Service) ReserveMailbox(ctx context.Context, c token.Caller, key string, in Introduction) (Reserved, error) {
	m, err := s.PublicMailbox(ctx, c, key)
	if err != nil {
		return Reserved{}, err
	}
	r := s.mailboxReservation(m, in.Locale)
	if c.Kind == token.KindUID || c.Kind == token.KindAccess {
		r.Sender = c.Person
	}
	if err := s.introduce(&r, in); err != nil {
		return Reserved{}, err
	}
	if err := m.Rejection(); err != nil {
		return Reserved{}, err
	}
	giveBack, err := s.takeNewTransfer(ctx, m.Person, m.Owner)
	if err != nil {
		return Reserved{}, err
	}
	if err := s.Store.InsertMailboxReservation(ctx, r); err != nil {
		giveBack()
		return Reserved{}, err
	}
	return s.reserved(ctx, r)
}

// mailboxReservation is a new reservation as a mailbox's rules make it.
func (s *Service) mailboxReservation(m transfer.PublicMailbox, locale string) transfer.Reservation {
	now := s.Now()
	return transfer.Reservation{
		UID: id.New[id.Reservation](), Kind: transfer.KindMailbox, Owner: m.Person,
		Organization: m.Owner.Organization, LimitsOrganization: m.Owner.LimitsOrganization, Locale: locale,
		Recipients: []transfer.Recipient{{Person: m.Person, Name: m.DisplayName(), Email: m.Address(), Destination: transfer.To}},
		TTL:        m.Owner.Adminunit.DefaultTTL, Protection: m.Protection(),
		MaxFiles: m.FileLimit(), MaxFileSizeMB: m.FileSizeLimitMB(), MaxRecipients: 1,
		CreatedAt: now, ExpiresAt: now.Add(s.ReservationLifetime),
	}
}

// reserved adds the token of a stored reservation.
func (s *Service) reserved(ctx context.Context, r transfer.Reservation) (Reserved, error) {
	raw, err := s.Issuer.Issue(ctx, token.KindReservation, token.Claims{Reservation: r.UID, IssuedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt})
	if err != nil {
		return Reserved{}, err
	}
	return Reserved{Reservation: r, Token: raw}, nil
}

// takeNewTransfer takes a drop from the owner's bucket of new transfers; giveBack returns it.
func (s *Service) takeNewTransfer(ctx context.Context, owner id.Person, o transfer.Owner) (giveBack func(), err error) {
	bucket := ratelimit.Bucket{
		Name: "new-transfer", Limit: ratelimit.Limit{Capacity: o.TransferLimit, PerSecond: o.TransferDrain},
		By: ratelimit.ByOwner, Essential: true, Refusal: transfer.ErrNewTransfers,
	}
	result, err := s.Limiter.Take(ctx, bucket, owner.String())
	if err != nil {
		return nil, err
	}
	if !result.Allowed {
		return nil, bucket.Refused(result)
	}
	return func() {
		if err := s.Limiter.Return(context.WithoutCancel(ctx), bucket, owner.String()); err != nil {
			s.Log.Warn("drop of a refused reservation not returned", "error", err)
		}
	}, nil
}

// introduce sets what a stranger says, given members only.
func (s *Service) introduce(r *transfer.Reservation, in Introduction) error {
	var p fault.Problems
	setLine(&p, &r.Subject, in.Subject, "subject")
	setLine(&p, &r.AnonSender, in.AnonSender, "anonSender")
	if in.Message != nil {
		checkBlock(&p, "message", *in.Message, maxMessage)
		r.Message = *in.Message
	}
	if in.AnonEmail != nil {
		r.AnonEmail = ""
		if *in.AnonEmail != "" {
			r.AnonEmail = checkEmail(&p, "anonEmail", *in.AnonEmail)
		}
	}
	return p.Err()
}

func setLine(p *fault.Problems, to *string, value *string, member string) {
	if value == nil {
		return
	}
	checkLine(p, member, *value, maxName)
	*to = *value
}

// Reservation returns a reservation with its objects to whoever holds its token or created it. ErrNotFound.
func (s *Service) Reservation(ctx context.Context, c token.Caller, uid id.Reservation) (transfer.Reservation, error) {
	r, err := s.Store.Reservation(ctx, uid, s.scope(c))
	if err != nil {
		return transfer.Reservation{}, err
	}
	if err := mayManage(c, uid, r.Creator); err != nil {
		return transfer.Reservation{}, err
	}
	if r.Objects, err = s.Store.Objects(ctx, uid); err != nil {
		return transfer.Reservation{}, err
	}
	return r.Reservation, nil
}

// mayManage lets the reservation's token and its creator pass; to everybody else it does not exist.
func mayManage(c token.Caller, uid id.Reservation, creator id.Person) error {
	switch {
	case c.Kind == token.KindReservation && c.Reservation == uid:
		return nil
	case c.Kind == token.KindAccess && !creator.IsZero() && creator == c.Person:
		return nil
	}
	return transfer.ErrNotFound
}

// Metadata is a change of a reservation. Nil members are not given.
type Metadata struct {
	Introduction
	Recipients           []transfer.Recipient // nil: not given
	DeliveryNotification *bool
	TTL                  *int64
	Priority             *int64
	Protection           *string
	Password             *string
	Fields               map[string]string // nil: not given
}

// PatchReservation merges members into an open reservation. ErrNotFound, ErrInvalid, ErrFixedMember, ErrConfirmed.
func (s *Service) PatchReservation(ctx context.Context, c token.Caller, uid id.Reservation, in Metadata) (transfer.Reservation, error) {
	var r postgres.HeldReservation
	err := s.Store.InTx(ctx, func(tx *postgres.Store) error {
		var err error
		if r, err = s.lockOpen(ctx, tx, c, uid); err != nil {
			return err
		}
		if err := s.merge(&r, in); err != nil {
			return err
		}
		return tx.UpdateReservation(ctx, r.Reservation)
	})
	if err != nil {
		return transfer.Reservation{}, err
	}
	if r.Objects, err = s.Store.Objects(ctx, uid); err != nil {
		return transfer.Reservation{}, err
	}
	return r.Reservation, nil
}

// lockOpen locks a reservation that the caller may manage and that is still open.
func (s *Service) lockOpen(ctx context.Context, tx *postgres.Store, c token.Caller, uid id.Reservation) (postgres.HeldReservation, error) {
	r, err := tx.LockReservation(ctx, uid, s.scope(c))
	if err != nil {
		return r, err
	}
	if err := mayManage(c, uid, r.Creator); err != nil {
		return r, err
	}
	if !r.Open() {
		return r, transfer.Confirmed(r.Transfer)
	}
	return r, nil
}

// merge applies a change to a locked reservation.
func (s *Service) merge(r *postgres.HeldReservation, in Metadata) error {
	if err := s.introduce(&r.Reservation, in.Introduction); err != nil {
		return err
	}
	if in.Fields != nil {
		raw, err := checkFields(in.Fields)
		if err != nil {
			return err
		}
		r.Fields = raw
	}
	return keepFixed(r.Reservation, in)
}

// keepFixed refuses to change what a mailbox's rules have set; saying the same again is no change.
func keepFixed(r transfer.Reservation, in Metadata) error {
	var fixed []string
	refuse := func(changed bool, member string) {
		if changed {
			fixed = append(fixed, member+": cannot be changed on a transfer to a mailbox")
		}
	}
	refuse(in.Recipients != nil && !sameRecipients(in.Recipients, r.Recipients), "recipients")
	refuse(in.TTL != nil && *in.TTL != int64(r.TTL), "ttl")
	refuse(in.Priority != nil && *in.Priority != int64(r.Priority), "priority")
	refuse(in.Protection != nil && *in.Protection != string(r.Protection), "protection")
	refuse(in.Password != nil, "password")
	refuse(in.DeliveryNotification != nil && *in.DeliveryNotification != r.DeliveryNotification, "deliveryNotification")
	if len(fixed) > 0 {
		return transfer.ErrFixedMember.With(fixed...)
	}
	return nil
}

func sameRecipients(a, b []transfer.Recipient) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Email != b[i].Email || a[i].Destination != b[i].Destination || a[i].Name != b[i].Name ||
			!a[i].Person.IsZero() && a[i].Person != b[i].Person {
			return false
		}
	}
	return true
}

// CancelReservation ends an open reservation; its bytes are removed and its volume is given back. ErrNotFound, ErrConfirmed.
func (s *Service) CancelReservation(ctx context.Context, c token.Caller, uid id.Reservation) error {
	return s.Store.InTx(ctx, func(tx *postgres.Store) error {
		r, err := s.lockOpen(ctx, tx, c, uid)
		if err != nil {
			return err
		}
		if err := s.discard(ctx, tx, []id.Reservation{uid}); err != nil {
			return err
		}
		return s.audit(ctx, tx, c, audit.Entry{Action: "reservation.cancel", Object: uid.String(), Target: r.Owner})
	})
}

// discard removes locked, open reservations with their objects, and has the bytes removed.
func (s *Service) discard(ctx context.Context, tx *postgres.Store, uids []id.Reservation) error {
	n, err := tx.DiscardObjects(ctx, uids, "", s.Now())
	if err != nil {
		return err
	}
	if err := tx.DeleteReservations(ctx, uids); err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	return s.removeBytesSoon(ctx, tx)
}

// checkFields checks values as far as they can be without the mailbox's schema, and encodes them.
func checkFields(fields map[string]string) ([]byte, error) {
	var p fault.Problems
	for name, value := range fields {
		if len(name) == 0 || len(name) > maxName {
			p.Add("fields", fmt.Sprintf("has a name that is empty or longer than %d bytes", maxName))
			break
		}
		checkBlock(&p, "fields."+name, value, transfer.MaxFieldBytes)
	}
	if len(fields) > maxFields {
		p.Add("fields", fmt.Sprintf("has more than %d values", maxFields))
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode fields: %w", err)
	}
	return raw, nil
}

const maxFields = 1_000
