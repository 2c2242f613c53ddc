package service

import (
	"context"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/idempotency"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// revoke erases a locked transfer. It sends an event to the recipients and to the sender. The audit entry takes actor, details and
// organization from e.
func (s *Service) revoke(ctx context.Context, tx *postgres.Store, t postgres.SeenTransfer, e audit.Entry) error {
	uids := []id.Transfer{t.UID}
	if err := s.endTransfers(ctx, tx, uids, transfer.Revoked, transfer.ErasedByDeletion); err != nil {
		return err
	}
	deliveries, err := tx.DeliveriesOfTransfers(ctx, uids)
	if err != nil {
		return err
	}
	for _, d := range deliveries[t.UID] {
		if d.Destination == transfer.ToLink {
			continue
		}
		if err := s.mailer.Cancel(ctx, tx.Tx(), deliveryReference+d.UID.String()); err != nil {
			return err
		}
	}
	if err := s.revocations.Publish(ctx, tx.Tx(), token.Revocation{Ended: t.UID.UUID}); err != nil {
		return err
	}
	e.Action, e.Object, e.Target = "transfer.revoke", t.UID.String(), t.Sender.Person
	if err := audit.Append(ctx, tx.Tx(), s.now(), e); err != nil {
		return err
	}
	return s.tell(ctx, tx, events.TransferRevoked, t.UID, parties(t, deliveries[t.UID]))
}

// revokeUnreachable erases the transfers among uids that no party can reach any more.
func (s *Service) revokeUnreachable(ctx context.Context, tx *postgres.Store, uids []id.Transfer, why string) error {
	abandoned, err := tx.Abandoned(ctx, uids)
	if err != nil || len(abandoned) == 0 {
		return err
	}
	return s.endTransfers(ctx, tx, abandoned, transfer.Revoked, why)
}

// endTransfers erases locked transfers and the mails about them, and purges their bytes.
func (s *Service) endTransfers(ctx context.Context, tx *postgres.Store, uids []id.Transfer, final transfer.State, why string) error {
	if err := s.content.PurgeSoon(ctx, tx); err != nil {
		return err
	}
	return s.erase(ctx, tx, uids, final, why)
}

// erase is endTransfers without the purge of the bytes.
func (s *Service) erase(ctx context.Context, tx *postgres.Store, uids []id.Transfer, final transfer.State, why string) error {
	ended, err := tx.EndTransfers(ctx, uids, final, why, s.now())
	if err != nil || ended.Transfers == 0 {
		return err
	}
	references := make([]string, len(uids))
	for i, t := range uids {
		references[i] = transferReference + t.String()
	}
	if err := s.mailer.Erase(ctx, tx.Tx(), references); err != nil {
		return err
	}
	if err := forget(ctx, tx, uids); err != nil {
		return err
	}
	if err := forget(ctx, tx, ended.Reservations); err != nil {
		return err
	}
	if err := s.stateEnd(ctx, tx, uids, final); err != nil {
		return err
	}
	return tx.Release(ctx, ended)
}

// forget erases stored answers about transfers or reservations.
func forget[K any](ctx context.Context, tx *postgres.Store, of []id.ID[K]) error {
	uids := make([]uuid.UUID, len(of))
	for i, u := range of {
		uids[i] = u.UUID
	}
	return idempotency.Forget(ctx, tx.Tx(), uids...) //nolint:wrapcheck // says what failed
}
