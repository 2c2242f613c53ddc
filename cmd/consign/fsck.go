package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// fsck compares every object in storage with its row. After a restore, --accept allows the sweep of orphans again.
func fsck(ctx context.Context, env environment, args []string) error {
	f := flags("fsck")
	accept := f.Bool("accept", false, "")
	sample := f.String("sample", "", "")
	after := f.String("after", "", "")
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	var o content.FsckOptions
	var err error
	if o.Sample, err = parseShare(*sample); err != nil {
		return err
	}
	if *after != "" {
		if o.After, err = id.Parse[id.Object](*after); err != nil {
			return fmt.Errorf("--after: %w", err)
		}
	}
	if *accept && (o.Sample > 0 || !o.After.IsZero()) {
		return errors.New("--accept: goes with a check of everything only, without --sample and --after")
	}
	return withOptions(ctx, env, app.Options{}, func(a *app.App) error {
		show := newProgress(env.stderr, time.Now)
		o.Progress = show.passed
		result, err := a.Content.Fsck(ctx, o, func(found content.Finding) error { return printFinding(ctx, env.stdout, a, found) })
		show.end()
		if err != nil {
			if !result.Last.IsZero() && o.Sample == 0 {
				_, _ = fmt.Fprintf(env.stderr, "interrupted; consign fsck --after %s goes on\n", result.Last)
			}
			return err
		}
		return concludeFsck(ctx, env, a, result, *accept)
	})
}

func concludeFsck(ctx context.Context, env environment, a *app.App, result content.FsckResult, accept bool) error {
	if _, err := fmt.Fprintf(env.stdout, "objects: %d, bytes read: %d, findings: %d\n", result.Objects, result.Bytes,
		result.Findings); err != nil {
		return err
	}
	if accept {
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
}

// printFinding prints a finding, and of lost and damaged bytes the transfers that have them: their people are to be told.
func printFinding(ctx context.Context, w io.Writer, a *app.App, found content.Finding) error {
	if _, err := fmt.Fprintf(w, "%s %s: %s\n", found.Kind, found.Object, found.Detail); err != nil || found.Kind == content.FindingOrphan {
		return err
	}
	d, err := a.Content.DamageOf(ctx, found.Object)
	if err != nil && !errors.Is(err, transfer.ErrNotFound) {
		return err
	}
	for _, t := range d.Transfers {
		if _, err := fmt.Fprintf(w, "  transfer %s from %q to %q\n", t.UID, t.Sender, t.Recipients); err != nil {
			return err
		}
	}
	return nil
}

// parseShare parses a share of all objects such as 1%; empty: 0.
func parseShare(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	percent, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !strings.HasSuffix(text, "%") || percent <= 0 || percent > 100 {
		return 0, fmt.Errorf("--sample: %q is not a share such as 1%%", text)
	}
	return percent / 100, nil
}
