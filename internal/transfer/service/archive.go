package service

import (
	"context"
	"io"
	"time"

	"github.com/consign-dev/consign/internal/archive"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Archive is a transfer's objects as one zip, opened for reading.
type Archive struct {
	Transfer  id.Transfer
	CreatedAt time.Time // of the transfer
	Size      int64
	Download
}

// OpenArchive opens all objects of a transfer that the caller sent or received; who asks closes Content. The errors are
// those of OpenDownload.
func (s *Service) OpenArchive(ctx context.Context, w Way, t id.Transfer) (Archive, error) {
	c, key, err := s.enter(ctx, w, id.Object{})
	if err != nil {
		return Archive{}, err
	}
	if key != nil && key.Transfer != t || c.Kind != token.KindAccess {
		return Archive{}, transfer.ErrOneTimeKey
	}
	opening, err := s.Store.Opening(ctx, t, c.Person, s.scope(c))
	if err != nil {
		return Archive{}, err
	}
	if err := unlocked(opening); err != nil {
		return Archive{}, err
	}
	return s.archive(ctx, c, key, opening)
}

// OpenLinkedArchive is OpenArchive for who comes by the link of a delivery.
func (s *Service) OpenLinkedArchive(ctx context.Context, w Way, link string) (Archive, error) {
	c, key, err := s.enter(ctx, w, id.Object{})
	if err != nil {
		return Archive{}, err
	}
	opening, err := s.Store.LinkedOpening(ctx, seal.Hash(link), s.scope(c))
	if err != nil {
		return Archive{}, err
	}
	if err := sameDelivery(c, key, opening); err != nil {
		return Archive{}, err
	}
	return s.archive(ctx, c, key, opening)
}

// archive lays out the zip. Its objects are opened one after the other while it is read.
func (s *Service) archive(ctx context.Context, c token.Caller, key *postgres.OneTimeKey, o postgres.Opening) (Archive, error) {
	objects, err := s.Store.Objects(ctx, o.Reservation)
	if err != nil {
		return Archive{}, err
	}
	names := make([]string, len(objects))
	for i, object := range objects {
		names[i] = object.Name
	}
	files := make([]archive.File, len(objects))
	for i, name := range archive.Names(names) {
		files[i] = archive.File{Name: name, Size: objects[i].Held, CRC32: objects[i].CRC32}
	}
	zip := archive.New(files, o.CreatedAt)
	content := zip.Open(func(i int) (io.ReadSeekCloser, error) { return s.openObject(ctx, objects[i]) })
	return Archive{Transfer: o.Transfer, CreatedAt: o.CreatedAt, Size: zip.Size(), Download: Download{Content: content, start: start{
		caller: c, opening: o, key: key,
		count: func(ctx context.Context) error { return s.Store.CountArchive(ctx, o.Reservation) },
	}}}, nil
}
