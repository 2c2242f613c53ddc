// What follows when stored bytes are lost or damaged: the mark that all replicas obey, whom to tell, and the next look at the bytes.

package content

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

const (
	// RecheckJob is the name of the periodic job that reads damaged contents again, so that a repaired file is given out again.
	RecheckJob = "transfer-recheck-damaged"

	recheckEvery = time.Hour // for each content
	recheckBatch = 20        // contents of one run
	damageShown  = 100       // contents in an answer
	damageNamed  = 5         // transfers of a content, and recipients of each, that are named
)

// markDamaged notes that a content is lost or damaged: from then on nothing of it is given out. The log names the transfers, once.
func (s *Service) markDamaged(ctx context.Context, content id.Object, detail string) {
	attrs := []any{slog.String("object", content.String()), slog.String("error", detail)}
	isNew, err := s.store.MarkDamaged(ctx, content, detail, s.now())
	if err != nil { // the next reader compares again, and tries again to note it
		s.log.ErrorContext(ctx, "stored bytes are damaged, which is not noted", append(attrs, slog.Any("cause", err))...)
		return
	}
	if !isNew {
		return
	}
	if found, err := s.store.Damages(ctx, content, 1, damageNamed); err == nil && len(found) == 1 {
		uids := make([]string, len(found[0].Transfers))
		for i, t := range found[0].Transfers {
			uids[i] = t.UID.String()
		}
		attrs = append(attrs, slog.Any("transfers", uids))
	}
	s.log.ErrorContext(ctx, "stored bytes are damaged", attrs...)
}

// clearDamage notes that a content is in order again, or gone.
func (s *Service) clearDamage(ctx context.Context, content id.Object) error {
	was, err := s.store.ClearDamage(ctx, content)
	if err == nil && was {
		s.log.InfoContext(ctx, "stored bytes are no longer damaged", slog.String("object", content.String()))
	}
	return err
}

// Damages returns the newest contents that are lost or damaged, each with the first transfers that have it.
func (s *Service) Damages(ctx context.Context) ([]transfer.Damage, error) {
	return s.store.Damages(ctx, id.Object{}, damageShown, damageNamed)
}

// DamageOf returns a content that is lost or damaged, with the first transfers that have it.
// Errors: transfer.ErrNotFound when it is neither.
func (s *Service) DamageOf(ctx context.Context, content id.Object) (transfer.Damage, error) {
	list, err := s.store.Damages(ctx, content, 1, damageNamed)
	if err == nil && len(list) == 0 {
		err = transfer.ErrNotFound
	}
	if err != nil {
		return transfer.Damage{}, err
	}
	return list[0], nil
}

// RecheckDamaged reads damaged contents again that were not read for an hour. Those that are in order are given out again.
func (s *Service) RecheckDamaged(ctx context.Context) error {
	list, err := s.store.DamagedSince(ctx, s.now().Add(-recheckEvery), recheckBatch)
	if err != nil {
		return err
	}
	for _, content := range list {
		row, err := s.store.StoredContent(ctx, content)
		if errors.Is(err, transfer.ErrNotFound) {
			err = s.clearDamage(ctx, content)
		} else if err == nil {
			err = s.fsckRow(ctx, row, new(fsckPosition), func(Finding) error { return nil })
		}
		if err != nil {
			return err
		}
	}
	return nil
}
