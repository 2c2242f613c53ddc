package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// logCommand shows and changes the transparency log of receipts.
func logCommand(ctx context.Context, env environment, args []string) error {
	known := map[string][2]int{"key": {}, "checkpoint": {}, "status": {}, "verify": {}, "rotate": {}, "revoke": {}, "restart": {},
		"erase": {1, 1}, "certificate": {1, 1}}
	verb, rest, err := action("log", args, known)
	if err != nil {
		return err
	}
	if verb == "status" || verb == "restart" { // these look at the mark in the storage
		return withOptions(ctx, env, app.Options{}, func(a *app.App) error { return changeLog(ctx, env, a, verb, rest) })
	}
	return withApp(ctx, env, func(a *app.App) error { return changeLog(ctx, env, a, verb, rest) })
}

func changeLog(ctx context.Context, env environment, a *app.App, verb string, rest []string) error {
	if err := a.Proofs.Begin(ctx); err != nil {
		return err
	}
	switch verb {
	case "key":
		return printLogKeys(ctx, env, a)
	case "checkpoint":
		text, err := a.Proofs.Checkpoint(ctx, 0)
		if err == nil {
			_, err = fmt.Fprint(env.stdout, text)
		}
		return err
	case "status":
		return logStatus(ctx, env, a)
	case "verify":
		tree, err := a.Proofs.Check(ctx)
		if err == nil {
			_, err = fmt.Fprintf(env.stdout, "%s: %d entries, root %s: entries, tiles and signature fit\n", tree.Origin, tree.N, tree.Hash)
		}
		return err
	case "rotate", "revoke":
		k, err := a.Proofs.Rotate(ctx, verb == "revoke")
		if err != nil {
			return err
		}
		text, err := k.Verifier()
		if err == nil {
			_, err = fmt.Fprintln(env.stdout, text)
		}
		return err
	case "restart":
		origin, err := a.Proofs.Restart(ctx)
		if err == nil {
			_, err = fmt.Fprintf(env.stdout, "the log is closed; the new one is %s\n", origin)
		}
		return err
	}
	uid, err := id.Parse[id.Transfer](rest[0])
	if err != nil {
		return usageError("consign log " + verb + ": the argument is the uid of a transfer")
	}
	if verb == "certificate" {
		return writeCertificate(ctx, env, a, uid)
	}
	if err := a.Transfer.EraseReceipts(ctx, env.actor(), uid); errors.Is(err, transfer.ErrNotFound) {
		return fmt.Errorf("there is no receipt of the transfer %s", uid)
	} else if err != nil {
		return err
	}
	return nil
}

// writeCertificate prints the certificate of erasure of a transfer.
func writeCertificate(ctx context.Context, env environment, a *app.App, uid id.Transfer) error {
	f, err := a.Transfer.Certificate(ctx, uid)
	switch {
	case errors.Is(err, transfer.ErrNotFound):
		return fmt.Errorf("the erasure of the transfer %s is not certified: its files may still be there, or it had no receipt", uid)
	case err != nil:
		return err
	}
	return a.Transfer.WriteReceipt(ctx, env.stdout, f)
}

func printLogKeys(ctx context.Context, env environment, a *app.App) error {
	keys, err := a.Proofs.Keys(ctx)
	if err != nil {
		return err
	}
	for _, k := range keys {
		text, err := k.Verifier()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(env.stdout, text, k.State(time.Now())); err != nil {
			return err
		}
	}
	return nil
}

func logStatus(ctx context.Context, env environment, a *app.App) error {
	r, err := a.Proofs.Report(ctx)
	if err != nil {
		return err
	}
	err = table(env.stdout, func(row func(...any)) {
		row("origin", r.Origin)
		row("entries", r.Size)
		row("published", r.Published)
		row("pending", r.Pending)
		row("mark", r.Marked)
	})
	return errors.Join(err, r.Trouble)
}
