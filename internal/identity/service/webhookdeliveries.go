// Sends the deliveries of webhooks from their queue, and turns off a webhook that always fails.

package service

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/webhook"
	"github.com/consign-dev/consign/internal/webhook/target"
)

const (
	deliveryPoll       = time.Second
	deliveryLease      = 30 * time.Second // longer than an attempt takes: another replica sends what a killed one has claimed
	settleDeliveryTime = 4 * time.Second  // for storing an outcome, also during shutdown
	settleAtATime      = 2
)

// places are how many deliveries a replica sends at the same time.
type places struct {
	targets    bool // to export targets; else to the other webhooks
	all        int
	slow       int // of them to webhooks that fail
	perWebhook int // a failing one gets one
	perHost    int
}

// A copy to an export target takes long and holds up to 16 MiB, so there are few, and they take no places of messages.
var (
	messagePlaces = places{all: 64, slow: 32, perWebhook: 4, perHost: 8}
	copyPlaces    = places{targets: true, all: 4, slow: 2, perWebhook: 1, perHost: 2}
)

// WebhookOptions are what webhooks need.
type WebhookOptions struct {
	Guard   *webhook.Guard
	Sender  *webhook.Sender
	Copier  *target.Copier
	Exports Exports // nil: no transfers
}

// webhooks sends deliveries.
type webhooks struct {
	WebhookOptions
	box              seal.Box
	messages, copies *deliveryQueue
	settling         chan struct{} // semaphore: outcomes must not take the connections of requests

	delivered, failed, dead atomic.Int64
}

// deliveryQueue is what a replica is sending. Its load bounds the deliveries of one webhook and of one host, so that a slow receiver does
// not delay others.
type deliveryQueue struct {
	places
	wake chan struct{}

	mu            sync.Mutex
	ofWebhook     map[id.Webhook]int
	ofHost        map[string]int
	sending, slow int
}

func newWebhooks(o WebhookOptions, box seal.Box) *webhooks {
	queue := func(p places) *deliveryQueue {
		return &deliveryQueue{places: p, wake: make(chan struct{}, 1), ofWebhook: map[id.Webhook]int{}, ofHost: map[string]int{}}
	}
	return &webhooks{
		WebhookOptions: o, box: box, messages: queue(messagePlaces), copies: queue(copyPlaces), settling: make(chan struct{}, settleAtATime),
	}
}

// WakeWebhooks makes RunWebhooks look for due deliveries now.
func (s *Service) WakeWebhooks() {
	s.webhooks.messages.look()
	s.webhooks.copies.look()
}

// look makes the queue look for due deliveries now.
func (q *deliveryQueue) look() {
	select {
	case q.wake <- struct{}{}:
	default: // it is woken already
	}
}

// RunWebhooks sends due deliveries until ctx ends. Several replicas may run it.
func (s *Service) RunWebhooks(ctx context.Context) error {
	var queues sync.WaitGroup
	for _, q := range []*deliveryQueue{s.webhooks.messages, s.webhooks.copies} {
		queues.Go(func() { s.runQueue(ctx, q) })
	}
	queues.Wait()
	return nil
}

// runQueue sends due deliveries of a queue until ctx ends.
func (s *Service) runQueue(ctx context.Context, q *deliveryQueue) {
	var sending sync.WaitGroup
	defer sending.Wait()
	tick := time.NewTicker(deliveryPoll)
	defer tick.Stop()
	for failed := false; ; {
		n, err := s.sendDue(ctx, q, &sending)
		if err != nil && ctx.Err() == nil && !failed {
			s.log.WarnContext(ctx, "deliveries to webhooks cannot be read; they wait", slog.Any("error", err))
		}
		failed = err != nil
		if n > 0 && ctx.Err() == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-q.wake:
		case <-tick.C:
		}
	}
}

// sendDue claims due deliveries, begins to send them, and returns how many.
func (s *Service) sendDue(ctx context.Context, q *deliveryQueue, sending *sync.WaitGroup) (int, error) {
	load := q.load()
	if load.Free == 0 {
		return 0, nil
	}
	now := s.now()
	due, err := s.store.ClaimDeliveries(ctx, load, now, now.Add(deliveryLease))
	for _, d := range due {
		q.count(d, 1)
		sending.Go(func() {
			s.deliver(ctx, d)
			q.count(d, -1)
			q.look()
		})
	}
	return len(due), err
}

// load returns what is being sent.
func (q *deliveryQueue) load() postgres.DeliveryLoad {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := postgres.DeliveryLoad{
		Targets: q.targets, PerWebhook: q.perWebhook, PerHost: q.perHost, Free: q.all - q.sending, FreeSlow: max(q.places.slow-q.slow, 0),
	}
	for uid, n := range q.ofWebhook {
		l.Webhooks, l.OfWebhook = append(l.Webhooks, uid), append(l.OfWebhook, n)
	}
	for host, n := range q.ofHost {
		l.Hosts, l.OfHost = append(l.Hosts, host), append(l.OfHost, n)
	}
	return l
}

// count adds n to the load of a delivery.
func (q *deliveryQueue) count(d postgres.DueDelivery, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sending += n
	if d.FailingSince != nil {
		q.slow += n
	}
	if q.ofWebhook[d.Webhook] += n; q.ofWebhook[d.Webhook] == 0 {
		delete(q.ofWebhook, d.Webhook)
	}
	if q.ofHost[d.Host] += n; q.ofHost[d.Host] == 0 {
		delete(q.ofHost, d.Host)
	}
}

// deliver makes one attempt and stores its outcome. An attempt that a shutdown cuts is made again: the receiver recognizes it by its id.
func (s *Service) deliver(ctx context.Context, d postgres.DueDelivery) {
	r, err := s.attempt(ctx, d)
	s.webhooks.settling <- struct{}{}
	defer func() { <-s.webhooks.settling }()
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleDeliveryTime)
	defer cancel()
	switch {
	case ctx.Err() != nil && r.Reason != "":
		err = s.store.ReleaseDelivery(settle, d, s.now())
	case err == nil:
		err = s.settleDelivery(settle, d, r)
	}
	if err != nil { // the lease ends, and it is sent again
		s.log.WarnContext(settle, "a delivery to a webhook failed", slog.String("webhook", d.Webhook.String()), slog.String("delivery", d.UID.String()), slog.Any("error", err))
	}
}

// attempt sends a message, or copies a transfer to an export target.
func (s *Service) attempt(ctx context.Context, d postgres.DueDelivery) (webhook.Result, error) {
	if target.Kind(d.URL) != "" {
		return s.export(ctx, d)
	}
	m, err := s.webhooks.message(d)
	if err != nil {
		return webhook.Result{}, err
	}
	return s.webhooks.Sender.Send(ctx, m)
}

// message returns the message of a delivery, which is the same at each attempt.
func (w *webhooks) message(d postgres.DueDelivery) (webhook.Message, error) {
	receivers := make([]string, len(d.Receivers))
	for i, p := range d.Receivers {
		receivers[i] = p.String()
	}
	body, err := webhook.Body(webhook.Event{Kind: d.Kind, UID: d.Event.String(), Subject: d.Subject, Receivers: receivers, At: d.CreatedAt})
	if err != nil {
		return webhook.Message{}, err
	}
	m := webhook.Message{ID: d.UID.String(), URL: d.URL, Body: body}
	for _, sealed := range [][]byte{d.Secret, d.PreviousSecret} {
		if sealed == nil {
			continue
		}
		secret, err := w.box.Open(sealed, d.Webhook.UUID[:])
		if err != nil {
			return webhook.Message{}, fmt.Errorf("secret of webhook %s: %w", d.Webhook, err)
		}
		m.Secrets = append(m.Secrets, string(secret))
	}
	return m, nil
}

// settleDelivery stores the outcome of an attempt. It makes the webhook inactive when the receiver wants no more messages or has failed
// for identity.WebhookFailing.
func (s *Service) settleDelivery(ctx context.Context, d postgres.DueDelivery, r webhook.Result) error {
	now := s.now()
	refused := r.Reason == identity.ReasonEnded || r.Reason == identity.ReasonProtected || r.Reason == identity.ReasonPersonal // not by the receiver
	o := postgres.DeliveryOutcome{
		State: identity.DeliveryDelivered, Status: r.Status, DurationMs: int(r.Duration.Milliseconds()), Answer: r.Answer, Reason: r.Reason, Next: now,
		Blames: d.Kind != identity.WebhookPing && !refused, // a test says nothing about the webhook
	}
	count := &s.webhooks.delivered
	if r.Reason != "" {
		o.State, count = identity.DeliveryDead, &s.webhooks.dead
		if pause, again := webhook.Retry(d.Attempts, r.RetryAfter); again && o.Blames {
			o.State, o.Next, count = identity.DeliveryPending, now.Add(pause), &s.webhooks.failed
		}
	}
	settle := s.store.SettleDelivery
	if target.Kind(d.URL) != "" {
		settle = s.settleExport
	}
	failing, err := settle(ctx, d, o, now)
	if err != nil {
		return err
	}
	count.Add(1)
	switch {
	case !o.Blames:
		return nil
	case r.Gone():
		return s.disableWebhook(ctx, d, identity.DisabledGone)
	case failing != nil && !now.Before(failing.Add(identity.WebhookFailing)):
		return s.disableWebhook(ctx, d, identity.DisabledFailing)
	}
	return nil
}

// disableWebhook makes a webhook inactive and mails its keeper.
func (s *Service) disableWebhook(ctx context.Context, d postgres.DueDelivery, reason string) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		done, err := tx.DisableWebhook(ctx, d.Webhook, reason)
		if err != nil || !done {
			return err
		}
		w, err := tx.Webhook(ctx, d.Webhook)
		if err != nil {
			return err
		}
		err = s.record(ctx, tx, audit.Entry{
			Actor: audit.Actor{Kind: audit.Job}, Action: "webhook.disable", Object: w.UID.String(), Target: w.Person, Organization: w.Organization,
			Details: map[string]string{"host": hostOf(w.URL), "reason": reason},
		})
		if err != nil {
			return err
		}
		return s.mailDisabled(ctx, tx, w, reason)
	})
}

func (s *Service) mailDisabled(ctx context.Context, tx *postgres.Store, w identity.Webhook, reason string) error {
	keeper, err := tx.WebhookKeeper(ctx, w.UID)
	if err != nil || keeper.IsZero() {
		return err
	}
	to, err := tx.Addressee(ctx, keeper)
	if err != nil || len(to.Addresses) == 0 {
		return err
	}
	page := "/account"
	if !w.Organization.IsZero() {
		page = "/organization"
	}
	_, err = s.mailer.Queue(ctx, tx.Tx(), mail.Message{
		Host: to.Host, To: to.Addresses[0], ToName: to.Name, Locale: to.Locale, TimeZone: to.TimeZone, Template: mail.WebhookDisabled, Reference: keeper.String(),
		Data: map[string]any{"host": hostOf(w.URL), "gone": reason == identity.DisabledGone, "link": s.link(to.Host, page)},
	})
	return err
}

// reseal returns the secrets of a webhook, encrypted with the current secret key. changed is false when they were.
func (w *webhooks) reseal(h postgres.SealedWebhook) (_ postgres.SealedWebhook, changed bool, err error) {
	for _, sealed := range []*[]byte{&h.Secret, &h.PreviousSecret} {
		if *sealed == nil {
			continue
		}
		fresh, err := w.box.Renew(*sealed, h.UID.UUID[:])
		if err != nil {
			return h, false, fmt.Errorf("open secret of webhook %s: %w", h.UID, err)
		}
		if fresh != nil {
			*sealed, changed = fresh, true
		}
	}
	return h, changed, nil
}

// TidyWebhooks gives up deliveries beyond the bound of each webhook and those of inactive ones, and deletes old entries of the logs.
func (s *Service) TidyWebhooks(ctx context.Context) error {
	if err := s.store.BoundDeliveries(ctx, identity.MaxPendingDeliveries); err != nil {
		return err
	}
	return s.store.CleanDeliveries(ctx, identity.LoggedDeliveries)
}

// WebhookOutcomes counts the attempts of this process by result: delivered, failed and to be repeated, given up.
type WebhookOutcomes struct{ Delivered, Failed, Dead int64 }

// WebhookOutcomes returns the counts since the start of the process.
func (s *Service) WebhookOutcomes() WebhookOutcomes {
	w := s.webhooks
	return WebhookOutcomes{Delivered: w.delivered.Load(), Failed: w.failed.Load(), Dead: w.dead.Load()}
}

// WaitingWebhooks returns how many deliveries of the installation wait, and for how long the oldest has been due.
func (s *Service) WaitingWebhooks(ctx context.Context) (pending int64, oldest time.Duration, err error) {
	w, err := s.store.WaitingDeliveries(ctx, s.now())
	return w.Pending, w.OldestDue, err
}
