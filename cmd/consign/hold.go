package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/hold"
	"github.com/consign-dev/consign/internal/id"
)

// holds adds, lists, exports and ends holds.
func holds(ctx context.Context, env environment, args []string) error {
	if len(args) > 0 && args[0] == "add" {
		return addHold(ctx, env, args[1:])
	}
	verb, rest, err := action("hold", args, map[string][2]int{"list": {0, 0}, "end": {1, 1}, "export": {1, 1}})
	if err != nil {
		return err
	}
	return withApp(ctx, env, func(a *app.App) error {
		if verb == "list" {
			return listHolds(ctx, env, a)
		}
		uid, err := uuid.Parse(rest[0])
		if err != nil {
			return hold.ErrNotFound
		}
		if verb == "end" {
			return hold.End(ctx, a.DB, env.actor(), id.Organization{}, uid, time.Now())
		}
		lines := json.NewEncoder(env.stdout)
		return hold.Export(ctx, a.DB, env.actor(), id.Organization{}, uid, time.Now(), func(r hold.Row) error {
			return lines.Encode(map[string]any{"table": r.Source, "deletedAt": r.At.UTC(), "row": json.RawMessage(r.Data)})
		})
	})
}

func addHold(ctx context.Context, env environment, args []string) error {
	f := flags("hold add")
	h := hold.Hold{}
	f.StringVar(&h.Name, "case", "", "")
	f.StringVar(&h.Reason, "reason", "", "")
	f.BoolVar(&h.Notice, "notice", false, "")
	until := f.String("until", "", "")
	words, err := parse(f, args, 2, 2)
	if err != nil {
		return err
	}
	if *until != "" {
		day, err := time.Parse(time.DateOnly, *until)
		if err != nil {
			return usageError("consign hold add: --until: must be a date like 2027-12-31")
		}
		h.Until = &day
	}
	h.Kind = words[0]
	return withApp(ctx, env, func(a *app.App) error {
		if h.Kind == hold.Transfer {
			t, err := id.Parse[id.Transfer](words[1])
			if err != nil {
				return hold.ErrNotFound
			}
			h.Subject = t.UUID
		} else {
			p, err := a.Identity.ShowPerson(ctx, words[1])
			if err != nil {
				return err
			}
			h.Subject = p.UID.UUID
		}
		uid, err := hold.Add(ctx, a.DB, env.actor(), h, time.Now())
		if err == nil {
			_, err = fmt.Fprintf(env.stdout, "hold: %s\n", uid)
		}
		return err
	})
}

func listHolds(ctx context.Context, env environment, a *app.App) error {
	list, err := hold.List(ctx, a.DB, id.Organization{})
	if err != nil {
		return err
	}
	return table(env.stdout, func(row func(...any)) {
		row("hold", "of", "organization", "notice", "case", "reason", "since", "until", "rows", "files")
		for _, h := range list {
			until := "no end"
			if h.Until != nil {
				until = minute(*h.Until)
			}
			organization := "-"
			if !h.Organization.IsZero() {
				organization = h.Organization.String()
			}
			row(h.UID, h.Kind+" "+h.Subject.String(), organization, h.Notice, h.Name, h.Reason, minute(h.CreatedAt), until, h.Rows, h.Files)
		}
	})
}
