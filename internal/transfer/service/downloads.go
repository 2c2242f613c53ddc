package service

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Download is an object opened for reading.
type Download struct {
	transfer.Object
	CreatedAt time.Time // of the transfer: the bytes have not changed since
	Content   io.ReadSeekCloser

	found postgres.Download
}

// OpenDownload opens an object of one of the caller's transfers; the caller closes Content. ErrNotFound, ErrLocked.
func (s *Service) OpenDownload(ctx context.Context, c token.Caller, t id.Transfer, o id.Object) (Download, error) {
	found, err := s.Store.Download(ctx, t, o, c.Person, s.scope(c))
	if err != nil {
		return Download{}, err
	}
	if !found.AsSender && found.Protection == transfer.ProtectPassword {
		return Download{}, transfer.ErrLocked
	}
	content, err := s.openObject(ctx, found.Object)
	if err != nil {
		return Download{}, err
	}
	return Download{Object: found.Object, CreatedAt: found.CreatedAt, Content: content, found: found}, nil
}

// openObject opens a complete object's bytes.
func (s *Service) openObject(ctx context.Context, o transfer.Object) (io.ReadSeekCloser, error) {
	if o.IntendedSize == 0 {
		return nothing{bytes.NewReader(nil)}, nil // never written
	}
	key := blob.ObjectKey(o.UID)
	content, err := s.Blobs.Open(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		// All bytes are held, but the server went down between the row and the store's last step.
		if err = s.Blobs.Finish(ctx, key, o.IntendedSize); err == nil {
			content, err = s.Blobs.Open(ctx, key)
		}
	}
	if err != nil {
		return nil, storageError("open object "+o.UID.String(), err)
	}
	return content, nil
}

type nothing struct{ *bytes.Reader }

func (nothing) Close() error { return nil }

// RecordDownload notes that a recipient begins to read an object from its start: the download counts, and the first one
// is the transfer's first access. What the sender reads is not noted.
func (s *Service) RecordDownload(ctx context.Context, c token.Caller, d Download) error {
	if d.found.AsSender && d.found.Delivery.IsZero() {
		return nil
	}
	if err := s.Store.CountDownload(ctx, d.UID); err != nil {
		return err
	}
	if d.found.DeliveryOpened {
		return nil
	}
	return s.recordAccess(ctx, c, d.found.Delivery)
}

// recordAccess notes that a delivery was opened, and tells the sender when it is the transfer's first access.
func (s *Service) recordAccess(ctx context.Context, c token.Caller, d id.Delivery) error {
	return s.Store.InTx(ctx, func(tx *postgres.Store) error {
		a, first, err := tx.RecordAccess(ctx, d, s.Now())
		if err != nil || !first {
			return err
		}
		if a.Transfer.Notify && a.SenderEmail != "" {
			_, err := s.Mailer.Queue(ctx, tx.Tx(), mail.Message{
				To: a.SenderEmail, ToName: a.SenderName, Locale: a.SenderLang, TimeZone: a.SenderZone, Template: mail.TransferAccessed,
				Data:      map[string]any{"recipient": recipientName(a.Recipient), "subject": a.Transfer.Subject, "at": s.Now()},
				Reference: "transfer:" + a.Transfer.UID.String(),
			})
			if err != nil {
				return err
			}
		}
		if err := s.audit(ctx, tx, c, audit.Entry{Action: "transfer.access", Object: a.Transfer.UID.String(), Target: a.Transfer.Sender.Person}); err != nil {
			return err
		}
		if !a.Transfer.AsSender || a.Transfer.Sender.Person.IsZero() {
			return nil
		}
		return events.Append(ctx, tx.Tx(), s.Now(), events.Event{
			Kind: events.TransferAccessed, Subject: a.Transfer.UID.String(), Receivers: []id.Person{a.Transfer.Sender.Person},
		})
	})
}

func recipientName(d transfer.Delivery) string {
	if d.Name != "" {
		return d.Name
	}
	return d.Email
}

// Watch returns a context that ends when the caller's session does, within a second (contract 2.8). cancel must be called.
func (s *Service) Watch(ctx context.Context, c token.Caller) (context.Context, context.CancelFunc) {
	ended, forget := s.Revocations.Watch(c)
	ctx, cancel := context.WithCancel(ctx)
	if ended != nil {
		go func() {
			select {
			case <-ended:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(); forget() }
}
