// Mails about a transfer: to recipients, uploaders and senders.

package service

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// deliveryReference begins the reference of a mail about a delivery. MailFailed finds the delivery by it.
const deliveryReference = "delivery:"

// transferReference begins the reference of a mail to a transfer's sender.
const transferReference = "transfer:"

// dailyBound returns how many mails a day may go out in all, and of these by one client network.
func (s *Service) dailyBound(n int, client string) postgres.DailyBound {
	return postgres.DailyBound{Limit: n, NetworkShare: s.strangers.NetworkShare, Client: client}
}

// countMailboxMail counts the mail about a stranger's delivery, and reports whether the owner gets none, or the last one of the day. The
// house of the owner has no part of its own: one reception may cause all mails of a day.
func (s *Service) countMailboxMail(ctx context.Context, tx *postgres.Store, r postgres.HeldReservation) (unmailed, last bool, err error) {
	house, err := tx.OwnNetworks(ctx, r.Owner)
	if err != nil {
		return false, false, err
	}
	bound := s.dailyBound(s.strangers.Mails, r.Client)
	if transfer.IsHouse(house, ratelimit.NetworkOf(r.Client)) {
		bound.NetworkShare = 100
	}
	within, last, err := tx.CountMailboxMail(ctx, r.Owner, s.now().UTC().Truncate(day), bound)
	return !within, last, err
}

// mailDeliveries queues a mail to each recipient, in the language of the recipient's account if there is one. The last mail of the
// day to the owner of a mailbox says that it is the last one.
func (s *Service) mailDeliveries(ctx context.Context, tx *postgres.Store, owner transfer.Owner, t announced) error {
	emails := make([]string, len(t.Recipients))
	for i, d := range t.Recipients {
		emails[i] = d.Email
	}
	readers, err := tx.Readers(ctx, emails)
	if err != nil {
		return err
	}
	var messages []mail.Message
	for _, d := range t.Recipients {
		locale, zone := owner.Locale, owner.TimeZone
		reader := readers[d.Email]
		if !reader.Person.IsZero() {
			locale, zone = reader.Locale, reader.TimeZone
		}
		data := map[string]any{
			"sender": senderName(t.Sender), "senderEmail": t.Sender.Email, "expiresAt": t.ExpiresAt, "protection": string(t.Protection),
		}
		if t.Protection == transfer.ProtectNone {
			data["subject"], data["message"] = t.Subject, t.Message
			data["fileCount"], data["totalBytes"] = t.ObjectCount, t.TotalBytes
			data["files"], data["answers"] = mailFiles(t.first, mail.MaxNamed), mailAnswers(t.Answers)
		}
		s.linkInbox(data, reader.Host)
		if t.MalwareStatus == transfer.Scanning && t.Check(&transfer.Scan{State: transfer.Scanning}) != nil {
			data["checking"] = true
		}
		if t.lastMail {
			data["lastOfDay"] = true
		}
		markUnverified(data, t.Sender)
		key, known := t.keys[d.UID]
		if !known {
			key = s.deliveryKey(d.UID)
		}
		messages = append(messages, mail.Message{
			To: d.Email, ToName: d.Name, Locale: locale, TimeZone: zone, ReplyTo: t.Sender.Email, ReplyToName: t.Sender.Name,
			Template: mail.TransferDelivered, Data: data, Secret: map[string]string{"link": s.hosts.URL(owner.Host, "/t/"+key)},
			Reference: deliveryReference + d.UID.String(), GiveUpAt: t.ExpiresAt,
		})
	}
	if len(messages) == 0 {
		return nil
	}
	_, err = s.mailer.QueueAll(ctx, tx.Tx(), messages)
	return err
}

// mailUploadConfirmation queues the confirmation to the uploader of a mailbox. The number of confirmations per address and
// day is limited, because anybody can state any address (contract 4.10).
func (s *Service) mailUploadConfirmation(ctx context.Context, tx *postgres.Store, r postgres.HeldReservation, t announced) error {
	within, err := tx.CountUploadConfirmation(ctx, t.Sender.Email, s.now().UTC().Truncate(day), s.uploadConfirmations)
	if err != nil || !within {
		return err
	}
	owner := r.Recipients[0]
	m := mail.Message{
		Host: r.Facts.Host, To: t.Sender.Email, Locale: r.Locale, TimeZone: r.Facts.TimeZone, ReplyTo: owner.Email, ReplyToName: owner.Name,
		Template: mail.UploadConfirmation, Data: map[string]any{"mailbox": owner.Email, "at": t.CreatedAt, "fileCount": t.ObjectCount,
			"totalBytes": t.TotalBytes},
		Reference: transferReference + t.UID.String(),
	}
	if t.Sender.Verified || !r.Party.IsZero() { // else the mail may go to a third party: it has no word of anybody
		m.Proved, m.ToName, m.Data["mailbox"] = true, t.Sender.Name, mailboxName(owner)
		m.Data["files"], m.Data["answers"] = mailFiles(t.first, mail.MaxFiles), mailAnswers(t.Answers)
		m.Data["attach"], m.Data["verify"] = true, s.hosts.URL(r.Facts.Host, "/verify")
	}
	if mailsReceiptLink(r) {
		m.Secret = map[string]string{"link": s.hosts.URL(r.Facts.Host, "/r/"+s.senderKey(t.UID))}
	}
	_, err = s.mailer.Queue(ctx, tx.Tx(), m)
	return err
}

// mailsReceiptLink reports whether the sender is mailed a link to the receipt. That of a party (4.29) shows it already.
func mailsReceiptLink(r postgres.HeldReservation) bool {
	return r.Kind == transfer.KindMailbox && r.Party.IsZero()
}

// mailFiles returns the first objects, at most limit, as a mail lists them.
func mailFiles(first []transfer.Object, limit int) []mail.File {
	files := make([]mail.File, min(len(first), limit))
	for i := range files {
		o := first[i]
		files[i] = mail.File{Name: o.Name, Size: o.Held, SHA256: hex.EncodeToString(o.SHA256)}
	}
	return files
}

// mailAnswers returns the first answers as a mail shows them.
func mailAnswers(answers []transfer.Answer) []mail.Answer {
	list := make([]mail.Answer, min(len(answers), mail.MaxAnswers))
	for i := range list {
		a := answers[i]
		list[i] = mail.Answer{Title: a.Title, Value: a.Value, Format: a.Format}
	}
	return list
}

// linkInbox adds the address of the inbox to the data of a mail to a person. host is the person's home host; empty: no account.
func (s *Service) linkInbox(data map[string]any, host string) {
	if host != "" {
		data["inbox"] = s.hosts.URL(host, "/inbox")
	}
}

// markUnverified marks the data of a mail that shows a sender whose address was not checked.
func markUnverified(data map[string]any, s transfer.Sender) {
	if !s.Verified {
		data["senderUnverified"] = true
	}
}

// mailboxName returns what a mailbox is called in mails to uploaders.
func mailboxName(owner transfer.Recipient) string {
	if owner.Name != "" {
		return owner.Name
	}
	return owner.Email
}

// senderName returns the sender's name, or the address when there is none.
func senderName(s transfer.Sender) string {
	if s.Name != "" {
		return s.Name
	}
	return s.Email
}

// MailFailed handles the final failure of a mail: the delivery becomes undelivered, and a sender with an account gets a mail.
// It joins the mailer's transaction.
func (s *Service) MailFailed(ctx context.Context, tx database.Tx, m mail.Mail) error {
	uidText, found := strings.CutPrefix(m.Reference, deliveryReference)
	if !found || m.Template != mail.TransferDelivered {
		return nil
	}
	uid, err := id.Parse[id.Delivery](uidText)
	if err != nil {
		return nil //nolint:nilerr // a reference of another domain
	}
	failed, hasSender, err := s.store.Within(tx).MarkUndelivered(ctx, uid, s.now())
	if err != nil || !hasSender {
		return err
	}
	data := map[string]any{"recipient": m.To, "subject": failed.Subject, "at": s.now(), "answer": m.LastAnswer}
	s.linkInbox(data, failed.SenderHost)
	_, err = s.mailer.Queue(ctx, tx, mail.Message{
		Host: failed.SenderHost, To: failed.SenderEmail, ToName: failed.Sender.Name, Locale: failed.SenderLang, TimeZone: failed.SenderZone,
		Template: mail.DeliveryFailed, Data: data, Reference: transferReference + failed.UID.String(),
	})
	return err
}
