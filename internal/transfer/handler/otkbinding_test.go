package handler_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
)

// delivered delivers one file to Ann. It returns the path of the file's content with a one-time key.
func delivered(s *testkit.Server, ann *testkit.Person, data []byte) string {
	s.T.Helper()
	d := reserve(s)
	d.send("a", data)
	uid := d.confirm()
	path := s.Transfer + "/transfers/" + uid
	object := ann.Get(path).String("objects.0.uid")
	return path + "/objects/" + object + "/content" +
		oneTime(ann, s.Transfer+"/auth/otk", map[string]any{"transferUid": uid, "objectUid": object})
}

// cookieOfDownload returns the Set-Cookie of an answer, and the Cookie header that a browser then sends.
func cookieOfDownload(t *testing.T, r *testkit.Response) (set, cookie string) {
	t.Helper()
	set = r.Header.Get("Set-Cookie")
	cookie, _, _ = strings.Cut(set, ";")
	if !strings.Contains(cookie, "download=") {
		t.Fatalf("no download cookie: %v", r.Header)
	}
	return set, cookie
}

// TestAttackOneTimeKey: somebody who reads the URL of a download in a log or a history cannot continue it in another browser.
func TestAttackOneTimeKey(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t, behindProxy()...)
	data := random(50_000)
	file := delivered(s, ann, data)
	victim := strangerAt(s, "192.0.2.1").With("Cookie", "session=abc")
	started := victim.With("Range", "bytes=0-9999").Get(file).Want(http.StatusPartialContent)
	_, cookie := cookieOfDownload(t, started)
	for name, attacker := range map[string]*testkit.Person{
		"elsewhere":                strangerAt(s, "198.51.100.7"),
		"with a session":           strangerAt(s, "198.51.100.7").With("Cookie", "session=abc"),
		"with a guessed cookie":    strangerAt(s, "198.51.100.7").With("Cookie", "download=Zk3vN0p8Qm1sXy7tRb2wLgZk3vN0p8Qm"),
		"behind the same address":  strangerAt(s, "192.0.2.1"),
		"with the production name": strangerAt(s, "198.51.100.7").With("Cookie", "__Host-"+cookie),
	} {
		for _, what := range []string{"bytes=1-", "bytes=49999-", "bytes=10000-19999"} {
			if got := attacker.With("Range", what).Get(file); got.Status != http.StatusNotFound {
				t.Errorf("%s: %s answers %d", name, what, got.Status)
			}
		}
		if got := attacker.Head(file); got.Status != http.StatusNotFound {
			t.Errorf("%s: HEAD answers %d", name, got.Status)
		}
	}
	moved := strangerAt(s, "203.0.113.5").With("Cookie", "session=abc; "+cookie).With("Range", "bytes=10000-")
	if got := moved.Get(file).Want(http.StatusPartialContent); !bytes.Equal(got.Body, data[10_000:]) {
		t.Errorf("%d bytes", len(got.Body))
	}
}

// TestOneTimeKeyWithoutCookies: a client that sends no cookie continues from its own network, which is the /64 of an IPv6 address.
func TestOneTimeKeyWithoutCookies(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t, behindProxy()...)
	file := delivered(s, ann, random(50_000))
	_, cookie := cookieOfDownload(t, strangerAt(s, "2001:db8:1:2::1").Get(file).Want(http.StatusOK))
	rest := func(p *testkit.Person) *testkit.Response { return p.With("Range", "bytes=49000-").Get(file) }
	rest(strangerAt(s, "2001:db8:1:2:3::9")).Want(http.StatusPartialContent)
	rest(strangerAt(s, "2001:db8:1:3::1")).WantError(transfer.ErrOneTimeKey)
	rest(strangerAt(s, "2001:db8:1:3::1").With("Cookie", cookie)).Want(http.StatusPartialContent)
}

// TestDownloadCookie: the cookie is for this host and for https only, and one value serves all downloads of a browser.
func TestDownloadCookie(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t, testkit.PublicURL("https://localhost"), testkit.Env("CONSIGN_REQUIRE_HTTPS", "off"))
	set, cookie := cookieOfDownload(t, s.Stranger().Get(delivered(s, ann, []byte("hello"))).Want(http.StatusOK))
	value, _ := strings.CutPrefix(cookie, "__Host-download=")
	if want := "__Host-download=" + value + "; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Lax"; len(value) != 32 || set != want {
		t.Errorf("cookie %q", set)
	}
	if _, again := cookieOfDownload(t, s.Stranger().With("Cookie",
		cookie).Get(delivered(s, ann, []byte("world"))).Want(http.StatusOK)); again != cookie {
		t.Errorf("the second download sets another cookie: %q", again)
	}
	if _, fresh := cookieOfDownload(t, s.Stranger().With("Cookie",
		"__Host-download=x").Get(delivered(s, ann, []byte("again"))).Want(http.StatusOK)); fresh == "__Host-download=x" {
		t.Error("a malformed cookie is kept")
	}
	plain, bob := newMailbox(t)
	set, _ = cookieOfDownload(t, plain.Stranger().Get(delivered(plain, bob, []byte("hello"))).Want(http.StatusOK))
	if !strings.HasPrefix(set, "download=") || strings.Contains(set, "Secure") {
		t.Errorf("cookie on http://localhost: %q", set)
	}
	uid := reserve(plain)
	uid.send("a", []byte("hello"))
	token := bob.Get(plain.Transfer + "/transfers/" + uid.confirm() + "/archive").Want(http.StatusOK)
	if token.Header.Get("Set-Cookie") != "" {
		t.Errorf("a download with a token sets %q", token.Header.Get("Set-Cookie"))
	}
}

// TestOneTimeKeyBudget: the answers to one key have at most twice the size of the file in all, also when they are asked for at once.
func TestOneTimeKeyBudget(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	file := delivered(s, ann, random(10_000))
	s.Stranger().Get(file).Want(http.StatusOK)
	var sent atomic.Int64
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			got, err := s.Stranger().With("Range", "bytes=6000-").Try(t.Context(), "GET", file, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if got.Status == http.StatusPartialContent {
				sent.Add(int64(len(got.Body)))
			}
		})
	}
	wait.Wait()
	if sent.Load() != 8_000 {
		t.Errorf("%d bytes beyond the file", sent.Load())
	}
	refused := s.Stranger().With("Range", "bytes=6000-").Get(file).WantError(transfer.ErrOneTimeKey)
	if !strings.Contains(refused.Details(), "as many bytes as it may") {
		t.Errorf("%s", refused.Body)
	}
	s.Stranger().With("Range", "bytes=8000-").Get(file).Want(http.StatusPartialContent) // the rest of the budget
	s.Stranger().With("Range", "bytes=9999-").Get(file).WantError(transfer.ErrOneTimeKey)
}

// TestInterruptedDownloadIsNotCharged: bytes that were not sent because of an interruption do not count. So a download over a bad
// connection still completes.
func TestInterruptedDownloadIsNotCharged(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	data := random(64 << 20)
	file := delivered(s, ann, data)
	for _, header := range []string{"", "bytes=1000-", "bytes=900-"} {
		browser := s.Stranger()
		if header != "" {
			browser = browser.With("Range", header)
		}
		poll.Until(t, "the interrupted download begins again", func() bool { // an earlier answer may still be on its way to the row
			answer, err := browser.Open(t.Context(), "GET", file, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			_, _ = io.CopyN(io.Discard, answer.Body, 1<<20)
			return answer.StatusCode < 300
		})
	}
	var last *testkit.Response
	poll.Until(t, "the rest is served", func() bool {
		last = s.Stranger().With("Range", "bytes=800-").Get(file)
		return last.Status == http.StatusPartialContent
	})
	if !bytes.Equal(last.Body, data[800:]) {
		t.Errorf("%d bytes", len(last.Body))
	}
}
