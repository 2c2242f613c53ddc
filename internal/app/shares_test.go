package app_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
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
	poll.Until(t, "twelve changes wait", func() bool { return pgtest.Waiting(t, s.App.DB.Pool) >= 12 })
	for range 20 {
		ann.Get(s.Identity + "/profile").Want(http.StatusOK)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	changes.Wait()
}
