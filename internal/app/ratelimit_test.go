package app_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
)

// countAnswers makes n requests without a body and counts the answers by status.
func countAnswers(p *testkit.Person, n int, method, path string) map[int]int {
	statuses := map[int]int{}
	for range n {
		statuses[p.Do(method, path, nil).Status]++
	}
	return statuses
}

// TestGeneralBucket checks the bucket of 60 tokens that drains one a second. A full bucket answers 429 in the transfer
// API and 509 in the identity API. Both APIs share the bucket of a session.
func TestGeneralBucket(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, limited())
	ann := s.SignUp("ann@example.com")
	s.Clock.Advance(time.Minute) // the tokens of signing up drain
	ann.Refresh()
	s.Clock.Advance(time.Minute)
	for i := range 60 {
		got := ann.Get(s.Identity + "/profile").Want(http.StatusOK)
		if limit, left := number(got.Header, "X-RateLimit-Limit"), number(got.Header, "X-RateLimit-Remaining"); limit != 60 || left != 59-i {
			t.Fatalf("request %d: limit %d, remaining %d", i+1, limit, left)
		}
	}
	for path, want := range map[string]*fault.Error{s.Identity + "/profile": fault.ErrOverloaded,
		s.Transfer + "/transfers": fault.ErrRateLimited} {
		got := ann.Get(path).WantError(want)
		checkError(t, "GET "+path, got)
		if h := got.Header; number(h, "X-RateLimit-Limit") != 60 || number(h, "X-RateLimit-Remaining") != 0 || number(h, "Retry-After") != 1 {
			t.Errorf("GET %s: limit %q, remaining %q, Retry-After %q", path, h.Get("X-RateLimit-Limit"), h.Get("X-RateLimit-Remaining"),
				h.Get("Retry-After"))
		}
	}
	s.Clock.Advance(900 * time.Millisecond)
	ann.Get(s.Identity + "/profile").WantError(fault.ErrOverloaded)
	s.Clock.Advance(100 * time.Millisecond)
	ann.Get(s.Identity + "/profile").Want(http.StatusOK)
	s.Clock.Advance(10 * time.Second)
	if got := countAnswers(ann, 12, "GET", s.Transfer+"/transfers"); got[http.StatusOK] != 10 || got[http.StatusTooManyRequests] != 2 {
		t.Errorf("after ten seconds: %v", got)
	}

	// Another session of the same person has a bucket of its own.
	signIn(s.Stranger(), "ann@example.com").Get(s.Identity + "/profile").Want(http.StatusOK)
}

// TestParallelAdmission: of 200 parallel requests exactly the capacity passes, and the rest get well-formed refusals.
func TestParallelAdmission(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, limited())
	ann := s.SignUp("ann@example.com")
	s.Clock.Advance(2 * time.Minute)
	var group sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for range 200 {
		group.Go(func() {
			got, err := ann.Try(context.WithoutCancel(t.Context()), "GET", s.Transfer+"/transfers", nil)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[got.Status]++
			if got.Status != http.StatusOK {
				checkError(t, "GET /transfers", got)
			}
		})
	}
	group.Wait()
	if statuses[http.StatusOK] != 60 || statuses[http.StatusTooManyRequests] != 140 {
		t.Errorf("of 200 requests: %v, want 60 times 200 and 140 times 429", statuses)
	}
}

// TestAnonymousBuckets: without a token the cookie `session` distinguishes clients behind one address, unless it is
// forged.
func TestAnonymousBuckets(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, limited(), loopback())
	mailbox := s.Transfer + "/public/mailbox/nobody"
	address := s.Stranger().With("X-Forwarded-For", "198.51.100.7")
	first := address.Get(mailbox).Want(http.StatusNotFound)
	name, value, _ := strings.Cut(strings.Split(first.Header.Get("Set-Cookie"), ";")[0], "=")
	if name != "session" || value == "" || !strings.Contains(first.Header.Get("Set-Cookie"), "HttpOnly") {
		t.Fatalf("Set-Cookie: %s", first.Header.Get("Set-Cookie"))
	}
	if got := countAnswers(address, 61, "GET", mailbox); got[http.StatusNotFound] != 59 || got[http.StatusTooManyRequests] != 2 {
		t.Errorf("61 more requests of an address without cookie: %v", got)
	}
	// A client with the cookie has its own bucket and gets no new cookie.
	known := address.With("Cookie", "session="+value)
	if got := known.Get(mailbox).Want(http.StatusNotFound); got.Header.Get("Set-Cookie") != "" ||
		number(got.Header, "X-RateLimit-Remaining") != 59 {
		t.Errorf("with its cookie: remaining %q, Set-Cookie %q", got.Header.Get("X-RateLimit-Remaining"), got.Header.Get("Set-Cookie"))
	}
	if got := countAnswers(known, 60, "GET", mailbox); got[http.StatusNotFound] != 59 {
		t.Errorf("60 more requests of a session: %v", got)
	}
	// A forged cookie, or a cookie of another host, is ignored.
	forged := value[:10] + "A" + value[11:]
	if forged == value {
		forged = value[:10] + "B" + value[11:]
	}
	address.With("Cookie", "session="+forged).Get(mailbox).WantError(fault.ErrRateLimited)
	addOrganization(t, s, "acme.test")
	address.With("Cookie", "session="+value).With("Host", "acme.test").Get(mailbox).WantError(fault.ErrRateLimited)
	s.Stranger().With("X-Forwarded-For", "198.51.100.8").Get(mailbox).Want(http.StatusNotFound)
	// GET /environment takes no token.
	for range 70 {
		if got := address.Get(s.Transfer + "/environment").Want(http.StatusOK); got.Header.Get("X-RateLimit-Limit") != "" {
			t.Fatal("GET /environment touches a bucket")
		}
	}
}

// TestInvalidTokensPayFromTheAddress: guessing tokens is limited per client address, and valid tokens are not
// affected.
func TestInvalidTokensPayFromTheAddress(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, limited(), testkit.Env("CONSIGN_ADDRESS_BUCKET", "100,1/s"))
	ann := s.SignUp("ann@example.com")
	s.Clock.Advance(5 * time.Minute)
	got := countAnswers(ann.As("garbage"), 102, "GET", s.Identity+"/profile")
	if got[http.StatusUnauthorized] != 100 || got[509] != 2 {
		t.Errorf("102 invalid tokens: %v, want 100 times 401", got)
	}
	ann.Get(s.Identity + "/profile").Want(http.StatusOK)
}

// TestAPITokenBucket: an API token has 600 requests, and 10 more each second, in a bucket of its own.
func TestAPITokenBucket(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, limited())
	ann := s.SignUp("ann@example.com")
	made := ann.As(ann.ID).Post(s.Identity+"/tokens",
		map[string]any{"name": "Archive", "scopes": []string{"transfers:read"}}).Want(http.StatusCreated)
	program := s.Stranger().As(made.String("token"))
	if got := countAnswers(program, 600, "GET", s.Transfer+"/transfers"); got[http.StatusOK] != 600 {
		t.Errorf("600 requests: %v", got)
	}
	for path, status := range map[string]int{s.Transfer + "/transfers": http.StatusTooManyRequests, s.Identity + "/profile": 509} {
		got := program.Get(path)
		if h := got.Header; got.Status != status || number(h, "Retry-After") != 1 || number(h, "X-RateLimit-Limit") != 600 ||
			number(h, "X-RateLimit-Remaining") != 0 {
			t.Errorf("GET %s with a full bucket: %d, %v", path, got.Status, h)
		}
	}
	ann.Get(s.Transfer + "/transfers").Want(http.StatusOK)
	s.Clock.Advance(time.Second)
	if got := countAnswers(program, 12, "GET", s.Transfer+"/transfers"); got[http.StatusOK] != 10 || got[http.StatusTooManyRequests] != 2 {
		t.Errorf("12 requests a second later: %v", got)
	}
}

// TestRateLimitOff: the setting for load tests keeps the limits that protect persons.
func TestRateLimitOff(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_RATE_LIMIT", "off"), testkit.Env("CONSIGN_NEW_TRANSFER_BUCKET", "5,1/60s"))
	ann := s.SignUp("ann@example.com")
	if got := countAnswers(ann, 100, "GET", s.Identity+"/profile"); got[http.StatusOK] != 100 {
		t.Errorf("100 requests: %v", got)
	}
	if got := countAnswers(ann.As("garbage"), 700, "GET", s.Identity+"/profile"); got[http.StatusUnauthorized] != 700 {
		t.Errorf("700 invalid tokens: %v", got)
	}
	login := map[string]any{"email": "ann@example.com", "type": "bcrypt", "key": "something else entirely"}
	for i := range 4 {
		got := s.Stranger().Post(s.Identity+"/auth/login", login)
		if i < 3 {
			got.WantError(identity.ErrCredentials)
			continue
		}
		if got.WantError(fault.ErrOverloaded); number(got.Header, "Retry-After") != 15 || number(got.Header, "X-RateLimit-Limit") != 3 {
			t.Errorf("a login too many: limit %q, Retry-After %q", got.Header.Get("X-RateLimit-Limit"), got.Header.Get("Retry-After"))
		}
	}
	s.Clock.Advance(15 * time.Second)
	login["key"] = testkit.Password
	s.Stranger().Post(s.Identity+"/auth/login", login).Want(http.StatusOK)
	// One verification mail a minute.
	bob := s.SignUpUnconfirmed("bob@example.com")
	verify := s.Identity + "/profile/emails/bob@example.com/verify"
	bob.Post(verify, nil).Want(http.StatusNoContent)
	if got := bob.Post(verify, nil).WantError(identity.ErrEmailTooOften); got.Status != http.StatusTooManyRequests ||
		number(got.Header, "Retry-After") != 60 {
		t.Errorf("a verification too many: %d, Retry-After %q", got.Status, got.Header.Get("Retry-After"))
	}
	// A mailbox takes as many new transfers as the plan says.
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "dr-ann"}).Want(http.StatusCreated)
	if got := countAnswers(s.Stranger(), 7, "POST", s.Transfer+"/public/mailbox/dr-ann"); got[http.StatusCreated] != 5 ||
		got[http.StatusTooManyRequests] != 2 {
		t.Errorf("7 new transfers: %v", got)
	}
	// Guesses at many accounts from one address.
	s.Clock.Advance(time.Minute)
	refused := 0
	for i := range 100 {
		login["email"] = fmt.Sprintf("p%d@example.com", i)
		if s.Stranger().Post(s.Identity+"/auth/login", login).Status == int(fault.Overloaded) {
			refused++
		}
	}
	if refused != 40 {
		t.Errorf("%d of 100 wrong logins of one address are refused, want 40", refused)
	}
}
