// Mails of requests: to parties, and to owners about complete ones.

package service

import (
	"context"
	"slices"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/request"
	"github.com/consign-dev/consign/internal/transfer/request/postgres"
)

// reminderReference names the reminders of a party in the queue of mails: a hand-in cancels them.
func reminderReference(p id.Party) string { return "reminder:" + p.String() }

// requestMail returns a mail to a party with its link. items are the names that it lists.
func (s *Service) requestMail(template string, r request.Request, o transfer.Owner, p request.Party, items []string) mail.Message {
	m := mail.Message{
		To: p.Email, ToName: p.Name, Locale: p.Locale, TimeZone: p.TimeZone, ReplyTo: o.Email, ReplyToName: o.Name, Host: o.Host,
		Template: template, Reference: "party:" + p.UID.String(),
		Data: map[string]any{"owner": ownerName(o), "title": r.Title, "items": items},
	}
	if r.Due != nil {
		m.Data["due"], m.Data["refuses"] = *r.Due, r.Late == request.LateRefuse
	}
	for _, key := range s.partyKeys(p.UID, p.KeyVersion)[:1] {
		m.Secret = map[string]string{"link": s.Hosts.URL(o.Host, "/q/"+key)}
	}
	return m
}

func ownerName(o transfer.Owner) string {
	if o.Name != "" {
		return o.Name
	}
	return o.Email
}

// mailInvitations queues the mail that asks each of new parties.
func (s *Service) mailInvitations(ctx context.Context, tx stores, r request.Request, o transfer.Owner, items []request.Item,
	parties []request.Party) error {
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = it.Name
	}
	messages := make([]mail.Message, len(parties))
	for i, p := range parties {
		messages[i] = s.requestMail(mail.RequestInvitation, r, o, p, names)
		messages[i].Data["message"] = r.Message
	}
	_, err := s.Mailer.QueueAll(ctx, tx.Tx(), messages)
	return err
}

// reminder returns the mail that reminds a party of what is missing. The last one says that what is not handed in is deleted.
func (s *Service) reminder(r request.Request, o transfer.Owner, p request.Party, missing postgres.Missing, last bool) mail.Message {
	m := s.requestMail(mail.RequestReminder, r, o, p, missing.Items)
	m.Reference = reminderReference(p.UID)
	if last && r.Due != nil {
		m.Data["keptUntil"] = r.Due.Add(request.Lifetime)
	}
	if r.Due != nil {
		m.GiveUpAt = *r.Due
	}
	return m
}

// mailReturned queues the mail that names the items of a party that were returned, with the reasons.
func (s *Service) mailReturned(ctx context.Context, tx stores, p request.Party) error {
	r, o, err := s.ofRequest(ctx, tx, p.Request)
	if err != nil {
		return err
	}
	items, err := tx.Items(ctx, r.UID)
	if err != nil {
		return err
	}
	states, err := tx.ItemsOf(ctx, p.UID)
	if err != nil {
		return err
	}
	var answers []mail.Answer
	for _, it := range items {
		at := slices.IndexFunc(states, func(x request.PartyItem) bool { return x.Item == it.UID && x.State == request.ItemReturned })
		if at >= 0 {
			answers = append(answers, mail.Answer{Title: it.Name, Value: states[at].Reason})
		}
	}
	if len(answers) == 0 || r.State == request.Closed {
		return nil
	}
	m := s.requestMail(mail.RequestReturned, r, o, p, nil)
	m.Data["answers"] = answers
	_, err = s.Mailer.Queue(ctx, tx.Tx(), m)
	return err
}

// mailComplete tells a party, with the receipt of its last hand-in, and the owner that everything is accepted.
func (s *Service) mailComplete(ctx context.Context, tx stores, r request.Request, p request.Party) error {
	o, err := tx.transfers.Owner(ctx, r.Owner, s.anyHost())
	if err != nil {
		return err
	}
	handed, err := tx.HandIns(ctx, p)
	if err != nil {
		return err
	}
	toParty := s.requestMail(mail.RequestComplete, r, o, p, nil)
	toParty.Data["party"] = p.Called()
	toOwner := mail.Message{
		To: o.Email, ToName: o.Name, Locale: o.Locale, TimeZone: o.TimeZone, Host: o.Host, Template: mail.RequestComplete,
		Data: map[string]any{"party": p.Called(), "title": r.Title, "ofOwner": true, "inbox": s.Hosts.URL(o.Host, "/inbox")},
	}
	for _, m := range []*mail.Message{&toParty, &toOwner} {
		if n := len(handed); n > 0 {
			m.Reference = "transfer:" + handed[n-1].Transfer.String()
			m.Data["attach"], m.Data["verify"] = true, s.Hosts.URL(o.Host, "/verify")
		}
	}
	_, err = s.Mailer.QueueAll(ctx, tx.Tx(), []mail.Message{toParty, toOwner})
	return err
}
