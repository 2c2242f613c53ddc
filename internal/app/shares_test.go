package app_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
)

// TestOneClientLeavesConnections: sixty changes of one reservation wait for its row lock, each with a database
// connection. Requests of Ann, another client, are answered meanwhile.
func TestOneClientLeavesConnections(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, loopback(), testkit.Demo())
	addPerson(t, s, "ann@example.com", "")
	ann := signIn(s.Stranger().With("X-Forwarded-For", "198.51.100.8"), "ann@example.com")
	sam := s.Stranger().With("X-Forwarded-For", "198.51.100.7")
	reserved := sam.Post(s.Transfer+"/public/mailbox/demo", nil).Want(http.StatusCreated)
	sam = sam.As(reserved.Header.Get("Authorization")[len("Bearer "):])
	reservation := s.Transfer + "/reservations/" + reserved.String("uid")

	tx, err := s.App.DB.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) //nolint:errcheck // rolled back below, or the test has failed
	if _, err := tx.Exec(t.Context(), `SELECT FROM transfer.reservations WHERE uid = $1 FOR UPDATE`, reserved.String("uid")); err != nil {
		t.Fatal(err)
	}
	var changes sync.WaitGroup
	for range 60 {
		changes.Go(func() {
			got, err := sam.Try(t.Context(), "PATCH", reservation, map[string]any{"subject": "Plans"})
			if err != nil {
				t.Error(err)
			} else if got.Status != http.StatusOK {
				t.Errorf("a change of the reservation: %d", got.Status)
			}
		})
	}
	for deadline, waiting := time.Now().Add(10*time.Second), 0; waiting < 12 && time.Now().Before(deadline); {
		if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		ann.Get(s.Identity + "/profile").Want(http.StatusOK)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	changes.Wait()
}
