// The command consign audit: entries as a table or as lines of JSON, chosen by person, organization, action and time.

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	console "github.com/consign-dev/consign/internal/operator"
	operatorhandler "github.com/consign-dev/consign/internal/operator/handler"
)

// auditCommand prints the audit entries that flags select, newest first.
func auditCommand(ctx context.Context, env environment, args []string) error {
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
