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
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/outbound"
	"github.com/consign-dev/consign/internal/webhook"
	"github.com/consign-dev/consign/internal/webhook/postgres"
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

// counters count the attempts of this process by outcome.
type counters struct{ delivered, failed, dead atomic.Int64 }

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

func newQueue(p places) *deliveryQueue {
	return &deliveryQueue{places: p, wake: make(chan struct{}, 1), ofWebhook: map[id.Webhook]int{}, ofHost: map[string]int{}}
}

// Wake makes Run look for due deliveries now.
func (s *Service) Wake() {
	s.messages.look()
	s.copies.look()
}

// look makes the queue look for due deliveries now.
func (q *deliveryQueue) look() {
	select {
	case q.wake <- struct{}{}:
	default: // it is woken already
	}
}

// Run sends due deliveries until ctx ends. Several replicas may run it.
func (s *Service) Run(ctx context.Context) error {
	var queues sync.WaitGroup
	for _, q := range []*deliveryQueue{s.messages, s.copies} {
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
			s.Log.WarnContext(ctx, "deliveries to webhooks cannot be read; they wait", slog.Any("error", err))
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
	now := s.Now()
	due, err := s.Store.ClaimDeliveries(ctx, load, now, now.Add(deliveryLease))
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
	s.settling <- struct{}{}
	defer func() { <-s.settling }()
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleDeliveryTime)
	defer cancel()
	switch {
	case ctx.Err() != nil && r.Reason != "":
		err = s.Store.ReleaseDelivery(settle, d, s.Now())
	case err == nil:
		err = s.settleDelivery(settle, d, r)
	}
	if err != nil { // the lease ends, and it is sent again
		s.Log.WarnContext(settle, "a delivery to a webhook failed", slog.String("webhook", d.Webhook.String()),
			slog.String("delivery", d.UID.String()), slog.Any("error", err))
	}
}

// attempt sends a message, or copies a transfer to an export target.
func (s *Service) attempt(ctx context.Context, d postgres.DueDelivery) (outbound.Result, error) {
	if d.Receiver != webhook.KindURL {
		return s.export(ctx, d)
	}
	m, err := s.message(d)
	if err != nil {
		return outbound.Result{}, err
	}
	return s.Sender.Send(ctx, m)
}

// message returns the message of a delivery, which is the same at each attempt.
func (s *Service) message(d postgres.DueDelivery) (outbound.Message, error) {
	receivers := make([]string, len(d.Receivers))
	for i, p := range d.Receivers {
		receivers[i] = p.String()
	}
	body, err := outbound.Body(outbound.Event{Kind: d.Kind, UID: d.Event.String(), Subject: d.Subject, Receivers: receivers, At: d.CreatedAt})
	if err != nil {
		return outbound.Message{}, err
	}
	m := outbound.Message{ID: d.UID.String(), URL: d.URL, Body: body}
	for _, sealed := range [][]byte{d.Secret, d.PreviousSecret} {
		if sealed == nil {
			continue
		}
		secret, err := s.box.Open(sealed, d.Webhook.UUID[:])
		if err != nil {
			return outbound.Message{}, fmt.Errorf("secret of webhook %s: %w", d.Webhook, err)
		}
		m.Secrets = append(m.Secrets, string(secret))
	}
	return m, nil
}

// settleDelivery stores the outcome of an attempt. It makes the webhook inactive when the receiver wants no more messages or has failed
// for webhook.FailingTime.
func (s *Service) settleDelivery(ctx context.Context, d postgres.DueDelivery, r outbound.Result) error {
	now := s.Now()
	// not by the receiver
	refused := r.Reason == webhook.ReasonEnded || r.Reason == webhook.ReasonProtected || r.Reason == webhook.ReasonPersonal
	o := postgres.DeliveryOutcome{
		State: webhook.DeliveryDelivered, Status: r.Status, DurationMs: int(r.Duration.Milliseconds()), Answer: r.Answer, Reason: r.Reason,
		Next:   now,
		Blames: d.Kind != webhook.Ping && !refused, // a test says nothing about the webhook
	}
	count := &s.outcomes.delivered
	if r.Reason != "" {
		o.State, count = webhook.DeliveryDead, &s.outcomes.dead
		if pause, again := outbound.Retry(d.Attempts, r.RetryAfter); again && o.Blames {
			o.State, o.Next, count = webhook.DeliveryPending, now.Add(pause), &s.outcomes.failed
		}
	}
	settle := s.Store.SettleDelivery
	if d.Receiver != webhook.KindURL {
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
		return s.disableWebhook(ctx, d, webhook.DisabledGone)
	case failing != nil && !now.Before(failing.Add(webhook.FailingTime)):
		return s.disableWebhook(ctx, d, webhook.DisabledFailing)
	}
	return nil
}

// disableWebhook makes a webhook inactive and mails its keeper.
func (s *Service) disableWebhook(ctx context.Context, d postgres.DueDelivery, reason string) error {
	return s.Store.InTx(ctx, func(tx *postgres.Store) error {
		done, err := tx.DisableWebhook(ctx, d.Webhook, reason)
		if err != nil || !done {
			return err
		}
		w, err := tx.Webhook(ctx, d.Webhook)
		if err != nil {
			return err
		}
		err = audit.Append(ctx, tx.Tx(), s.Now(), audit.Entry{
			Actor: audit.Actor{Kind: audit.Job}, Action: "webhook.disable", Object: w.UID.String(), Target: w.Person, Organization: w.Organization,
			Details: map[string]string{"host": hostOf(w.URL), "reason": reason},
		})
		if err != nil {
			return err
		}
		return s.mailDisabled(ctx, tx, w, reason)
	})
}

func (s *Service) mailDisabled(ctx context.Context, tx *postgres.Store, w webhook.Webhook, reason string) error {
	to, err := tx.WebhookKeeper(ctx, w.UID)
	if err != nil || to.Email == "" {
		return err
	}
	page := "/account/devices"
	if !w.Organization.IsZero() {
		page = "/organization"
	}
	_, err = s.Mailer.Queue(ctx, tx.Tx(), mail.Message{
		Host: to.Host, To: to.Email, ToName: to.Name, Locale: to.Locale, TimeZone: to.TimeZone, Template: mail.WebhookDisabled,
		Reference: to.Person.String(),
		Data:      map[string]any{"host": hostOf(w.URL), "gone": reason == webhook.DisabledGone, "link": s.Hosts.URL(to.Host, page)},
	})
	return err
}

// reseal returns the secrets of a webhook, encrypted with the current secret key. changed is false when they were.
func (s *Service) reseal(h postgres.SealedWebhook) (_ postgres.SealedWebhook, changed bool, err error) {
	for _, sealed := range []*[]byte{&h.Secret, &h.PreviousSecret} {
		if *sealed == nil {
			continue
		}
		fresh, err := s.box.Renew(*sealed, h.UID.UUID[:])
		if err != nil {
			return h, false, fmt.Errorf("open secret of webhook %s: %w", h.UID, err)
		}
		if fresh != nil {
			*sealed, changed = fresh, true
		}
	}
	return h, changed, nil
}

// Tidy gives up deliveries beyond the bound of each webhook and those of inactive ones, and deletes old entries of the logs.
func (s *Service) Tidy(ctx context.Context) error {
	if err := s.Store.BoundDeliveries(ctx, webhook.MaxPendingDeliveries); err != nil {
		return err
	}
	return s.Store.CleanDeliveries(ctx, webhook.LoggedDeliveries)
}

// Outcomes counts the attempts of this process by result: delivered, failed and to be repeated, given up.
type Outcomes struct{ Delivered, Failed, Dead int64 }

// Outcomes returns the counts since the start of the process.
func (s *Service) Outcomes() Outcomes {
	return Outcomes{Delivered: s.outcomes.delivered.Load(), Failed: s.outcomes.failed.Load(), Dead: s.outcomes.dead.Load()}
}

// Waiting returns how many deliveries of the installation wait, and for how long the oldest has been due.
func (s *Service) Waiting(ctx context.Context) (pending int64, oldest time.Duration, err error) {
	w, err := s.Store.WaitingDeliveries(ctx, s.Now())
	return w.Pending, w.OldestDue, err
}
