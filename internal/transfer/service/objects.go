// Announces, streams and deletes the objects of a reservation.

package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Objects streams the objects of a reservation or transfer in the order they were attached. It reads them in batches. For a
// transfer, downloads of the archive count for each object.
type Objects = iter.Seq2[transfer.Object, error]

// objectsBatch is how many objects one query returns. Between batches no database connection is held, however slow the client
// is. Names have up to 1 kB.
const objectsBatch = 250

// attached streams the objects of a reservation.
func (s *Service) attached(ctx context.Context, r id.Reservation) Objects {
	return s.streamObjects(ctx, r, nil, 0, true)
}

// delivered streams the objects of a transfer. When the transfer ends during the stream, its objects are deleted and the stream ends with
// transfer.ErrNotFound.
func (s *Service) delivered(ctx context.Context, t SeenTransfer) Objects {
	return s.deliveredAfter(ctx, t, nil, 0, true)
}

// deliveredAfter is delivered with a first batch that was read before, and more after position last.
func (s *Service) deliveredAfter(ctx context.Context, t SeenTransfer, batch []transfer.Object, last int64, more bool) Objects {
	return func(yield func(transfer.Object, error) bool) {
		left := t.ObjectCount
		for o, err := range s.streamObjects(ctx, t.Reservation, batch, last, more) {
			left--
			o.Downloads += t.Archives
			t.Mark(&o)
			if t.withheld {
				withholdNames(&o)
			}
			if !yield(o, err) || err != nil {
				return
			}
		}
		if left > 0 && !t.State.Ended() {
			yield(transfer.Object{}, transfer.ErrNotFound)
		}
	}
}

// streamObjects streams the objects of batch and then, if more is set, those after position last.
func (s *Service) streamObjects(ctx context.Context, r id.Reservation, batch []transfer.Object, last int64, more bool) Objects {
	return func(yield func(transfer.Object, error) bool) {
		for batch, last, more := batch, last, more; ; more = len(batch) == objectsBatch {
			for _, o := range batch {
				if !yield(o, nil) {
					return
				}
			}
			if !more {
				return
			}
			var err error
			if batch, last, err = s.store.ObjectsAfter(ctx, r, last, objectsBatch); err != nil {
				yield(transfer.Object{}, err)
				return
			}
		}
	}
}

// Attachment announces a file.
type Attachment struct {
	ClientID     string
	Name         string
	IntendedSize int64
	Deferred     bool    // the size comes later; IntendedSize is 0
	Metadata     string  // of a tus upload, as the client sent it
	Partial      bool    // a partial upload of tus
	Item         id.Item // of the request that the reservation is for; zero: none
	Concat       string  // of a final upload of tus: the header that names its partial uploads
}

// Attach adds announced files to an open reservation, all or none, and reports whether any is new. Attaching the same file
// again is idempotent.
// Errors: transfer.ErrNotFound, fault.ErrInvalid, transfer.ErrConfirmed, transfer.ErrClientID, transfer.ErrTooManyFiles,
// transfer.ErrFileTooLarge, transfer.ErrMIMEType, those of Requests.Announce, those of content.Service.ChargeMetadata.
func (s *Service) Attach(ctx context.Context, caller token.Caller, uid id.Reservation,
	files []Attachment) (_ []transfer.Object, created bool, err error) {
	out, _, created, err := s.attach(ctx, caller, uid, files)
	return out, created, err
}

// attach is Attach, and returns when the reservation expires.
func (s *Service) attach(ctx context.Context, caller token.Caller, uid id.Reservation,
	files []Attachment) (out []transfer.Object, expires time.Time, created bool, err error) {
	if err := checkAttachments(files); err != nil {
		return nil, expires, false, err
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		r, err := s.lockOpen(ctx, tx, caller, uid)
		expires = r.ExpiresAt
		if err != nil {
			return err
		}
		out, created, err = s.attachTo(ctx, tx, r, files, nil)
		return err
	})
	if err != nil {
		return nil, expires, false, err
	}
	return out, expires, created, nil
}

// attachTo is Attach for a locked reservation. used are the partial uploads that the file is made of.
func (s *Service) attachTo(ctx context.Context, tx *postgres.Store, r postgres.HeldReservation, files []Attachment,
	used []transfer.Object) (out []transfer.Object, created bool, err error) {
	filter, err := s.filterOf(ctx, tx, r)
	if err != nil {
		return nil, false, err
	}
	if err := checkLimits(r, filter, files); err != nil {
		return nil, false, err
	}
	files = boundDeferred(files, r.MaxFileSizeMB*transfer.MB)
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.ClientID
	}
	known, err := tx.ObjectsNamed(ctx, r.UID, names)
	if err != nil {
		return nil, false, err
	}
	out, fresh, err := matchAttached(known, files)
	if err != nil || len(fresh) == 0 {
		return out, false, err
	}
	if err := checkRoom(r, known, fresh, used); err != nil {
		return nil, false, err
	}
	if err := s.requests.Announce(ctx, tx, r.Reservation, fresh); err != nil {
		return nil, false, err
	}
	now := s.now()
	if err := tx.InsertObjects(ctx, r.UID, fresh, r.MetadataBytes(), now); err != nil {
		if errors.Is(err, transfer.ErrTooManyFiles) {
			err = transfer.ErrTooManyFiles.AtMost(int64(r.MaxFiles)).Because(err)
		}
		return nil, false, err
	}
	if err := s.chargeObjects(ctx, tx, r, fresh, transfer.Month(now)); err != nil {
		return nil, false, err
	}
	return out, true, s.boundOpen(ctx, tx, r)
}

// boundOpen refuses more files in all open reservations of a person than one may have. Their volume, which is charged, is locked, so that
// parallel requests count each other.
// Errors: transfer.ErrTooManyFiles.
func (s *Service) boundOpen(ctx context.Context, tx *postgres.Store, r postgres.HeldReservation) error {
	if r.Creator.IsZero() {
		return nil
	}
	n, err := tx.OpenObjects(ctx, r.Creator)
	if err == nil && n > s.openObjects {
		err = transfer.ErrTooManyFiles.With(
			fmt.Sprintf("your transfers that are not sent yet may have %d files together; send or cancel one", s.openObjects)).
			AtMost(int64(s.openObjects))
	}
	return err
}

// chargeObjects charges the names of new objects to a month, and what is uncharged of the reservation's texts.
// Errors: those of content.Service.ChargeMetadata.
func (s *Service) chargeObjects(ctx context.Context, tx *postgres.Store, r postgres.HeldReservation, fresh []transfer.Object,
	month time.Time) error {
	var names int64
	for _, o := range fresh {
		names += o.MetadataBytes()
	}
	if month.Equal(transfer.Month(r.CreatedAt)) { // once is enough
		names += uncharged(r)
	} else if err := s.chargeTexts(ctx, tx, r); err != nil {
		return err
	}
	return s.content.ChargeMetadata(ctx, tx, payer(r.Reservation, r.Facts), names, month)
}

// checkAttachments checks what does not depend on the reservation.
// Errors: fault.ErrInvalid.
func checkAttachments(files []Attachment) error {
	var problems fault.Problems
	if len(files) == 0 {
		problems.Add("objects", "must have at least one entry")
	}
	if len(files) > transfer.MaxAttachments {
		problems.Add("objects", fmt.Sprintf("must have at most %d entries", transfer.MaxAttachments))
		return problems.Err()
	}
	seen := make(map[string]bool, len(files))
	for i, f := range files {
		at := ""
		if len(files) > 1 {
			at = fmt.Sprintf("objects[%d].", i)
		}
		if !transfer.ValidClientID(f.ClientID) {
			problems.Add(at+"clientId", "must be 1 to 128 of A-Z, a-z, 0-9, dot, underscore and hyphen, and neither . nor ..")
		}
		if err := text.FileName(f.Name); err != nil {
			problems.Add(at+"name", err.Error())
		}
		if f.IntendedSize < 0 {
			problems.Add(at+"intendedSize", "must not be negative")
		}
		if seen[f.ClientID] {
			problems.Add(at+"clientId", "is given twice")
		}
		seen[f.ClientID] = true
	}
	return problems.Err()
}

// boundDeferred gives files whose size comes later the maximum as intended size.
func boundDeferred(files []Attachment, maximum int64) []Attachment {
	files = slices.Clone(files)
	for i := range files {
		if files[i].Deferred {
			files[i].IntendedSize = maximum
		}
	}
	return files
}

// filterOf returns the MIME filter that applies to a reservation, nil for none.
func (s *Service) filterOf(ctx context.Context, tx *postgres.Store, r postgres.HeldReservation) (transfer.MIMEFilter, error) {
	if r.Kind != transfer.KindMailbox || !r.Party.IsZero() || !r.Facts.FilterAllowed {
		return nil, nil
	}
	return tx.MIMETypeFilter(ctx, r.Owner)
}

// checkLimits checks files against the reservation's limits and the mailbox's filter.
// Errors: transfer.ErrFileTooLarge, transfer.ErrMIMEType.
func checkLimits(r postgres.HeldReservation, filter transfer.MIMEFilter, files []Attachment) error {
	for i, f := range files {
		at := ""
		if len(files) > 1 {
			at = fmt.Sprintf("objects[%d].", i)
		}
		if f.IntendedSize > r.MaxFileSizeMB*transfer.MB {
			return transfer.ErrFileTooLarge.With(fmt.Sprintf("%sintendedSize: must be at most %d MB", at, r.MaxFileSizeMB)).
				AtMost(r.MaxFileSizeMB * transfer.MB)
		}
		if !f.Partial && !filter.AllowsName(f.Name) {
			return filter.Rejection(at + "name")
		}
	}
	return nil
}

// matchAttached returns the objects for files, in the same order, and the new ones among them.
// Errors: transfer.ErrClientID.
func matchAttached(existing []transfer.Object, files []Attachment) (all, fresh []transfer.Object, err error) {
	known := make(map[string]transfer.Object, len(existing))
	for _, o := range existing {
		known[o.ClientID] = o
	}
	for _, f := range files {
		o, attached := known[f.ClientID]
		if attached && (o.Name != f.Name || o.Partial != f.Partial || o.Item != f.Item || o.IntendedSize != f.IntendedSize && !f.Deferred) {
			return nil, nil, transfer.ErrClientID.With("clientId: " + f.ClientID + " is taken by an object of another name or size")
		}
		if !attached {
			o = transfer.Object{UID: id.New[id.Object](), ClientID: f.ClientID, Name: f.Name, IntendedSize: f.IntendedSize, Deferred: f.Deferred,
				UploadMetadata: f.Metadata, Partial: f.Partial, UploadConcat: f.Concat, Item: f.Item}
			if f.IntendedSize == 0 && !f.Deferred { // no bytes will come to sniff
				o.MIMEType = transfer.TypeByName(f.Name)
			}
			fresh = append(fresh, o)
		}
		all = append(all, o)
	}
	return all, fresh, nil
}

// Object returns one object of a reservation.
// Errors: transfer.ErrNotFound.
func (s *Service) Object(ctx context.Context, caller token.Caller, uid id.Reservation, clientID string) (transfer.Object, error) {
	o, err := s.store.Object(ctx, uid, clientID, s.scope(caller))
	if err != nil {
		return transfer.Object{}, err
	}
	o.ExpiresAt, o.UploadConcat = o.Expires, o.Concat
	return o.Object, mayManage(caller, uid, o.Creator)
}

// DeleteObject deletes an object of an open reservation, releases its volume and purges its bytes.
// Errors: transfer.ErrNotFound, transfer.ErrConfirmed, transfer.ErrConcatenated.
func (s *Service) DeleteObject(ctx context.Context, caller token.Caller, uid id.Reservation, clientID string) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if _, err := s.lockOpen(ctx, tx, caller, uid); err != nil {
			return err
		}
		o, err := tx.Object(ctx, uid, clientID, s.scope(caller))
		if err != nil {
			return err
		}
		if !o.Final.IsZero() {
			return transfer.ErrConcatenated
		}
		_, err = s.content.DeleteObjects(ctx, tx, []id.Reservation{uid}, clientID)
		return err
	})
}
