// Tests of LISTEN: delivery, silent cuts, and reconnecting.

package database_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/relay"
)

func run(t *testing.T, l *database.Listener) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v after its context ended", err)
		}
	})
}

// TestListenerConnectsEarly: Run uses the connection of Connect, and Close closes it when Run is not called.
func TestListenerConnectsEarly(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	conn := pgtest.Connect(t, url)
	listeners := func() (pids []int) {
		if err := conn.QueryRow(t.Context(), `
			SELECT array(SELECT pid FROM pg_stat_activity
			WHERE application_name = 'consign listener' AND datname = current_database())`).Scan(&pids); err != nil {
			t.Fatal(err)
		}
		return pids
	}
	l := database.NewListener(url, discard(), time.Now)
	l.Connect(t.Context())
	poll.Until(t, "connected", func() bool { return len(listeners()) == 1 })
	before := listeners()
	run(t, l)
	poll.Until(t, "confirmed", func() bool { return l.ConfirmedWithin(time.Second) })
	if now := listeners(); !slices.Equal(now, before) {
		t.Errorf("connections %v, want %v", now, before)
	}

	unused := database.NewListener(url, discard(), time.Now)
	unused.Connect(t.Context())
	poll.Until(t, "connected", func() bool { return len(listeners()) == 2 })
	unused.Close()
	poll.Until(t, "closed", func() bool { return slices.Equal(listeners(), before) })
}

// TestListenerAcceptsPoolParameters: parameters of the pool in the URL are not sent to Postgres, which would reject them.
func TestListenerAcceptsPoolParameters(t *testing.T) {
	t.Parallel()
	l := database.NewListener(pgtest.EmptyURL(t)+"&default_query_exec_mode=cache_describe&pool_max_conns=4", discard(), time.Now)
	run(t, l)
	poll.Until(t, "confirmed", func() bool { return l.ConfirmedWithin(time.Second) })
}

// TestListenerOfAnotherDatabase: a connection to another database receives no notifications. It is never confirmed, and Trouble says why.
func TestListenerOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	here := pgtest.EmptyURL(t)
	db, err := database.New(t.Context(), here, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	right, wrong := database.NewListener(here, discard(), time.Now), database.NewListener(pgtest.EmptyURL(t), discard(), time.Now)
	for _, l := range []*database.Listener{right, wrong} {
		l.SelfTest(db.Pool)
		run(t, l)
	}
	poll.Until(t, "confirmed", func() bool { return right.ConfirmedWithin(time.Second) })
	poll.Until(t, "refused", func() bool { return strings.Contains(wrong.Trouble().Error(), "another database") })
	if wrong.ConfirmedWithin(time.Hour) {
		t.Error("a listener of another database counts as listening")
	}
}

func TestListenerDelivers(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	conn := pgtest.Connect(t, url)
	got := make(chan string, 10)
	var loads atomic.Int32
	l := database.NewListener(url, discard(), time.Now)
	l.Handle("one", func(p string) { got <- "one " + p }, func(context.Context) error { loads.Add(1); return nil })
	l.Handle(`a "strange" name`, func(p string) { got <- "two " + p }, nil)
	if l.ConfirmedWithin(time.Hour) {
		t.Error("confirmed before it ran")
	}
	run(t, l)
	poll.Until(t, "confirmed", func() bool { return l.ConfirmedWithin(time.Second) })
	if n := loads.Load(); n != 1 {
		t.Errorf("onConnect ran %d times before the first confirmation", n)
	}
	for _, channel := range []string{"one", `a "strange" name`, "other"} {
		if err := database.Notify(t.Context(), conn, channel, "hello"); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"one hello", "two hello"} {
		if msg := <-got; msg != want {
			t.Errorf("got %q, want %q", msg, want)
		}
	}
}

func TestListenerNoticesSilentCut(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	hop := relay.New(t, url)
	var loads atomic.Int32
	l := database.NewListener(hop.URL, discard(), time.Now)
	got := make(chan string, 10)
	l.Handle("c", func(p string) { got <- p }, func(context.Context) error { loads.Add(1); return nil })
	run(t, l)
	poll.Until(t, "confirmed", func() bool { return l.ConfirmedWithin(time.Second) })

	hop.Freeze()
	frozen := time.Now()
	poll.Until(t, "unconfirmed", func() bool { return !l.ConfirmedWithin(time.Second) })
	if d := time.Since(frozen); d > 1500*time.Millisecond {
		t.Errorf("noticed a silent cut after %v", d)
	}
	if err := database.Notify(t.Context(), pgtest.Connect(t, url), "c", "missed or not"); err != nil {
		t.Fatal(err)
	}

	before := loads.Load()
	hop.Cut()
	hop.Up()
	poll.Until(t, "confirmed again", func() bool { return l.ConfirmedWithin(time.Second) })
	if loads.Load() == before {
		t.Error("confirmed again without loading what was missed")
	}
}

func TestListenerReconnects(t *testing.T) {
	t.Parallel()
	hop := relay.New(t, pgtest.EmptyURL(t))
	var loads atomic.Int32
	l := database.NewListener(hop.URL, discard(), time.Now)
	l.Handle("c", nil, func(context.Context) error { loads.Add(1); return nil })
	run(t, l)
	for want := int32(1); want <= 3; want++ {
		poll.Until(t, "connected", func() bool { return loads.Load() >= want && l.ConfirmedWithin(time.Second) })
		hop.Cut()
	}
}

func TestListenerIsNotConfirmedBeforeEverythingIsLoaded(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int32
	l := database.NewListener(pgtest.EmptyURL(t), discard(), time.Now)
	l.Handle("c", nil, func(context.Context) error {
		if l.ConfirmedWithin(time.Hour) {
			t.Error("confirmed while loading")
		}
		if attempts.Add(1) < 3 {
			return errors.New("not today")
		}
		return nil
	})
	run(t, l)
	poll.Until(t, "confirmed", func() bool { return l.ConfirmedWithin(time.Second) })
	if n := attempts.Load(); n != 3 {
		t.Errorf("onConnect ran %d times, want 3", n)
	}
}
