// Rules of files that are made of partial uploads of tus (contract 4.25).

package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Concatenate attaches a file that is made of complete partial uploads of the same reservation (contract 4.25), in the order of their
// client ids. It gets their segments. named says that the client chose the clientId of the file. The same request again returns the same
// object.
// Errors: those of Attach; transfer.ErrPartial.
func (s *Service) Concatenate(ctx context.Context, caller token.Caller, uid id.Reservation, file Attachment, named bool,
	partials []string) (o transfer.Object, err error) {
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		r, err := s.lockOpen(ctx, tx, caller, uid)
		if err != nil {
			return err
		}
		o, err = s.concatenate(ctx, tx, r, file, named, partials)
		return err
	})
	if err != nil {
		return o, err
	}
	if err := s.content.SealHeld(ctx, o.UID); err != nil {
		return o, err
	}
	return s.Object(ctx, caller, uid, o.ClientID)
}

func (s *Service) concatenate(ctx context.Context, tx *postgres.Store, r postgres.HeldReservation, file Attachment, named bool,
	clientIDs []string) (o transfer.Object, err error) {
	locked, err := tx.LockNamed(ctx, r.UID, clientIDs)
	if err != nil {
		return o, err
	}
	partials, refusal := inOrder(locked, clientIDs)
	if refusal != nil {
		final, err := tx.FinalOf(ctx, r.UID, clientIDs)
		switch {
		case errors.Is(err, transfer.ErrNotFound), err == nil && (final.Name != file.Name || named && final.ClientID != file.ClientID):
			return o, refusal
		}
		return final, err
	}
	for _, p := range partials {
		file.IntendedSize += p.IntendedSize
	}
	files := []Attachment{file}
	if err := checkAttachments(files); err != nil {
		return o, err
	}
	list, created, err := s.attachTo(ctx, tx, r, files, partials)
	if err != nil {
		return o, err
	}
	if o = list[0]; !created {
		return o, transfer.ErrClientID
	}
	return o, s.content.MakeFinal(ctx, tx, o, partials)
}

// inOrder returns the partial uploads with the client ids.
// Errors: fault.ErrInvalid, transfer.ErrPartial.
func inOrder(list []transfer.Object, clientIDs []string) ([]transfer.Object, error) {
	known := make(map[string]transfer.Object, len(list))
	for _, o := range list {
		known[o.ClientID] = o
	}
	partials := make([]transfer.Object, len(clientIDs))
	for i, name := range clientIDs {
		o, found := known[name]
		switch {
		case slices.Contains(clientIDs[:i], name):
			return nil, fault.ErrInvalid.With(fmt.Sprintf("Upload-Concat: %s is given twice", name))
		case !found, !o.Partial:
			return nil, fault.ErrInvalid.With(fmt.Sprintf("Upload-Concat: %s is not a partial upload of this reservation", name))
		case !o.Final.IsZero():
			return nil, transfer.ErrPartial.With(fmt.Sprintf("Upload-Concat: another final upload has used %s", name))
		case !o.Complete():
			return nil, transfer.ErrPartial.With(fmt.Sprintf("Upload-Concat: %s holds %d of %d bytes", name, o.Held, o.IntendedSize))
		}
		partials[i] = o
	}
	return partials, nil
}

// checkRoom checks the number of files of a reservation with fresh ones. known has all partial uploads without a final one, of which used
// become part of a fresh file. The others count as the files that their sizes fill, so that a reservation holds no more bytes than maxFiles
// files have.
// Errors: transfer.ErrTooManyFiles.
func checkRoom(r postgres.HeldReservation, known, fresh, used []transfer.Object) error {
	files, waiting, bytes := int64(r.ObjectCount), -len(used), int64(0)
	for _, o := range slices.Concat(known, fresh) {
		if o.Partial && o.Final.IsZero() {
			waiting++
			bytes += o.IntendedSize
		}
	}
	for _, o := range used {
		bytes -= o.IntendedSize
	}
	for _, o := range fresh {
		if !o.Partial {
			files++
		}
	}
	size := max(r.MaxFileSizeMB, 1) * transfer.MB
	if files+(bytes+size-1)/size > int64(r.MaxFiles) {
		reason := fmt.Sprintf("objects: the reservation takes %d files and has %d", r.MaxFiles, r.ObjectCount)
		if waiting > 0 {
			reason += fmt.Sprintf("; partial uploads without a final one have %d bytes, and count as the files that they fill", bytes)
		}
		return transfer.ErrTooManyFiles.With(reason).AtMost(int64(r.MaxFiles))
	}
	if waiting > transfer.MaxPartials {
		return transfer.ErrTooManyFiles.With(fmt.Sprintf("Upload-Concat: the reservation takes %d partial uploads without a final one",
			transfer.MaxPartials)).AtMost(transfer.MaxPartials)
	}
	return nil
}
