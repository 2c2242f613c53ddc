// Serves and shuts down: rows made at the start, listeners, HTTP timeouts, and the order in which everything stops.

package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/consign-dev/consign/internal/fault"
)

const (
	// ordinaryGrace is how long requests in progress may continue at shutdown. Nearly all take milliseconds. After that their
	// contexts are canceled.
	ordinaryGrace = 500 * time.Millisecond
	// drainTimeout is how long shutdown waits for connections before it closes them.
	drainTimeout    = 15 * time.Second
	listenerTimeout = 30 * time.Second
	// jobsDelay delays the job runner after the start, so that its first forty statements do not slow the first requests.
	jobsDelay         = 100 * time.Millisecond
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

var errStopping = fault.ErrUnavailable.With("the server is stopping; try again").WithRetryAfter(2 * time.Second)

// Run serves until ctx ends, then shuts down in this order: /readyz answers 503 while requests are still served, for
// CONSIGN_SHUTDOWN_DELAY, so that a load balancer notices; no new connections; streams and uploads are canceled, which keeps
// acknowledged bytes; jobs; pool; embedded Postgres.
func (a *App) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, a.Close()) }()
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	var running errgroup.Group
	running.Go(func() error { return a.database.run(background) })
	feedCtx, stopFeed := context.WithCancel(background)
	defer stopFeed()
	err = a.prepare(ctx)
	if err == nil { // not earlier: in parallel it would need one more connection
		running.Go(func() error { return a.listener.Run(background) })
		running.Go(func() error { return a.revocations.Run(background) })
		running.Go(func() error { return a.feed.Run(feedCtx) })
		running.Go(func() error { return a.Proofs.Run(background) })
		if a.volume != nil {
			running.Go(func() error { return a.volume.Run(background) })
		}
		running.Go(func() error { return a.watch(background) })
		err = a.synchronize(ctx)
	}
	if err == nil && a.options.DemoReset > 0 {
		var end func()
		if ctx, end, err = a.untilReset(ctx); err == nil {
			defer end()
		}
	}
	if err != nil {
		stopBackground()
		return errors.Join(err, running.Wait())
	}
	jobsCtx, stopJobs := context.WithCancel(background)
	defer stopJobs()
	running.Go(func() error {
		select {
		case <-jobsCtx.Done():
			return nil
		case <-time.After(jobsDelay):
			return a.Jobs.Run(jobsCtx)
		}
	})

	running.Go(func() error { return a.Webhooks.Run(jobsCtx) })
	running.Go(func() error { return a.Operator.RunSamples(jobsCtx) })
	running.Go(func() error { return a.stream.Run(jobsCtx) })

	served := a.serve(ctx, stopFeed)
	stopJobs()
	stopBackground()
	return errors.Join(served, running.Wait())
}

// prepare creates the rows that this replica needs: signing keys and the free organization.
func (a *App) prepare(ctx context.Context) error {
	if err := a.Keys.Ensure(ctx); err != nil {
		return err
	}
	if err := a.Identity.Bootstrap(ctx); err != nil {
		return fmt.Errorf("prepare identity: %w", err)
	}
	return nil
}

// synchronize waits until this replica may serve: the listener works and the demo is seeded.
func (a *App) synchronize(ctx context.Context) error {
	if err := a.waitForListener(ctx); err != nil {
		return err
	}
	if a.options.Demo {
		if err := a.seedDemo(ctx); err != nil {
			return fmt.Errorf("seed the demo: %w", err)
		}
	}
	return nil
}

// waitForListener waits until the listener is connected. Its subscribers, such as revocations and maintenance mode, are loaded
// then.
func (a *App) waitForListener(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listenerTimeout)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !a.listener.ConfirmedWithin(time.Second) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("LISTEN on the database (CONSIGN_LISTEN_DATABASE_URL): %w: %w", ctx.Err(), a.listener.Trouble())
		case <-tick.C:
		}
	}
	return nil
}

// serve listens and serves until ctx ends, then drains.
func (a *App) serve(ctx context.Context, stopFeed func()) error {
	base, endRequests := context.WithCancelCause(context.WithoutCancel(ctx))
	defer endRequests(nil)
	public, err := a.server(base)
	if err != nil {
		return err
	}
	opened, err := listen(ctx, a.options.Listener, a.config.Listen)
	if err != nil {
		return fmt.Errorf("listen (CONSIGN_LISTEN): %w", err)
	}
	listener := newDrained(opened)
	public.ConnState = listener.State
	admin := &http.Server{
		Handler: a.adminHandler(), ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		BaseContext: func(net.Listener) context.Context { return base }, ConnContext: a.API.Connected,
	}
	adminListener, err := listen(ctx, a.options.Admin, a.config.AdminListen)
	if err != nil {
		return errors.Join(fmt.Errorf("listen for administration (CONSIGN_ADMIN_LISTEN): %w", err), listener.Close())
	}
	a.ready.Store(true)
	a.log.Info("ready", "url", a.config.PublicURL.String(), "listen", listener.Addr().String(), "version", a.options.Version,
		"config", a.config.Fingerprint())
	a.greet(ctx) // before the first request, so that both do not need a connection
	failed := make(chan error, 2)
	go func() { failed <- admin.Serve(adminListener) }()
	go func() {
		if public.TLSConfig != nil {
			failed <- public.ServeTLS(listener, "", "")
			return
		}
		failed <- public.Serve(listener)
	}()
	select {
	case <-ctx.Done():
		a.stopping.Store(true)
		a.log.Info("stopping", "after", a.config.ShutdownDelay.String())
		select {
		case <-time.After(a.config.ShutdownDelay):
		case err = <-failed:
		}
	case err = <-failed:
		a.stopping.Store(true)
		a.log.Info("stopping")
	}
	listener.Drain()
	return errors.Join(err, drain(public, stopFeed, endRequests), admin.Close())
}

// drain shuts a server down: idle connections and ordinary requests first, then streams and uploads, then the rest.
func drain(s *http.Server, stopFeed func(), endRequests context.CancelCauseFunc) error {
	var once sync.Once
	end := func() { once.Do(func() { endRequests(errStopping) }) }
	stopFeed()
	grace := time.AfterFunc(ordinaryGrace, end)
	defer grace.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	err := s.Shutdown(ctx)
	end()
	if errors.Is(err, context.DeadlineExceeded) {
		return s.Close()
	}
	return err
}

// server returns the public server. It has no timeout for whole requests: httpserver extends deadlines while bytes move.
func (a *App) server(base context.Context) (*http.Server, error) {
	s := &http.Server{
		Handler: a.API.Handler(), BaseContext: func(net.Listener) context.Context { return base }, ConnContext: a.API.Connected,
		ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelWarn), // for example failed TLS handshakes
	}
	s.DisableGeneralOptionsHandler = true // OPTIONS * goes through the pipeline
	if a.config.TLSCert == "" {
		return s, nil
	}
	certificates, err := newCertificates(a.config.TLSCert, a.config.TLSKey, a.log)
	if err != nil {
		return nil, fmt.Errorf("load CONSIGN_TLS_CERT and CONSIGN_TLS_KEY: %w", err)
	}
	s.TLSConfig = &tls.Config{GetCertificate: certificates.get, MinVersion: tls.VersionTLS12, CipherSuites: suites}
	return s, nil
}

// listen returns given, or a new listener at address.
func listen(ctx context.Context, given net.Listener, address string) (net.Listener, error) {
	if given != nil {
		return given, nil
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}

// Close closes what New opened. Run calls it; commands that do not call Run call Close.
func (a *App) Close() error {
	if a.listener != nil {
		a.listener.Close()
	}
	if a.Content != nil {
		a.Content.Close()
	}
	if a.DB != nil {
		a.DB.Close()
	}
	var err error
	if a.SharedLimits != nil {
		err = a.SharedLimits.Close()
	}
	return errors.Join(err, a.database.Close())
}
