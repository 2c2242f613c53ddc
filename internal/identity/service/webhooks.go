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
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/webhook"
	"github.com/consign-dev/consign/internal/webhook/target"
)

// WebhookSettings are the members of a webhook that a client sets.
type WebhookSettings struct {
	URL      string
	Events   []string
	Active   bool
	User     *string // of an export target
	Password *string
}

// checkWebhook validates the settings of a webhook, and returns the host of its address.
// Errors: fault.ErrInvalid.
func (s *Service) checkWebhook(in *WebhookSettings) (host string, err error) {
	var problems fault.Problems
	if target.Kind(in.URL) != "" {
		return s.checkTarget(in)
	}
	if in.User != nil || in.Password != nil {
		problems.Add("user", "is for export targets, whose url begins with s3+https:// or webdav+https://")
	}
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

// checkTarget is checkWebhook for an export target, which gets all transfers that are received.
// Errors: fault.ErrInvalid.
func (s *Service) checkTarget(in *WebhookSettings) (host string, err error) {
	var problems fault.Problems
	a, err := target.Parse(s.webhooks.Guard, in.URL)
	if err != nil {
		problems.Add("url", err.Error())
	} else {
		host = strings.ToLower(a.URL.Host)
	}
	if in.User == nil || *in.User == "" || text.Line(*in.User, identity.MaxTargetLogin) != nil {
		problems.Add("user", fmt.Sprintf("is required: 1 to %d bytes, the user of WebDAV or the access key of S3", identity.MaxTargetLogin))
	}
	if in.Password != nil && (*in.Password == "" || len(*in.Password) > identity.MaxTargetLogin) {
		problems.Add("password", fmt.Sprintf("must have 1 to %d bytes", identity.MaxTargetLogin))
	}
	if len(in.Events) != 1 || in.Events[0] != events.TransferReceived {
		problems.Add("events", "of an export target must be "+events.TransferReceived+" only")
	}
	return host, problems.Err()
}

// allowTarget checks that the caller may make or change an export target: it takes files out of the installation, so it is a sensitive
// change, and no API token may do it. use consumes the proof and mails the caller, in the transaction of the change.
// Errors: token.ErrNoScope, those of stepUp.
func (s *Service) allowTarget(ctx context.Context, caller token.Caller, host string, proof Proof) (use func(context.Context, *postgres.Store) error, err error) {
	if caller.Kind == token.KindAPI {
		return nil, token.ErrNoScope.With("Authorization: API tokens cannot make or change export targets")
	}
	consume, err := s.stepUp(ctx, caller, proof)
	return func(ctx context.Context, tx *postgres.Store) error {
		if err := consume(ctx, tx); err != nil {
			return err
		}
		return s.secure(ctx, tx, caller.Person, caller.Client, notice{template: mail.ExportTarget, data: map[string]any{"host": host}})
	}, err
}

// CreateWebhook makes a webhook of the caller, or of an organization that the caller administers. It returns the secret, too,
// which an export target does not have.
// Errors: fault.ErrInvalid, identity.ErrTooManyWebhooks, identity.ErrPersonNotFound, those of authorize and, for an export target, of
// allowTarget.
func (s *Service) CreateWebhook(ctx context.Context, caller token.Caller, o id.Organization, in WebhookSettings, proof Proof) (identity.Webhook, string, error) {
	host, err := s.checkWebhook(&in)
	if err != nil {
		return identity.Webhook{}, "", err
	}
	use := func(context.Context, *postgres.Store) error { return nil }
	secret := webhook.NewSecret()
	sealed, user := secret, ""
	if target.Kind(in.URL) != "" {
		if in.Password == nil {
			return identity.Webhook{}, "", fault.ErrInvalid.With("password: is required")
		}
		if use, err = s.allowTarget(ctx, caller, host, proof); err != nil {
			return identity.Webhook{}, "", err
		}
		sealed, secret, user = *in.Password, "", *in.User
	}
	w := identity.Webhook{
		UID: id.New[id.Webhook](), Person: caller.Person, Organization: o, URL: in.URL, Username: user, Events: in.Events, Active: in.Active, CreatedAt: s.now(),
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
		if err := use(ctx, tx); err != nil {
			return err
		}
		err = tx.InsertWebhook(ctx, postgres.NewWebhook{Webhook: w, Creator: caller.Person, Host: host, Secret: s.webhooks.box.Seal([]byte(sealed), w.UID.UUID[:])})
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
// Errors: fault.ErrInvalid, identity.ErrWebhookNotFound; for an export target those of allowTarget.
func (s *Service) PutWebhook(ctx context.Context, caller token.Caller, uid id.Webhook, in WebhookSettings, proof Proof) (w identity.Webhook, err error) {
	host, invalid := s.checkWebhook(&in)
	before, err := s.managed(ctx, s.store, caller, uid)
	if err != nil {
		return before, err
	}
	if invalid == nil {
		invalid = changesTarget(before, in)
	}
	if invalid != nil {
		return before, invalid
	}
	use := func(context.Context, *postgres.Store) error { return nil }
	user := ""
	var password []byte
	if in.User != nil {
		user = *in.User
	}
	if in.Password != nil {
		password = s.webhooks.box.Seal([]byte(*in.Password), uid.UUID[:])
		if use, err = s.allowTarget(ctx, caller, host, proof); err != nil {
			return before, err
		}
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := s.lockOwner(ctx, tx, caller, before.Organization); err != nil {
			return err
		}
		if w, err = s.managed(ctx, tx, caller, uid); err != nil {
			return err
		}
		if err := changesTarget(w, in); err != nil {
			return err
		}
		if err := use(ctx, tx); err != nil {
			return err
		}
		w.URL, w.Username, w.Events, w.Active = in.URL, user, in.Events, in.Active
		if w, err = tx.ChangeWebhook(ctx, w, host, password); err != nil {
			return err
		}
		return s.recordWebhook(ctx, tx, caller, w, "webhook.update")
	})
	return w, err
}

// changesTarget checks that a change leaves a webhook a webhook and an export target one of its kind, and that a password is never sent to
// another place than that for which it was given.
// Errors: fault.ErrInvalid.
func changesTarget(w identity.Webhook, in WebhookSettings) error {
	switch {
	case target.Kind(w.URL) != target.Kind(in.URL):
		return fault.ErrInvalid.With("url: must stay of the same kind; make another webhook")
	case in.User != nil && in.Password == nil && (in.URL != w.URL || *in.User != w.Username):
		return fault.ErrInvalid.With("password: is required with another url or user")
	}
	return nil
}

// RotateWebhook replaces the secret of a webhook and returns it. Messages are signed with the former one, too, for identity.WebhookOverlap.
// Errors: fault.ErrInvalid, identity.ErrWebhookNotFound.
func (s *Service) RotateWebhook(ctx context.Context, caller token.Caller, uid id.Webhook) (w identity.Webhook, secret string, err error) {
	secret = webhook.NewSecret()
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if w, err = s.managed(ctx, tx, caller, uid); err != nil {
			return err
		}
		if target.Kind(w.URL) != "" {
			return fault.ErrInvalid.With("an export target has no secret; PUT it with another password")
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
		Actor: audit.Of(caller), Action: action, Object: w.UID.String(), Target: w.Person, Organization: w.Organization,
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
