// Tests of Idempotency-Key on each route that creates something.

package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/idempotency"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// repeatable lists the POST routes that ignore Idempotency-Key, with the reason. Every other one creates something and takes it.
var repeatable = map[string][]string{
	"the same request again finds it done, or is refused": {
		"/id/v3/signup", "/id/v3/auth/undo/{key}", "/id/v3/auth/reset/{key}", "/id/v3/confirm/{key}", "/id/v3/invitations/{key}/accept",
		"/id/v3/organizations/{uid}/leave",
		"/id/v3/profile/emails/{address}/primary", "/id/v3/profile/authenticators/{uid}/verify", "/id/v3/device/{code}/approve",
		"/id/v3/device/{code}/refuse",
		"/transfer/v2/public/requests/{key}/handin", "/transfer/v2/reservations/{uid}/confirm", "/transfer/v2/reservations/{uid}/objects",
		"/transfer/v2/reservations/{uid}/objects/{clientId}/parts",
		"/transfer/v2/reservations/{uid}/verify", "/transfer/v2/public/receipts/{key}",
		"/admin/v1/storage/checks", "/admin/v1/storage/checks/{check}/cancel", "/admin/v1/storage/accept", "/admin/v1/jobs/{id}/retry",
		"/admin/v1/jobs/{id}/cancel", "/admin/v1/people", "/admin/v1/people/{person}/end-sessions", "/admin/v1/people/{person}/reset-factors",
		"/admin/v1/people/{person}/verify", "/admin/v1/people/{person}/limits", "/admin/v1/people/{person}/export",
		"/admin/v1/people/{person}/delete",
		"/admin/v1/transfers/{transfer}/extend", "/admin/v1/transfers/{transfer}/revoke", "/admin/v1/transfers/{transfer}/inspect",
		"/admin/v1/transfers/{transfer}/erase-receipt",
		"/id/v3/organizations/{uid}/members/{person}/end-sessions", "/transfer/v2/adminunit/transfers/{uid}/extend",
		"/transfer/v2/adminunit/transfers/{uid}/revoke", "/transfer/v2/adminunit/holds/{uid}/end", "/admin/v1/holds/{uid}/end",
		"/admin/v1/people/{person}/suspend", "/admin/v1/people/{person}/reactivate", "/admin/v1/mailboxes/{mailbox}/suspend",
		"/admin/v1/mailboxes/{mailbox}/reactivate", "/admin/v1/mailboxes/{mailbox}/create", "/admin/v1/mailboxes/{mailbox}/end-reservations",
		"/admin/v1/organizations/{organization}/set", "/admin/v1/organizations/{organization}/limits",
		"/admin/v1/organizations/{organization}/subscribe",
		"/admin/v1/organizations/{organization}/host", "/admin/v1/organizations/{organization}/set-member",
		"/admin/v1/organizations/{organization}/remove-member",
	},
	"it sends a mail or message again, which a bucket bounds": {
		"/id/v3/auth/reset", "/id/v3/profile/emails/{address}/verify", "/transfer/v2/reservations/{uid}/code",
		"/transfer/v2/public/transfers/{key}/code",
		"/transfer/v2/public/transfers/{key}/extension", "/transfer/v2/transfers/{uid}/recipients/{deliveryUid}/resend",
		"/transfer/v2/transfers/{uid}/remind", "/transfer/v2/requests/{uid}/parties/{party}/remind", "/transfer/v2/requests/{uid}/remind",
		"/transfer/v2/public/requests/{key}/parties",
		"/id/v3/webhooks/{uid}/ping", "/id/v3/webhooks/{uid}/deliveries/{delivery}/send",
		"/admin/v1/mails/test", "/admin/v1/mails/retry", "/admin/v1/mails/{uid}/retry",
	},
	"it makes a token or session that expires unused": {
		"/id/v3/auth/login", "/id/v3/auth/uid", "/id/v3/auth/upgrade", "/id/v3/auth/park", "/id/v3/auth/access", "/id/v3/auth/session",
		"/id/v3/auth/logout",
		"/id/v3/oidc/auth/implicit", "/id/v3/oidc/auth/code", "/id/v3/oidc/auth", "/id/v3/oidc/auth/form", "/id/v3/oidc/auth/confirmation",
		"/id/v3/device/authorization", "/id/v3/device/token",
		"/id/v3/profile/export", "/transfer/v2/auth/otk", "/transfer/v2/public/transfers/{key}/access", "/transfer/v2/public/transfers/{key}/otk",
		"/transfer/v2/requests/{uid}/otk",
		"/transfer/v2/public/requests/{key}", "/admin/v1/session",
	},
	"an authenticator that is not verified counts for nothing": {"/id/v3/profile/authenticators"},
	"it stores nothing": {"/admin/v1/doctor", "/id/v3/auth/passkey/options", "/id/v3/profile/passkey/options"},
	"the client names it, or it is left with the reservation": {"/transfer/v2/reservations/{uid}/uploads",
		"/transfer/v2/reservations/{uid}/tus", "/transfer/v2/reservations/{uid}/objects/{clientId}/tus"},
	"it reads": {"/id/v3/auth/exists", "/transfer/v2/adminunit/holds/{uid}/export",
		"/admin/v1/holds/{uid}/export"},
	"the former secret stays valid for 24 h": {"/id/v3/webhooks/{uid}/rotate"},
	"a further key does no harm":             {"/admin/v1/keys/rotate", "/admin/v1/keys/log/rotate", "/admin/v1/keys/log/revoke"},
}

// TestCreatingRoutes: each POST takes Idempotency-Key, or is in repeatable.
func TestCreatingRoutes(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	seen := map[string]bool{}
	for _, r := range s.App.API.Routes() {
		listed := false
		for _, routes := range repeatable {
			listed = listed || slices.Contains(routes, r.Path)
		}
		seen[r.Path] = true
		if r.Method == http.MethodPost && !r.Gone && listed == r.Creates {
			t.Errorf("POST %s: takes the header %t, is listed as repeatable %t", r.Path, r.Creates, listed)
		}
		if r.Method != http.MethodPost && r.Creates {
			t.Errorf("%s %s takes Idempotency-Key", r.Method, r.Path)
		}
	}
	for _, routes := range repeatable {
		for _, path := range routes {
			if !seen[path] {
				t.Errorf("there is no route %s", path)
			}
		}
	}
}

func keys(t *testing.T, s *testkit.Server, condition string) int {
	t.Helper()
	n, err := database.Scalar[int](t.Context(), s.App.DB.Pool, "count", nil, "SELECT count(*) FROM idempotency_keys WHERE "+condition)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann"}).Want(http.StatusCreated)
	body := map[string]any{"url": "https://hooks.example.com/a", "events": []string{"TRANSFER_RECEIVED"}}
	path := s.Identity + "/webhooks"
	first := ann.With("Idempotency-Key", `"one"`).Post(path, body).Want(http.StatusCreated)
	again := ann.With("Idempotency-Key", "one").Post(path, body).Want(http.StatusCreated)
	if !bytes.Equal(first.Body, again.Body) || first.Header.Get("Location") != again.Header.Get("Location") ||
		again.Header.Get("Idempotency-Replayed") != "true" || first.Header.Get("Idempotency-Replayed") != "" {
		t.Errorf("first %s %v, again %s %v", first.Body, first.Header, again.Body, again.Header)
	}
	if n := len(ann.Get(path).Value("webhooks").([]any)); n != 1 {
		t.Errorf("%d webhooks", n)
	}
	raw, err := database.Scalar[[]byte](t.Context(), s.App.DB.Pool, "answer", nil, "SELECT answer FROM idempotency_keys LIMIT 1")
	if err != nil || bytes.Contains(raw, []byte(first.String("secret"))) || len(raw) == 0 {
		t.Errorf("the stored answer is not sealed, %v", err)
	}
	other := map[string]any{"url": "https://hooks.example.com/b", "events": []string{"TRANSFER_RECEIVED"}}
	ann.With("Idempotency-Key", "one").Post(path, other).WantError(idempotency.ErrOther)
	ann.With("Idempotency-Key", "one").Post(s.Identity+"/organizations", map[string]any{"name": "x"}).WantError(idempotency.ErrOther)
	bob.With("Idempotency-Key", "one").Post(path, other).Want(http.StatusCreated)
	s.SendUndocumented()
	for _, bad := range []string{`""`, "a b", `a"b`, "ä", string(bytes.Repeat([]byte("x"), 256))} {
		ann.With("Idempotency-Key", bad).Post(path, body).WantError(fault.ErrInvalid)
	}
	ann.With("Idempotency-Key", "two").Post(path, map[string]any{}).WantError(fault.ErrInvalid)
	ann.With("Idempotency-Key", "two").Post(path, other).Want(http.StatusCreated) // what failed can be repeated, also another way

	reserve := map[string]any{"anonSender": "Sam", "anonEmail": "sam@example.com"}
	box := s.Transfer + "/public/mailbox/ann"
	one := s.Stranger().With("Idempotency-Key", "three").Post(box, reserve).Want(http.StatusCreated)
	two := s.Stranger().With("Idempotency-Key", "three").Post(box, reserve).Want(http.StatusCreated)
	if one.Header.Get("Authorization") == "" || one.Header.Get("Authorization") != two.Header.Get("Authorization") ||
		one.Header.Get("Location") != two.Header.Get("Location") {
		t.Errorf("first %v, again %v", one.Header, two.Header)
	}
	s.Clock.Advance(24*time.Hour + time.Second)
	if err := s.App.Jobs.RunOnce(t.Context(), "idempotency-clean"); err != nil || keys(t, s, "true") != 0 {
		t.Errorf("%d keys after a day, %v", keys(t, s, "true"), err)
	}
}

// TestAttackErasedAnswer: a stored answer ends with the reservation or transfer that it shows.
func TestAttackErasedAnswer(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann"}).Want(http.StatusCreated)
	box, body := s.Transfer+"/public/mailbox/ann", map[string]any{"anonSender": "Sam", "anonEmail": "sam@example.com", "subject": "secret"}
	for key, erase := range map[string]func(reservation string, by *testkit.Person){
		"deleted": func(path string, by *testkit.Person) { by.Delete(path).Want(http.StatusNoContent) },
		"revoked": func(path string, by *testkit.Person) {
			uid := by.Post(path+"/confirm", nil).Want(http.StatusOK).String("uid")
			ann.Delete(s.Transfer + "/transfers/" + uid).Want(http.StatusNoContent)
		},
	} {
		stranger := s.Stranger()
		made := stranger.With("Idempotency-Key", key).Post(box, body).Want(http.StatusCreated)
		erase(made.Header.Get("Location"), stranger.As(strings.TrimPrefix(made.Header.Get("Authorization"), "Bearer ")))
		if r := stranger.With("Idempotency-Key", key).Post(box, body).WantError(idempotency.ErrLost); bytes.Contains(r.Body, []byte("secret")) {
			t.Errorf("%s: %s", key, r.Body)
		}
	}
	if n := keys(t, s, "answer IS NOT NULL"); n != 0 {
		t.Errorf("%d answers are left", n)
	}
}

// TestAttackIdempotencyPrefix: the keys of an IPv6 /48 are three times those of a client network, however many of these it has. Then the
// whole /48 has none left, and others have.
func TestAttackIdempotencyPrefix(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_TRUSTED_PROXIES", "127.0.0.0/8,::1/128"))
	s.SignUp("ann@example.com").Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann"}).Want(http.StatusCreated)
	reserve := func(address, key string) *testkit.Response {
		return s.Stranger().With("X-Forwarded-For", address).With("Idempotency-Key", key).Post(s.Transfer+"/public/mailbox/ann", nil)
	}
	for i := range 4 {
		reserve(fmt.Sprintf("2001:db8:1:%x00::1", i+1), "a").Want(http.StatusCreated)
	}
	if _, err := database.Exec(t.Context(), s.App.DB.Pool, "more keys", `
		INSERT INTO idempotency_keys (key, caller, fingerprint, claim, busy_until, expires_at)
		SELECT sha256(convert_to(k.key::text || n, 'UTF8')), caller, fingerprint, claim, busy_until, expires_at
		FROM idempotency_keys k, generate_series(1, 224) n`); err != nil { // 225 of each network, of 300: 900 in all
		t.Fatal(err)
	}
	for _, address := range []string{"2001:db8:1:100::1", "2001:db8:1:ffff::1"} {
		reserve(address, "b").WantError(idempotency.ErrTooMany)
	}
	for _, address := range []string{"2001:db8:2::1", "2001:db8:0:ffff::1", "192.0.2.1"} {
		reserve(address, "b").Want(http.StatusCreated)
	}
}

// TestIdempotencyRace: of parallel requests with one key at two replicas one creates. The others get its answer, or are told to wait.
func TestIdempotencyRace(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	two := testkit.New(t, testkit.Beside(s))
	ann := s.SignUp("ann@example.com")
	for round := range 10 {
		var wait sync.WaitGroup
		for i := range 8 {
			wait.Go(func() {
				at := []*testkit.Person{ann, ann.At(two)}[i%2]
				r, err := at.With("Idempotency-Key", fmt.Sprint(round)).Try(t.Context(), "POST", s.Transfer+"/reservations",
					map[string]any{"subject": fmt.Sprint(round)})
				if err != nil || r.Status != http.StatusCreated && r.Status != http.StatusConflict {
					t.Errorf("%v %s", err, r.Body)
				}
			})
		}
		wait.Wait()
	}
	n, err := database.Scalar[int](t.Context(), s.App.DB.Pool, "count", nil, "SELECT count(*) FROM transfer.reservations")
	if err != nil || n != 10 {
		t.Errorf("%d reservations of 10 keys, %v", n, err)
	}
}

// TestIdempotencyLostAnswers: requests whose clients leave at any moment are repeated until one is answered; each creates one thing.
func TestIdempotencyLostAnswers(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_RATE_LIMIT", "off"))
	ann := s.SignUp("ann@example.com")
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann"}).Want(http.StatusCreated)
	const rounds = 40
	cut, lost := 0, 0
	for round := range rounds {
		// For the buckets of new transfers. Not within a round: its claims would expire while their requests run.
		s.Clock.Advance(4 * time.Minute)
		ann.Refresh()
		path, by := s.Transfer+"/reservations", ann
		if round%2 == 1 {
			path, by = s.Transfer+"/public/mailbox/ann", s.Stranger()
		}
		by = by.With("Idempotency-Key", fmt.Sprintf("k%d", round))
		try := 0
		poll.Until(t, "an answer for each key", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(),
				time.Duration(1+(round*7+try*5)%23)*time.Millisecond/2+time.Duration(try)*time.Millisecond*5)
			defer cancel()
			try++
			r, err := by.Try(ctx, "POST", path, map[string]any{})
			switch {
			case err != nil:
				cut++
				return false
			case r.Status == http.StatusCreated:
				return true
			case r.Status != http.StatusConflict:
				t.Fatalf("round %d: %s", round, r.Body)
			case bytes.Contains(r.Body, []byte("409903")):
				lost++
				return true
			}
			return false // the first request is still running
		})
	}
	n, err := database.Scalar[int](t.Context(), s.App.DB.Pool, "count", nil, "SELECT count(*) FROM transfer.reservations")
	if err != nil || n != rounds || lost > 0 {
		t.Errorf("%d reservations of %d keys after %d cuts, %v", n, rounds, cut, err)
	}
	t.Logf("%d requests were cut, %d answers are lost", cut, lost)
}

// TestIdempotencyAfterCrash: another server takes over the claim of a killed server when its lease has ended. The former server then stores
// nothing. A request that took effect without a stored answer is not repeated.
func TestIdempotencyAfterCrash(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	by, path, body := ann.With("Idempotency-Key", "one"), s.Transfer+"/reservations", map[string]any{}
	by.Post(path, body).Want(http.StatusCreated)
	change := func(set string) {
		if _, err := database.Exec(t.Context(), s.App.DB.Pool, "change", "UPDATE idempotency_keys SET "+set); err != nil {
			t.Fatal(err)
		}
	}
	change("answer = NULL")
	by.Post(path, body).WantError(idempotency.ErrLost)
	change("done = false, busy_until = expires_at - interval '24 hours' + interval '30 seconds'")
	by.Post(path, body).WantError(idempotency.ErrRunning)
	s.Clock.Advance(31 * time.Second)
	by.Post(path, body).Want(http.StatusCreated)

	store := idempotency.New(s.App.DB, sealer(t), s.Clock.Now)
	x := idempotency.Caller{Name: "x", Quota: idempotency.Quota{Keys: 1, Bytes: 1}}
	claim, _, err := store.Begin(t.Context(), x, "y", [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(31 * time.Second)
	if _, _, err := store.Begin(t.Context(), x, "y", [32]byte{}); err != nil {
		t.Fatal(err)
	}
	err = s.App.DB.InTx(claim.Context(t.Context()), func(database.Tx) error { return nil })
	if !isFault(err, fault.ErrConflict) {
		t.Errorf("an overtaken transaction: %v", err)
	}
	if _, _, err := store.Begin(t.Context(), x, "z", [32]byte{}); !isFault(err, idempotency.ErrTooMany) {
		t.Errorf("a second key of one: %v", err)
	}
}

// TestIdempotencyBytes: a caller's stored answers are bounded in bytes, also when they are few. Others and former keys are not affected.
func TestIdempotencyBytes(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	store := idempotency.New(s.App.DB, sealer(t), s.Clock.Now)
	q := idempotency.Quota{Keys: 100, Bytes: 1_000_000}
	eve := idempotency.Caller{Name: "eve", Quota: q}
	stored := 0
	for ; stored < 20; stored++ {
		claim, _, err := store.Begin(t.Context(), eve, fmt.Sprint(stored), [32]byte{})
		if isFault(err, idempotency.ErrTooMany) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := claim.Keep(t.Context(), idempotency.Answer{Status: http.StatusCreated, Body: bytes.Repeat([]byte("x"), 100_000)}); err != nil {
			t.Fatal(err)
		}
	}
	if stored < 5 || stored > 10 { // sealed answers are longer
		t.Errorf("%d answers of 100 kB are stored", stored)
	}
	if _, former, err := store.Begin(t.Context(), eve, "0", [32]byte{}); err != nil || former == nil || len(former.Body) != 100_000 {
		t.Errorf("a former answer: %v", err)
	}
	if _, _, err := store.Begin(t.Context(), idempotency.Caller{Name: "ann", Quota: q}, "0", [32]byte{}); err != nil {
		t.Errorf("another caller: %v", err)
	}
	s.Clock.Advance(24*time.Hour + time.Second)
	if _, _, err := store.Begin(t.Context(), eve, "new", [32]byte{}); err != nil {
		t.Errorf("a day later: %v", err)
	}
}

func sealer(t *testing.T) *seal.Sealer {
	t.Helper()
	s, err := seal.New(bytes.Repeat([]byte("k"), 32), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func isFault(err error, want *fault.Error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Code == want.Code
}
