// The commands consign maintenance, keys and mail.

package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/operator"
)

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }

// maintenance turns maintenance mode on or off for every replica, or announces it.
func maintenance(ctx context.Context, env environment, args []string) error {
	verb, times, err := action("maintenance", args, map[string][2]int{"on": {0, 1}, "at": {1, 2}, "off": {}})
	if err != nil {
		return err
	}
	m, now := operator.Maintenance{On: verb != "off"}, time.Now().UTC()
	at := make([]time.Time, len(times))
	for i, text := range times {
		if d, err := time.ParseDuration(text); err == nil {
			at[i] = now.Add(d).Truncate(time.Second)
		} else if at[i], err = time.Parse(time.RFC3339, text); err != nil {
			return usageError(fmt.Sprintf("consign maintenance: %q is neither a time such as 2026-01-31T22:00:00Z nor a duration such as 2h", text))
		}
	}
	if verb == "at" {
		m.From, at = at[0].UTC(), at[1:]
	}
	if len(at) > 0 {
		m.Until = at[0].UTC()
	}
	if problem := m.Problem(now); problem != "" {
		return usageError("consign maintenance: " + problem)
	}
	return withApp(ctx, env, func(a *app.App) error { return a.SetMaintenance(ctx, m) })
}

// keys lists and changes the signing keys.
func keys(ctx context.Context, env environment, args []string) error {
	verb, rest, err := action("keys", args, map[string][2]int{"list": {}, "rotate": {}, "revoke": {1, 1}, "reseal": {}})
	if err != nil {
		return err
	}
	return withApp(ctx, env, func(a *app.App) error {
		switch verb {
		case "list":
			all, err := a.Keys.List(ctx)
			if err != nil {
				return err
			}
			return table(env.stdout, func(row func(...any)) {
				row("KID", "PURPOSE", "SIGNS FROM", "SIGNS UNTIL", "PUBLISHED UNTIL", "STATE")
				for _, k := range all {
					row(k.KID, k.Purpose, minute(k.SignsFrom), minute(k.SignsUntil), minute(k.PublishedUntil), k.State(time.Now()))
				}
			})
		case "rotate":
			k, err := a.Keys.Rotate(ctx)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.stdout, "published %s, which signs from %s\n", k.KID, minute(k.SignsFrom))
			return err
		case "revoke":
			return a.Keys.Revoke(ctx, rest[0])
		default: // reseal
			n, err := a.Keys.Reseal(ctx)
			if err != nil {
				return err
			}
			secrets, err := a.Identity.Reseal(ctx)
			if err != nil {
				return err
			}
			webhooks, err := a.Webhooks.Reseal(ctx)
			if err != nil {
				return err
			}
			logKeys, err := a.Proofs.Reseal(ctx)
			if err != nil {
				return err
			}
			objects, err := a.Content.Reseal(ctx)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.stdout, "%d signing keys, %d TOTP secrets, %d webhooks, %d log keys and %d keys of files resealed\n", n,
				secrets, webhooks, logKeys, objects)
			return err
		}
	})
}

// mailCommand lists the mail queue, retries a mail, or sends a test mail.
func mailCommand(ctx context.Context, env environment, args []string) error {
	if len(args) > 0 && (args[0] == "retry" || args[0] == "list") {
		return mailsCommand(ctx, env, args[0], args[1:])
	}
	_, rest, err := action("mail", args, map[string][2]int{"test": {1, 1}})
	if err != nil {
		return err
	}
	return withApp(ctx, env, func(a *app.App) error {
		answer, err := a.Mail.Test(ctx, rest[0], "")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(env.stdout, answer)
		return err
	})
}

// mailsCommand lists the mails that flags select, or sends again one mail or those that flags select.
func mailsCommand(ctx context.Context, env environment, verb string, args []string) error {
	f := flags("mail " + verb)
	state, answer := f.String("state", "", ""), f.String("error", "", "")
	since, until := f.String("since", "", ""), f.String("until", "", "")
	most := 0
	if verb == "retry" {
		most = 1
	}
	rest, err := parse(f, args, 0, most)
	if err != nil {
		return err
	}
	selected := mail.Filter{State: *state, Answer: *answer, Limit: 200}
	if selected.Since, err = moment(f, "since", *since); err != nil {
		return err
	}
	if selected.Until, err = moment(f, "until", *until); err != nil {
		return err
	}
	switch {
	case verb == "list" && *state != "" && !slices.Contains([]string{mail.Queued, mail.Sent, mail.Failed, mail.Cancelled}, *state):
		return usageError("consign mail list: --state is queued, sent, failed or cancelled")
	case verb == "list":
		return withApp(ctx, env, func(a *app.App) error { return listMails(ctx, env, a, selected) })
	case *state != "" && *state != mail.Queued && *state != mail.Failed:
		return usageError("consign mail retry: --state is queued or failed")
	case (len(rest) == 1) == (f.NFlag() > 0):
		return usageError("consign mail retry: takes a uid, or --state, --error, --since or --until")
	case len(rest) == 1:
		uid, err := id.Parse[id.Mail](rest[0])
		if err != nil {
			return usageError("consign mail retry: the argument " + err.Error())
		}
		return withApp(ctx, env, func(a *app.App) error { return a.Mail.Retry(ctx, uid) })
	}
	return withApp(ctx, env, func(a *app.App) error {
		done, err := a.Mail.RetryAll(ctx, selected)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.stdout, "%d mails are due now; %d given up are not: their link was erased, or their subject has ended\n",
			done.Due, done.Left)
		return err
	})
}

// moment parses a time of a flag, or a duration before now; empty: the zero time.
func moment(f *flag.FlagSet, name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil {
		return time.Now().Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, usageError(fmt.Sprintf("consign %s: --%s takes a time like 2026-12-31T23:59:59Z, or how long ago: 24h", f.Name(), name))
	}
	return at, nil
}

func listMails(ctx context.Context, env environment, a *app.App, selected mail.Filter) error {
	all, err := a.Mail.List(ctx, selected)
	if err != nil {
		return err
	}
	return table(env.stdout, func(row func(...any)) {
		row("UID", "CREATED", "TEMPLATE", "TO", "STATE", "ATTEMPTS", "LAST ANSWER")
		for _, m := range all {
			row(m.UID, m.CreatedAt.UTC().Format("2006-01-02 15:04:05Z"), m.Template, m.To, m.State, m.Attempts, m.LastAnswer)
		}
	})
}
