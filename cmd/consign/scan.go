package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// scanCommand shows the malware scanner and its queue, or lets the files of a transfer be inspected again.
func scanCommand(ctx context.Context, env environment, args []string) error {
	verb, rest, err := action("scan", args, map[string][2]int{"status": {0, 0}, "again": {1, 1}})
	if err != nil {
		return err
	}
	if verb == "status" {
		return withApp(ctx, env, func(a *app.App) error { return scanStatus(ctx, env, a) })
	}
	uid, err := id.Parse[id.Transfer](rest[0])
	if err != nil {
		return usageError("consign scan again: " + rest[0] + " is not the uid of a transfer or an object")
	}
	return withApp(ctx, env, func(a *app.App) error {
		if !a.Transfer.Inspects() {
			return errNoScanner
		}
		n, err := a.Transfer.InspectAgain(ctx, env.actor(), uid)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.stdout, "%d files are inspected again\n", n)
		return err //nolint:wrapcheck // the terminal's
	})
}

var errNoScanner = usageError("no scanner is configured: set CONSIGN_SCANNER_URL")

// scanStatus prints the scanner's version and the queue. A scanner that does not answer is an error.
func scanStatus(ctx context.Context, env environment, a *app.App) error {
	s, err := a.Transfer.ScannerStatus(ctx)
	if err != nil {
		return err
	}
	err = table(env.stdout, func(row func(...any)) {
		switch {
		case !a.Transfer.Inspects():
			row("scanner", "none: CONSIGN_SCANNER_URL is not set")
		case s.Trouble != nil:
			row("scanner", "does not answer")
		default:
			row("scanner", s.Version.Engine)
			row("signatures", cmp.Or(s.Version.Signatures, "the scanner does not say"))
		}
		for _, w := range s.Warnings {
			row("warning", w)
		}
		row("waiting", s.Queue.Waiting)
		row(string(transfer.Failed), s.Queue.Failed)
		if s.Queue.OldestDue != nil {
			row("oldest", s.Queue.OldestDue.UTC().Format(time.RFC3339))
		}
	})
	if err == nil && s.Trouble != nil {
		err = fmt.Errorf("the scanner does not answer: %w", s.Trouble)
	}
	return err
}
