// Creates, reads, changes and cancels reservations.

package service

import (
	"context"
	"slices"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Reserved is a new reservation with its token.
type Reserved struct {
	Reservation transfer.Reservation
	Token       string
}

// ReserveMailbox creates a reservation for the mailbox under key.
// Errors: transfer.ErrKeyInvalid, transfer.ErrNotFound, fault.ErrInvalid, those of transfer.PublicMailbox.Unavailable,
// those of transfer.Owner.RoomFor, transfer.ErrNewTransfers, transfer.ErrMailboxBusy, transfer.ErrClientBusy.
func (s *Service) ReserveMailbox(ctx context.Context, caller token.Caller, key string, in transfer.BasicMetadata) (Reserved, error) {
	m, err := s.PublicMailbox(ctx, caller, key)
	if err != nil {
		return Reserved{}, err
	}
	r := s.mailboxReservation(m, in.Locale)
	if caller.Kind == token.KindAPI && !slices.Contains(caller.Mailboxes, m.Person) {
		return Reserved{}, token.Insufficient("Authorization: the scope mailbox:drop of this API token does not name this mailbox",
			token.ScopeMailboxDrop)
	}
	if err := s.nameSender(ctx, &r, caller); err != nil {
		return Reserved{}, err
	}
	if caller.Client.Address.IsValid() {
		r.Client = ratelimit.AddressKey(caller.Client.Address)
	}
	if err := in.MergeBasic(&r); err != nil {
		return Reserved{}, err
	}
	if _, err := m.Unavailable(); err != nil {
		return Reserved{}, err
	}
	if err := m.Owner.RoomFor(r.MetadataBytes()); err != nil {
		return Reserved{}, err
	}
	returnTokens, err := s.take(ctx, s.strangersParts(transferLimit(m.Owner), m.Person, m.OwnNetworks, r.Client))
	if err != nil {
		return Reserved{}, err
	}
	if err := s.insertStrangers(ctx, r, m.OwnNetworks); err != nil {
		returnTokens()
		return Reserved{}, err
	}
	return s.reserved(ctx, caller, r)
}

// nameSender sets the account that hands over. The token of a session also checks its addresses. A uid token, which lives for years,
// only names the person, until the person's epoch is raised.
func (s *Service) nameSender(ctx context.Context, r *transfer.Reservation, caller token.Caller) (err error) {
	switch {
	case caller.IsPerson():
		r.Sender = caller.Person
		r.ProvenAddresses, err = s.store.VerifiedAddresses(ctx, caller.Person)
	case caller.Kind == token.KindUID:
		r.SenderByUID = true
		r.Sender, err = s.store.PersonOfEpoch(ctx, caller.Person, caller.Epoch)
	}
	return err
}

// CreateReservation creates a reservation of the caller's own: p2p with recipients, drop without.
// Errors: transfer.ErrNotFound on another host than the caller's home host, transfer.ErrServiceDisabled,
// transfer.ErrRoleMissing, fault.ErrInvalid, transfer.ErrTooManyRecipients, transfer.ErrTTL, transfer.ErrPriority,
// transfer.ErrProtection, transfer.ErrPersonalVolume, transfer.ErrSubscriptionVolume, transfer.ErrStorageVolume,
// transfer.ErrNewTransfers.
func (s *Service) CreateReservation(ctx context.Context, caller token.Caller, in transfer.Metadata) (Reserved, error) {
	owner, err := s.store.Owner(ctx, caller.Person, s.scope(caller))
	if err != nil {
		return Reserved{}, err
	}
	if err := owner.MayKeep(); err != nil {
		return Reserved{}, err
	}
	r := s.senderReservation(caller, owner)
	if in.Protection != nil && *in.Protection == string(transfer.ProtectPassword) && in.Password == nil {
		return Reserved{}, fault.ErrInvalid.With("password: is required for the protection password")
	}
	if err := s.mergeSent(ctx, s.store, &r, owner.Adminunit, in); err != nil {
		return Reserved{}, err
	}
	if err := volumesLeft(owner); err != nil {
		return Reserved{}, err
	}
	returnToken, err := s.take(ctx, ownersParts(owner, caller.Person))
	if err != nil {
		return Reserved{}, err
	}
	err = s.hashPassword(ctx, &in)
	if err == nil {
		r.PasswordHash = in.Hash
		err = s.insertReservation(ctx, r, owner)
	}
	if err != nil {
		returnToken()
		return Reserved{}, err
	}
	return s.reserved(ctx, caller, r)
}

// senderReservation returns a new reservation of a sender within the adminunit's limits, as long as it has no recipients a drop.
func (s *Service) senderReservation(caller token.Caller, owner transfer.Owner) transfer.Reservation {
	unit, now := owner.Adminunit, s.now()
	return transfer.Reservation{
		UID: id.New[id.Reservation](), Kind: transfer.KindDrop, Owner: caller.Person, Creator: caller.Person, Sender: caller.Person,
		Organization: owner.Organization, LimitsOrganization: owner.LimitsOrganization, Locale: owner.Locale,
		TTL: unit.DefaultTTL, Protection: unit.ProtectionLevel,
		MaxFiles: unit.MaxFiles, MaxFileSizeMB: unit.MaxFileSizeMB,
		MaxRecipients: min(unit.MaxRecipients, owner.ReceiversLimit, int32(s.recipients.PerDay)),
		CreatedAt:     now, ExpiresAt: now.Add(s.reservationLifetime),
	}
}

// volumesLeft checks that the volumes of a month are not used up.
// Errors: transfer.ErrPersonalVolume, transfer.ErrSubscriptionVolume.
func volumesLeft(owner transfer.Owner) error {
	if owner.PersonalVolumeExceeded() {
		return transfer.ErrPersonalVolume
	}
	if owner.SubscriptionVolumeExceeded() {
		return transfer.ErrSubscriptionVolume
	}
	return nil
}

// insertReservation stores a sender's reservation and charges its texts.
func (s *Service) insertReservation(ctx context.Context, r transfer.Reservation, owner transfer.Owner) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.InsertReservation(ctx, r); err != nil {
			return err
		}
		return s.content.ChargeMetadata(ctx, tx, payer(r, owner), r.MetadataBytes(), transfer.Month(r.CreatedAt))
	})
}

// mailboxReservation returns a new reservation that follows the mailbox's rules.
func (s *Service) mailboxReservation(m transfer.PublicMailbox, locale string) transfer.Reservation {
	now := s.now()
	return transfer.Reservation{
		UID: id.New[id.Reservation](), Kind: transfer.KindMailbox, Owner: m.Person,
		Organization: m.Owner.Organization, LimitsOrganization: m.Owner.LimitsOrganization, Locale: locale,
		Recipients: []transfer.Recipient{{Person: m.Person, Name: m.DisplayName(), Email: m.Address(), Destination: transfer.To}},
		TTL:        m.Owner.DefaultTTL, Protection: m.Protection(),
		MaxFiles: m.FileLimit(), MaxFileSizeMB: m.FileSizeLimitMB(), MaxRecipients: 1,
		CreatedAt: now, ExpiresAt: now.Add(s.reservationLifetime),
	}
}

// reserved issues the token of a stored reservation. One that an API token made ends with it.
func (s *Service) reserved(ctx context.Context, by token.Caller, r transfer.Reservation) (Reserved, error) {
	c := token.Claims{Reservation: r.UID, IssuedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt}
	if by.Kind == token.KindAPI {
		c.APIToken = by.Session
	}
	raw, err := s.issuer.Issue(ctx, token.KindReservation, c)
	if err != nil {
		return Reserved{}, err
	}
	return Reserved{Reservation: r, Token: raw}, nil
}

// Reservation returns a reservation and its objects to the holder of its token or its creator.
// Errors: transfer.ErrNotFound.
func (s *Service) Reservation(ctx context.Context, caller token.Caller, uid id.Reservation) (transfer.Reservation, Objects, error) {
	r, err := s.store.Reservation(ctx, uid, s.scope(caller))
	if err != nil {
		return transfer.Reservation{}, nil, err
	}
	if err := mayManage(caller, uid, r.Creator); err != nil {
		return transfer.Reservation{}, nil, err
	}
	return r.Reservation, s.attached(ctx, uid), nil
}

// mayManage allows the reservation's token and its creator.
// Errors: transfer.ErrNotFound for any other caller.
func mayManage(caller token.Caller, uid id.Reservation, creator id.Person) error {
	switch {
	case caller.Kind == token.KindReservation && caller.Reservation == uid:
		return nil
	case caller.IsPerson() && !creator.IsZero() && creator == caller.Person:
		return nil
	}
	return transfer.ErrNotFound
}

// PatchReservation merges members into an open reservation. A sender's reservation becomes p2p with recipients and drop
// without.
// Errors: transfer.ErrNotFound, fault.ErrInvalid, transfer.ErrConfirmed, those of content.Service.ChargeMetadata; for a mailbox's
// transfer.ErrFixedMember, for a sender's those of CreateReservation.
func (s *Service) PatchReservation(ctx context.Context, caller token.Caller, uid id.Reservation,
	in transfer.Metadata) (transfer.Reservation, Objects, error) {
	var r postgres.HeldReservation
	if in.Password != nil { // check before hashing, which is expensive; reservations of strangers have no password
		found, err := s.store.Reservation(ctx, uid, s.scope(caller))
		if err != nil {
			return transfer.Reservation{}, nil, err
		}
		if err := mayManage(caller, uid, found.Creator); err != nil {
			return transfer.Reservation{}, nil, err
		}
		if found.Kind != transfer.KindMailbox {
			if err := s.hashPassword(ctx, &in); err != nil {
				return transfer.Reservation{}, nil, err
			}
		}
	}
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		var err error
		if r, err = s.lockOpen(ctx, tx, caller, uid); err != nil {
			return err
		}
		if r.Kind == transfer.KindMailbox {
			err = in.MergeFixed(&r.Reservation)
		} else {
			err = s.mergeSent(ctx, tx, &r.Reservation, r.Facts.Adminunit, in)
		}
		if err != nil {
			return err
		}
		if in.Recipients != nil && r.Kind != transfer.KindMailbox {
			if err := tx.ReplaceRecipients(ctx, r.Reservation); err != nil {
				return err
			}
		}
		if err := tx.UpdateReservation(ctx, r.Reservation); err != nil {
			return err
		}
		return s.chargeTexts(ctx, tx, r)
	})
	if err != nil {
		return transfer.Reservation{}, nil, err
	}
	return r.Reservation, s.attached(ctx, uid), nil
}

// lockOpen locks an open reservation that the caller may manage.
// Errors: transfer.ErrNotFound, transfer.ErrConfirmed.
func (s *Service) lockOpen(ctx context.Context, tx *postgres.Store, caller token.Caller,
	uid id.Reservation) (postgres.HeldReservation, error) {
	r, err := tx.LockReservation(ctx, uid, s.scope(caller))
	if err != nil {
		return r, err
	}
	if err := mayManage(caller, uid, r.Creator); err != nil {
		return r, err
	}
	if !r.Open() {
		return r, transfer.Confirmed(r.Transfer)
	}
	return r, nil
}

// CancelReservation cancels an open reservation, releases its volume and purges its bytes.
// Errors: transfer.ErrNotFound, transfer.ErrConfirmed.
func (s *Service) CancelReservation(ctx context.Context, caller token.Caller, uid id.Reservation) error {
	var unused []postgres.UnusedReservation
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		r, err := s.lockOpen(ctx, tx, caller, uid)
		if err != nil {
			return err
		}
		if unused, err = s.deleteReservations(ctx, tx, []id.Reservation{uid}); err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "reservation.cancel", Object: uid.String(), Target: r.Owner})
	})
	if err == nil {
		s.returnStrangersTransfers(ctx, unused)
	}
	return err
}

// deleteReservations deletes locked, open reservations with their objects and enqueues the purge of the bytes. Once the
// transaction has committed, the caller passes the unused reservations to returnStrangersTransfers.
func (s *Service) deleteReservations(ctx context.Context, tx *postgres.Store, uids []id.Reservation) ([]postgres.UnusedReservation, error) {
	unused, err := tx.UnusedReservations(ctx, uids)
	if err != nil {
		return nil, err
	}
	if _, err := s.content.DeleteObjects(ctx, tx, uids, ""); err != nil {
		return nil, err
	}
	if err := forget(ctx, tx, uids); err != nil {
		return nil, err
	}
	return unused, tx.DeleteReservations(ctx, uids)
}

// OpenReservation is a stranger's open reservation as the owner of the mailbox sees it.
type OpenReservation = postgres.OpenReservation

// OpenReservations returns the strangers' open reservations on the caller's mailbox, newest first.
// Errors: transfer.ErrNotFound without a mailbox.
func (s *Service) OpenReservations(ctx context.Context, caller token.Caller) ([]OpenReservation, error) {
	if _, err := s.Mailbox(ctx, caller); err != nil {
		return nil, err
	}
	return s.store.OpenReservations(ctx, caller.Person, s.now())
}

// CancelMailboxReservation cancels a stranger's open reservation on the caller's mailbox, as CancelReservation does.
// Errors: transfer.ErrNotFound.
func (s *Service) CancelMailboxReservation(ctx context.Context, caller token.Caller, uid id.Reservation) error {
	if _, err := s.Mailbox(ctx, caller); err != nil {
		return err
	}
	return s.cancelAtMailbox(ctx, audit.Of(caller), caller.Person, uid)
}

// cancelAtMailbox cancels a stranger's open reservation on the mailbox of owner.
// Errors: transfer.ErrNotFound.
func (s *Service) cancelAtMailbox(ctx context.Context, by audit.Actor, owner id.Person, uid id.Reservation) error {
	var unused []postgres.UnusedReservation
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockMailboxReservation(ctx, owner, uid, s.now()); err != nil {
			return err
		}
		var err error
		if unused, err = s.deleteReservations(ctx, tx, []id.Reservation{uid}); err != nil {
			return err
		}
		return s.record(ctx, tx, by, audit.Entry{Action: "reservation.end", Object: uid.String(), Target: owner})
	})
	if err == nil {
		s.returnStrangersTransfers(ctx, unused)
	}
	return err
}
