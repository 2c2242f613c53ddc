// What probes ask: whether the process runs, and whether this replica serves requests. Profiles.

package app

import (
	"context"
	"fmt"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/database"
)

const (
	readyTimeout = 2 * time.Second
	writeEvery   = time.Second
)

// written is the result of the last write of App.writable.
type written struct {
	sync.Mutex
	at  time.Time
	err error
}

// healthz answers 200: the process runs.
func (a *App) healthz(w http.ResponseWriter, _ *http.Request) { health(w, http.StatusOK, "ok") }

// readyz answers 200 when this replica accepts requests: started, not stopping, database writable. A replica that refuses
// uploads or signs no receipts is degraded but ready: everything else goes on.
func (a *App) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	switch {
	case a.stopping.Load():
		health(w, http.StatusServiceUnavailable, "stopping")
	case !a.ready.Load():
		health(w, http.StatusServiceUnavailable, "starting")
	default:
		switch err := a.writable(ctx); {
		case database.IsReadOnly(err):
			health(w, http.StatusServiceUnavailable, "database is read-only")
			return
		case err != nil:
			health(w, http.StatusServiceUnavailable, "database not reached")
			return
		}
		health(w, http.StatusOK, a.condition())
	}
}

// writable writes a row of its own and returns why that fails. It writes once a second at most, however many ask. A client that leaves does
// not end the write, since others get its result.
func (a *App) writable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	a.written.Lock()
	defer a.written.Unlock()
	if time.Since(a.written.at) > writeEvery {
		_, a.written.err = database.Exec(ctx, a.DB.Pool, "write health", `
			INSERT INTO settings AS s (name, value, updated_at) VALUES ('health', 'true', $1)
			ON CONFLICT ON CONSTRAINT settings_pkey DO UPDATE SET updated_at = excluded.updated_at`, a.now())
		a.written.at = time.Now()
		return a.written.err
	}
	if a.written.err != nil {
		return a.written.err
	}
	return a.DB.Pool.Ping(ctx) //nolint:wrapcheck // says only that it failed
}

// condition returns "ready", or "degraded" and what does not work.
func (a *App) condition() string {
	var lacks []string
	if a.volume != nil && a.volume.State().Low() {
		s, refused := a.volume.State(), "uploads are refused"
		if s.LowForRows() {
			refused = "uploads and new transfers, accounts and webhooks are refused"
		}
		lacks = append(lacks, fmt.Sprintf("%s, %d bytes are free and CONSIGN_STORAGE_FLOOR keeps %d", refused, s.Free, s.Floor))
	}
	if a.storageTrouble() != nil {
		lacks = append(lacks, "the storage of files does not work, consign doctor says why")
	}
	if a.outdated() {
		lacks = append(lacks, "a newer version has migrated the database")
	}
	if a.Proofs.Trouble() != nil {
		lacks = append(lacks, "receipts are not signed, consign log status says why")
	}
	if len(lacks) == 0 {
		return "ready"
	}
	return "degraded: " + strings.Join(lacks, "; ")
}

func health(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

// adminHandler serves health, metrics and, with CONSIGN_PPROF, profiles on the admin listener, which must not be public. Unless
// CONSIGN_ADMIN_CONSOLE is off, everything else is what the public listener serves, and the console.
func (a *App) adminHandler() http.Handler {
	mux, private := http.NewServeMux(), http.NewServeMux()
	mux.HandleFunc("GET /healthz", a.healthz)
	mux.HandleFunc("GET /readyz", a.readyz)
	mux.Handle("GET /metrics", a.known(private))
	private.Handle("GET /metrics", a.metrics.Handler())
	if a.config.AdminConsole != config.ConsoleOff {
		mux.Handle("/", a.API.AdminHandler())
	}
	if !a.config.Pprof {
		return mux
	}
	mux.Handle("GET /debug/pprof/", a.known(private))
	private.HandleFunc("GET /debug/pprof/", pprof.Index)
	private.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	private.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	private.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	private.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// known refuses requests for names that are not this server's. A site whose name somebody leads to this listener (DNS rebinding) could
// read what needs no login otherwise. An address in place of a name cannot be led anywhere else.
func (a *App) known(next http.Handler) http.Handler {
	names := append([]string{"localhost", a.config.PublicURL.Hostname()}, a.config.AdminHosts...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := (&url.URL{Host: r.Host}).Hostname()
		if _, err := netip.ParseAddr(host); err != nil && !slices.Contains(names, strings.ToLower(host)) {
			health(w, http.StatusMisdirectedRequest, "not a name of this server (CONSIGN_ADMIN_HOSTS)")
			return
		}
		next.ServeHTTP(w, r)
	})
}
