package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// backup writes the database and the list of stored files into a directory, or records that a backup was completed.
func backup(ctx context.Context, env environment, args []string) error {
	others, err := parse(flags("backup"), args, 1, 1)
	if err != nil {
		return err
	}
	return withApp(ctx, env, func(a *app.App) error {
		if others[0] == "record" {
			return a.RecordBackup(ctx)
		}
		b, err := a.Backup(ctx, others[0])
		if err == nil {
			_, err = fmt.Fprintf(env.stdout, "database and list of %d files, %d bytes: now copy the stored files, then run consign backup record\n",
				b.Objects, b.Bytes)
		}
		return err
	})
}

// restore brings the database of a backup back, and checks that the storage has its files.
func restore(ctx context.Context, env environment, args []string) error {
	f := flags("restore")
	verify := f.Bool("verify", false, "")
	others, err := parse(f, args, 1, 1)
	if err != nil {
		return err
	}
	cfg, err := config.Load(env.environ)
	if err != nil {
		return err
	}
	b, err := app.ReadBackup(cfg, others[0])
	if err != nil {
		return err
	}
	differing, err := b.Differing(cfg)
	if err != nil {
		return err
	}
	if len(differing) > 0 {
		if _, err := fmt.Fprintf(env.stdout, "settings that differ from the backup: %s\n", strings.Join(differing, ", ")); err != nil {
			return err
		}
	}
	cfg.LogLevel = "warn"
	if err := app.Restore(ctx, cfg, others[0], b, logger(cfg, env.stderr)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(env.stdout, "the database is that of %s\n", b.At.Format(time.RFC3339)); err != nil || !*verify {
		return err
	}
	return withOptions(ctx, env, app.Options{}, func(a *app.App) error {
		show := newProgress(env.stderr, time.Now)
		checked, missing, err := a.VerifyRestored(ctx, others[0], b,
			func(found content.Finding) error { return printFinding(ctx, env.stdout, a, found) }, show.passed)
		show.end()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(env.stdout, "files checked: %d, missing or damaged: %d\n", checked, missing); err != nil {
			return err
		}
		if missing > 0 {
			return exitCode(1)
		}
		return nil
	})
}
