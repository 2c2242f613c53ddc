package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/transfer"
)

// mailbox creates, shows, suspends or reactivates the mailbox of a person.
func mailbox(ctx context.Context, env environment, args []string) error {
	verb, rest, err := action("mailbox", args, map[string][2]int{"create": {1, 2}, "show": {1, 1}, "suspend": {1, 1}, "reactivate": {1, 1}})
	if err != nil {
		return err
	}
	reference, link := rest[0], strings.Join(rest[1:], "")
	return withApp(ctx, env, func(a *app.App) error {
		p, err := a.Identity.ShowPerson(ctx, reference)
		if err != nil {
			return err
		}
		switch verb {
		case "suspend":
			return a.Transfer.SuspendMailbox(ctx, env.actor(), p.UID)
		case "reactivate":
			return a.Transfer.ReactivateMailbox(ctx, env.actor(), p.UID)
		}
		m, err := a.Transfer.PersonMailbox(ctx, p.UID)
		if verb == "create" {
			if err == nil {
				return fmt.Errorf("%s has a mailbox: %s", reference, a.Transfer.MailboxPage(m))
			}
			m, _, err = a.Transfer.SetMailbox(ctx, env.actor(), transfer.Mailbox{Person: p.UID, VanityLink: link})
		}
		if err != nil {
			return err
		}
		return table(env.stdout, func(row func(...any)) {
			row("page", a.Transfer.MailboxPage(m))
			row("owner", m.Person)
			row("name", m.DisplayName())
			row("email", m.Address())
			row("secure", m.Secure)
			row("absent", m.Absent)
			row("suspended", m.Suspended)
			row("volume exceeded", m.Owner.VolumeExceeded())
		})
	})
}
