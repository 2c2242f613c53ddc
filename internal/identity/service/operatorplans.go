// Limitations and subscriptions of organizations, which operators set.

package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/text"
)

// SetLimits sets limitations of an organization. Every replica applies them at once.
// Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound.
func (s *Service) SetLimits(ctx context.Context, by audit.Actor, organization string, c identity.LimitsChange) error {
	columns, err := c.Columns()
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		o, err := lockOrganization(ctx, tx, organization)
		if err != nil {
			return err
		}
		var set []string
		var problems fault.Problems
		for _, l := range identity.Limitations() {
			switch value, given := columns[l.Column]; {
			case given && value == nil && o.Free:
				problems.Add(l.Name, "needs a value: the free organization's limits are the plan itself")
			case given && value == nil:
				set = append(set, l.Name+"=default")
			case given:
				set = append(set, fmt.Sprint(l.Name, "=", value))
			}
		}
		if err := problems.Err(); err != nil {
			return err
		}
		if err := tx.SetLimits(ctx, o.UID, columns); err != nil {
			return err
		}
		if c.TransferVolumeGB.Given || c.StorageVolumeGB.Given {
			if err := tx.RaisePersonal(ctx, o.UID); err != nil {
				return err
			}
		}
		if err := tx.NotifyDirectory(ctx); err != nil {
			return err
		}
		return s.recordOf(ctx, tx, by, o.UID, "organization.limits", map[string]string{"limits": strings.Join(set, " ")})
	})
}

// NewSubscription is a new subscription, or an update of the one of the same product.
type NewSubscription struct {
	Domain    string
	Product   string     // empty: none
	Name      string     // of Product; empty: Product
	Status    string     // empty: active
	ExpiresAt *time.Time // nil: now if cancelled, else never
}

// Subscribe stores a subscription of an organization.
// Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound.
func (s *Service) Subscribe(ctx context.Context, by audit.Actor, organization string, n NewSubscription) error {
	var problems fault.Problems
	if n.Product == "" && n.Name != "" {
		problems.Add("name", "needs a product")
	}
	n.Name, n.Status = cmp.Or(n.Name, n.Product), cmp.Or(n.Status, identity.StatusActive)
	if !slices.Contains(identity.Domains(), n.Domain) {
		problems.Add("domain", "must be one of "+strings.Join(identity.Domains(), ", "))
	}
	if !slices.Contains(identity.SubscriptionStatuses(), n.Status) {
		problems.Add("status", "must be one of "+strings.Join(identity.SubscriptionStatuses(), ", "))
	}
	for _, c := range []struct{ member, value string }{{"product", n.Product}, {"name", n.Name}} {
		if err := text.Line(c.value, text.MaxName); err != nil {
			problems.Add(c.member, err.Error())
		}
	}
	if err := problems.Err(); err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		o, err := lockOrganization(ctx, tx, organization)
		if err != nil {
			return err
		}
		if err := tx.PutSubscription(ctx, identity.Subscription{
			Organization: o.UID, Domain: n.Domain, ProductID: n.Product, DisplayName: n.Name, Status: n.Status, ExpiresAt: n.ExpiresAt,
		}, s.now()); err != nil {
			return err
		}
		return s.recordOf(ctx, tx, by, o.UID, "organization.subscribe", map[string]string{"domain": n.Domain, "status": n.Status})
	})
}
