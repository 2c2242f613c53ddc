// Opens and counts downloads: who may, within which limits, and what follows the first access.

package service

import (
	"context"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// DownloadAuth is the authorization of a download request: a token, or a one-time key instead.
type DownloadAuth struct {
	Caller       token.Caller
	OneTimeKey   string // used only when Caller is anonymous
	Cookie       string // the browser's download cookie, or the one that the answer sets
	KeepsCookies bool   // the request has a cookie, of any name
	Anyway       bool   // the owner takes a file that is held
	Preview      bool   // the client shows the content: no download, but an access
}

// Extent is what an answer sends of a download.
type Extent struct {
	First int64 // offset of its first byte
	Bytes int64 // how many
	Size  int64 // bytes of the whole download
	Split bool  // in several parts, with gaps
}

// Download is an object opened for reading.
type Download struct {
	transfer.Object
	Content io.ReadSeekCloser

	start start
}

// start is what BeginDownload needs.
type start struct {
	auth   DownloadAuth
	caller token.Caller
	access postgres.Access
	key    *postgres.OneTimeKey // nil: there is a token
	item   postgres.DownloadedItem
	count  func(ctx context.Context) error
}

// limited reports whether the transfer has limits that bind the caller. Then previews are downloads, too.
func (d start) limited() bool { return d.access.Limited() && !d.access.AsSender }

// recorded reports whether answers of the download are recorded. There is no delivery when the caller is the sender.
func (d start) recorded() bool {
	return !d.access.Delivery.IsZero() && (!d.auth.Preview || d.limited())
}

// Cookie returns the value of the download cookie that the answer sets, "" when no one-time key opened the download.
func (d Download) Cookie() string {
	if d.start.key == nil {
		return ""
	}
	return d.start.auth.Cookie
}

// OpenDownload opens an object of a transfer that the caller sent or received. The caller of OpenDownload closes Content.
// Errors: token.ErrMissing, token.ErrEnded, transfer.ErrOneTimeKey, transfer.ErrNotFound, transfer.ErrLocked,
// fault.ErrUnavailable.
func (s *Service) OpenDownload(ctx context.Context, auth DownloadAuth, t id.Transfer, o id.Object) (Download, error) {
	c, key, err := s.identify(ctx, auth, o)
	if err != nil {
		return Download{}, err
	}
	if key != nil && key.Transfer != t || !c.IsPerson() {
		return Download{}, transfer.ErrOneTimeKey
	}
	found, err := s.store.Download(ctx, t, o, c.Person, s.scope(c))
	if err != nil {
		return Download{}, err
	}
	if err := unlocked(found.Access); err != nil {
		return Download{}, err
	}
	return s.download(ctx, auth, c, key, found)
}

// OpenLinkedDownload is OpenDownload for the holder of a delivery's link.
func (s *Service) OpenLinkedDownload(ctx context.Context, auth DownloadAuth, link string, o id.Object) (Download, error) {
	c, key, err := s.identify(ctx, auth, o)
	if err != nil {
		return Download{}, err
	}
	found, err := s.store.LinkedDownload(ctx, seal.Hash(link), o, s.scope(c))
	if err != nil {
		return Download{}, err
	}
	if err := sameDelivery(c, key, found.Access); err != nil {
		return Download{}, err
	}
	return s.download(ctx, auth, c, key, found)
}

// Thumbnail returns the small picture of an opened object. That is no download, so a transfer with limits of downloads shows none.
// Errors: transfer.ErrNotFound.
func (s *Service) Thumbnail(ctx context.Context, d Download) ([]byte, error) {
	if d.start.access.Limited() || d.start.key != nil {
		return nil, transfer.ErrNotFound
	}
	return s.content.Thumbnail(ctx, d.UID)
}

// unlocked returns nil when the person may see the content.
// Errors: transfer.ErrLocked.
func unlocked(access postgres.Access) error {
	switch {
	case !access.Locked():
		return nil
	case access.Protection == transfer.ProtectIdentity:
		return transfer.ErrLocked.With(
			"the transfer is for an address that your account does not hold verified; open it with the link in the mail")
	}
	return transfer.ErrLocked
}

// sameDelivery checks that a token or one-time key belongs to the delivery of the link, and that the protection has not changed since
// the token was issued. A change of the protection deletes one-time keys.
// Errors: transfer.ErrOneTimeKey, transfer.ErrNotFound, token.ErrEnded.
func sameDelivery(caller token.Caller, key *postgres.OneTimeKey, access postgres.Access) error {
	switch {
	case caller.Kind == token.KindDownload && caller.Delivery == access.Delivery:
		if key == nil && caller.Epoch != access.ProtectionEpoch {
			return token.ErrEnded
		}
		return nil
	case key != nil:
		return transfer.ErrOneTimeKey
	}
	return transfer.ErrNotFound
}

// gate returns the transfer's gate, or an open one when its owner has asked for a withheld file with anyway=true.
// Errors: transfer.ErrNoDownloadAnyway, transfer.ErrRemoved.
func (s *Service) gate(ctx context.Context, auth DownloadAuth, caller token.Caller, found postgres.Download) (transfer.Gate, error) {
	if !auth.Anyway || found.Check(found.Scan) == nil {
		return found.Gate, nil
	}
	if !downloadsAnyway(caller, found.Owner, found.Gate) {
		return transfer.Gate{}, transfer.ErrNoDownloadAnyway
	}
	return transfer.Gate{}, s.store.InTx(ctx, func(tx *postgres.Store) error {
		return s.record(ctx, tx, audit.Of(caller), audit.Entry{
			Action: "transfer.download.anyway", Object: found.Transfer.String(), Target: found.Owner, Organization: found.Organization,
			Details: map[string]string{"object": found.UID.String(), "state": string(found.Scan.State), "finding": found.Scan.Finding},
		})
	})
}

// downloadsAnyway reports whether the caller is p, the owner of a transfer, and may download what its gate holds.
func downloadsAnyway(caller token.Caller, p id.Person, g transfer.Gate) bool {
	return g.HeldAnyway && !caller.Person.IsZero() && caller.Person == p
}

func (s *Service) download(ctx context.Context, auth DownloadAuth, caller token.Caller, key *postgres.OneTimeKey,
	found postgres.Download) (Download, error) {
	gate, err := s.gate(ctx, auth, caller, found)
	if err != nil {
		return Download{}, err
	}
	content, err := s.content.Open(ctx, found.Object, gate)
	if err != nil {
		return Download{}, err
	}
	return Download{Object: found.Object, Content: content, start: start{
		auth: auth, caller: caller, access: found.Access, key: key, item: itemOf(found.Access, found.UID.UUID, nil, found.IntendedSize),
		count: func(ctx context.Context) error { return s.store.CountDownload(ctx, found.UID) },
	}}, nil
}

// itemOf returns the item that a download counts for. objects are those of an archive of some.
func itemOf(a postgres.Access, item uuid.UUID, objects []id.Object, size int64) postgres.DownloadedItem {
	return postgres.DownloadedItem{Transfer: a.Transfer, Delivery: a.Delivery, Item: item, Objects: objects, Size: size}
}

// BeginDownload records that an answer sends an extent of a download. It consumes a one-time key: of parallel starts one succeeds,
// and after it the key only continues at a later byte, within its budget. The caller then calls EndDownload. A download counts when
// it starts at byte 0. The first download by a recipient is the transfer's first access. Downloads by the sender are not recorded.
// In a transfer with limits, an answer that begins at a later byte counts as well, unless it continues a download that was counted.
// Errors: transfer.ErrOneTimeKey, transfer.ErrDownloadLimit, transfer.ErrNotFound.
func (s *Service) BeginDownload(ctx context.Context, d Download, e Extent) error {
	return s.begin(ctx, d.start, e)
}

func (s *Service) begin(ctx context.Context, d start, e Extent) error {
	starts := e.First == 0
	if d.key != nil {
		var err error
		if starts, err = s.useKey(ctx, d, e); err != nil {
			return err
		}
	}
	if d.access.Delivery.IsZero() || !starts && !d.limited() {
		return nil
	}
	if !starts {
		continues, err := s.store.ContinueCounted(ctx, d.item, e.Bytes, s.downloadBudget, s.now())
		if err != nil || continues {
			return err
		}
	}
	if d.recorded() {
		if err := s.countDownload(ctx, d, e); err != nil {
			return err
		}
	}
	if d.access.DeliveryOpened {
		return nil
	}
	return s.recordAccess(ctx, d.caller, d.access.Delivery)
}

// countDownload counts a download by a recipient, within the limits of the transfer.
// Errors: transfer.ErrDownloadLimit, transfer.ErrNotFound when the transfer has ended or the recipient was removed.
func (s *Service) countDownload(ctx context.Context, d start, e Extent) error {
	count := s.store.CountDelivery
	if d.limited() {
		count = s.store.CountLimited
	}
	switch c, err := count(ctx, d.item, e.Bytes, d.caller.Client.Address, s.now()); {
	case err != nil:
		return err
	case !c.Present:
		return transfer.ErrNotFound
	case !c.Counted:
		return transfer.ErrDownloadLimit
	}
	return d.count(ctx)
}

// directLifetime is how long a link to the storage can be used: a redirect is followed at once.
const directLifetime = time.Minute

// DirectLink returns a URL at which the storage serves a whole download, "" when this server has to serve it: the setting is off, the
// storage cannot, the download is limited, or it began with a one-time key. What the storage serves is not cut when the session or the
// transfer ends, and is recorded as begun, not as complete.
func (s *Service) DirectLink(ctx context.Context, d Download, disposition string) (string, error) {
	linked, ok := d.Content.(blob.Linked)
	if !ok || !s.directDownloads || d.start.key != nil || d.start.auth.Preview || d.start.limited() {
		return "", nil
	}
	return linked.Link(ctx, directLifetime, disposition, d.MIMEType)
}

// recordAccess records that a delivery was opened. It tells the sender about the transfer's first access.
func (s *Service) recordAccess(ctx context.Context, caller token.Caller, d id.Delivery) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		a, first, err := tx.RecordAccess(ctx, d, caller.Client.Address, s.now())
		if err != nil || !first {
			return err
		}
		if err := s.state(ctx, tx, transfer.StatedOpened, a.UID); err != nil {
			return err
		}
		if a.Notify && a.SenderEmail != "" {
			data := map[string]any{"recipient": recipientName(a.Recipient), "subject": a.Subject, "at": s.now()}
			s.linkInbox(data, a.SenderHost)
			_, err := s.mailer.Queue(ctx, tx.Tx(), mail.Message{
				Host: a.SenderHost, To: a.SenderEmail, ToName: a.Sender.Name, Locale: a.SenderLang, TimeZone: a.SenderZone,
				Template: mail.TransferAccessed, Data: data, Reference: transferReference + a.UID.String(),
			})
			if err != nil {
				return err
			}
		}
		if err := s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "transfer.access", Object: a.UID.String(),
			Target: a.Sender.Person}); err != nil {
			return err
		}
		if !a.AsSender || a.Sender.Person.IsZero() {
			return nil
		}
		return s.tell(ctx, tx, events.TransferAccessed, a.UID, []id.Person{a.Sender.Person})
	})
}

func recipientName(d transfer.Delivery) string {
	if d.Name != "" {
		return d.Name
	}
	return d.Email
}

// Watch returns a context that is cancelled within a second after the session of the download has ended (contract 2.8), or its transfer
// was revoked, its recipient removed (contract 4.22), or a person of its link suspended (contract 9.4). The caller calls cancel.
func (s *Service) Watch(ctx context.Context, d Download) (context.Context, context.CancelFunc) {
	ctx, forgetSession := s.revocations.WatchContext(ctx, d.start.caller)
	of := append([]uuid.UUID{d.start.access.Transfer.UUID, d.start.access.Delivery.UUID}, d.start.access.Suspensions...)
	ctx, forgetTransfer := s.revocations.WatchDownload(ctx, of...)
	return ctx, func() { forgetTransfer(); forgetSession() }
}

// recordSent records what an answer has sent, and what follows from it.
func (s *Service) recordSent(ctx context.Context, d start, e Extent, sent int64) error {
	part := postgres.SentPart{Correction: min(sent-e.Bytes, 0)}
	if e.First > 0 && !d.limited() { // it was not counted before
		part.Correction = sent
	}
	if !e.Split {
		part.First, part.End = e.First, e.First+min(sent, e.Bytes)
	}
	if !d.access.DeleteAfterDownload || d.access.AsSender {
		got, err := s.store.RecordSent(ctx, d.item, part, singleDownloads, s.now())
		if err != nil || !got.Whole || part.End != e.Size {
			return err
		}
		return s.store.InTx(ctx, func(tx *postgres.Store) error { return s.state(ctx, tx, transfer.StatedDownloaded, d.access.Transfer) })
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		t, err := tx.LockTransfer(ctx, d.access.Transfer)
		if err != nil {
			return err
		}
		got, err := tx.RecordSent(ctx, d.item, part, singleDownloads, s.now())
		if err != nil {
			return err
		}
		if got.Whole && part.End == e.Size {
			if err := s.state(ctx, tx, transfer.StatedDownloaded, t.UID); err != nil {
				return err
			}
		}
		if !got.Complete || !t.DeleteAfterDownload || t.State.Ended() {
			return nil
		}
		all, err := tx.GotAll(ctx, d.access.Transfer, d.access.Delivery)
		if err != nil || !all {
			return err
		}
		return s.revoke(ctx, tx, t, audit.Entry{Actor: audit.Of(d.caller), Details: map[string]string{reasonDetail: "downloaded"}})
	})
}
