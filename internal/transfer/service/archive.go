package service

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
	"github.com/consign-dev/consign/internal/transfer/request"
)

// Archive is a zip of objects of a transfer, opened for reading.
type Archive struct {
	Transfer  id.Transfer
	Only      []id.Object // empty: of all objects
	CreatedAt time.Time   // of the transfer
	Size      int64
	Download
}

// OpenArchive opens the archive of a transfer that the caller sent or received, with all objects or with those in only. The caller
// of OpenArchive closes Content.
// Errors: those of OpenDownload.
func (s *Service) OpenArchive(ctx context.Context, auth DownloadAuth, t id.Transfer, only []id.Object) (Archive, error) {
	c, key, err := s.identify(ctx, auth, id.Object{})
	if err != nil {
		return Archive{}, err
	}
	if key != nil && key.Transfer != t || !c.IsPerson() {
		return Archive{}, transfer.ErrOneTimeKey
	}
	access, err := s.store.Access(ctx, t, c.Person, s.scope(c))
	if err != nil {
		return Archive{}, err
	}
	if err := unlocked(access); err != nil {
		return Archive{}, err
	}
	return s.archive(ctx, auth, c, key, access, only)
}

// OpenLinkedArchive is OpenArchive for the holder of a delivery's link.
func (s *Service) OpenLinkedArchive(ctx context.Context, auth DownloadAuth, link string, only []id.Object) (Archive, error) {
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
	return s.archive(ctx, auth, c, key, access, only)
}

// OpenRequestArchive opens the zip of what was handed in for a request of the caller, who closes its Content. It is no download in the
// counts of transfers.
// Errors: token.ErrMissing, token.ErrEnded, transfer.ErrOneTimeKey, transfer.ErrNotFound.
func (s *Service) OpenRequestArchive(ctx context.Context, auth DownloadAuth, uid id.Request) (Download, request.Archive, error) {
	c, key, err := s.identify(ctx, auth, id.Object{})
	if err != nil {
		return Download{}, request.Archive{}, err
	}
	if key != nil && key.Request != uid || !c.IsPerson() {
		return Download{}, request.Archive{}, transfer.ErrOneTimeKey
	}
	a, err := s.requests.OpenArchive(ctx, c, uid)
	return Download{Content: a.Content, start: start{auth: auth, caller: c, key: key}}, a, err
}

func (s *Service) archive(ctx context.Context, auth DownloadAuth, caller token.Caller, key *postgres.OneTimeKey, access postgres.Access,
	only []id.Object) (Archive, error) {
	a, err := s.content.OpenArchive(ctx, access.Reservation, access.CreatedAt, only, access.Gate)
	if err != nil {
		return Archive{}, err
	}
	item := itemOf(access, access.Transfer.UUID, nil, a.Size)
	count := func(ctx context.Context) error { return s.store.CountArchive(ctx, access.Transfer) }
	if len(only) > 0 {
		item.Item, item.Objects = uuid.NewSHA1(access.Transfer.UUID, fmt.Append(nil, only)), only
		count = func(ctx context.Context) error { return s.store.CountDownloads(ctx, only) }
	}
	return Archive{Transfer: access.Transfer, Only: only, CreatedAt: access.CreatedAt, Size: a.Size, Download: Download{
		Content: a.Content, start: start{auth: auth, caller: caller, access: access, key: key, item: item, count: count},
	}}, nil
}
