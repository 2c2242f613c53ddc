// Tests of the access log: its fields, and texts that try to forge lines.

package app_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

type logLine struct {
	Level     string `json:"level"`
	Msg       string `json:"msg"`
	RequestID string `json:"request_id"`
	Route     string `json:"route"`
	Status    int    `json:"status"`
}

// logLines returns the server's log lines. No line may have the same member twice.
func logLines(t *testing.T, s *testkit.Server) (all []logLine) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(s.Log()))
	for lines.Scan() {
		var l logLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("not a line of JSON: %s", lines.Text())
		}
		if strings.Count(lines.Text(), `"request_id":`) > 1 {
			t.Errorf("a line names its request twice: %s", lines.Text())
		}
		all = append(all, l)
	}
	return all
}

// TestAccessLines: each request logs one line, found by the answer's X-Request-Id, with the pattern of its route. It
// contains no secret: paths, queries, bodies and headers hold keys and passwords.
func TestAccessLines(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, limited())
	ann := mailboxOwner(s)
	stranger := s.Stranger()
	const hidden = "kept-out-of-the-log"
	login := map[string]any{"email": "ann@example.com", "type": "bcrypt", "key": hidden}
	type request struct {
		who          *testkit.Person
		method, path string
		body         any
		route        string
		status       int
	}
	requests := []request{
		{ann, "GET", s.Identity + "/profile", nil, s.Identity + "/profile", 200},
		{ann, "HEAD", s.Transfer + "/public/mailbox/dr-ann", nil, s.Transfer + "/public/mailbox/{key}", 200},
		{stranger, "GET", "/" + hidden + "?key=" + hidden, nil, "unmatched", 404},
		{stranger, "DELETE", s.Transfer + "/environment", nil, "unmatched", 405},
		{stranger, "BREW", s.Transfer + "/environment", nil, "unmatched", 405},
		{stranger, "GET", "/t/" + hidden, nil, "/t/{key}", 200},
		{stranger, "GET", s.Transfer + "/public/transfers/" + hidden, nil, s.Transfer + "/public/transfers/{key}", 404},
		{stranger, "GET", s.Transfer + "/public/transfers/" + hidden + "/archive?otk=" + hidden, nil,
			s.Transfer + "/public/transfers/{key}/archive", 404},
		{stranger, "POST", s.Identity + "/confirm/" + hidden, nil, s.Identity + "/confirm/{key}", 401},
		{stranger, "POST", s.Identity + "/auth/login", login, s.Identity + "/auth/login", 401},
		{stranger.With("Content-Type", "application/json"), "POST", s.Identity + "/auth/login", `{"email": "` + hidden,
			s.Identity + "/auth/login", 400},
		{stranger.As(hidden), "GET", s.Identity + "/profile", nil, s.Identity + "/profile", 401},
		{ann.With("Cookie", "acct="+hidden+"; session="+hidden), "GET", s.Identity + "/profile/avatar", nil, s.Identity + "/profile/avatar", 404},
		{stranger.With("Authorization", "Basic "+hidden), "GET", s.Identity + "/profile", nil, s.Identity + "/profile", 401},
		{stranger.With("Referer", "https://x.example/"+hidden), "GET", s.Transfer + "/environment", nil, s.Transfer + "/environment", 200},
		{stranger, "GET", "/transfer/v1/" + hidden, nil, "/transfer/v1/*", 410},
		{stranger, "GET", "/readyz", nil, "/readyz", 200},
	}
	ids := map[string]request{}
	for _, r := range requests {
		got := r.who.Do(r.method, r.path, r.body)
		if r.status != got.Status {
			t.Errorf("%s %s answered %d, want %d", r.method, r.path, got.Status, r.status)
		}
		ids[got.Header.Get("X-Request-Id")] = r
	}
	if len(ids) != len(requests) {
		t.Fatalf("%d requests have %d identifiers", len(requests), len(ids))
	}
	lines := map[string]int{}
	poll.Until(t, "each request has its line", func() bool { // it is written after the answer
		clear(lines)
		for _, l := range logLines(t, s) {
			if r, ours := ids[l.RequestID]; ours {
				if l.Msg == "request" && (l.Route != r.route || l.Status != r.status) {
					t.Errorf("%s %s is logged as %d at %s, want %d at %s", r.method, r.path, l.Status, l.Route, r.status, r.route)
				}
				lines[l.RequestID]++
			}
		}
		return len(lines) == len(requests)
	})
	for id, n := range lines {
		if n != 1 {
			t.Errorf("%s %s has %d lines", ids[id].method, ids[id].path, n)
		}
	}
	for _, secret := range []string{hidden, testkit.Password} {
		if strings.Contains(s.Log(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// TestLogLinesCannotBeForged: line feeds and quotes from a client stay inside the value of a log line.
func TestLogLinesCannotBeForged(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, limited())
	const forged = `{"level":"ERROR","msg":"forged"}`
	stranger := s.Stranger()
	ids := map[string]bool{}
	for _, r := range []*testkit.Response{
		stranger.Get("/%0a" + url.PathEscape(forged) + "%0d%0a"),
		stranger.Get(s.Transfer + "/public/mailbox/%0a" + url.PathEscape(forged)),
		stranger.With("X-Request-Id", forged).Get(s.Transfer + "/environment"),
		stranger.With("X-Forwarded-For", "1.2.3.4, \t"+forged).Get(s.Transfer + "/environment"),
		stranger.With("User-Agent", "\t"+forged).Get(s.Transfer + "/environment"),
		stranger.Post(s.Identity+"/auth/login", map[string]any{"email": "\n" + forged, "type": "bcrypt", "key": "\n" + forged}),
	} {
		ids[r.Header.Get("X-Request-Id")] = true
	}
	poll.Until(t, "each request has its line", func() bool {
		found := 0
		for _, l := range logLines(t, s) {
			if l.Msg == "forged" {
				t.Fatal("a client wrote a log line")
			}
			if ids[l.RequestID] && l.Msg == "request" {
				found++
			}
		}
		return found == len(ids)
	})
}

// TestRequestOfMails: the log of a mail names the request that caused it, also when another job ran in between.
func TestRequestOfMails(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	logged := func(id, msg string) func() bool {
		return func() bool {
			for _, l := range logLines(t, s) {
				if l.Msg == msg && l.RequestID == id {
					return true
				}
			}
			return false
		}
	}
	signup := func(email string) string {
		return s.Stranger().Post(s.Identity+"/signup", map[string]any{"address": email, "password": testkit.Password, "name": "Ann"}).Want(
			http.StatusOK).Header.Get("X-Request-Id")
	}
	poll.Until(t, "the mail of a signup is sent", logged(signup("bob@example.com"), "mail sent"))
	s.SignUp("ann@example.com")
	reset := s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": "ann@example.com"}).Want(http.StatusNoContent)
	poll.Until(t, "the mail of a reset is sent", logged(reset.Header.Get("X-Request-Id"), "mail sent"))
	s.Mail.Refuse(func(string) *smtp.SMTPError { return &smtp.SMTPError{Code: 450, Message: "later"} })
	poll.Until(t, "a mail is not sent", logged(signup("carl@example.com"), "mail was not sent"))
}
