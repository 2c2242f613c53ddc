package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// fsck compares every object in storage with its row. After a restore, --accept allows the sweep of orphans again.
func fsck(ctx context.Context, env environment, args []string) error {
	f := flags("fsck")
	accept := f.Bool("accept", false, "")
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	return withOptions(ctx, env, app.Options{}, func(a *app.App) error {
		result, err := a.Content.Fsck(ctx, func(found content.Finding) error {
			_, err := fmt.Fprintf(env.stdout, "%s %s: %s\n", found.Kind, found.Object, found.Detail)
			return err
		})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(env.stdout, "objects: %d, bytes read: %d, findings: %d\n", result.Objects, result.Bytes,
			result.Findings); err != nil {
			return err
		}
		if *accept {
			if err := a.Content.AcceptStorage(ctx); err != nil {
				return err
			}
			_, err := fmt.Fprintln(env.stdout, "accepted: orphans are removed again once they are old enough")
			return err
		}
		if result.SweepOff {
			if _, err := fmt.Fprintln(env.stdout,
				"database and storage are from different times, as after a restore: orphans are not removed until consign fsck --accept"); err != nil {
				return err
			}
		}
		if result.Findings > 0 {
			return errors.New("fsck found damage, see the lines above")
		}
		return nil
	})
}
