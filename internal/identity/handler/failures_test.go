package handler_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/testkit"
)

// TestFailedLoginsAreAudited: entries have the client address but not the tried email address, and their number is limited.
func TestFailedLoginsAreAudited(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	signIn(s, "", "ann@example.com", "summer in the city").WantError(identity.ErrCredentials)
	signIn(s, "", "secret-typed-here@example.com", "x").WantError(identity.ErrCredentials)
	entries := func() (n int, all string) {
		t.Helper()
		must(t, s.App.DB.Pool.QueryRow(t.Context(), `
			SELECT count(*), coalesce(string_agg(a::text, ' ' ORDER BY id), '') FROM audit a WHERE action = 'session.refuse'`).Scan(&n, &all))
		return n, all
	}
	n, all := entries()
	if n != 2 || strings.Contains(all, "typed") || strings.Count(all, uid(t, ann.ID).String()) != 1 || strings.Count(all, "127.0.0.1") != 2 {
		t.Errorf("%d entries: %s", n, all)
	}
	for i := range 66 {
		if i >= 58 { // failed-login admits one a second, which is too short a time for another entry
			s.Clock.Advance(time.Second)
		}
		signIn(s, "", fmt.Sprintf("p%d@example.com", i), "x").WantError(identity.ErrCredentials)
	}
	if n, _ := entries(); n != 60 {
		t.Errorf("one address wrote %d entries", n)
	}
}

// TestAttackKeysFromOneAddress: refused reset keys and federated logins cost the client address.
func TestAttackKeysFromOneAddress(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_RATE_LIMIT", "on"))
	s.SignUp("ann@example.com")
	s.Clock.Advance(time.Minute)
	eve := s.Stranger()
	eve = eve.With("Cookie", strings.Split(eve.Get(s.Transfer+"/public/mailbox/nobody").Header.Get("Set-Cookie"), ";")[0])
	for range 30 {
		eve.Post(s.Identity+"/auth/reset/Zk3vN0p8Qm1sXy7tRb2wLgZk3vN0p8Qm", nil).WantError(identity.ErrKeyNotFound)
		eve.Post(s.Identity+"/oidc/auth/implicit", map[string]any{"token": "a.b.c"}).WantError(identity.ErrExternalToken)
	}
	signIn(s, "", "ann@example.com", testkit.Password).WantError(fault.ErrOverloaded)
	s.Clock.Advance(time.Second)
	signIn(s, "", "ann@example.com", testkit.Password).Want(http.StatusOK)
}

// TestShortPasswordsStay: a password that is shorter than the minimum still logs in.
func TestShortPasswordsStay(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_PASSWORD_MINIMUM", "14"))
	s.SignUp("ann@example.com")
	s.Stranger().Post(s.Identity+"/signup", map[string]any{"address": "bob@example.com", "password": "xk7-plumbagoo"}).WantError(
		fault.ErrInvalid)
	hash, err := bcrypt.GenerateFromPassword([]byte("xk7-plumb"), bcrypt.MinCost)
	must(t, err)
	_, err = s.App.DB.Pool.Exec(t.Context(), `UPDATE identity.authenticators SET secret = $1 WHERE type = 'bcrypt'`, hash)
	must(t, err)
	signIn(s, "", "ann@example.com", "xk7-plumb").Want(http.StatusOK)
}

// TestCancelledSubscription: a cancelled subscription expires when it was cancelled, or at the end of the paid period.
func TestCancelledSubscription(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	acme := createOrganization(ann, "Acme")
	expires := func(n service.NewSubscription) any {
		t.Helper()
		n.Domain, n.Product = "skp", "team"
		must(t, s.App.Identity.Subscribe(t.Context(), testkit.Command, acme.uid, n))
		return ann.Get(acme.path).Want(http.StatusOK).Value("subscriptions.0.expiresAt")
	}
	if at := expires(service.NewSubscription{}); at != nil {
		t.Errorf("an active subscription expires at %v", at)
	}
	now := s.Clock.Now().UTC().Format("2006-01-02T15:04:05")
	if at, _ := expires(service.NewSubscription{Status: "cancelled"}).(string); !strings.HasPrefix(at, now) {
		t.Errorf("a cancelled subscription expires at %s, want %s", at, now)
	}
	s.Clock.Advance(time.Minute)
	if at, _ := expires(service.NewSubscription{Status: "cancelled", Name: "Team"}).(string); !strings.HasPrefix(at, now) {
		t.Errorf("after a change it expires at %s, want %s", at, now)
	}
	end := s.Clock.Now().Add(30 * 24 * time.Hour)
	if at, _ := expires(service.NewSubscription{Status: "cancelled", ExpiresAt: &end}).(string); !strings.HasPrefix(at,
		end.UTC().Format("2006-01-02T15:04:05")) {
		t.Errorf("with a paid period it expires at %s", at)
	}
	if at := expires(service.NewSubscription{}); at != nil {
		t.Errorf("subscribed again it expires at %v", at)
	}
}

// TestSubscriptionWithoutProduct: its status, domain, productId and displayName are null, however often it is changed. It satisfies
// the subscription that documents need.
func TestSubscriptionWithoutProduct(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	acme := createOrganization(ann, "Acme")
	ann.Put(acme.path+"/profile", map[string]any{"name": "Acme", "addressLine1": "Pier 1", "city": "Bremen", "country": "DE",
		"locale": "en_US", "timeZone": "UTC", "inactiveHostnames": []string{}}).Want(http.StatusOK)
	document := func() int {
		return ann.Get(acme.path + "/documents?type=dataProcessing&domain=skp").Status
	}
	subscribe := func(status string) {
		must(t, s.App.Identity.Subscribe(t.Context(), testkit.Command, acme.uid, service.NewSubscription{Domain: "skp", Status: status}))
	}
	subscribe("")
	if got := document(); got != http.StatusOK {
		t.Errorf("a document answers %d", got)
	}
	subscribe("cancelled")
	got := ann.Get(acme.path).Want(http.StatusOK)
	for _, member := range []string{"status", "domain", "productId", "displayName"} {
		if v, has := got.Value("subscriptions.0").(map[string]any)[member]; !has || v != nil {
			t.Errorf("%s is %v", member, v)
		}
	}
	if got.Value("subscriptions.0.expiresAt") == nil || got.Value("subscriptions.1") != nil {
		t.Errorf("after a change: %s", got.Body)
	}
	if got := document(); got != http.StatusForbidden {
		t.Errorf("after the subscription was cancelled, a document answers %d", got)
	}
	err := s.App.Identity.Subscribe(t.Context(), testkit.Command, acme.uid, service.NewSubscription{Domain: "skp", Name: "Team"})
	if !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("a name without a product: %v", err)
	}
}
