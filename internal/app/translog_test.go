package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// TestLogRefuses: after a restore of the database the log refuses to sign. The server says so, receives files all the same, and signs
// their receipts once an operator has begun a new log.
func TestLogRefuses(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	mailboxOwner(s)
	signed := func() bool {
		sam, reservation := reserve(s.Stranger(), "dr-ann", 5)
		finish(t, sam, reservation, []byte("hello"))
		got := false
		poll.Until(t, "the receipt is signed, or the log refuses", func() bool {
			got = sam.Get(reservation+"/receipt").Status == http.StatusOK
			return got || s.App.Proofs.Trouble() != nil
		})
		return got
	}
	if !signed() {
		t.Fatal("the log does not sign")
	}
	if now := scrape(t, s); now["consign_log_refuses"] != 0 {
		t.Errorf("consign_log_refuses is %v", now["consign_log_refuses"])
	}
	if _, err := s.App.DB.Pool.Exec(t.Context(), `
		WITH c AS (DELETE FROM log.checkpoints), e AS (DELETE FROM log.entries), x AS (DELETE FROM log.tiles)
		UPDATE log.logs SET size = 0, root = sha256(''), published = -1`); err != nil {
		t.Fatal(err)
	}
	if signed() {
		t.Fatal("the restored log signs")
	}
	if status, text := fetch(t, s.Admin+"/readyz"); status != http.StatusOK || !strings.HasPrefix(text, "degraded: receipts are not signed") {
		t.Errorf("/readyz answers %d %q", status, text)
	}
	if now := scrape(t, s); now["consign_log_refuses"] != 1 || now["consign_log_pending_entries"] < 1 {
		t.Errorf("the metrics say %v %v", now["consign_log_refuses"], now["consign_log_pending_entries"])
	}
	if _, err := s.App.Proofs.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.App.Proofs.Wake()
	poll.Until(t, "/readyz is ready", func() bool { _, text := fetch(t, s.Admin+"/readyz"); return text == "ready\n" })
	if !signed() {
		t.Error("the new log does not sign")
	}
}
