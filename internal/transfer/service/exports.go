package service

import (
	"context"
	"errors"
	"io"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/outbound/target"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// ExportedTransfer returns a delivered transfer, to copy it for one of its receivers who may download it (contract 3.28). mailbox: only one
// that was sent to a mailbox. A copy is no download: it is not counted, and the sender is not told. So a transfer whose downloads its
// sender limits is not copied.
// Errors: target.ErrEnded, target.ErrProtected, target.ErrPersonal, target.ErrHeld.
func (s *Service) ExportedTransfer(ctx context.Context, uid string, receivers []id.Person, mailbox bool) (target.Transfer, error) {
	t, err := id.Parse[id.Transfer](uid)
	if err != nil {
		return target.Transfer{}, target.ErrEnded
	}
	seen, err := s.seenByOne(ctx, t, receivers)
	if err != nil {
		return target.Transfer{}, err
	}
	switch {
	case mailbox && seen.Kind != transfer.KindMailbox:
		return target.Transfer{}, target.ErrPersonal
	case seen.State.Ended() || !s.now().Before(seen.ExpiresAt):
		return target.Transfer{}, target.ErrEnded
	case seen.Locked() || seen.Limited():
		return target.Transfer{}, target.ErrProtected
	}
	out := target.Transfer{
		UID: uid, Kind: string(seen.Kind), Subject: seen.Subject, Message: seen.Message, Fields: seen.Fields,
		SenderName: seen.Sender.Name, SenderEmail: seen.Sender.Email, CreatedAt: seen.CreatedAt,
	}
	for o, err := range s.attached(ctx, seen.Reservation) {
		if err != nil {
			return target.Transfer{}, err
		}
		if seen.Check(o.Scan) != nil {
			return target.Transfer{}, target.ErrHeld
		}
		out.Files = append(out.Files, target.File{
			Name: o.Name, Size: o.Held, SHA256: o.SHA256, Open: func(ctx context.Context) (io.ReadCloser,
				error) {
				return s.openExported(ctx, t, o)
			},
		})
	}
	if len(out.Files) != int(seen.ObjectCount) { // it has ended since
		return target.Transfer{}, target.ErrEnded
	}
	return out, nil
}

// seenByOne returns a transfer as one of the persons sees it, preferably one who may download it.
// Errors: target.ErrEnded when none of them has it.
func (s *Service) seenByOne(ctx context.Context, t id.Transfer, persons []id.Person) (seen postgres.SeenTransfer, err error) {
	found := false
	for _, p := range persons {
		one, err := s.store.TransferOf(ctx, t, p, s.anyHost())
		if errors.Is(err, transfer.ErrNotFound) {
			continue
		}
		if err != nil || !one.Locked() {
			return one, err
		}
		seen, found = one, true
	}
	if !found {
		return seen, target.ErrEnded
	}
	return seen, nil
}

// openExported opens an object that is copied, unless the transfer has ended meanwhile.
// Errors: target.ErrEnded, those of content.Service.Open.
func (s *Service) openExported(ctx context.Context, uid id.Transfer, o transfer.Object) (io.ReadCloser, error) {
	t, err := s.store.AnyTransfer(ctx, uid)
	if errors.Is(err, transfer.ErrNotFound) || err == nil && (t.State.Ended() || !s.now().Before(t.ExpiresAt)) {
		return nil, target.ErrEnded
	}
	if err != nil {
		return nil, err
	}
	return s.content.Open(ctx, o, t.Gate)
}
