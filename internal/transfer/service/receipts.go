// Makes the receipt of a confirm, and decides who may read it.

package service

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
	"github.com/consign-dev/consign/internal/translog"
)

// writeReceipt stores the receipt of a new transfer in its transaction. Objects after the first ones are read, hashed and stored in parts,
// so that memory does not grow with their number. due is the due time of its request.
func (s *Service) writeReceipt(ctx context.Context, tx *postgres.Store, r postgres.HeldReservation, d delivered, due time.Time) error {
	t, first, last := d.Transfer, d.first, d.last
	head := transfer.AppendReceipt(nil, transfer.Receipt{
		Salt: salt(), Host: r.Facts.Host, Transfer: t.UID, Kind: t.Kind, CreatedAt: r.CreatedAt, Confirmed: t.CreatedAt, Due: due,
		ExpiresAt: t.ExpiresAt,
		Sender:    t.Sender, Recipients: t.Recipients, Subject: t.Subject, Message: t.Message, Fields: t.Fields,
		Objects: t.ObjectCount, TotalBytes: t.TotalBytes,
	})
	for _, o := range first {
		head = transfer.AppendReceiptObject(head, o)
	}
	hash := sha256.New()
	hash.Write(head)
	for part, more := 1, len(first) == firstObjects; more; part++ {
		var objects []transfer.Object
		var err error
		if objects, last, err = tx.ObjectsAfter(ctx, r.UID, last, firstObjects); err != nil {
			return err
		}
		if len(objects) == 0 {
			break
		}
		var body []byte
		for _, o := range objects {
			body = transfer.AppendReceiptObject(body, o)
		}
		hash.Write(body)
		if err := tx.InsertReceiptPart(ctx, t.UID, part, body); err != nil {
			return err
		}
		more = len(objects) == firstObjects
	}
	readers, named := receiptPersons(t, r.Kind != transfer.KindMailbox)
	stored := postgres.Receipt{
		Transfer: t.UID, Kind: transfer.StatedDelivered, Entry: hash.Sum(nil), Body: head, Readers: readers, Named: named, CreatedAt: t.CreatedAt,
	}
	if mailsReceiptLink(r) {
		stored.SenderKeyHash = seal.Hash(s.senderKey(t.UID))
		if t.Sender.Verified {
			stored.SenderCheckedAt = t.CreatedAt
		}
	}
	return tx.InsertReceipt(ctx, stored)
}

// receiptPersons returns the persons who may read the receipt of a transfer, and those whom it names. Recipients of a transfer with a
// password read it through their link only.
func receiptPersons(t transfer.Transfer, ofSender bool) (readers, named []id.Person) {
	readers, named = []id.Person{}, []id.Person{}
	if ofSender && !t.Sender.Person.IsZero() {
		readers, named = append(readers, t.Sender.Person), append(named, t.Sender.Person)
	}
	for _, d := range t.Recipients {
		if d.Person.IsZero() || slices.Contains(named, d.Person) {
			continue
		}
		named = append(named, d.Person)
		if t.Protection != transfer.ProtectPassword {
			readers = append(readers, d.Person)
		}
	}
	return readers, named
}

func salt() []byte {
	b := make([]byte, transfer.SaltBytes)
	rand.Read(b) // never fails
	return b
}

// ReceiptFile is a statement about a transfer with its proof.
type ReceiptFile struct {
	stored postgres.Receipt
	proof  proof.Proof
}

// Statement returns the statement, or its beginning when it lists more than a thousand objects.
func (f ReceiptFile) Statement() []byte { return f.stored.Body }

// Proof returns the proof that the statement is in the transparency log.
func (f ReceiptFile) Proof() proof.Proof { return f.proof }

// Transfer returns the transfer that the statement is about.
func (f ReceiptFile) Transfer() id.Transfer { return f.stored.Transfer }

// Receipt returns a statement about a transfer for its sender or a recipient, also after the transfer has ended. Administrators get the
// certificate of erasure, too.
// Errors: transfer.ErrNotFound, translog.ErrPending.
func (s *Service) Receipt(ctx context.Context, caller token.Caller, uid id.Transfer, kind string) (ReceiptFile, error) {
	var as id.Organization
	if kind == transfer.StatedErased && caller.Has(transfer.RoleOrganizationAdmin) {
		free, err := s.store.SharesLimits(ctx, caller.Organization)
		if err != nil {
			return ReceiptFile{}, err
		}
		if !free {
			as = caller.Organization
		}
	}
	return s.receipt(ctx, uid, kind, caller.Person, as)
}

// Certificate returns the certificate of erasure of a transfer.
// Errors: transfer.ErrNotFound, translog.ErrPending.
func (s *Service) Certificate(ctx context.Context, uid id.Transfer) (ReceiptFile, error) {
	return s.receipt(ctx, uid, transfer.StatedErased, id.Person{}, id.Organization{})
}

// ReservationReceipt is Receipt for the token of the reservation, and for its creator.
// Errors: transfer.ErrNotFound, translog.ErrPending.
func (s *Service) ReservationReceipt(ctx context.Context, caller token.Caller, uid id.Reservation, kind string) (ReceiptFile, error) {
	r, err := s.store.Reservation(ctx, uid, s.scope(caller))
	if err != nil {
		return ReceiptFile{}, err
	}
	if err := mayManage(caller, uid, r.Creator); err != nil {
		return ReceiptFile{}, err
	}
	if r.Open() {
		return ReceiptFile{}, transfer.ErrNotFound.With("the reservation is not confirmed")
	}
	return s.receipt(ctx, r.Transfer, kind, id.Person{}, id.Organization{})
}

// LinkedReceipt is Receipt for the holder of a link, and of its download token where the transfer is protected.
// Errors: transfer.ErrNotFound, transfer.ErrLocked, translog.ErrPending.
func (s *Service) LinkedReceipt(ctx context.Context, caller token.Caller, key, kind string) (ReceiptFile, error) {
	t, _, err := s.LinkedTransfer(ctx, caller, key)
	if err != nil {
		return ReceiptFile{}, err
	}
	if t.Locked {
		return ReceiptFile{}, transfer.ErrLocked.With("the transfer is protected: POST …/access answers a token that opens it")
	}
	return s.receipt(ctx, t.UID, kind, id.Person{}, id.Organization{})
}

// PartyReceipt is Receipt of what the holder of a party's link has handed in last.
// Errors: transfer.ErrNotFound, translog.ErrPending.
func (s *Service) PartyReceipt(ctx context.Context, caller token.Caller, key, kind string) (ReceiptFile, error) {
	uid, err := s.requests.LastHandIn(ctx, caller, key)
	if err != nil {
		return ReceiptFile{}, err
	}
	return s.receipt(ctx, uid, kind, id.Person{}, id.Organization{})
}

// receipt returns a stored statement with its proof.
// Errors: transfer.ErrNotFound, translog.ErrPending.
func (s *Service) receipt(ctx context.Context, uid id.Transfer, kind string, reader id.Person, as id.Organization) (ReceiptFile, error) {
	stored, err := s.store.Receipt(ctx, uid, kind, reader, as)
	if err != nil {
		return ReceiptFile{}, err
	}
	if stored.Body == nil {
		return ReceiptFile{}, transfer.ErrNotFound.With("the receipt was erased; a copy of it still verifies")
	}
	p, err := s.proofs.Prove(ctx, stored.Entry)
	return ReceiptFile{stored: stored, proof: p}, err
}

// WriteReceipt writes the file receipt.consign.
func (s *Service) WriteReceipt(ctx context.Context, w io.Writer, f ReceiptFile) error {
	write := func(b []byte) error {
		if _, err := w.Write(b); err != nil {
			return fmt.Errorf("write receipt: %w", err)
		}
		return nil
	}
	if err := write(f.stored.Body); err != nil {
		return err
	}
	for part := 1; f.stored.Kind == transfer.StatedDelivered; part++ {
		body, err := s.store.ReceiptPart(ctx, f.stored.Transfer, part)
		if err != nil {
			return err
		}
		if body == nil {
			break
		}
		if err := write(body); err != nil {
			return err
		}
	}
	return write(append([]byte("\n"), f.proof.Format()...))
}

var errLongReceipt = errors.New("the receipt is too long to be attached")

// shortBuffer is a buffer of at most limit bytes.
type shortBuffer struct {
	bytes.Buffer
	limit int
}

// Write implements io.Writer.
func (b *shortBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, errLongReceipt
	}
	return b.Buffer.Write(p)
}

// MailedReceipt returns the receipt that the mail with a reference carries; nil when it was erased or is too long for a mail.
// Errors: translog.ErrPending.
func (s *Service) MailedReceipt(ctx context.Context, reference string) (*mail.Attachment, error) {
	uid, err := id.Parse[id.Transfer](strings.TrimPrefix(reference, transferReference))
	if err != nil {
		return nil, nil //nolint:nilerr // a reference of another kind
	}
	f, err := s.receipt(ctx, uid, transfer.StatedDelivered, id.Person{}, id.Organization{})
	b := shortBuffer{limit: mail.MaxAttachment}
	if err == nil {
		err = s.WriteReceipt(ctx, &b, f)
	}
	if errors.Is(err, errLongReceipt) || errors.Is(err, transfer.ErrNotFound) {
		return nil, nil
	}
	return &mail.Attachment{Name: proof.FileName, Kind: proof.MediaType, Bytes: b.Bytes()}, err
}

// EraseReceipts erases the statements about a transfer, all but their hashes. Copies that somebody holds still verify.
// Errors: transfer.ErrNotFound.
func (s *Service) EraseReceipts(ctx context.Context, by audit.Actor, uid id.Transfer) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		n, err := tx.EraseReceipts(ctx, []id.Transfer{uid}, id.Person{}, s.now())
		if err == nil && n == 0 {
			err = transfer.ErrNotFound
		}
		if err != nil {
			return err
		}
		return s.record(ctx, tx, by, audit.Entry{Action: "receipt.erase", Object: uid.String()})
	})
}

// ReceiptPending reports whether err means that a receipt waits for its signature.
func ReceiptPending(err error) bool { return errors.Is(err, translog.ErrPending) }
