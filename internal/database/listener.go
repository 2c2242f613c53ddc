// LISTEN and NOTIFY on one connection, which is watched and made again. Says how long everything has surely been received.

package database

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	pingEvery        = 300 * time.Millisecond
	pingPatience     = 600 * time.Millisecond // timeout after which the connection is replaced
	firstBackoff     = 100 * time.Millisecond
	longestPause     = 2 * time.Second
	farewellLimit    = time.Second
	selfTestPatience = 2 * time.Second
	selfTestChannel  = "listener_self_test"
)

// Listener receives notifications (LISTEN) on a connection of its own. It reconnects with back-off, and knows until when it has
// received everything. Pings detect a connection that was cut silently.
type Listener struct {
	url      string
	log      *slog.Logger
	now      func() time.Time
	handlers []handler
	received string                         // the last payload on selfTestChannel
	tester   Querier                        // notifies selfTestChannel; nil: no check
	first    func() (*pgconn.PgConn, error) // waits for the connection of Connect; nil once it is taken

	mu         sync.Mutex
	confirmed  time.Time // start of the last completed round trip; zero while there is no connection
	lastAnswer time.Time // the same, kept when the connection is lost; at first the time of NewListener
	trouble    error     // why the last connection failed or was lost
}

type handler struct {
	channel   string
	onNotify  func(payload string)
	onConnect func(ctx context.Context) error
}

// NewListener returns a Listener for the database at url, which must be Postgres itself and not a pooler that shares sessions. now
// must advance with real time, because ConfirmedWithin and Silence measure with it.
func NewListener(url string, log *slog.Logger, now func() time.Time) *Listener {
	return &Listener{url: url, log: log, now: now, lastAnswer: now(), trouble: errors.New("no answer yet")}
}

// Handle subscribes to a channel. Call it before Run. After each connect, once LISTEN is in effect, onConnect loads what was missed;
// after its error the Listener reconnects. onNotify gets each payload. Either may be nil. Both run on the goroutine of Run and block
// all channels, so they must be quick.
func (l *Listener) Handle(channel string, onNotify func(payload string), onConnect func(ctx context.Context) error) {
	l.handlers = append(l.handlers, handler{channel, onNotify, onConnect})
}

// SelfTest makes the Listener check each new connection: it counts only after it has received a notification that q sent. A connection
// to another database, or through a pooler that shares sessions, answers pings but never delivers a revocation. Call it before Run.
func (l *Listener) SelfTest(q Querier) {
	l.tester = q
	l.Handle(selfTestChannel, func(payload string) { l.received = payload }, nil)
}

func (l *Listener) selfTest(ctx context.Context, conn *pgconn.PgConn) error {
	if l.tester == nil {
		return nil
	}
	payload := rand.Text()
	if err := Notify(ctx, l.tester, selfTestChannel, payload); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, selfTestPatience)
	defer cancel()
	for l.received != payload {
		if err := conn.WaitForNotification(ctx); err != nil {
			return fmt.Errorf("this connection does not receive notifications: it leads to another database than CONSIGN_DATABASE_URL, or through "+
				"a pooler: %w", err)
		}
	}
	return nil
}

// Trouble returns why the last connection failed or was lost.
func (l *Listener) Trouble() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trouble
}

func (l *Listener) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.confirmed, l.trouble = time.Time{}, err
}

// ConfirmedWithin reports whether every notification that was committed more than d ago has been handled: a round trip on the
// connection began within d, after every onConnect had succeeded, and has completed.
func (l *Listener) ConfirmedWithin(d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.confirmed.IsZero() && l.now().Sub(l.confirmed) <= d
}

func (l *Listener) confirm(began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.confirmed, l.lastAnswer = began, began
}

// Silence returns the time since the last completed round trip began, on this or an earlier connection.
func (l *Listener) Silence() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now().Sub(l.lastAnswer)
}

// Connect starts to connect in the background. Run takes the connection over. If Run is not called, Close closes it.
func (l *Listener) Connect(ctx context.Context) {
	l.first = sync.OnceValues(func() (*pgconn.PgConn, error) { return l.dial(ctx) })
	go func() { _, _ = l.first() }()
}

// Close closes the connection of Connect if Run was not called.
func (l *Listener) Close() {
	if l.first == nil {
		return
	}
	if conn, err := l.first(); err == nil {
		hangUp(conn)
	}
}

func hangUp(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), farewellLimit)
	defer cancel()
	_ = conn.Close(ctx)
}

// Run listens until ctx ends. It always returns nil.
func (l *Listener) Run(ctx context.Context) error {
	backoff := firstBackoff
	for lost := false; ; {
		connected, err := l.session(ctx, lost)
		l.fail(err)
		if ctx.Err() != nil {
			return nil
		}
		if connected {
			backoff = firstBackoff
		}
		if connected || !lost {
			l.log.Warn("not listening to the database, trying again", "error", err)
		}
		lost = true
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, longestPause)
	}
}

// session runs one connection until it is lost. connected reports whether it was ever confirmed.
func (l *Listener) session(ctx context.Context, again bool) (connected bool, err error) {
	conn, err := l.connect(ctx)
	if err != nil {
		return false, err
	}
	defer hangUp(conn)
	for _, h := range l.handlers {
		if h.onConnect == nil {
			continue
		}
		if err := h.onConnect(ctx); err != nil {
			return false, fmt.Errorf("load %s after connecting: %w", h.channel, err)
		}
	}
	if err := l.selfTest(ctx, conn); err != nil {
		return false, err
	}
	for {
		if err := l.ping(ctx, conn); err != nil {
			return connected, err
		}
		if !connected && again {
			l.log.Info("listening to the database again")
		}
		connected = true
		if err := l.receive(ctx, conn); err != nil {
			return connected, err
		}
	}
}

// dial returns a new connection.
func (l *Listener) dial(ctx context.Context) (*pgconn.PgConn, error) {
	pool, err := pgxpool.ParseConfig(l.url) // removes the parameters of pgx, which Postgres would reject
	if err != nil {
		return nil, fmt.Errorf("read CONSIGN_LISTEN_DATABASE_URL: %w", err)
	}
	cfg := &pool.ConnConfig.Config
	cfg.RuntimeParams["application_name"] = "consign listener"
	// It is called while a reply is read, so a completed ping has delivered every notification that Postgres sent before its answer.
	cfg.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { l.dispatch(n) }
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect listener: %w", err)
	}
	return conn, nil
}

// connect takes the connection of Connect, or a new one, and listens to every channel.
func (l *Listener) connect(ctx context.Context) (*pgconn.PgConn, error) {
	dial := func() (*pgconn.PgConn, error) { return l.dial(ctx) }
	if l.first != nil {
		dial, l.first = l.first, nil
	}
	conn, err := dial()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var listen strings.Builder // one round trip for all channels, because every start waits for it
	for _, h := range l.handlers {
		listen.WriteString("LISTEN " + pgx.Identifier{h.channel}.Sanitize() + ";")
	}
	if _, err := conn.Exec(ctx, listen.String()).ReadAll(); err != nil {
		return nil, errors.Join(fmt.Errorf("listen: %w", err), conn.Close(ctx))
	}
	return conn, nil
}

func (l *Listener) dispatch(n *pgconn.Notification) {
	for _, h := range l.handlers {
		if h.channel == n.Channel && h.onNotify != nil {
			h.onNotify(n.Payload)
		}
	}
}

// ping makes one round trip and records when it began.
func (l *Listener) ping(ctx context.Context, conn *pgconn.PgConn) error {
	began := l.now()
	ctx, cancel := context.WithTimeout(ctx, pingPatience)
	defer cancel()
	if err := conn.Ping(ctx); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	l.confirm(began)
	return nil
}

// receive handles notifications until it is time for the next ping.
func (l *Listener) receive(ctx context.Context, conn *pgconn.PgConn) error {
	until, cancel := context.WithTimeout(ctx, pingEvery)
	defer cancel()
	for {
		err := conn.WaitForNotification(until)
		if err == nil {
			continue
		}
		if until.Err() != nil && ctx.Err() == nil && !conn.IsClosed() {
			return nil
		}
		return fmt.Errorf("wait for notifications: %w", err)
	}
}

// Notify sends payload on channel when the transaction of q commits, or at once when q is not a transaction. Postgres limits the
// payload to 7,999 bytes and delivers equal payloads of one transaction once.
func Notify(ctx context.Context, q Querier, channel, payload string) error {
	_, err := Exec(ctx, q, "notify "+channel, "SELECT pg_notify($1, $2)", channel, payload)
	return err
}
