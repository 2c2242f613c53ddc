// Makes, changes and deletes webhooks and export targets.

package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/outbound"
	"github.com/consign-dev/consign/internal/outbound/target"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/webhook"
	"github.com/consign-dev/consign/internal/webhook/postgres"
)

// Settings are the members of a webhook that a client sets.
type Settings struct {
	kind     string // of URL
	URL      string
	Events   []string
	Active   bool
	User     *string // of an export target
	Password *string
}

// checkWebhook validates the settings of a webhook, and returns the host of its address.
// Errors: fault.ErrInvalid.
func (s *Service) checkWebhook(in *Settings) (host string, err error) {
	var problems fault.Problems
	in.kind = cmp.Or(target.Kind(in.URL), webhook.KindURL)
	if in.kind != webhook.KindURL {
		return s.checkTarget(in)
	}
	if in.User != nil || in.Password != nil {
		problems.Add("user", "is for export targets, whose url begins with s3+https:// or webdav+https://")
	}
	u, err := s.Guard.Check(in.URL)
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
func (s *Service) checkTarget(in *Settings) (host string, err error) {
	var problems fault.Problems
	a, err := target.Parse(s.Guard, in.URL)
	if err != nil {
		problems.Add("url", err.Error())
	} else {
		host = strings.ToLower(a.URL.Host)
	}
	if in.User == nil || *in.User == "" || text.Line(*in.User, webhook.MaxTargetLogin) != nil {
		problems.Add("user", fmt.Sprintf("is required: 1 to %d bytes, the user of WebDAV or the access key of S3", webhook.MaxTargetLogin))
	}
	if in.Password != nil && (*in.Password == "" || len(*in.Password) > webhook.MaxTargetLogin) {
		problems.Add("password", fmt.Sprintf("must have 1 to %d bytes", webhook.MaxTargetLogin))
	}
	if len(in.Events) != 1 || in.Events[0] != events.TransferReceived {
		problems.Add("events", "of an export target must be "+events.TransferReceived+" only")
	}
	return host, problems.Err()
}

// allowTarget checks that the caller may make or change an export target: it takes files out of the installation, so it is a sensitive
// change, and no API token may do it. use consumes the proof and mails the caller, and all administrators about one of an organization, in
// the transaction of the change. Call it with the owner locked.
// Errors: token.ErrNoScope, those of Accounts.StepUp; from use those of Accounts.ChangeOrganization.
func (s *Service) allowTarget(ctx context.Context, caller token.Caller, w webhook.Webhook, host string,
	proof token.Proof) (use func(context.Context, database.Tx) error, err error) {
	if caller.Kind == token.KindAPI {
		return nil, token.ErrNoScope.With("Authorization: API tokens cannot make or change export targets")
	}
	consume, err := s.Accounts.StepUp(ctx, caller, proof)
	return func(ctx context.Context, tx database.Tx) error {
		if err := consume(ctx, tx); err != nil {
			return err
		}
		if !w.Organization.IsZero() {
			err := s.Accounts.ChangeOrganization(ctx, tx, caller, w.Organization,
				token.SensitiveChange{Kind: token.TargetChanged, Object: w.UID.String(), Subject: host, Before: w.UID})
			if err != nil {
				return err
			}
		}
		return s.Accounts.MailChange(ctx, tx, caller, mail.ExportTarget, map[string]any{"host": host})
	}, err
}

// CreateWebhook makes a webhook of the caller, or of an organization that the caller administers. It returns the secret, too,
// which an export target does not have.
// Errors: fault.ErrInvalid, webhook.ErrTooMany, those of Accounts.LockOwner, those of Accounts.LockOwner and, for an export target, of
// allowTarget.
func (s *Service) CreateWebhook(ctx context.Context, caller token.Caller, o id.Organization, in Settings,
	proof token.Proof) (webhook.Webhook, string, error) {
	host, err := s.checkWebhook(&in)
	if err != nil {
		return webhook.Webhook{}, "", err
	}
	use := func(context.Context, database.Tx) error { return nil }
	secret := outbound.NewSecret()
	sealed := secret
	w := webhook.Webhook{
		UID: id.New[id.Webhook](), Person: caller.Person, Organization: o, Kind: in.kind, URL: in.URL, Events: in.Events, Active: in.Active,
		CreatedAt: s.Now(),
	}
	if in.kind != webhook.KindURL {
		if in.Password == nil {
			return webhook.Webhook{}, "", fault.ErrInvalid.With("password: is required")
		}
		if use, err = s.allowTarget(ctx, caller, w, host, proof); err != nil {
			return webhook.Webhook{}, "", err
		}
		sealed, secret, w.Username = *in.Password, "", *in.User
	}
	most := webhook.MaxOfPerson
	if !o.IsZero() {
		w.Person, most = id.Person{}, webhook.MaxOfOrganization
	}
	err = s.Store.InTx(ctx, func(tx *postgres.Store) error {
		if err := s.Accounts.LockOwner(ctx, tx.Tx(), caller, o); err != nil {
			return err
		}
		n, err := tx.CountWebhooks(ctx, caller.Person, o)
		if err != nil {
			return err
		}
		if n >= most {
			return webhook.ErrTooMany.AtMost(int64(most))
		}
		if err := use(ctx, tx.Tx()); err != nil {
			return err
		}
		err = tx.InsertWebhook(ctx, postgres.NewWebhook{Webhook: w, Creator: caller.Person, Host: host,
			Secret: s.box.Seal([]byte(sealed), w.UID.UUID[:])})
		if err != nil {
			return err
		}
		return s.recordWebhook(ctx, tx, caller, w, "webhook.create")
	})
	return w, secret, err
}

// Webhooks lists the caller's webhooks, or those of an organization that the caller administers, newest first.
// Errors: those of Accounts.LockOwner.
func (s *Service) Webhooks(ctx context.Context, caller token.Caller, o id.Organization) ([]webhook.Webhook, error) {
	if !o.IsZero() {
		if err := s.Accounts.Administers(ctx, nil, caller, o); err != nil {
			return nil, err
		}
	}
	return s.Store.Webhooks(ctx, caller.Person, o)
}

// OfPerson lists the webhooks of a person, newest first.
func (s *Service) OfPerson(ctx context.Context, p id.Person) ([]webhook.Webhook, error) {
	return s.Store.Webhooks(ctx, p, id.Organization{})
}

// Webhook returns a webhook that the caller manages.
// Errors: webhook.ErrNotFound.
func (s *Service) Webhook(ctx context.Context, caller token.Caller, uid id.Webhook) (webhook.Webhook, error) {
	return s.managed(ctx, s.Store, caller, uid)
}

func (s *Service) managed(ctx context.Context, store *postgres.Store, caller token.Caller, uid id.Webhook) (webhook.Webhook, error) {
	w, err := store.Webhook(ctx, uid)
	if err != nil {
		return w, err
	}
	if w.Organization.IsZero() {
		if w.Person != caller.Person {
			return webhook.Webhook{}, webhook.ErrNotFound
		}
		return w, nil
	}
	err = s.Accounts.Administers(ctx, store.Tx(), caller, w.Organization)
	var refused *fault.Error
	if errors.As(err, &refused) && (refused.Kind == fault.Forbidden || refused.Kind == fault.NotFound) {
		return webhook.Webhook{}, webhook.ErrNotFound
	}
	return w, err
}

// PutWebhook changes a webhook. Activating one forgets its failures. What waits for one that is made inactive is given up.
// Errors: fault.ErrInvalid, webhook.ErrNotFound; for an export target those of allowTarget.
func (s *Service) PutWebhook(ctx context.Context, caller token.Caller, uid id.Webhook, in Settings,
	proof token.Proof) (w webhook.Webhook, err error) {
	host, invalid := s.checkWebhook(&in)
	before, err := s.managed(ctx, s.Store, caller, uid)
	if err != nil {
		return before, err
	}
	if invalid == nil {
		invalid = changesTarget(before, in)
	}
	if invalid != nil {
		return before, invalid
	}
	use := func(context.Context, database.Tx) error { return nil }
	user := ""
	var password []byte
	if in.User != nil {
		user = *in.User
	}
	if in.Password != nil {
		password = s.box.Seal([]byte(*in.Password), uid.UUID[:])
		if use, err = s.allowTarget(ctx, caller, before, host, proof); err != nil {
			return before, err
		}
	}
	err = s.Store.InTx(ctx, func(tx *postgres.Store) error {
		if err := s.Accounts.LockOwner(ctx, tx.Tx(), caller, before.Organization); err != nil {
			return err
		}
		if w, err = s.managed(ctx, tx, caller, uid); err != nil {
			return err
		}
		if err := changesTarget(w, in); err != nil {
			return err
		}
		if err := use(ctx, tx.Tx()); err != nil {
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
func changesTarget(w webhook.Webhook, in Settings) error {
	switch {
	case w.Kind != in.kind:
		return fault.ErrInvalid.With("url: must stay of the same kind; make another webhook")
	case in.User != nil && in.Password == nil && (in.URL != w.URL || *in.User != w.Username):
		return fault.ErrInvalid.With("password: is required with another url or user")
	}
	return nil
}

// RotateWebhook replaces the secret of a webhook and returns it. Messages are signed with the former one, too, for webhook.SecretOverlap.
// Errors: fault.ErrInvalid, webhook.ErrNotFound.
func (s *Service) RotateWebhook(ctx context.Context, caller token.Caller, uid id.Webhook) (w webhook.Webhook, secret string, err error) {
	secret = outbound.NewSecret()
	err = s.Store.InTx(ctx, func(tx *postgres.Store) error {
		if w, err = s.managed(ctx, tx, caller, uid); err != nil {
			return err
		}
		if w.Exports() {
			return fault.ErrInvalid.With("an export target has no secret; PUT it with another password")
		}
		if w, err = tx.RotateWebhook(ctx, uid, s.box.Seal([]byte(secret), uid.UUID[:]), s.Now().Add(webhook.SecretOverlap)); err != nil {
			return err
		}
		return s.recordWebhook(ctx, tx, caller, w, "webhook.rotate")
	})
	return w, secret, err
}

// DeleteWebhook deletes a webhook with its log.
// Errors: webhook.ErrNotFound.
func (s *Service) DeleteWebhook(ctx context.Context, caller token.Caller, uid id.Webhook) error {
	return s.Store.InTx(ctx, func(tx *postgres.Store) error {
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
// Errors: webhook.ErrNotFound.
func (s *Service) PingWebhook(ctx context.Context, caller token.Caller, uid id.Webhook) (webhook.Delivery, error) {
	w, err := s.managed(ctx, s.Store, caller, uid)
	if err != nil {
		return webhook.Delivery{}, err
	}
	return s.Store.QueuePing(ctx, w, caller.Person, s.Now())
}

// WebhookDeliveries returns the log of a webhook, newest first. An empty state does not restrict.
// Errors: fault.ErrInvalid, webhook.ErrNotFound.
func (s *Service) WebhookDeliveries(ctx context.Context, caller token.Caller, uid id.Webhook, state string) ([]webhook.Delivery, error) {
	if !slices.Contains([]string{"", webhook.DeliveryPending, webhook.DeliveryDelivered, webhook.DeliveryDead}, state) {
		return nil, fault.ErrInvalid.With("state: must be pending, delivered or dead")
	}
	if _, err := s.managed(ctx, s.Store, caller, uid); err != nil {
		return nil, err
	}
	return s.Store.WebhookDeliveries(ctx, uid, state, webhook.LoggedDeliveries)
}

// ResendDelivery queues a delivery again. The message has the same id and body.
// Errors: webhook.ErrNotFound, webhook.ErrDeliveryNotFound.
func (s *Service) ResendDelivery(ctx context.Context, caller token.Caller, uid id.Webhook, delivery id.Message) (webhook.Delivery, error) {
	if _, err := s.managed(ctx, s.Store, caller, uid); err != nil {
		return webhook.Delivery{}, err
	}
	return s.Store.RequeueDelivery(ctx, uid, delivery, s.Now())
}

func (s *Service) recordWebhook(ctx context.Context, tx *postgres.Store, caller token.Caller, w webhook.Webhook, action string) error {
	return audit.Append(ctx, tx.Tx(), s.Now(), audit.Entry{
		Actor: actor(caller, w), Action: action, Object: w.UID.String(), Target: w.Person, Organization: w.Organization,
		Details: map[string]string{"host": hostOf(w.URL), "events": strings.Join(w.Events, " ")},
	})
}

// actor returns the caller as the actor of a change of a webhook.
func actor(caller token.Caller, w webhook.Webhook) audit.Actor {
	if w.Organization.IsZero() {
		return audit.Of(caller)
	}
	return audit.Of(caller).As(audit.Administrator)
}

// hostOf returns the host of an address. Its path may hold a secret of the receiver.
func hostOf(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// resealBatch is how many webhooks one query returns.
const resealBatch = 500

// Reseal encrypts the secrets of webhooks with the current secret key and returns how many it has changed.
func (s *Service) Reseal(ctx context.Context) (resealed int, err error) {
	var after id.Webhook
	for {
		batch, err := s.Store.SealedWebhooks(ctx, after, resealBatch)
		if err != nil {
			return resealed, err
		}
		for _, w := range batch {
			after = w.UID
			sealed, changed, err := s.reseal(w)
			if err != nil || !changed {
				if err != nil {
					return resealed, err
				}
				continue
			}
			if err := s.Store.ReplaceSealedWebhook(ctx, w, sealed); err != nil {
				return resealed, err
			}
			resealed++
		}
		if len(batch) < resealBatch {
			return resealed, nil
		}
	}
}
