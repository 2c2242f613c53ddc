package handler_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
)

// device is a program that asks for a session.
type device struct {
	*testkit.Person
	code, user string
}

func sendingForms(p *testkit.Person) *testkit.Person {
	return p.With("Content-Type", "application/x-www-form-urlencoded")
}

func beginDevice(s *testkit.Server) device {
	s.T.Helper()
	p := sendingForms(s.Stranger()).With("User-Agent", "consign/1.0")
	got := p.Post(s.Identity+"/device/authorization", url.Values{"client_id": {"consign on build-7"}}.Encode()).Want(http.StatusOK)
	return device{p, got.String("device_code"), got.String("user_code")}
}

// poll asks for the tokens, and returns the error of RFC 6749, empty for tokens.
func (d device) poll() (string, *testkit.Response) {
	d.Server.T.Helper()
	got := d.Post(d.Server.Identity+"/device/token", url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"},
		"device_code": {d.code}}.Encode())
	if got.Status == http.StatusOK {
		return "", got
	}
	return got.Want(http.StatusBadRequest).String("error"), got
}

// TestDeviceAuthorization: the whole way of a program to its session.
func TestDeviceAuthorization(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	d := beginDevice(s)
	if e, _ := d.poll(); e != "authorization_pending" {
		t.Errorf("at first: %s", e)
	}
	if e, _ := d.poll(); e != "slow_down" {
		t.Errorf("at once again: %s", e)
	}
	s.Clock.Advance(identity.DeviceLoginPoll)
	if e, _ := d.poll(); e != "slow_down" {
		t.Errorf("after the first interval: %s", e)
	}
	shown := ann.Get(s.Identity + "/device/" + strings.ToLower(d.user)).Want(http.StatusOK)
	if shown.String("clientName") != "consign on build-7" || shown.String("userAgent") != "consign/1.0" || shown.String("ip") != "127.0.0.1" {
		t.Errorf("the page shows %s", shown.Body)
	}
	ann.Post(s.Identity+"/device/"+d.user+"/approve", nil).Want(http.StatusNoContent)
	ann.Post(s.Identity+"/device/"+d.user+"/approve", nil).WantError(identity.ErrUserCode)
	ann.Post(s.Identity+"/device/"+d.user+"/refuse", nil).WantError(identity.ErrUserCode)
	s.Clock.Advance(time.Minute)
	e, got := d.poll()
	if e != "" || got.String("token_type") != "Bearer" || got.Number("expires_in") != 600 {
		t.Fatalf("after the approval: %s", got.Body)
	}
	program := s.Stranger().As(got.String("access_token"))
	program.Get(s.Identity + "/profile").Want(http.StatusOK)
	program.As(got.String("session_token")).Post(s.Identity+"/auth/access", nil).Want(http.StatusOK)
	claims := claimsOf(t, got.String("session_token"))
	if claims["sid"] == claimsOf(t, ann.ID)["sid"] || claims["auth_time"] != claimsOf(t, ann.ID)["auth_time"] {
		t.Errorf("the session is %v", claims)
	}
	s.Mail.Wait(t, "ann@example.com", "new device", 1)
	s.Clock.Advance(time.Minute)
	if e, _ := d.poll(); e != "invalid_grant" {
		t.Errorf("a second time: %s", e)
	}
}

// TestDeviceRefusals: refused, expired, malformed and foreign requests.
func TestDeviceRefusals(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	d := beginDevice(s)
	ann.Post(s.Identity+"/device/"+d.user+"/refuse", nil).Want(http.StatusNoContent)
	if e, _ := d.poll(); e != "access_denied" {
		t.Errorf("refused: %s", e)
	}
	old := beginDevice(s)
	s.Clock.Advance(identity.DeviceLoginLifetime)
	if e, _ := old.poll(); e != "expired_token" {
		t.Errorf("expired: %s", e)
	}
	ann.Refresh()
	ann.Get(s.Identity + "/device/" + old.user).WantError(identity.ErrUserCode)
	for _, code := range []string{"x", "BCDF-GHJA", "BCDFGHJKL", "%20"} {
		ann.Get(s.Identity + "/device/" + code).WantError(identity.ErrUserCode)
	}
	for body, want := range map[string]string{
		"grant_type=x&device_code=y": "unsupported_grant_type", "device_code=y": "invalid_request", "": "invalid_request",
		"grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code=y": "invalid_grant",
	} {
		if got := sendingForms(s.Stranger()).Post(s.Identity+"/device/token", body).Want(http.StatusBadRequest); got.String("error") != want {
			t.Errorf("%s: %s", body, got.Body)
		}
	}
	sendingForms(s.Stranger()).Post(s.Identity+"/device/authorization", "client_id=").WantError(fault.ErrInvalid)
	sendingForms(s.Stranger()).Post(s.Identity+"/device/authorization", url.Values{"client_id": {"a\nb"}}.Encode()).WantError(fault.ErrInvalid)
	s.Stranger().Get(s.Identity + "/device/" + d.user).WantError(token.ErrMissing)

	// An old session needs the password. The new session has the age of the one that approved.
	s.Clock.Advance(time.Hour)
	ann.Refresh()
	late := beginDevice(s)
	ann.Post(s.Identity+"/device/"+late.user+"/approve", nil).WantError(identity.ErrSessionNotYoung)
	ann.Post(s.Identity+"/device/"+late.user+"/approve", map[string]any{"authKey": testkit.Password}).Want(http.StatusNoContent)
	e, got := late.poll()
	if e != "" {
		t.Fatalf("approved with the password: %s", got.Body)
	}
	s.Stranger().As(got.String("access_token")).Post(s.Identity+"/profile/emails",
		map[string]any{"address": "x@example.com"}).WantError(identity.ErrSessionNotYoung)

	// A change of the person's rights between approval and request voids the approval.
	void := beginDevice(s)
	ann.Post(s.Identity+"/device/"+void.user+"/approve", map[string]any{"authKey": testkit.Password}).Want(http.StatusNoContent)
	ann.As(ann.ID).Post(s.Identity+"/auth/logout?jti=all", nil).Want(http.StatusNoContent)
	if e, _ := void.poll(); e != "access_denied" {
		t.Errorf("voided: %s", e)
	}
}

// TestDeviceRaces: of parallel requests on two replicas one gets the session, and one person approves.
func TestDeviceRaces(t *testing.T) {
	t.Parallel()
	first := testkit.New(t)
	second := testkit.New(t, testkit.Beside(first))
	ann, bob := first.SignUp("ann@example.com"), first.SignUp("bob@example.com")
	d := beginDevice(first)
	var calls []func() (*testkit.Response, error)
	for i := range 10 {
		at, who := first, ann
		if i%2 == 0 {
			at, who = second, bob
		}
		calls = append(calls, func() (*testkit.Response, error) {
			return who.At(at).Try(t.Context(), "POST", at.Identity+"/device/"+d.user+"/approve", nil)
		})
	}
	if got := parallel(t, calls...); got[http.StatusNoContent] != 1 || got[http.StatusNotFound] != 9 {
		t.Errorf("the approvals are %v, want one", got)
	}
	calls = nil
	for i := range 10 {
		p := d.At(first)
		if i%2 == 0 {
			p = d.At(second)
		}
		calls = append(calls, func() (*testkit.Response, error) {
			return p.Try(t.Context(), "POST", first.Identity+"/device/token",
				url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {d.code}}.Encode())
		})
	}
	if got := parallel(t, calls...); got[http.StatusOK] != 1 || got[http.StatusBadRequest] != 9 {
		t.Errorf("the sessions are %v, want one", got)
	}
}

// TestAttackDeviceLogins: one client network holds a bounded number of codes, and guesses of user codes are limited.
func TestAttackDeviceLogins(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	var calls []func() (*testkit.Response, error)
	const most = identity.MaxNetworksDeviceLogins * ratelimit.NetworkShare / 100
	for range most + 5 {
		calls = append(calls, func() (*testkit.Response, error) {
			return sendingForms(s.Stranger()).Try(t.Context(), "POST", s.Identity+"/device/authorization", "client_id=flood")
		})
	}
	if got := parallel(t, calls...); got[http.StatusOK] != most || got[http.StatusForbidden] != 5 {
		t.Errorf("the answers are %v", got)
	}
	var refused int
	for range 30 {
		if ann.Get(s.Identity+"/device/BCDFGHJK").Status == 509 {
			refused++
		}
	}
	if refused < 9 {
		t.Errorf("%d of 30 guesses were refused", refused)
	}
}

// TestAttackDeviceLoginPrefix: a home line, a site and an IPv4 network hold as many codes as two and three client networks. Others get
// theirs.
func TestAttackDeviceLoginPrefix(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_TRUSTED_PROXIES", "127.0.0.0/8,::1/128"))
	from := func(address string) *testkit.Response {
		return sendingForms(s.Stranger().With("X-Forwarded-For", address)).Post(s.Identity+"/device/authorization", "client_id=flood")
	}
	for format, want := range map[string]int{"2001:db8:0:%x::1": 40, "2001:db8:1:%x00::1": 60, "203.0.113.%d": 60} {
		got := 0
		for i := range 5 {
			for range 20 {
				if from(fmt.Sprintf(format, i+1)).Status == http.StatusOK {
					got++
				}
			}
		}
		if got != want {
			t.Errorf("%s: %d codes, want %d", format, got, want)
		}
		from("198.51.100.7").Want(http.StatusOK)
	}
}
