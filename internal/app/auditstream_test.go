package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/audit/stream"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// TestAuditStream: two servers with the setting send each entry. While the receiver takes nothing, console, doctor and metrics say so;
// afterwards the chain is whole.
func TestAuditStream(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "siem")
	file := filepath.Join(dir, "audit.jsonl")
	one := testkit.New(t, testkit.Env("CONSIGN_AUDIT_STREAM", "file://"+file))
	other := testkit.New(t, testkit.Beside(one), testkit.Env("CONSIGN_AUDIT_STREAM", "file://"+file))
	olga, _ := one.SignUpOperator("olga@example.com") // the directory does not exist yet
	one.Clock.Advance(6 * time.Minute)
	olga.Refresh()
	poll.Until(t, "the overview says why", func() bool {
		got := olga.Get(overview).Want(http.StatusOK)
		return got.String("audit.state") == "failed" && strings.Contains(got.String("audit.trouble"), "no such file or directory")
	})
	if got := olga.Post(httpapi.OperatorBase+"/doctor", nil).Want(http.StatusOK); !strings.Contains(string(got.Body), `"audit.refused"`) {
		t.Errorf("doctor says %s", got.Body)
	}
	if served := scrape(t, other); served["consign_audit_stream_oldest_seconds"] < 300 || served["consign_audit_stream_waiting"] < 3 {
		t.Errorf("the metrics are %v and %v", served["consign_audit_stream_oldest_seconds"], served["consign_audit_stream_waiting"])
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	other.SignUp("bob@example.com")
	poll.Until(t, "the overview is green", func() bool {
		got := olga.Get(overview).Want(http.StatusOK)
		return got.String("audit.state") == "ok" && got.Number("audit.waiting") == 0
	})
	if got := olga.Post(httpapi.OperatorBase+"/doctor", nil).Want(http.StatusOK); !strings.Contains(string(got.Body), `"audit.ok"`) {
		t.Errorf("doctor says %s", got.Body)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Verify(strings.NewReader(string(text))); err != nil {
		t.Error(err)
	}
	if n := strings.Count(string(text), `"action":"person.signup"`); n != 2 {
		t.Errorf("%d sign-ups were sent, want 2: %s", n, text)
	}
}
