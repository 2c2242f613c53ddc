package main

import (
	"context"
	"errors"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/database"
)

// migrate applies the pending migrations or lists all.
func migrate(ctx context.Context, env environment, args []string) (err error) {
	if len(args) == 0 {
		args = []string{"up"}
	}
	verb, _, err := action("migrate", args, map[string][2]int{"up": {}, "status": {}})
	if err != nil {
		return err
	}
	cfg, err := config.Load(env.environ)
	if err != nil {
		return err
	}
	log := logger(cfg, env.stderr)
	db, err := app.OpenDatabase(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if verb == "up" {
		if err := database.RefuseNewer(ctx, db.URL); err != nil {
			return err
		}
		return database.Migrate(ctx, db.URL, log)
	}
	all, err := database.MigrationStatus(ctx, db.URL)
	if err != nil {
		return err
	}
	return table(env.stdout, func(row func(...any)) {
		for _, m := range all {
			applied := "pending"
			switch {
			case m.Applied && m.AppliedAt.IsZero(): // River's tables do not store the time
				applied = "applied"
			case m.Applied:
				applied = m.AppliedAt.UTC().Format("2006-01-02 15:04:05Z")
			}
			row(m.Name, applied)
		}
	})
}
