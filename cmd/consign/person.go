package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
)

// person creates, shows, exports and deletes people and unlocks accounts.
func person(ctx context.Context, env environment, args []string) error {
	if len(args) > 0 && args[0] == "create" {
		return createPerson(ctx, env, args[1:])
	}
	one := [2]int{1, 1}
	verb, rest, err := action("person", args, map[string][2]int{
		"show": one, "limits": {2, 100}, "verify": one, "end-sessions": one, "suspend": one, "reactivate": one,
		"reset-factors": one, "export": one, "delete": one,
	})
	if err != nil {
		return err
	}
	reference := rest[0]
	var volume *float64
	if verb == "limits" {
		if volume, err = uploadVolume(rest[1:]); err != nil {
			return err
		}
	}
	by := env.actor()
	return withApp(ctx, env, func(a *app.App) error {
		switch verb {
		case "show":
			return showPerson(ctx, env, a, reference)
		case "limits":
			return a.Identity.SetUploadVolume(ctx, by, reference, volume)
		case "verify":
			return a.Identity.VerifyPerson(ctx, by, reference)
		case "end-sessions":
			return a.Identity.EndPersonSessions(ctx, by, reference)
		case "suspend":
			return a.Identity.SuspendPerson(ctx, by, reference)
		case "reactivate":
			return a.Identity.ReactivatePerson(ctx, by, reference)
		case "reset-factors":
			return a.Identity.ResetFactors(ctx, by, reference)
		case "export":
			return a.ExportPerson(ctx, env.stdout, by, reference)
		default: // delete
			return a.Identity.DeletePerson(ctx, by, reference)
		}
	})
}

// createPerson creates a person and prints a link that sets the password, or with --unverified no link: such a person sets none before
// consign person verify. A password as an argument would end up in the shell's history.
func createPerson(ctx context.Context, env environment, args []string) error {
	f := flags("person create")
	name := f.String("name", "", "")
	locale := f.String("locale", "", "")
	zone := f.String("time-zone", "", "")
	unverified := f.Bool("unverified", false, "")
	words, err := parse(f, args, 1, 1)
	if err != nil {
		return err
	}
	return withApp(ctx, env, func(a *app.App) error {
		account := service.NewAccount{Address: words[0], Name: *name, Locale: *locale, TimeZone: *zone}
		if *unverified {
			account.Password = rand.Text()
			p, err := a.Identity.CreatePerson(ctx, env.actor(), account, false)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.stdout, "uid: %s\n", p.UID)
			return err
		}
		p, link, err := a.Identity.CreateWithLink(ctx, env.actor(), account)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.stdout, "uid: %s\nlink: %s\n", p.UID, link)
		return err
	})
}

func showPerson(ctx context.Context, env environment, a *app.App, reference string) error {
	p, err := a.Identity.ShowPerson(ctx, reference)
	if err != nil {
		return err
	}
	sessions, err := a.Identity.PersonSessions(ctx, reference)
	if err != nil {
		return err
	}
	return table(env.stdout, func(row func(...any)) {
		row("uid", p.UID)
		row("name", p.Name)
		for _, e := range p.Emails {
			row("email", e.Address+addressState(e))
		}
		row("locale", p.Locale)
		row("time zone", p.TimeZone)
		if p.Organization != nil {
			row("organization", strings.TrimSpace(p.Organization.UID.String()+" "+p.Organization.Name))
			row("roles", strings.Join(p.Roles, ", "))
		}
		row("created", minute(p.CreatedAt))
		if p.LastLoginAt != nil {
			row("last login", minute(*p.LastLoginAt))
		}
		if p.SuspendedAt != nil {
			row("suspended", minute(*p.SuspendedAt))
		}
		for _, s := range sessions {
			row("session", fmt.Sprintf("%s from %s, since %s", s.SID, s.IP, minute(s.IssuedAt)))
		}
	})
}

func addressState(a identity.Address) string {
	text := ""
	if a.Primary {
		text += ", primary"
	}
	if !a.Verified {
		text += ", not verified"
	}
	return text
}
