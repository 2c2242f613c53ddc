package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/id"
)

// storage encrypts or moves stored files. Both may run beside servers, and be interrupted and repeated.
func storage(ctx context.Context, env environment, args []string) error {
	if len(args) > 0 && args[0] == "move" {
		return moveStorage(ctx, env, args[1:])
	}
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

// moveStorage moves the files of CONSIGN_STORAGE_SECOND_URL to CONSIGN_STORAGE_URL.
func moveStorage(ctx context.Context, env environment, args []string) error {
	f := flags("storage move")
	to := f.String("to", "", "")
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if *to == "" {
		return usageError("consign storage move: --to is missing")
	}
	return withOptions(ctx, env, app.Options{}, func(a *app.App) error {
		show := newProgress(env.stderr, time.Now)
		result, err := a.MoveStored(ctx, *to, show.passed)
		show.end()
		if err != nil {
			if ctx.Err() != nil {
				_, _ = fmt.Fprintln(env.stderr, "interrupted; the same command goes on with what is left")
			}
			return err
		}
		text := fmt.Sprintf("moved: %d, bytes: %d\n", result.Segments, result.Bytes)
		for _, left := range []struct {
			n    int
			what string
		}{
			{result.Busy, "are uploaded or in use: run it again"},
			{result.Discarded, "are about to be deleted"},
			{result.Unassigned, "have no row in the database and stay: consign fsck lists them as orphans"},
		} {
			if left.n > 0 {
				text += fmt.Sprintf("%d %s\n", left.n, left.what)
			}
		}
		if result.Busy+result.Discarded+result.Unassigned == 0 {
			text += "nothing is left: remove CONSIGN_STORAGE_SECOND_URL, and restart the servers one by one\n"
		}
		_, err = fmt.Fprint(env.stdout, text)
		return err
	})
}
