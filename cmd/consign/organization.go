// The commands consign org and invitation.

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
)

// organization creates, shows and changes organizations. ORG is a uid, a hostname, the address of a member, or free.
func organization(ctx context.Context, env environment, args []string) error {
	if len(args) > 0 {
		switch rest := args[1:]; args[0] {
		case "create":
			return createOrganization(ctx, env, rest)
		case "subscribe":
			return subscribe(ctx, env, rest)
		case "member":
			return setMember(ctx, env, rest)
		}
	}
	verb, rest, err := action("org", args, map[string][2]int{"show": {1, 1}, "set": {2, 100}, "limits": {2, 100}, "host": {2, 2}})
	if err != nil {
		return err
	}
	reference := rest[0]
	var change identity.OrganizationChange
	var limits identity.LimitsChange
	switch verb {
	case "set":
		change, err = organizationChange(rest[1:])
	case "limits":
		limits, err = limitsChange(rest[1:])
	}
	if err != nil {
		return err
	}
	return withApp(ctx, env, func(a *app.App) error {
		switch verb {
		case "set":
			return a.Identity.SetOrganization(ctx, env.actor(), reference, change)
		case "limits":
			return a.Identity.SetLimits(ctx, env.actor(), reference, limits)
		case "host":
			return a.Identity.SetHostname(ctx, env.actor(), reference, rest[1])
		default: // show
			return showOrganization(ctx, env, a, reference)
		}
	})
}

func createOrganization(ctx context.Context, env environment, args []string) error {
	f := flags("org create")
	locale, zone := f.String("locale", "", ""), f.String("time-zone", "", "")
	names, err := parse(f, args, 1, 1)
	if err != nil {
		return err
	}
	return withApp(ctx, env, func(a *app.App) error {
		o, err := a.Identity.CreateEmptyOrganization(ctx, env.actor(), service.NewOrganization{Name: names[0], Locale: *locale, TimeZone: *zone})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.stdout, "uid: %s\n", o.UID)
		return err
	})
}

func subscribe(ctx context.Context, env environment, args []string) error {
	f := flags("org subscribe")
	domain, product, name := f.String("domain", "", ""), f.String("product", "", ""), f.String("name", "", "")
	status, expires := f.String("status", "", ""), f.String("expires", "", "")
	names, err := parse(f, args, 1, 1)
	if err != nil {
		return err
	}
	if *domain == "" {
		return usageError("consign org subscribe: --domain is missing")
	}
	n := service.NewSubscription{Domain: *domain, Product: *product, Name: *name, Status: *status}
	if *expires != "" {
		at, err := time.Parse(time.RFC3339, *expires)
		if err != nil {
			return usageError("consign org subscribe: --expires takes a time like 2026-12-31T23:59:59Z")
		}
		n.ExpiresAt = &at
	}
	return withApp(ctx, env, func(a *app.App) error { return a.Identity.Subscribe(ctx, env.actor(), names[0], n) })
}

func setMember(ctx context.Context, env environment, args []string) error {
	f := flags("org member")
	roles, remove := f.String("roles", identity.RoleTransferUse, ""), f.Bool("remove", false, "")
	names, err := parse(f, args, 2, 2)
	if err != nil {
		return err
	}
	return withApp(ctx, env, func(a *app.App) error {
		if *remove {
			return a.Identity.UnsetMember(ctx, env.actor(), names[0], names[1])
		}
		return a.Identity.SetMember(ctx, env.actor(), names[0], names[1], list(*roles))
	})
}

func showOrganization(ctx context.Context, env environment, a *app.App, reference string) error {
	o, members, err := a.Identity.ShowOrganization(ctx, reference)
	if err != nil {
		return err
	}
	var failed error
	err = table(env.stdout, func(row func(...any)) {
		row("uid", o.UID)
		row("name", o.Profile.Name)
		row("free", o.Free)
		row("externalUid", o.ExternalUID)
		row("mfaRequired", o.MFARequired)
		row("locale", o.Profile.Locale)
		row("timeZone", o.Profile.TimeZone)
		row("hostname", o.Profile.Hostname)
		row("inactiveHostnames", strings.Join(o.Profile.InactiveHostnames, ", "))
		if o.Claim.Host != "" {
			row("unverified hostname", fmt.Sprintf("%s, until %s has a TXT record %s", o.Claim.Host, o.Claim.Record(), o.Claim.Key))
		}
		for _, s := range o.Subscriptions {
			product := "without product"
			if s.ProductID != "" {
				product = fmt.Sprintf("%s (%s)", s.ProductID, s.DisplayName)
			}
			row("subscription", fmt.Sprintf("%s %s %s", s.Domain, product, s.Status))
		}
		for _, l := range identity.Limitations() {
			value := l.Of(o.Limits)
			if n, ok := value.(float64); ok {
				value = strconv.FormatFloat(n, 'f', -1, 64) // no exponent
			}
			row(l.Name, value)
		}
		for m, err := range members {
			if failed = err; err == nil {
				row("member", fmt.Sprintf("%s %s: %s", m.UID, m.Email, strings.Join(m.Roles, ", ")))
			}
		}
	})
	return errors.Join(failed, err)
}

// invitation creates a shared invitation, by default for the free organization, and prints its key.
func invitation(ctx context.Context, env environment, args []string) error {
	f := flags("invitation")
	shared, roles := f.Bool("shared", false, ""), f.String("roles", identity.RoleTransferUse, "")
	words, err := parse(f, args, 1, 2)
	if err != nil {
		return err
	}
	if words[0] != "create" || !*shared {
		return usageError("consign invitation: write create --shared")
	}
	if len(words) == 1 {
		words = append(words, service.FreeOrganization)
	}
	return withApp(ctx, env, func(a *app.App) error {
		i, err := a.Identity.CreateSharedInvitation(ctx, env.actor(), words[1], list(*roles))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.stdout, "key: %s\n", i.Key)
		return err
	})
}

// list splits a comma-separated list.
func list(words string) []string {
	return strings.FieldsFunc(words, func(r rune) bool { return r == ',' || r == ' ' })
}
