package handler_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
)

// deviceOf returns the device cookie that an answer sets, as a Cookie header.
func deviceOf(t testing.TB, r *testkit.Response) string {
	t.Helper()
	for _, c := range (&http.Response{Header: r.Header}).Cookies() {
		if c.Name == "device" {
			return c.Name + "=" + c.Value
		}
	}
	t.Fatalf("no device cookie in %v", r.Header)
	return ""
}

// signIn signs a person in with a Cookie header and returns the answer.
func signIn(s *testkit.Server, cookie, email, password string) *testkit.Response {
	s.T.Helper()
	p := s.Stranger()
	if cookie != "" {
		p = p.With("Cookie", cookie)
	}
	return p.Post(s.Identity+"/auth/login", credentials(email, "bcrypt", password))
}

// TestAttackLockout: a stranger who keeps the bucket of an address full cannot shut out a browser in which its owner has
// signed in before. The cookie helps nobody to guess more often.
func TestAttackLockout(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_RATE_LIMIT", "on"))
	s.SignUp("ann@example.com")
	s.SignUp("bob@example.com")
	ann := deviceOf(t, signIn(s, "", "ann@example.com", testkit.Password).Want(http.StatusOK))
	bob := deviceOf(t, signIn(s, "", "bob@example.com", testkit.Password).Want(http.StatusOK))
	s.Clock.Advance(time.Hour)
	for range 70 { // empties the bucket of Ann's address, and of the client address that all share here
		signIn(s, "", "ann@example.com", "summer in the city")
	}
	signIn(s, "", "ann@example.com", testkit.Password).WantError(fault.ErrOverloaded)
	forged := []byte(ann)
	forged[len(forged)/2] ^= 1
	for name, cookie := range map[string]string{
		"another person's": bob, "forged": string(forged), "empty": "device=", "not base64": "device=%%%", "truncated": ann[:len(ann)-8],
		"of another name": "__Host-" + ann,
	} {
		if got := signIn(s, cookie, "ann@example.com", testkit.Password); got.Status != int(fault.Overloaded) {
			t.Errorf("%s cookie: %d %s", name, got.Status, got.Body)
		}
	}
	// The device has a bucket of the same size: two wrong guesses leave one try.
	for range 2 {
		signIn(s, ann, "ann@example.com", "summer in the city").WantError(identity.ErrCredentials)
	}
	next := signIn(s, ann, "ann@example.com", testkit.Password).Want(http.StatusOK)
	if next.Header.Get("X-RateLimit-Limit") != "3" || next.Header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("headers are %v", next.Header)
	}
	signIn(s, ann, "ann@example.com", testkit.Password).WantError(fault.ErrOverloaded)
	signIn(s, deviceOf(t, next), "ann@example.com", testkit.Password).WantError(fault.ErrOverloaded) // the same device
	s.Clock.Advance(15 * time.Second)
	signIn(s, ann, "ann@example.com", testkit.Password).Want(http.StatusOK)
}

// TestDeviceCookie checks its attributes, several persons in one browser, and the end of a device.
func TestDeviceCookie(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	s.SignUp("ann@example.com")
	s.SignUp("bob@example.com")
	first := signIn(s, "", "ann@example.com", testkit.Password).Want(http.StatusOK)
	if c := first.Header.Get("Set-Cookie"); !strings.HasSuffix(c, "; Path=/; Max-Age=31536000; HttpOnly; SameSite=Strict") {
		t.Errorf("the cookie is %s", c)
	}
	known := func(cookie, email string) bool {
		t.Helper()
		s.Clock.Advance(time.Minute)
		for range 4 { // fills the bucket of the address
			signIn(s, "", email, "summer in the city")
		}
		return signIn(s, cookie, email, testkit.Password).Status == http.StatusOK
	}
	both := deviceOf(t, signIn(s, deviceOf(t, first), "bob@example.com", testkit.Password).Want(http.StatusOK))
	if !known(both, "ann@example.com") || !known(both, "bob@example.com") || known(deviceOf(t, first), "bob@example.com") {
		t.Error("the cookie does not name the two who signed in")
	}
	s.Clock.Advance(366 * 24 * time.Hour)
	if known(both, "ann@example.com") {
		t.Error("a device is known for more than a year")
	}
}

// TestDeviceCookieIsBounded: a cookie remembers the last five persons.
func TestDeviceCookieIsBounded(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	names := []string{"ann", "bob", "cid", "dan", "eva", "fay"}
	cookie := ""
	for _, name := range names {
		s.SignUp(name + "@example.com")
		cookie = deviceOf(t, signIn(s, cookie, name+"@example.com", testkit.Password).Want(http.StatusOK))
	}
	if len(cookie) > 500 {
		t.Errorf("the cookie has %d bytes", len(cookie))
	}
	for _, name := range names {
		for range 4 {
			signIn(s, "", name+"@example.com", "summer in the city")
		}
		if known := signIn(s, cookie, name+"@example.com", testkit.Password).Status == http.StatusOK; known != (name != "ann") {
			t.Errorf("%s: known is %t", name, known)
		}
	}
}

// TestDeviceEndsWithThePassword: a change or reset of the password invalidates earlier device cookies.
func TestDeviceEndsWithThePassword(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	shutOut := func(cookie, password string) {
		t.Helper()
		for range 4 {
			signIn(s, "", "ann@example.com", "summer in the city")
		}
		signIn(s, cookie, "ann@example.com", password).WantError(fault.ErrOverloaded)
		s.Clock.Advance(time.Minute)
	}
	const newPassword = "a different horse battery"
	before := deviceOf(t, signIn(s, "", "ann@example.com", testkit.Password).Want(http.StatusOK))
	own := ann.Get(s.Identity + "/profile/authenticators").Want(http.StatusOK).String("authenticators.0.uid")
	ann.Put(s.Identity+"/profile/authenticators/"+own, map[string]any{"pubKey": newPassword, "authKey": testkit.Password}).Want(http.StatusOK)
	shutOut(before, newPassword)
	before = deviceOf(t, signIn(s, before, "ann@example.com", newPassword).Want(http.StatusOK))
	s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": "ann@example.com"}).Want(http.StatusNoContent)
	key := s.Mail.Wait(t, "ann@example.com", "/reset/", 1).Key(t, "/reset/")
	reset := s.Stranger().Post(s.Identity+"/auth/reset/"+key, nil).Want(http.StatusOK)
	shutOut(before, newPassword)
	for range 4 {
		signIn(s, "", "ann@example.com", "summer in the city")
	}
	signIn(s, deviceOf(t, reset), "ann@example.com", newPassword).Want(http.StatusOK)
}

// TestDeviceNeedsBothFactors: the password alone does not make a device known.
func TestDeviceNeedsBothFactors(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	code := withTOTP(t, s, ann)
	login := s.Identity + "/auth/login"
	first := signIn(s, "", "ann@example.com", testkit.Password).Want(http.StatusOK)
	if c := first.Header.Get("Set-Cookie"); strings.Contains(c, "device=") {
		t.Errorf("the first factor sets %s", c)
	}
	full := s.Stranger().As(first.String("token")).Post(login, credentials("ann@example.com", "totp", code())).Want(http.StatusOK)
	device := deviceOf(t, full)
	s.Clock.Advance(time.Minute)
	// Eve knows the password and fills the buckets of the address and of the person's second factor.
	eve := s.Stranger().As(signIn(s, "", "ann@example.com", testkit.Password).Want(http.StatusOK).String("token"))
	for range 4 {
		eve.Post(login, credentials("ann@example.com", "totp", "000000"))
	}
	mfa := signIn(s, device, "ann@example.com", testkit.Password).Want(http.StatusOK).String("token")
	s.Stranger().As(mfa).With("Cookie", device).Post(login, credentials("ann@example.com", "totp", code())).Want(http.StatusOK)
}

// TestFederatedDevice: a login at a provider remembers the device, too.
func TestFederatedDevice(t *testing.T) {
	t.Parallel()
	idp := testkit.NewIDP(t)
	s := testkit.New(t, idp.Known())
	enter := func(cookie string) *testkit.Response {
		t.Helper()
		return s.Stranger().With("Cookie", cookie).Post(s.Identity+"/oidc/auth/implicit",
			map[string]any{"token": idp.Token(s.Clock.Now(), "eva@example.com", nil)}).Want(http.StatusOK)
	}
	first := deviceOf(t, enter(""))
	enter(first)
	var devices []string
	rows, err := s.App.DB.Pool.Query(t.Context(), `SELECT details->>'device' FROM audit WHERE action = 'session.login' ORDER BY id`)
	must(t, err)
	for rows.Next() {
		var d string
		must(t, rows.Scan(&d))
		devices = append(devices, d)
	}
	must(t, rows.Err())
	if got := strings.Join(devices, " "); got != "new known" {
		t.Errorf("the audit has the devices %q", got)
	}
}
