package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// slowStore is a store whose first Append blocks until its context is cancelled.
type slowStore struct {
	blob.Store
	first   sync.Once
	opening chan struct{} // closed when Append blocks
}

func (s *slowStore) Append(ctx context.Context, key blob.Key, offset, size int64) (blob.Writer, error) {
	s.first.Do(func() {
		close(s.opening)
		<-ctx.Done()
	})
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	return s.Store.Append(ctx, key, offset, size)
}

// TestSecondWriterWinsAtOnce starts the second writer while the first is still opening the object.
func TestSecondWriterWinsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mailbox()
	store := &slowStore{Store: w.blobs, opening: make(chan struct{})}
	w.Service, w.content = w.serve(store)
	c, r := w.reserve()
	w.attach(c, r, "a", 1000)
	failed := w.upload(c, r, whole(random(1000)))
	<-store.opening
	mustUpload(w, c, r, "a", whole(random(1000)))
	if err := <-failed; !errors.Is(err, transfer.ErrOvertaken) {
		t.Fatalf("the first writer got %v", err)
	}
	w.nothingReserved()
}

// TestDeletingAnObjectWhileBytesBecomeHeld deletes an object while its writer, which has locked the row first, saves its
// progress. The volume of these bytes is released, too.
func TestDeletingAnObjectWhileBytesBecomeHeld(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	w.attach(c, r, "a", 1000)
	in, b := slowly(random(300), random(1000))
	cut, removed := w.upload(c, r, in), make(chan error, 1)
	<-b.waiting
	release := w.hold(`SELECT FROM transfer.objects FOR UPDATE`)
	b.next <- io.ErrUnexpectedEOF
	w.waiting(1)
	go func() { removed <- w.DeleteObject(t.Context(), c, r, "a") }()
	w.waiting(2)
	release()
	if err := <-cut; !errors.Is(err, transfer.ErrBodyLength) {
		t.Errorf("the writer got %v", err)
	}
	if err := <-removed; err != nil {
		t.Error(err)
	}
	if held := w.count(`SELECT sum(held) FROM transfer.volume_totals`); held != 0 {
		t.Errorf("%d bytes of nothing stay charged", held)
	}
}

// TestLeasesUseTheDatabaseClock: replicas with different clocks agree on the end of a lease, because Postgres's clock decides.
// Here it is an hour behind this machine's.
func TestLeasesUseTheDatabaseClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`CREATE SCHEMA skewed`)
	w.exec(`CREATE FUNCTION skewed.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql RETURN pg_catalog.clock_timestamp() - interval '1 hour'`)
	w.exec(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = skewed, pg_catalog, public', current_database()); END $$`)
	w.db.Pool.Reset()
	w.mailbox()
	c, r := w.reserve()
	w.attach(c, r, "a", 6)
	const rest = 500 * time.Millisecond
	began := time.Now()
	// by another replica
	w.exec(`INSERT INTO transfer.segments (uid, object, number, size, epoch, lease_until) 
		SELECT uid, uid, 1, 6, 1, clock_timestamp() + $1::interval FROM transfer.objects`, rest)
	in, b := slowly([]byte("abc"), random(6))
	done := w.upload(c, r, in)
	b.mustWait(t, done)
	if waited := time.Since(began); waited < rest {
		t.Errorf("wrote %v after another replica's writer, who had %v left", waited, rest)
	}
	if w.count(`SELECT count(*) FROM transfer.segments WHERE lease_until BETWEEN clock_timestamp() AND clock_timestamp() + interval '5 s'`) != 1 {
		t.Error("the writer's lease is not one by Postgres's clock")
	}
	b.next <- io.ErrUnexpectedEOF
	if err := <-done; !errors.Is(err, transfer.ErrBodyLength) {
		t.Errorf("the writer got %v", err)
	}
	w.exec(`UPDATE transfer.segments SET reserved = 3, lease_until = clock_timestamp() - interval '59 s'`)
	for _, want := range []int64{3, 0} {
		if err := w.content.ReleaseVolumes(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.count(`SELECT reserved FROM transfer.segments`); got != want {
			t.Errorf("%d bytes are reserved, want %d", got, want)
		}
		w.exec(`UPDATE transfer.segments SET lease_until = clock_timestamp() - interval '61 s'`)
	}
}

// TestWriterStoppedWhileItWaits: a writer that waits for another replica's is stopped by a newer one, or left by its client. The next one
// waits for that replica's writer, too.
func TestWriterStoppedWhileItWaits(t *testing.T) {
	t.Parallel()
	for _, left := range []bool{false, true} {
		t.Run(fmt.Sprint("left by its client: ", left), func(t *testing.T) {
			t.Parallel()
			w, c, r := newReservation(t)
			w.attach(c, r, "a", 6)
			const rest = 2 * time.Second
			began := time.Now()
			w.exec(`INSERT INTO transfer.segments (uid, object, number, size, epoch, lease_until)
				SELECT uid, uid, 1, 6, 1, clock_timestamp() + $1::interval FROM transfer.objects`, rest)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			stopped := make(chan error, 1)
			go func() {
				_, err := w.Upload(ctx, c, r, "a", whole([]byte("abcdef")))
				stopped <- err
			}()
			poll.Until(t, "the writer waits", func() bool { return w.count(`SELECT max(epoch) FROM transfer.segments`) == 2 })
			ends := func(want error) {
				if err := <-stopped; !errors.Is(err, want) {
					t.Errorf("the stopped writer got %v, want %v", err, want)
				}
			}
			if left {
				leave()
				ends(context.Canceled)
			}
			mustUpload(w, c, r, "a", whole([]byte("ghijkl")))
			if waited := time.Since(began); waited < rest {
				t.Errorf("wrote %v after another replica's writer, who had %v left", waited, rest)
			}
			if !left {
				ends(transfer.ErrOvertaken)
			}
			w.nothingReserved()
		})
	}
}

// TestLeaseCountsFromItsStatement: when the commit that takes a lease is slow, the writer renews the lease before it touches the bytes.
func TestLeaseCountsFromItsStatement(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	w.attach(c, r, "a", 6)
	w.exec(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(3.1); RETURN NULL; END $$`)
	w.exec(`CREATE CONSTRAINT TRIGGER slow AFTER UPDATE OF epoch ON transfer.segments DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION slow()`)
	in, b := slowly([]byte("abc"), random(6))
	done := w.upload(c, r, in)
	b.mustWait(t, done)
	if w.count(`SELECT count(*) FROM transfer.segments WHERE lease_until > clock_timestamp() + interval '2 s'`) != 1 {
		t.Error("the lease was not renewed")
	}
	b.next <- io.ErrUnexpectedEOF
	if err := <-done; !errors.Is(err, transfer.ErrBodyLength) {
		t.Errorf("the writer got %v", err)
	}
}

// TestProgressWhoseAnswerIsLost: Postgres commits progress, and the connection breaks before the answer. The writer saves it
// again when it ends, and the bytes are charged once.
func TestProgressWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	w.attach(c, r, "first", 1)
	const size = 65 << 20 // more than one checkpoint
	w.attach(c, r, "a", size)
	deaf := new(atomic.Bool)
	cfg := w.db.Pool.Config()
	cfg.MaxConns = 1
	cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	dial := cfg.ConnConfig.DialFunc
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return deafConn{conn, deaf}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	w.db = &database.DB{Pool: pool}
	replica, _ := w.serve(w.blobs)
	if _, err := replica.Upload(t.Context(), c, r, "first", whole([]byte("x"))); err != nil { // the connection has prepared all statements now
		t.Fatal(err)
	}
	in, sent := content.WholeObject(size, nil), 0
	in.Body = &body{Reader: reader(func(p []byte) (int, error) {
		switch sent += len(p); {
		case sent > 64<<20:
			return 0, io.ErrUnexpectedEOF
		case sent == 64<<20: // the next answer is that of the checkpoint
			deaf.Store(true)
		}
		return len(p), nil
	})}
	if _, err := replica.Upload(t.Context(), c, r, "a", in); err == nil || deaf.Load() {
		t.Fatalf("no answer was lost: %v", err)
	}
	held, charged := w.held(c, r), w.count(`SELECT sum(held) FROM transfer.volume_totals`)
	if held != 64<<20 || charged != held+1+w.metadata() {
		t.Errorf("%d bytes and %d of names are held, %d are charged", held+1, w.metadata(), charged)
	}
	if left := w.count(`SELECT sum(reserved) FROM transfer.volume_totals`); left != 0 {
		t.Errorf("%d bytes stay reserved", left)
	}
}

// deafConn drops one answer when told to, and then the connection.
type deafConn struct {
	net.Conn
	deaf *atomic.Bool
}

func (c deafConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil && c.deaf.CompareAndSwap(true, false) {
		c.Close()
		return c.Conn.Read(p)
	}
	return n, err
}

type reader func([]byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }
