package main

import (
	"context"
	"fmt"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/transfer"
)

// mailbox creates and shows the mailbox of a person.
func mailbox(ctx context.Context, env environment, args []string) error {
	f := flags("mailbox")
	if err := parse(f, args, 2, 3); err != nil {
		return err
	}
	action := f.Arg(0)
	if action != "create" && (action != "show" || f.NArg() > 2) {
		return usageError("consign mailbox: say create PERSON [VANITY-LINK] or show PERSON")
	}
	return withApp(ctx, env, func(a *app.App) error {
		p, err := a.Identity.ShowPerson(ctx, f.Arg(1))
		if err != nil {
			return err
		}
		m, err := a.Transfer.PersonMailbox(ctx, p.UID)
		if action == "create" {
			if err == nil {
				return fmt.Errorf("%s has a mailbox: %s", f.Arg(1), a.Transfer.MailboxPage(m))
			}
			m, _, err = a.Transfer.SetMailbox(ctx, transfer.Mailbox{Person: p.UID, VanityLink: f.Arg(2)})
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
			row("volume exceeded", m.Owner.VolumeExceeded())
		})
	})
}
