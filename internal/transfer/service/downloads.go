package service

import (
	"context"
	"io"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// DownloadAuth is what somebody comes with who asks for a download: a token, or a one-time key instead of one.
type DownloadAuth struct {
	Caller     token.Caller
	OneTimeKey string // counts only where Caller is anonymous
}

// Download is an object opened for reading.
type Download struct {
	transfer.Object
	Content io.ReadSeekCloser

	start start
}

// start is what is to be noted once a download really begins.
type start struct {
	caller  token.Caller
	opening postgres.Opening
	key     *postgres.OneTimeKey // nil: there is a token
	count   func(ctx context.Context) error
}

// OpenDownload opens an object of a transfer that the caller sent or received; who asks closes Content. ErrMissing of
// package token, ErrOneTimeKey, ErrNotFound, ErrLocked.
func (s *Service) OpenDownload(ctx context.Context, auth DownloadAuth, t id.Transfer, o id.Object) (Download, error) {
	c, key, err := s.identify(ctx, auth, o)
	if err != nil {
		return Download{}, err
	}
	if key != nil && key.Transfer != t || c.Kind != token.KindAccess {
		return Download{}, transfer.ErrOneTimeKey
	}
	found, err := s.store.Download(ctx, t, o, c.Person, s.scope(c))
	if err != nil {
		return Download{}, err
	}
	if err := unlocked(found.Opening); err != nil {
		return Download{}, err
	}
	return s.download(ctx, c, key, found)
}

// OpenLinkedDownload is OpenDownload for who comes by the link of a delivery.
func (s *Service) OpenLinkedDownload(ctx context.Context, auth DownloadAuth, link string, o id.Object) (Download, error) {
	c, key, err := s.identify(ctx, auth, o)
	if err != nil {
		return Download{}, err
	}
	found, err := s.store.LinkedDownload(ctx, seal.Hash(link), o, s.scope(c))
	if err != nil {
		return Download{}, err
	}
	if err := sameDelivery(c, key, found.Opening); err != nil {
		return Download{}, err
	}
	return s.download(ctx, c, key, found)
}

// unlocked is ErrLocked for a person whom a protection keeps from the content.
func unlocked(o postgres.Opening) error {
	switch {
	case !o.Locked():
		return nil
	case o.Protection == transfer.ProtectIdentity:
		return transfer.ErrLocked.With("the transfer is for an address that your account does not hold verified; open it with the link in the mail")
	}
	return transfer.ErrLocked
}

// sameDelivery keeps a delivery's token or key from opening another delivery's link.
func sameDelivery(c token.Caller, key *postgres.OneTimeKey, o postgres.Opening) error {
	switch {
	case c.Kind == token.KindDownload && c.Delivery == o.Delivery:
		return nil
	case key != nil:
		return transfer.ErrOneTimeKey
	}
	return transfer.ErrNotFound
}

// download opens the bytes of what was found.
func (s *Service) download(ctx context.Context, c token.Caller, key *postgres.OneTimeKey, found postgres.Download) (Download, error) {
	content, err := s.content.Open(ctx, found.UID, found.IntendedSize)
	if err != nil {
		return Download{}, err
	}
	return Download{Object: found.Object, Content: content, start: start{
		caller: c, opening: found.Opening, key: key,
		count: func(ctx context.Context) error { return s.store.CountDownload(ctx, found.UID) },
	}}, nil
}

// Begin notes that the bytes of a download are about to leave, beginning with byte first. A one-time key is used up: of
// parallel starts with it one succeeds, and after that only what goes on from a later byte does. A download counts when
// it starts, and a recipient's first one is the transfer's first access; what the sender reads is not noted. ErrOneTimeKey.
func (s *Service) Begin(ctx context.Context, d Download, first int64) error {
	return s.begin(ctx, d.start, first)
}

func (s *Service) begin(ctx context.Context, d start, first int64) error {
	starts := first == 0
	if d.key != nil {
		var err error
		if starts, err = s.useKey(ctx, *d.key, first); err != nil {
			return err
		}
	}
	if !starts || d.opening.Delivery.IsZero() { // without a delivery it is the sender
		return nil
	}
	if err := d.count(ctx); err != nil {
		return err
	}
	if d.opening.DeliveryOpened {
		return nil
	}
	return s.recordAccess(ctx, d.caller, d.opening.Delivery)
}

// recordAccess notes that a delivery was opened, and tells the sender when it is the transfer's first access.
func (s *Service) recordAccess(ctx context.Context, c token.Caller, d id.Delivery) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		a, first, err := tx.RecordAccess(ctx, d, s.now())
		if err != nil || !first {
			return err
		}
		if a.Transfer.Notify && a.SenderEmail != "" {
			_, err := s.mailer.Queue(ctx, tx.Tx(), mail.Message{
				To: a.SenderEmail, ToName: a.SenderName, Locale: a.SenderLang, TimeZone: a.SenderZone, Template: mail.TransferAccessed,
				Data:      map[string]any{"recipient": recipientName(a.Recipient), "subject": a.Transfer.Subject, "at": s.now()},
				Reference: transferReference + a.Transfer.UID.String(),
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
		return events.Append(ctx, tx.Tx(), s.now(), events.Event{
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

// Watch returns a context that ends when the session does that the download belongs to, within a second (contract 2.8).
// cancel must be called.
func (s *Service) Watch(ctx context.Context, d Download) (context.Context, context.CancelFunc) {
	ended, forget := s.revocations.Watch(d.start.caller)
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
