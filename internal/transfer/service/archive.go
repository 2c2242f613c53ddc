package service

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Archive is a zip of all objects of a transfer, opened for reading.
type Archive struct {
	Transfer  id.Transfer
	CreatedAt time.Time // of the transfer
	Size      int64
	Download
}

// OpenArchive opens the archive of a transfer that the caller sent or received. The caller of OpenArchive closes Content.
// Errors: those of OpenDownload.
func (s *Service) OpenArchive(ctx context.Context, auth DownloadAuth, t id.Transfer) (Archive, error) {
	c, key, err := s.identify(ctx, auth, id.Object{})
	if err != nil {
		return Archive{}, err
	}
	if key != nil && key.Transfer != t || c.Kind != token.KindAccess {
		return Archive{}, transfer.ErrOneTimeKey
	}
	access, err := s.store.Access(ctx, t, c.Person, s.scope(c))
	if err != nil {
		return Archive{}, err
	}
	if err := unlocked(access); err != nil {
		return Archive{}, err
	}
	return s.archive(ctx, auth, c, key, access)
}

// OpenLinkedArchive is OpenArchive for the holder of a delivery's link.
func (s *Service) OpenLinkedArchive(ctx context.Context, auth DownloadAuth, link string) (Archive, error) {
	c, key, err := s.identify(ctx, auth, id.Object{})
	if err != nil {
		return Archive{}, err
	}
	access, err := s.store.LinkedAccess(ctx, seal.Hash(link), s.scope(c))
	if err != nil {
		return Archive{}, err
	}
	if err := sameDelivery(c, key, access); err != nil {
		return Archive{}, err
	}
	return s.archive(ctx, auth, c, key, access)
}

func (s *Service) archive(ctx context.Context, auth DownloadAuth, caller token.Caller, key *postgres.OneTimeKey, access postgres.Access) (Archive, error) {
	a, err := s.content.OpenArchive(ctx, access.Reservation, access.CreatedAt)
	if err != nil {
		return Archive{}, err
	}
	return Archive{Transfer: access.Transfer, CreatedAt: access.CreatedAt, Size: a.Size, Download: Download{Content: a.Content, start: start{
		auth: auth, caller: caller, access: access, key: key,
		count: func(ctx context.Context) error { return s.store.CountArchive(ctx, access.Transfer) },
	}}}, nil
}
