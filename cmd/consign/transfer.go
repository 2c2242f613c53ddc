package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// transferCommand shows, extends or revokes a transfer.
func transferCommand(ctx context.Context, env environment, args []string) error {
	verb, rest, err := action("transfer", args, map[string][2]int{"show": {1, 1}, "extend": {2, 2}, "revoke": {1, 1}})
	if err != nil {
		return err
	}
	uid, err := id.Parse[id.Transfer](rest[0])
	if err != nil {
		return usageError("consign transfer " + verb + ": " + rest[0] + " is not the uid of a transfer")
	}
	days := 0
	if verb == "extend" {
		if days, err = strconv.Atoi(rest[1]); err != nil || days < 1 || days > service.MaxOperatorDays {
			return usageError(fmt.Sprintf("consign transfer extend: DAYS must be from 1 to %d", service.MaxOperatorDays))
		}
	}
	return withApp(ctx, env, func(a *app.App) error {
		switch verb {
		case "extend":
			err = a.Transfer.ExtendTransfer(ctx, env.actor(), uid, days)
		case "revoke":
			err = a.Transfer.RevokeTransfer(ctx, env.actor(), uid)
		}
		if err != nil {
			return err
		}
		t, err := a.Transfer.ShowTransfer(ctx, uid)
		if err != nil {
			return err
		}
		return printTransfer(env, t)
	})
}

// printTransfer prints what an operator needs to know about a transfer. Subject and names of files are its parties' own.
func printTransfer(env environment, t transfer.Transfer) error {
	return table(env.stdout, func(row func(...any)) {
		row("uid", t.UID)
		row("type", t.Kind)
		row("state", t.State)
		row("sender", cmp.Or(t.Sender.Email, t.Sender.Name, t.Sender.Person.String()))
		for _, d := range t.Recipients {
			row("recipient", cmp.Or(d.Email, string(d.Destination))+", downloads "+strconv.Itoa(int(d.Downloads)))
		}
		row("files", t.ObjectCount)
		row("bytes", t.TotalBytes)
		row("protection", t.Protection)
		row("created", t.CreatedAt.UTC().Format(time.RFC3339))
		row("expires", t.ExpiresAt.UTC().Format(time.RFC3339))
		if !t.ExtendableUntil.IsZero() {
			row("extendable until", t.ExtendableUntil.UTC().Format(time.RFC3339))
		}
		if t.MaxDownloads > 0 {
			row("downloads by each recipient", t.MaxDownloads)
		}
		if t.MaxTotalDownloads > 0 {
			row("downloads by all recipients", t.MaxTotalDownloads)
		}
		if t.DeleteAfterDownload {
			row("ends", "after the first complete download")
		}
	})
}

// actor returns who runs a command, for the audit log.
func (e environment) actor() audit.Actor {
	return audit.Actor{Kind: audit.Command, Name: e.user()}
}

// user returns the name of the person who used sudo, else the user of the process.
func (e environment) user() string {
	for _, name := range []string{"SUDO_USER=", "USER=", "LOGNAME="} {
		for _, v := range e.environ {
			if user, ok := strings.CutPrefix(v, name); ok && user != "" {
				return user
			}
		}
	}
	return "uid " + strconv.Itoa(os.Getuid())
}
