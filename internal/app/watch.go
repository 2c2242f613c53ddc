// What a replica looks at without a request: its storage, Redis, the version of the database, the certificate at the public URL. Probes,
// metrics and the console report it.

package app

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/blob"
)

const (
	watchTimeout     = 10 * time.Second
	certificateEvery = time.Hour
)

// watched is what was seen last.
type watched struct {
	sync.Mutex
	storage     error     // why the storage does not work
	newer       bool      // a newer version has migrated the database
	certificate time.Time // when the certificate ends; zero: not known
	looked      time.Time // when the certificate was looked at
}

// watch looks until ctx ends.
func (a *App) watch(ctx context.Context) error {
	tick := time.NewTicker(a.config.WatchInterval)
	defer tick.Stop()
	for {
		a.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (a *App) look(ctx context.Context) {
	if a.SharedLimits != nil {
		a.SharedLimits.Ask(ctx)
	}
	storage := a.probeStorage(ctx)
	newer, err := a.newer(ctx)
	if ctx.Err() != nil {
		return
	}
	a.watched.Lock()
	before, due := a.watched.storage, time.Since(a.watched.looked) > certificateEvery
	a.watched.storage = storage
	if err == nil {
		a.watched.newer = newer
	}
	a.watched.Unlock()
	switch {
	case storage != nil && before == nil:
		a.log.Error("the storage does not work", "error", storage)
	case storage == nil && before != nil:
		a.log.Info("the storage works again")
	}
	if due {
		ends := a.certificateEnd(ctx)
		a.watched.Lock()
		a.watched.certificate, a.watched.looked = ends, time.Now()
		a.watched.Unlock()
	}
}

// probeStorage returns why the storage does not work.
func (a *App) probeStorage(ctx context.Context) error {
	probed, ok := a.marks.(blob.Probed)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	return probed.Probe(ctx)
}

func (a *App) newer(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	return a.DB.Newer(ctx)
}

// certificateEnd returns the end of the certificate at the public URL, as this machine sees it. It is zero without TLS, and when the URL
// does not lead back from here. Whether it is trusted is a question of doctor.
func (a *App) certificateEnd(ctx context.Context) time.Time {
	u := a.config.PublicURL
	if u.Scheme != "https" {
		return time.Time{}
	}
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	port := u.Port()
	if port == "" {
		port = "443"
	}
	dialer := tls.Dialer{Config: &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: true}} //nolint:gosec // reads a date, sends nothing
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		a.log.Debug("the certificate of the public URL is not known", "error", err)
		return time.Time{}
	}
	defer func() { _ = conn.Close() }()
	chain := conn.(*tls.Conn).ConnectionState().PeerCertificates
	if len(chain) == 0 {
		return time.Time{}
	}
	return chain[0].NotAfter
}

// storageTrouble returns why the storage did not work when it was last looked at.
func (a *App) storageTrouble() error {
	a.watched.Lock()
	defer a.watched.Unlock()
	return a.watched.storage
}

// outdated reports whether a newer version has migrated the database.
func (a *App) outdated() bool {
	a.watched.Lock()
	defer a.watched.Unlock()
	return a.watched.newer
}

// certificate returns when the certificate at the public URL ends; zero: not known.
func (a *App) certificate() time.Time {
	a.watched.Lock()
	defer a.watched.Unlock()
	return a.watched.certificate
}
