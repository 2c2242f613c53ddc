package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/webhook"
)

// WebhookSettings are the members of a webhook that a client sets.
type WebhookSettings struct {
	URL    string
	Events []string
	Active bool
}

// checkWebhook validates the settings of a webhook, and returns the host of its address.
// Errors: fault.ErrInvalid.
func (s *Service) checkWebhook(in *WebhookSettings) (host string, err error) {
	var problems fault.Problems
	u, err := s.webhooks.Guard.Check(in.URL)
	if err != nil {
		problems.Add("url", err.Error())
	} else {
		host = strings.ToLower(u.Host)
	}
	if len(in.Events) == 0 {
		problems.Add("events", "is required: at least one kind of event")
	}
	for i, kind := range in.Events {
		if !slices.Contains(events.Kinds, kind) {
			problems.Add(fmt.Sprintf("events[%d]", i), "must be one of "+strings.Join(events.Kinds, ", "))
		}
	}
	in.Events = slices.Compact(slices.Sorted(slices.Values(in.Events)))
	return host, problems.Err()
}

// CreateWebhook makes a webhook of the caller, or of an organization that the caller administers. It returns the secret, too.
// Errors: fault.ErrInvalid, identity.ErrTooManyWebhooks, identity.ErrPersonNotFound, those of authorize.
func (s *Service) CreateWebhook(ctx context.Context, caller token.Caller, o id.Organization, in WebhookSettings) (identity.Webhook, string, error) {
	host, err := s.checkWebhook(&in)
	if err != nil {
		return identity.Webhook{}, "", err
	}
	secret := webhook.NewSecret()
	w := identity.Webhook{
		UID: id.New[id.Webhook](), Person: caller.Person, Organization: o, URL: in.URL, Events: in.Events, Active: in.Active, CreatedAt: s.now(),
	}
	most := identity.MaxWebhooks
	if !o.IsZero() {
		w.Person, most = id.Person{}, identity.MaxOrganizationWebhooks
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := s.lockOwner(ctx, tx, caller, o); err != nil {
			return err
		}
		n, err := tx.CountWebhooks(ctx, caller.Person, o)
		if err != nil {
			return err
		}
		if n >= most {
			return identity.ErrTooManyWebhooks
		}
		err = tx.InsertWebhook(ctx, postgres.NewWebhook{Webhook: w, Creator: caller.Person, Host: host, Secret: s.webhooks.box.Seal([]byte(secret), w.UID.UUID[:])})
		if err != nil {
			return err
		}
		return s.recordWebhook(ctx, tx, caller, w, "webhook.create")
	})
	return w, secret, err
}

// lockOwner locks an organization that the caller administers unless it is zero, and the caller.
// Errors: identity.ErrPersonNotFound, those of authorize.
func (s *Service) lockOwner(ctx context.Context, tx *postgres.Store, caller token.Caller, o id.Organization) error {
	if !o.IsZero() {
		if err := tx.LockOrganizations(ctx, o); err != nil {
			return err
		}
		if err := s.authorize(ctx, tx, caller, o, identity.RoleOrganizationAdmin); err != nil {
			return err
		}
	}
	return tx.LockPerson(ctx, caller.Person)
}

// Webhooks lists the caller's webhooks, or those of an organization that the caller administers, newest first.
// Errors: those of authorize.
func (s *Service) Webhooks(ctx context.Context, caller token.Caller, o id.Organization) ([]identity.Webhook, error) {
	if !o.IsZero() {
		if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
			return nil, err
		}
	}
	return s.store.Webhooks(ctx, caller.Person, o)
}

// Webhook returns a webhook that the caller manages.
// Errors: identity.ErrWebhookNotFound.
func (s *Service) Webhook(ctx context.Context, caller token.Caller, uid id.Webhook) (identity.Webhook, error) {
	return s.managed(ctx, s.store, caller, uid)
}

func (s *Service) managed(ctx context.Context, store *postgres.Store, caller token.Caller, uid id.Webhook) (identity.Webhook, error) {
	w, err := store.Webhook(ctx, uid)
	if err != nil {
		return w, err
	}
	if w.Organization.IsZero() {
		if w.Person != caller.Person {
			return identity.Webhook{}, identity.ErrWebhookNotFound
		}
		return w, nil
	}
	err = s.authorize(ctx, store, caller, w.Organization, identity.RoleOrganizationAdmin)
	if errors.Is(err, identity.ErrNotMember) || errors.Is(err, identity.ErrRoleMissing) || errors.Is(err, identity.ErrOrganizationNotFound) {
		return identity.Webhook{}, identity.ErrWebhookNotFound
	}
	return w, err
}

// PutWebhook changes a webhook. Activating one forgets its failures. What waits for one that is made inactive is given up.
// Errors: fault.ErrInvalid, identity.ErrWebhookNotFound.
func (s *Service) PutWebhook(ctx context.Context, caller token.Caller, uid id.Webhook, in WebhookSettings) (w identity.Webhook, err error) {
	host, invalid := s.checkWebhook(&in)
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if w, err = s.managed(ctx, tx, caller, uid); err != nil {
			return err
		}
		if invalid != nil {
			return invalid
		}
		w.URL, w.Events, w.Active = in.URL, in.Events, in.Active
		if w, err = tx.ChangeWebhook(ctx, w, host); err != nil {
			return err
		}
		return s.recordWebhook(ctx, tx, caller, w, "webhook.update")
	})
	return w, err
}

// RotateWebhook replaces the secret of a webhook and returns it. Messages are signed with the former one, too, for identity.WebhookOverlap.
// Errors: identity.ErrWebhookNotFound.
func (s *Service) RotateWebhook(ctx context.Context, caller token.Caller, uid id.Webhook) (w identity.Webhook, secret string, err error) {
	secret = webhook.NewSecret()
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if _, err := s.managed(ctx, tx, caller, uid); err != nil {
			return err
		}
		if w, err = tx.RotateWebhook(ctx, uid, s.webhooks.box.Seal([]byte(secret), uid.UUID[:]), s.now().Add(identity.WebhookOverlap)); err != nil {
			return err
		}
		return s.recordWebhook(ctx, tx, caller, w, "webhook.rotate")
	})
	return w, secret, err
}

// DeleteWebhook deletes a webhook with its log.
// Errors: identity.ErrWebhookNotFound.
func (s *Service) DeleteWebhook(ctx context.Context, caller token.Caller, uid id.Webhook) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		w, err := s.managed(ctx, tx, caller, uid)
		if err != nil {
			return err
		}
		if err := tx.DeleteWebhook(ctx, uid); err != nil {
			return err
		}
		return s.recordWebhook(ctx, tx, caller, w, "webhook.delete")
	})
}

// PingWebhook queues a test message, also for an inactive webhook.
// Errors: identity.ErrWebhookNotFound.
func (s *Service) PingWebhook(ctx context.Context, caller token.Caller, uid id.Webhook) (identity.WebhookDelivery, error) {
	w, err := s.managed(ctx, s.store, caller, uid)
	if err != nil {
		return identity.WebhookDelivery{}, err
	}
	return s.store.QueuePing(ctx, w, caller.Person, s.now())
}

// WebhookDeliveries returns the log of a webhook, newest first. An empty state does not restrict.
// Errors: fault.ErrInvalid, identity.ErrWebhookNotFound.
func (s *Service) WebhookDeliveries(ctx context.Context, caller token.Caller, uid id.Webhook, state string) ([]identity.WebhookDelivery, error) {
	if !slices.Contains([]string{"", identity.DeliveryPending, identity.DeliveryDelivered, identity.DeliveryDead}, state) {
		return nil, fault.ErrInvalid.With("state: must be pending, delivered or dead")
	}
	if _, err := s.managed(ctx, s.store, caller, uid); err != nil {
		return nil, err
	}
	return s.store.WebhookDeliveries(ctx, uid, state, identity.LoggedDeliveries)
}

// ResendDelivery queues a delivery again. The message has the same id and body.
// Errors: identity.ErrWebhookNotFound, identity.ErrWebhookDeliveryNotFound.
func (s *Service) ResendDelivery(ctx context.Context, caller token.Caller, uid id.Webhook, delivery id.Message) (identity.WebhookDelivery, error) {
	if _, err := s.managed(ctx, s.store, caller, uid); err != nil {
		return identity.WebhookDelivery{}, err
	}
	return s.store.RequeueDelivery(ctx, uid, delivery, s.now())
}

func (s *Service) recordWebhook(ctx context.Context, tx *postgres.Store, caller token.Caller, w identity.Webhook, action string) error {
	return s.record(ctx, tx, audit.Entry{
		Actor: caller.Person, Action: action, Object: w.UID.String(), Target: w.Person, Organization: w.Organization, Client: caller.Client,
		Details: map[string]string{"host": hostOf(w.URL), "events": strings.Join(w.Events, " ")},
	})
}

// hostOf returns the host of an address. Its path may hold a secret of the receiver.
func hostOf(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// resealWebhooks encrypts the secrets of webhooks with the current secret key and returns how many it has changed.
func (s *Service) resealWebhooks(ctx context.Context) (resealed int, err error) {
	var after id.Webhook
	for {
		batch, err := s.store.SealedWebhooks(ctx, after, resealBatch)
		if err != nil {
			return resealed, err
		}
		for _, w := range batch {
			after = w.UID
			sealed, changed, err := s.webhooks.reseal(w)
			if err != nil || !changed {
				if err != nil {
					return resealed, err
				}
				continue
			}
			if err := s.store.ReplaceSealedWebhook(ctx, w, sealed); err != nil {
				return resealed, err
			}
			resealed++
		}
		if len(batch) < resealBatch {
			return resealed, nil
		}
	}
}
