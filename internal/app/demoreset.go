// A public demo (consign serve --demo --demo-reset): the server stops, empties its database and its files, and starts again, once a period.
// Its socket stays open meanwhile, so new connections wait for some seconds and are not refused.

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/localpg"
)

const (
	// resetLook is how often a demo looks whether its reset is due.
	resetLook = 250 * time.Millisecond
	// resetPostponed is the time until the next try when a command uses the database.
	resetPostponed = time.Minute
	// resetTimeout bounds the emptying of the database.
	resetTimeout = time.Minute
)

// ServeDemo serves a demo that is emptied once each Options.DemoReset. The time of the next reset is in a file that is written when the
// demo is ready and removed when all is empty: a reset that a crash interrupts begins again at the next start.
func ServeDemo(ctx context.Context, cfg config.Config, o Options) error {
	objects := (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(cfg.DataDir, "objects"))}).String()
	if cfg.DatabaseURL != "" || cfg.StorageURL != objects || cfg.StorageSecondURL != "" || cfg.RedisURL != "" {
		return errors.New("--demo-reset empties the embedded Postgres and CONSIGN_DATA_DIR only: " +
			"leave CONSIGN_DATABASE_URL, CONSIGN_STORAGE_URL, CONSIGN_STORAGE_SECOND_URL and CONSIGN_REDIS_URL unset")
	}
	opened, err := listen(ctx, o.Listener, cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen (CONSIGN_LISTEN): %w", err)
	}
	defer opened.Close()
	lasting, ok := opened.(*net.TCPListener)
	if !ok {
		return errors.New("--demo-reset listens on TCP only")
	}
	for {
		if err := resetDue(ctx, cfg, o); err != nil {
			return err
		}
		if err := lasting.SetDeadline(time.Time{}); err != nil { // of the run before
			return err
		}
		o.Listener = &borrowed{TCPListener: lasting}
		a, err := New(ctx, cfg, o)
		if err != nil {
			return err
		}
		if err := a.Run(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// borrowed is a listener that stops accepting when it is closed, and stays open for the next one.
type borrowed struct {
	*net.TCPListener
	closed atomic.Bool
}

// Accept implements net.Listener.
func (b *borrowed) Accept() (net.Conn, error) {
	conn, err := b.TCPListener.Accept()
	if err != nil && b.closed.Load() {
		return nil, net.ErrClosed
	}
	return conn, err //nolint:wrapcheck // net/http looks at it
}

// Close implements net.Listener.
func (b *borrowed) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	return b.SetDeadline(time.Unix(1, 0)) //nolint:wrapcheck // net/http looks at it
}

func resetFile(cfg config.Config) string { return filepath.Join(cfg.DataDir, "demo-reset.txt") }

// nextReset returns the time in the file; zero without one.
func nextReset(cfg config.Config) (time.Time, error) {
	raw, err := os.ReadFile(resetFile(cfg))
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339, strings.TrimSpace(string(raw)))
}

// writeReset writes the time of the next reset. A file that a crash cuts would not parse, so it is replaced as a whole.
func writeReset(cfg config.Config, at time.Time) error {
	name := resetFile(cfg)
	if err := os.WriteFile(name+".new", []byte(at.UTC().Format(time.RFC3339)+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// resetDue empties the demo if it is due.
func resetDue(ctx context.Context, cfg config.Config, o Options) error {
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	due, err := nextReset(cfg)
	if err != nil || due.IsZero() || now().Before(due) {
		return err
	}
	err = empty(ctx, cfg, o)
	if errors.Is(err, localpg.ErrShared) {
		if o.Log != nil {
			o.Log.Warn("the demo was not reset: another process uses its database", "next", resetPostponed.String())
		}
		return writeReset(cfg, now().Add(resetPostponed))
	}
	if err != nil {
		return fmt.Errorf("reset the demo: %w", err)
	}
	return os.Remove(resetFile(cfg))
}

// empty empties the database, and removes all stored files and mails. The password of the owner stays.
func empty(ctx context.Context, cfg config.Config, o Options) (err error) {
	ctx, cancel := context.WithTimeout(ctx, resetTimeout)
	defer cancel()
	db, err := OpenDatabase(ctx, cfg, o.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.cluster.Recreate(ctx); err != nil {
		return err
	}
	for _, name := range []string{"objects", "spool", "mail"} {
		if err := os.RemoveAll(filepath.Join(cfg.DataDir, name)); err != nil {
			return err
		}
	}
	f := demoFile{cfg.DataDir}
	if password := f.value("password"); password != "" {
		return f.write(demoValue{"password", password})
	}
	return nil
}

// untilReset returns a context that ends when the demo is to be reset. It plans the reset, if that is not done.
func (a *App) untilReset(ctx context.Context) (_ context.Context, end func(), err error) {
	due, err := nextReset(a.config)
	if err == nil && due.IsZero() {
		due = a.now().Add(a.options.DemoReset)
		err = writeReset(a.config, due)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("plan the reset of the demo: %w", err)
	}
	until, end := context.WithCancel(ctx)
	go func() {
		tick := time.NewTicker(resetLook)
		defer tick.Stop()
		for a.now().Before(due) {
			select {
			case <-until.Done():
				return
			case <-tick.C:
			}
		}
		a.log.Info("the demo is reset")
		end()
	}()
	return until, end, nil
}
