package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/id"
)

// storage encrypts the files that are stored in plain. It may run beside servers, and be interrupted and repeated.
func storage(ctx context.Context, env environment, args []string) error {
	if _, _, err := action("storage", args, map[string][2]int{"encrypt": {}}); err != nil {
		return err
	}
	return withOptions(ctx, env, app.Options{}, func(a *app.App) error {
		show := newProgress(env.stderr, time.Now)
		result, err := a.EncryptStored(ctx, func(o id.Object) error {
			_, err := fmt.Fprintf(env.stdout, "damaged %s: the SHA-256 is not that of the database; it stays as it is\n", o)
			return err
		}, show.passed)
		show.end()
		if err != nil {
			if ctx.Err() != nil {
				_, _ = fmt.Fprintln(env.stderr, "interrupted; the same command goes on with what is still plain")
			}
			return err
		}
		if _, err := fmt.Fprintf(env.stdout, "encrypted objects: %d, bytes: %d\n", result.Objects, result.Bytes); err != nil {
			return err
		}
		if result.Busy > 0 {
			if _, err := fmt.Fprintf(env.stdout, "%d objects are in use: run it again\n", result.Busy); err != nil {
				return err
			}
		}
		if result.Damaged > 0 {
			return errors.New("some files are damaged, see the lines above")
		}
		return nil
	})
}
