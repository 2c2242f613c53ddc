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
	f := flags("migrate")
	if err := parse(f, args, 0, 1); err != nil {
		return err
	}
	what := f.Arg(0)
	if what != "" && what != "up" && what != "status" {
		return usageError("consign migrate: say up or status")
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
	if what != "status" {
		return database.Migrate(ctx, db.URL, log)
	}
	all, err := database.MigrationStatus(ctx, db.URL)
	if err != nil {
		return err
	}
	return table(env.stdout, func(row func(...any)) {
		for _, m := range all {
			applied := "pending"
			if m.Applied {
				applied = m.AppliedAt.UTC().Format("2006-01-02 15:04:05Z")
			}
			row(m.Name, applied)
		}
	})
}
