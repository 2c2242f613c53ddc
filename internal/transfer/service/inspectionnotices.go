package service

import (
	"context"

	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// settle brings locked transfers up to date after verdicts about their objects. Where the state of a transfer changes, its parties get an
// event. When it becomes infected, sender and owner get a mail.
func (s *Service) settle(ctx context.Context, tx *postgres.Store, uids []id.Transfer, urgent bool) error {
	changed, err := tx.SettleInspections(ctx, uids, urgent)
	if err != nil || len(changed) == 0 {
		return err
	}
	uids = uids[:0:0]
	for _, c := range changed {
		uids = append(uids, c.UID)
	}
	deliveries, err := tx.DeliveriesOfTransfers(ctx, uids)
	if err != nil {
		return err
	}
	var told []postgres.SeenTransfer
	for _, c := range changed {
		t, err := tx.AnyTransfer(ctx, c.UID)
		if err != nil {
			return err
		}
		told = append(told, t)
		if c.After != transfer.Infected {
			continue
		}
		if err := s.mailInfected(ctx, tx, t); err != nil {
			return err
		}
	}
	for _, t := range told { // feeds are locked last
		if err := s.tell(ctx, tx, events.TransferInspected, t.UID, parties(t, deliveries[t.UID])); err != nil {
			return err
		}
	}
	return nil
}

// mailInfected tells the owner of a transfer and its sender that a file is infected. The mail to a stranger names nothing of the transfer,
// because anybody can state any address; it counts as an upload confirmation.
func (s *Service) mailInfected(ctx context.Context, tx *postgres.Store, t postgres.SeenTransfer) error {
	owner, err := tx.Owner(ctx, t.Owner, s.anyHost())
	if err != nil {
		return err
	}
	finding, err := tx.InfectedFile(ctx, t.Reservation)
	if err != nil {
		return err
	}
	data := map[string]any{
		"subject": t.Subject, "sender": senderName(t.Sender), "senderEmail": t.Sender.Email, "file": finding.Name, "finding": finding.Finding,
		"at": s.now(),
	}
	markUnverified(data, t.Sender)
	s.linkInbox(data, owner.Host)
	m := mail.Message{
		Host: owner.Host, To: owner.Email, ToName: owner.Name, Locale: owner.Locale, TimeZone: owner.TimeZone,
		Template: mail.TransferInfected, Data: data, Reference: transferReference + t.UID.String(), Proved: true,
	}
	if owner.Email != "" {
		if _, err := s.mailer.Queue(ctx, tx.Tx(), m); err != nil {
			return err
		}
	}
	if t.Kind != transfer.KindMailbox || t.Sender.Email == "" || t.Sender.Email == owner.Email {
		return nil
	}
	within, err := tx.CountUploadConfirmation(ctx, t.Sender.Email, s.now().UTC().Truncate(day), s.uploadConfirmations)
	if err != nil || !within {
		return err
	}
	_, err = s.mailer.Queue(ctx, tx.Tx(), mail.Message{
		Host: owner.Host, To: t.Sender.Email, Locale: t.SenderLocale, TimeZone: owner.TimeZone, Template: mail.TransferInfected,
		Data:      map[string]any{"mailbox": owner.Email, "at": s.now()},
		Reference: transferReference + t.UID.String(),
	})
	return err
}
