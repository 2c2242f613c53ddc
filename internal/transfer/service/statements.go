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
	receipts, err := tx.ReceiptsOf(ctx, transfers)
	if err != nil {
		return err
	}
	now := s.now()
	for i, r := range receipts {
		receipts[i].Body = transfer.FormatEvent(transfer.Event{Salt: salt(), Transfer: r.Transfer, Kind: kind, At: now, Receipt: r.Entry})
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

// CertifyErasure states of ended transfers that all their stored bytes are deleted.
func (s *Service) CertifyErasure(ctx context.Context) error {
	var after, last id.Transfer
	return s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		uids, err := tx.TakeErased(ctx, after, endBatch)
		if err != nil || len(uids) == 0 {
			return 0, err
		}
		last = uids[len(uids)-1]
		return len(uids), s.state(ctx, tx, transfer.StatedErased, uids...)
	}, func() { after = last })
}
