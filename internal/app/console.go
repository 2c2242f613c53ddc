// Mounts the console's routes of all domains where the setting wants them, and audits each call.

package app

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/httpserver"
	"github.com/consign-dev/consign/internal/microcache"
	"github.com/consign-dev/consign/internal/operator"
	operatorhandler "github.com/consign-dev/consign/internal/operator/handler"
	operatorpostgres "github.com/consign-dev/consign/internal/operator/postgres"
	operatorservice "github.com/consign-dev/consign/internal/operator/service"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
)

// console returns where the console is (CONSIGN_ADMIN_CONSOLE).
func (a *App) console() httpserver.Console {
	switch a.config.AdminConsole {
	case config.ConsoleListener:
		return httpserver.ConsoleListener
	case config.ConsolePublic:
		return httpserver.ConsolePublic
	}
	return httpserver.ConsoleOff
}

// mountConsole mounts the routes of operators: those of this domain and of the others. Each call is recorded.
func (a *App) mountConsole(limiter *ratelimit.Limiter, others ...[]httpapi.Route) {
	a.Operator = operatorservice.New(operatorservice.Options{
		DB: a.DB, Store: operatorpostgres.New(a.DB), Jobs: a.Jobs, Mail: a.Mail, Receipts: a.Proofs, Shared: a.SharedLimits, Volume: a.volume,
		Storage: a.storageTrouble, Integrity: a.integrity, Scanner: a.scannerState, Audit: a.auditState, Writable: a.writable,
		Maintenance: a.Maintenance,
		Version:     a.options.Version, Now: a.now, Log: a.log,
		Counters: a.counters, People: a.Identity.CountPersons, Transfers: a.Transfer.CountAlive,
		Doctor: a.examine, SetMaintenance: a.SetMaintenance, Settings: a.settings(), Keys: a.Keys, Limiter: limiter,
		Traffic: func() operator.Traffic {
			s := a.API.Stats()
			return operator.Traffic{Uploads: s.Uploads, Downloads: s.Downloads, Streams: s.Streams, BytesIn: s.BytesIn, BytesOut: s.BytesOut}
		},
	})
	routes := slices.Concat(append(others, operatorhandler.New(a.Operator).Routes())...)
	a.API.Mount(httpapi.OperatorBase, httpapi.Transfer, a.audited(routes))
}

// counters returns what this replica has counted since its start.
func (a *App) counters() operator.Counters {
	s := a.API.Stats()
	return operator.Counters{Requests: s.Ended, Errors: s.Failed, Uploads: s.EndedUploads, Downloads: s.EndedDownloads, BytesIn: s.BytesIn,
		BytesOut: s.BytesOut}
}

// settings returns the settings of this replica, secrets masked.
func (a *App) settings() []operator.Setting {
	var all []operator.Setting
	for _, s := range a.config.Effective() {
		all = append(all, operator.Setting{Group: s.Group, Name: s.Name, Value: s.Value, Default: s.Default, Description: s.Doc, Given: s.Given})
	}
	return all
}

// examine runs the checks of consign doctor.
func (a *App) examine(ctx context.Context) ([]operator.Finding, error) {
	found, err := a.Doctor(ctx)
	all := make([]operator.Finding, len(found))
	for i, f := range found {
		all[i] = operator.Finding{ID: f.ID, Severity: string(f.Severity), Sentence: f.Sentence, Advice: f.Advice}
	}
	return all, err
}

// scannerState returns the malware scanner as it answers now.
func (a *App) scannerState(ctx context.Context) (operator.Scanner, error) {
	if !a.Transfer.Inspects() {
		return operator.Scanner{State: operator.Off}, nil
	}
	s, err := a.Transfer.ScannerStatus(ctx)
	o := operator.Scanner{State: operator.OK, Engine: s.Version.Engine, Waiting: s.Queue.Waiting}
	if s.Queue.OldestDue != nil {
		o.OldestDue = max(a.now().Sub(*s.Queue.OldestDue), 0)
	}
	if s.Trouble != nil {
		o.State = operator.Failed
	} else if len(s.Warnings) > 0 {
		o.State = operator.Warning
	}
	return o, err
}

// rereadTime is how long the same read by the same session is not recorded again: pages of the console read again by themselves.
const rereadTime = time.Minute

// read identifies one read of a session.
type read struct {
	session     string
	path, query string
}

// audited records each call of the routes before its handler runs, also one that is refused after that. The entries are those of
// contract 9.1.
func (a *App) audited(routes []httpapi.Route) []httpapi.Route {
	seen := microcache.NewSized[read, struct{}](rereadTime, 4096, a.now)
	for i, route := range routes {
		next, name := route.Handler, route.Method+" "+httpapi.OperatorBase+route.Pattern
		reads := route.Method == http.MethodGet
		routes[i].Handler = func(w http.ResponseWriter, r *http.Request) error {
			caller := token.CallerFrom(r.Context())
			one := read{caller.Session.String(), r.URL.Path, r.URL.RawQuery}
			if _, stamp, again := seen.Lookup(one); !again || !reads {
				err := a.recordCall(r, caller, name, reads)
				switch {
				case err != nil && route.Auth.InOutage(): // the database is away, and the log has it instead
					a.log.WarnContext(r.Context(), "a call of the console is not in the audit", "person", caller.Person, "route", name, "error", err)
				case err != nil:
					return err
				default:
					seen.Store(one, struct{}{}, stamp)
				}
			}
			return next(w, r)
		}
	}
	return routes
}

func (a *App) recordCall(r *http.Request, caller token.Caller, route string, reads bool) error {
	e := audit.Entry{Actor: audit.Of(caller).As(audit.Operator), Action: "console.change", Object: r.URL.Path,
		Details: map[string]string{"route": route}}
	if reads {
		e.Action = "console.read"
	}
	if r.URL.RawQuery != "" {
		e.Details["query"] = r.URL.RawQuery
	}
	return audit.Append(r.Context(), a.DB.Pool, a.now(), e)
}
