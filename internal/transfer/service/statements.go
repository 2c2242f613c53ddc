package service

import (
	"context"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// CertifyErasureJob states that the bytes of ended transfers are deleted.
const CertifyErasureJob = "transfer-certify-erasure"

// singleDownloads is the most objects of a transfer that count as downloaded when each was downloaded alone.
const singleDownloads = 100

// state records in the transparency log that something happened to transfers, once for each kind. Transfers without a receipt are left out.
func (s *Service) state(ctx context.Context, tx *postgres.Store, kind string, transfers ...id.Transfer) error {
	receipts, err := tx.ReceiptsOf(ctx, transfers, false)
	if err != nil {
		return err
	}
	return s.insertStatements(ctx, tx, kind, receipts, func(id.Transfer) transfer.Event { return transfer.Event{} })
}

// insertStatements states an event of each receipt. more returns what the statement about a transfer says besides.
func (s *Service) insertStatements(ctx context.Context, tx *postgres.Store, kind string, receipts []postgres.Receipt,
	more func(id.Transfer) transfer.Event) error {
	now := s.now()
	for i, r := range receipts {
		e := more(r.Transfer)
		e.Salt, e.Transfer, e.Kind, e.At, e.Receipt = salt(), r.Transfer, kind, now, r.Entry
		receipts[i].Body = transfer.FormatEvent(e)
		receipts[i].Entry = proof.Entry(receipts[i].Body)
	}
	return tx.InsertStatements(ctx, kind, receipts, now)
}

// stateEnd states the end of locked transfers. Their erasure follows when their bytes are deleted.
func (s *Service) stateEnd(ctx context.Context, tx *postgres.Store, uids []id.Transfer, final transfer.State) error {
	kind := transfer.StatedExpired
	if final == transfer.Revoked {
		kind = transfer.StatedRevoked
	}
	return s.state(ctx, tx, kind, uids...)
}

// CertifyErasure states of ended transfers that all their stored bytes are deleted: the certificate of erasure. It needs no receipt that is
// kept, because it only names its hash.
func (s *Service) CertifyErasure(ctx context.Context) error {
	var after, last id.Transfer
	return s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		taken, err := tx.TakeErased(ctx, after, endBatch)
		if err != nil || len(taken) == 0 {
			return 0, err
		}
		last = taken[len(taken)-1].Transfer
		uids, of := make([]id.Transfer, len(taken)), make(map[id.Transfer]postgres.Erased, len(taken))
		for i, e := range taken {
			uids[i], of[e.Transfer] = e.Transfer, e
		}
		receipts, err := tx.ReceiptsOf(ctx, uids, true)
		if err != nil {
			return 0, err
		}
		return len(taken), s.insertStatements(ctx, tx, transfer.StatedErased, receipts, func(uid id.Transfer) transfer.Event {
			return transfer.Event{Reason: of[uid].Reason, Ended: of[uid].DeletedAt, Files: of[uid].Contents}
		})
	}, func() { after = last })
}
