// Limitations of organizations, subscriptions, and the volume of a person.

package service

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// planDefault is the value that resets a limit to the free organization's plan.
const planDefault = "default"

// SetLimits sets limitations of an organization. Assignments are name=value with the names of the client environment.
// The value default resets a limit to the free organization's plan. Every replica applies the new limits at once.
// Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound.
func (s *Service) SetLimits(ctx context.Context, organization string, assignments []string) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		details, err := lockOrganization(ctx, tx, organization)
		if err != nil {
			return err
		}
		o := details.UID
		var problems fault.Problems
		if len(assignments) == 0 {
			problems.Add("limits", "give at least one")
		}
		for _, a := range assignments {
			name, value, _ := strings.Cut(a, "=")
			parsed, problem := parseLimit(name, value)
			if problem == "" && parsed == nil && details.Free {
				problem = "needs a value: the free organization's limits are the plan itself"
			}
			if problem != "" {
				problems.Add(name, problem)
				continue
			}
			if err := tx.SetLimit(ctx, o, name, parsed); err != nil {
				return err
			}
		}
		if err := problems.Err(); err != nil {
			return err
		}
		if err := tx.NotifyDirectory(ctx); err != nil {
			return err
		}
		return s.recordOf(ctx, tx, token.Caller{}, o, "organization.limits", map[string]string{"limits": strings.Join(assignments, " ")})
	})
}

// SetPersonLimits sets a person's own limits. Assignments are name=value; the only name is uploadVolumeGb, the volume
// per month. The value default resets it to the server's setting.
// Errors: fault.ErrInvalid, identity.ErrPersonNotFound.
func (s *Service) SetPersonLimits(ctx context.Context, person string, assignments []string) error {
	p, err := s.find(ctx, person)
	if err != nil {
		return err
	}
	var problems fault.Problems
	var volume *int64
	for _, a := range assignments {
		name, value, _ := strings.Cut(a, "=")
		if name != "uploadVolumeGb" {
			problems.Add(name, "is not a limit of a person; use uploadVolumeGb")
			continue
		}
		if value == planDefault {
			continue
		}
		parsed, problem := parseVolume(value)
		if problem != "" {
			problems.Add(name, problem)
			continue
		}
		bytes, _ := parsed.(int64)
		volume = &bytes
	}
	if len(assignments) == 0 {
		problems.Add("uploadVolumeGb", "is required")
	}
	if err := problems.Err(); err != nil {
		return err
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.SetUploadVolume(ctx, p, volume); err != nil {
			return err
		}
		if err := tx.NotifyDirectory(ctx); err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Entry{
			Action: "person.limits", Object: p.String(), Target: p, Details: map[string]string{"limits": strings.Join(assignments, " ")},
		})
	})
	return err
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
func (s *Service) Subscribe(ctx context.Context, organization string, n NewSubscription) error {
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
		return s.recordOf(ctx, tx, token.Caller{}, o.UID, "organization.subscribe", map[string]string{"domain": n.Domain, "status": n.Status})
	})
}

// limitKinds is the kind of value of each limit.
var limitKinds = map[string]string{
	"serviceEnabled": "switch", "users": "count", "transferVolumeGb": "volume", "storageVolumeGb": "volume", "gdprContract": "switch",
	"secureSpaces": "switch", "mimeTypeFilter": "switch", "newTransferLimit": "count", "newTransferDrainRate": "rate",
	"newTransferReceiversLimit": "count", "adminPortal": "switch", "mailboxGroups": "count", "changeHostname": "hostname",
}

// parseLimit parses the value of a limit. parsed is nil for planDefault. problem is empty for a valid value.
func parseLimit(name, value string) (parsed any, problem string) {
	kind, known := limitKinds[name]
	switch {
	case !known:
		names := make([]string, 0, len(limitKinds))
		for n := range limitKinds {
			names = append(names, n)
		}
		slices.Sort(names)
		return nil, "is not a limit; use " + strings.Join(names, ", ")
	case value == planDefault:
		return nil, ""
	}
	switch kind {
	case "switch":
		return parseSwitch(value)
	case "count":
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < 0 {
			return nil, "must be a whole number, 0 to 2147483647"
		}
		return int32(n), ""
	case "volume":
		return parseVolume(value)
	case "rate":
		return parseRate(value)
	}
	options := []string{identity.HostnameFixed, identity.HostnameLabel, identity.HostnameLabels, identity.HostnameCustom}
	if !slices.Contains(options, value) {
		return nil, "must be one of " + strings.Join(options, ", ")
	}
	return value, ""
}

func parseSwitch(value string) (any, string) {
	switch value {
	case "on", "true":
		return true, ""
	case "off", "false":
		return false, ""
	}
	return nil, "must be on or off"
}

// parseVolume parses gigabytes and returns bytes.
func parseVolume(value string) (any, string) {
	gb, err := strconv.ParseFloat(value, 64)
	if err != nil || !(gb >= 0 && gb <= 1e9) {
		return nil, "must be a number of gigabytes, 0 to 1000000000"
	}
	return int64(math.Round(gb * identity.Gigabyte)), ""
}

// parseRate parses tokens per second, also as a fraction: 1/60 is one token per minute.
func parseRate(value string) (any, string) {
	above, below, fraction := strings.Cut(value, "/")
	n, err := strconv.ParseFloat(above, 64)
	if err == nil && fraction {
		var d float64
		d, err = strconv.ParseFloat(below, 64)
		n /= d
	}
	if err != nil || !(n >= 0 && n <= 1e6) {
		return nil, "must be tokens per second, such as 0.5 or 1/60"
	}
	return n, ""
}
