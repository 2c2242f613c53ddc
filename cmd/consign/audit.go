// The command consign audit: entries as a table or as lines of JSON, chosen by person, organization, action and time; the check of a file
// of the stream.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/audit/stream"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/id"
	console "github.com/consign-dev/consign/internal/operator"
	operatorhandler "github.com/consign-dev/consign/internal/operator/handler"
)

// auditCommand prints the audit entries that flags select, newest first.
func auditCommand(ctx context.Context, env environment, args []string) error {
	if len(args) > 0 && args[0] == "verify" {
		return verifyAudit(ctx, env, args[1:])
	}
	if len(args) > 0 && args[0] == "restart" {
		if _, err := parse(flags("audit restart"), args[1:], 0, 0); err != nil {
			return err
		}
		return withApp(ctx, env, func(a *app.App) error { return a.RestartAuditStream(ctx, env.actor()) })
	}
	f := flags("audit")
	filter, asJSON := audit.Filter{}, f.Bool("json", false, "")
	f.IntVar(&filter.Limit, "limit", 100, "")
	f.StringVar(&filter.Action, "action", "", "")
	person, organization, since := f.String("person", "", ""), f.String("organization", "", ""), f.String("since", "", "")
	_, err := parse(f, args, 0, 0)
	switch {
	case err != nil:
		return err
	case filter.Limit < 0 || filter.Limit > audit.MaxLimit:
		return usageError(fmt.Sprintf("consign audit: --limit must be between 1 and %d, or 0 for all", audit.MaxLimit))
	}
	if filter.Since, err = moment(f, "since", *since); err != nil {
		return err
	}
	if *person != "" {
		if filter.Person, err = id.Parse[id.Person](*person); err != nil {
			return usageError("consign audit: --person " + err.Error())
		}
	}
	if *organization != "" {
		if filter.Organization, err = id.Parse[id.Organization](*organization); err != nil {
			return usageError("consign audit: --organization " + err.Error())
		}
	}
	return withApp(ctx, env, func(a *app.App) error {
		if *asJSON {
			lines := json.NewEncoder(env.stdout)
			for e, err := range a.Operator.Audit(ctx, filter) {
				if err != nil {
					return err
				}
				if err := lines.Encode(operatorhandler.EntryJSON(e)); err != nil {
					return err //nolint:wrapcheck // the terminal's
				}
			}
			return nil
		}
		var failed error
		printed := table(env.stdout, func(row func(...any)) {
			row("AT", "ACTOR", "ACTION", "OBJECT", "TARGET", "FROM", "DETAILS")
			for e, err := range a.Operator.Audit(ctx, filter) {
				if err != nil {
					failed = err
					return
				}
				from := "-"
				if e.Client.Address.IsValid() {
					from = e.Client.Address.String()
				}
				row(e.At.Format("2006-01-02 15:04:05Z"), named(e.Person, e.ActorPerson), e.Action, e.Object, named(e.Target, e.TargetPerson), from,
					e.Facts())
			}
		})
		if failed != nil {
			return failed
		}
		return printed
	})
}

// named returns the address of a person, or the uid once the account was deleted.
func named(uid id.Person, p console.Person) string {
	switch {
	case p.Email != "":
		return p.Email
	case uid.IsZero():
		return "-"
	}
	return uid.String()
}

// verifyAudit checks the chain of a file, and compares its end with the database when there is one.
func verifyAudit(ctx context.Context, env environment, args []string) error {
	names, err := parse(flags("audit verify"), args, 1, 1)
	if err != nil {
		return err
	}
	in := os.Stdin
	if names[0] != "-" {
		if in, err = os.Open(names[0]); err != nil {
			return err //nolint:wrapcheck // has the name
		}
		defer func() { _ = in.Close() }()
	}
	sent, hash, unknown := auditSent(ctx, env) // before the file is read, which may grow
	c, err := stream.Verify(in)
	if err == nil && unknown == nil {
		err = c.Compare(sent, hash)
	}
	if broken := stream.Broken(""); errors.As(err, &broken) {
		if _, err := fmt.Fprintln(env.stdout, string(broken)); err != nil {
			return err
		}
		return exitCode(1)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", names[0], err)
	}
	whole := fmt.Sprintf("The chain is whole: entries %d to %d, the last one of %s.", c.First, c.Last, c.At.Format(time.RFC3339))
	if c.Last == 0 {
		whole = "There is no entry."
	}
	tail := "The server has sent no later one."
	if unknown != nil {
		tail = fmt.Sprintf("Whether later entries are missing is not known: %s.", unknown)
	}
	_, err = fmt.Fprintln(env.stdout, strings.Join(append(c.Restarts, whole+" "+tail), "\n"))
	return err
}

// auditSent returns what the database knows of the stream. Unlike Load, it makes no secret key.
func auditSent(ctx context.Context, env environment) (int64, []byte, error) {
	cfg, err := config.Parse(env.environ)
	if err != nil {
		return 0, nil, err
	}
	return app.AuditSent(ctx, cfg)
}
