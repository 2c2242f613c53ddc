package main

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/scanner"
)

// TestScan: the operator sees the scanner and its queue, and has files inspected again, one or all of a transfer.
func TestScan(t *testing.T) {
	t.Parallel()
	daemon := scanner.NewClamd(t)
	s := testkit.New(t, testkit.Env("CONSIGN_SCANNER_URL", daemon.URL))
	environ := append(external(t, s.DatabaseURL), "CONSIGN_PUBLIC_URL="+s.URL, "CONSIGN_SCANNER_URL="+daemon.URL)
	do := runOperator(t, environ)
	ann := s.SignUp("ann@example.com")
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann"}).Want(http.StatusCreated)

	made := s.Stranger().Post(s.Transfer+"/public/mailbox/ann",
		map[string]any{"anonSender": "Sam", "anonEmail": "sam@example.com"}).Want(http.StatusCreated)
	sam := s.Stranger().As(strings.TrimPrefix(made.Header.Get("Authorization"), "Bearer "))
	reservation := s.Transfer + "/reservations/" + made.String("uid")
	for _, name := range []string{"a", "b"} {
		sam.Post(reservation+"/objects", map[string]any{"clientId": name, "name": name, "intendedSize": 8}).Want(http.StatusCreated)
		sam.Put(reservation+"/objects/"+name+"/content", []byte("harmless")).Want(http.StatusOK)
	}
	uid := sam.Post(reservation+"/confirm", nil).Want(http.StatusOK).String("uid")
	var object string
	become := func(state string) {
		t.Helper()
		poll.Until(t, "the transfer is "+state, func() bool {
			r := ann.Get(s.Transfer + "/transfers/" + uid).Want(http.StatusOK)
			object = r.String("objects.0.uid")
			return r.Value("malwareStatus") == state
		})
	}
	become("clean")
	if out := do("scan", "status"); !strings.Contains(out, "ClamAV 1.0.9") || !strings.Contains(out, "27500") ||
		!strings.Contains(out, "waiting     0") {
		t.Errorf("status:\n%s", out)
	}

	s.Clock.Advance(2 * time.Minute)                   // the command has the real time
	daemon.Find("harmless", "Harmless-Test-Signature") // as a signature of the operator's own
	if out := do("scan", "again", object); out != "1 files are inspected again\n" {
		t.Errorf("one file: %q", out)
	}
	become("infected")
	if out := do("scan", "again", uid); out != "2 files are inspected again\n" {
		t.Errorf("the transfer: %q", out)
	}
	poll.Until(t, "nothing waits", func() bool { return strings.Contains(do("scan", "status"), "waiting     0") })

	if _, _, err := consign(t.Context(), environ, "scan", "again", "00000000-0000-7000-8000-000000000001"); err == nil {
		t.Error("a transfer that does not exist is inspected again")
	}
	daemon.Away(true)
	if out, _, err := consign(t.Context(), environ, "scan", "status"); err == nil || !strings.Contains(err.Error(), "does not answer") ||
		!strings.Contains(out, "does not answer") {
		t.Errorf("without an answer: %v\n%s", err, out)
	}
}

// TestScanWithoutScanner: status says that there is none; again is refused.
func TestScanWithoutScanner(t *testing.T) {
	t.Parallel()
	environ := external(t, pgtest.URL(t))
	if out := runOperator(t, environ)("scan", "status"); !strings.Contains(out, "none: CONSIGN_SCANNER_URL is not set") {
		t.Errorf("status:\n%s", out)
	}
	for _, uid := range []string{"00000000-0000-7000-8000-000000000001", "x"} {
		if _, _, err := consign(t.Context(), environ, "scan", "again", uid); !errors.As(err, new(usageError)) {
			t.Errorf("again %s: %v", uid, err)
		}
	}
}

// TestSelftestWaitsForScanner: a self-test waits until its file is inspected.
func TestSelftestWaitsForScanner(t *testing.T) {
	t.Parallel()
	daemon := scanner.NewClamd(t)
	s, environ, before := selftestServer(t, testkit.Env("CONSIGN_SCANNER_URL", daemon.URL))
	if out, _, err := consign(t.Context(), append(environ, "CONSIGN_SCANNER_URL="+daemon.URL), "selftest", "--mb", "1"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if scans, _ := daemon.Scans(); scans != 1 {
		t.Errorf("%d files were inspected", scans)
	}
	nothingLeft(t, s, before)
}
