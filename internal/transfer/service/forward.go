package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Forwarding is the request to pass a transfer on. Without a subject it has that of the original.
type Forwarding struct {
	transfer.Metadata
	Objects []id.Object // empty: all
}

// Forward passes a transfer on to others as a new transfer over the same bytes. The limits are those of a confirm. The protection is at
// least that of the original. The forward has a life of its own: it stays when the original ends (contract 4.22).
// Errors: transfer.ErrNotFound, transfer.ErrLocked, transfer.ErrEnded, transfer.ErrNoForwarding, those of CreateReservation and Confirm,
// transfer.ErrTooManyFiles, transfer.ErrFileTooLarge, transfer.ErrBeingChecked, transfer.ErrHeld, transfer.ErrRemoved.
func (s *Service) Forward(ctx context.Context, caller token.Caller, uid id.Transfer, in Forwarding) (transfer.Transfer, Objects, error) {
	if len(in.Recipients) == 0 {
		return transfer.Transfer{}, nil, fault.ErrInvalid.With("recipients: must have at least one entry")
	}
	seen, err := s.store.TransferOf(ctx, uid, caller.Person, s.scope(caller))
	if err != nil {
		return transfer.Transfer{}, nil, err
	}
	if err := s.mayForward(seen); err != nil { // before the password is hashed, which is expensive
		return transfer.Transfer{}, nil, err
	}
	owner, err := s.store.Owner(ctx, caller.Person, s.scope(caller))
	if err != nil {
		return transfer.Transfer{}, nil, err
	}
	if err := owner.MayKeep(); err != nil {
		return transfer.Transfer{}, nil, err
	}
	returnToken, err := s.take(ctx, ownersParts(owner, caller.Person))
	if err != nil {
		return transfer.Transfer{}, nil, err
	}
	var d delivered
	if err = s.hashPassword(ctx, &in.Metadata); err == nil {
		err = s.store.InTx(ctx, func(tx *postgres.Store) (err error) {
			d, err = s.forward(ctx, tx, caller, uid, in)
			return err
		})
	}
	if err != nil {
		returnToken()
		return transfer.Transfer{}, nil, err
	}
	return d.Transfer, s.streamDelivered(ctx, d), nil
}

// mayForward checks that a person can pass a transfer on. Its sender always can.
// Errors: transfer.ErrLocked, transfer.ErrEnded, transfer.ErrNoForwarding.
func (s *Service) mayForward(t postgres.SeenTransfer) error {
	switch {
	case t.State.Ended() || !s.now().Before(t.ExpiresAt):
		return transfer.ErrEnded.With("the transfer has ended or expired; it cannot be forwarded")
	case t.Locked():
		return transfer.ErrLocked.With("the transfer is protected, and your account does not open it; it cannot be forwarded")
	case !t.AsSender && (!t.Forwarding || t.Limited()): // a forward would be a way around the limits
		return transfer.ErrNoForwarding
	}
	return nil
}

// forward makes and delivers the forward of a transfer.
func (s *Service) forward(ctx context.Context, tx *postgres.Store, caller token.Caller, uid id.Transfer, in Forwarding) (delivered, error) {
	original, err := tx.LockTransferOf(ctx, uid, caller.Person, s.scope(caller))
	if err != nil {
		return delivered{}, err
	}
	if err := s.mayForward(original); err != nil {
		return delivered{}, err
	}
	owner, err := tx.Owner(ctx, caller.Person, s.scope(caller))
	if err != nil {
		return delivered{}, err
	}
	objects, err := forwardable(ctx, tx, original, owner.Adminunit, in.Objects)
	if err != nil {
		return delivered{}, err
	}
	if original.Protection.Rank() > owner.ProtectionLevel.Rank() {
		owner.ProtectionLevel = original.Protection
	}
	r := s.senderReservation(caller, owner)
	r.Subject = original.Subject
	if err := s.mergeSent(ctx, tx, &r, owner.Adminunit, in.Metadata); err != nil {
		return delivered{}, err
	}
	if err := tx.InsertReservation(ctx, r); err != nil {
		return delivered{}, err
	}
	sums, err := tx.InsertForwarded(ctx, r.UID, objects, s.forwardVolume, r.CreatedAt)
	if err != nil {
		return delivered{}, err
	}
	held, err := tx.LockReservation(ctx, r.UID, s.scope(caller))
	if err != nil {
		return delivered{}, err
	}
	d, err := s.deliver(ctx, tx, caller, held, r.MetadataBytes()+sums.Bytes+sums.Metadata)
	if err != nil {
		return delivered{}, err
	}
	return d, s.record(ctx, tx, audit.Of(caller), audit.Entry{
		Action: "transfer.forward", Object: uid.String(), Target: original.Sender.Person, Details: map[string]string{"transfer": d.UID.String()},
	})
}

// forwardable returns the objects of a transfer that are passed on.
// Errors: transfer.ErrNotFound, fault.ErrInvalid, transfer.ErrTooManyFiles, transfer.ErrFileTooLarge, transfer.ErrBeingChecked,
// transfer.ErrHeld, transfer.ErrRemoved.
func forwardable(ctx context.Context, tx *postgres.Store, original postgres.SeenTransfer, unit transfer.Adminunit,
	chosen []id.Object) ([]transfer.Object, error) {
	objects, err := tx.Objects(ctx, original.Reservation)
	if err != nil {
		return nil, err
	}
	if len(chosen) > 0 {
		wanted := make(map[id.Object]bool, len(chosen))
		for _, o := range chosen {
			wanted[o] = true
		}
		objects = slices.DeleteFunc(objects, func(o transfer.Object) bool { return !wanted[o.UID] })
		if len(objects) != len(wanted) {
			return nil, transfer.ErrNotFound
		}
	}
	if len(objects) == 0 {
		return nil, fault.ErrInvalid.With("objects: the transfer has none to forward")
	}
	if len(objects) > int(unit.MaxFiles) {
		return nil, transfer.ErrTooManyFiles.With(fmt.Sprintf("objects: a transfer has at most %d files", unit.MaxFiles)).
			AtMost(int64(unit.MaxFiles))
	}
	for _, o := range objects {
		if err := original.Check(o.Scan); err != nil {
			return nil, err
		}
		if o.Held > unit.MaxFileSizeMB*transfer.MB {
			return nil, transfer.ErrFileTooLarge.With(fmt.Sprintf("objects: %s is larger than %d MB", o.Name, unit.MaxFileSizeMB)).
				AtMost(unit.MaxFileSizeMB * transfer.MB)
		}
	}
	return objects, nil
}
