package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// logCommand shows and changes the transparency log of receipts.
func logCommand(ctx context.Context, env environment, args []string) error {
	if len(args) > 0 && args[0] == "certificate" {
		return writeCertificate(ctx, env, args[1:])
	}
	known := map[string][2]int{"key": {}, "checkpoint": {}, "status": {}, "verify": {}, "rotate": {}, "revoke": {}, "restart": {},
		"erase": {1, 1}}
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
	uid, err := transferOf(verb, rest[0])
	if err != nil {
		return err
	}
	if err := a.Transfer.EraseReceipts(ctx, env.actor(), uid); errors.Is(err, transfer.ErrNotFound) {
		return fmt.Errorf("there is no receipt of the transfer %s", uid)
	} else if err != nil {
		return err
	}
	return nil
}

func transferOf(verb, argument string) (id.Transfer, error) {
	uid, err := id.Parse[id.Transfer](argument)
	if err != nil {
		err = usageError("consign log " + verb + ": the argument is the uid of a transfer")
	}
	return uid, err
}

// writeCertificate prints the certificate of erasure of a transfer, or of the account of a person.
func writeCertificate(ctx context.Context, env environment, args []string) error {
	f := flags("log certificate")
	of := f.String("person", "", "")
	words, err := parse(f, args, 0, 1)
	if err != nil {
		return err
	}
	if (*of == "") != (len(words) == 1) {
		return usageError("consign log certificate: takes the uid of a transfer, or --person with that of a deleted person")
	}
	var find func(a *app.App) (service.ReceiptFile, error)
	what := "transfer " + strings.Join(words, "")
	if *of != "" {
		person, err := id.Parse[id.Person](*of)
		if err != nil {
			return usageError("consign log certificate: --person: must be the uid of a deleted person")
		}
		what = "account " + *of
		find = func(a *app.App) (service.ReceiptFile, error) { return a.Transfer.PersonCertificate(ctx, person) }
	} else {
		uid, err := transferOf("certificate", words[0])
		if err != nil {
			return err
		}
		find = func(a *app.App) (service.ReceiptFile, error) { return a.Transfer.Certificate(ctx, uid) }
	}
	return withApp(ctx, env, func(a *app.App) error {
		if err := a.Proofs.Begin(ctx); err != nil {
			return err
		}
		file, err := find(a)
		if errors.Is(err, transfer.ErrNotFound) {
			return fmt.Errorf("the erasure of the %s is not certified: something of it may still be there or be held, "+
				"or it was erased without a receipt or by an older version", what)
		}
		if err != nil {
			return err
		}
		return a.Transfer.WriteReceipt(ctx, env.stdout, file)
	})
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
