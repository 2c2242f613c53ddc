// Tests of each route with each kind of token, from the authorization tables.

package app_test

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
)

// operators and operatorChanges are the routes of the console: for operators with a second factor, and for those of them who have
// signed in recently.
var (
	operators = []string{"GET /admin/v1/session", "POST /admin/v1/session", "GET /admin/v1/overview", "POST /admin/v1/doctor",
		"GET /admin/v1/samples", "GET /admin/v1/holds", "GET /admin/v1/storage", "GET /admin/v1/storage/checks/{check}",
		"GET /admin/v1/mails", "GET /admin/v1/jobs", "GET /admin/v1/audit", "GET /admin/v1/settings", "GET /admin/v1/limits",
		"GET /admin/v1/keys",
		"GET /admin/v1/people", "GET /admin/v1/people/{person}", "GET /admin/v1/transfers", "GET /admin/v1/transfers/{transfer}",
		"GET /admin/v1/mailboxes", "GET /admin/v1/mailboxes/{mailbox}",
		"GET /admin/v1/organizations", "GET /admin/v1/organizations/{organization}", "GET /admin/v1/organizations/{organization}/usage",
		"GET /admin/v1/organizations/{organization}/members"}
	operatorChanges = []string{
		"POST /admin/v1/mails/test", "POST /admin/v1/mails/retry",
		"POST /admin/v1/mails/{uid}/retry", "POST /admin/v1/jobs/{id}/retry", "POST /admin/v1/jobs/{id}/cancel",
		"PUT /admin/v1/maintenance", "POST /admin/v1/storage/checks", "POST /admin/v1/storage/checks/{check}/cancel",
		"POST /admin/v1/storage/accept", "POST /admin/v1/keys/rotate", "DELETE /admin/v1/keys/{kid}", "POST /admin/v1/keys/log/rotate",
		"POST /admin/v1/keys/log/revoke",
		"POST /admin/v1/people", "POST /admin/v1/transfers/{transfer}/inspect", "POST /admin/v1/transfers/{transfer}/erase-receipt",
		"POST /admin/v1/people/{person}/end-sessions", "POST /admin/v1/people/{person}/suspend", "POST /admin/v1/people/{person}/reactivate",
		"POST /admin/v1/holds", "POST /admin/v1/holds/{uid}/end", "POST /admin/v1/holds/{uid}/export",
		"POST /admin/v1/mailboxes/{mailbox}/suspend", "POST /admin/v1/mailboxes/{mailbox}/reactivate",
		"POST /admin/v1/people/{person}/reset-factors", "POST /admin/v1/people/{person}/verify",
		"POST /admin/v1/people/{person}/limits", "POST /admin/v1/people/{person}/export", "POST /admin/v1/people/{person}/delete",
		"POST /admin/v1/transfers/{transfer}/extend", "POST /admin/v1/transfers/{transfer}/revoke",
		"POST /admin/v1/mailboxes/{mailbox}/create", "POST /admin/v1/mailboxes/{mailbox}/end-reservations",
		"POST /admin/v1/organizations", "POST /admin/v1/organizations/{organization}/invitations",
		"POST /admin/v1/organizations/{organization}/set", "POST /admin/v1/organizations/{organization}/limits",
		"POST /admin/v1/organizations/{organization}/subscribe", "POST /admin/v1/organizations/{organization}/host",
		"POST /admin/v1/organizations/{organization}/set-member", "POST /admin/v1/organizations/{organization}/remove-member",
	}
)

// helpDesk are the routes of the console that the help desk may call, too. Auditors may read, and prove who they are.
var helpDesk = []string{"GET /admin/v1/session", "POST /admin/v1/session", "GET /admin/v1/overview", "GET /admin/v1/people",
	"GET /admin/v1/people/{person}", "POST /admin/v1/people/{person}/end-sessions", "POST /admin/v1/people/{person}/reset-factors",
	"GET /admin/v1/mails", "POST /admin/v1/mails/{uid}/retry"}

// authorization is the table of who may call which route. It repeats the route tables on purpose: opening a route
// takes two edits. Each rule begins with the callers that pass; callers defines their names.
var authorization = map[string][]string{
	"none garbage id signup mfa access unverified factorless cookie idcookie crossorigin pickup preflight uid reservation download": {
		"POST /id/v3/signup", "POST /id/v3/auth/exists", "POST /id/v3/auth/login", "POST /id/v3/auth/passkey/options",
		"GET /.well-known/webauthn", "GET /id/v3/.well-known/webauthn", "POST /id/v3/auth/reset", "POST /id/v3/auth/reset/{key}",
		"POST /id/v3/auth/undo/{key}", "POST /id/v3/device/authorization", "POST /id/v3/device/token",
		"GET /id/v3/auth/keys", "GET /id/v3/oidc/discovery", "GET /id/v3/.well-known/openid-configuration",
		"GET /id/v3/.well-known/oauth-authorization-server", "GET /.well-known/oauth-authorization-server",
		"GET /.well-known/oauth-authorization-server/id/v3",
		"GET /id/v3/environment", "GET /id/v3/.well-known/consign-environment", "GET /.well-known/consign-environment",
		"GET /id/v3/public/invitations/{key}", "GET /id/v3/public/invitations/{key}/logo",
		"GET /id/v3/assets/logo", "GET /id/v3/assets/theme", "GET /id/v3/i18n/{locale}",
		"POST /id/v3/oidc/auth", "POST /id/v3/oidc/auth/implicit", "POST /id/v3/oidc/auth/code", "POST /id/v3/oidc/auth/form",
		"GET /id/v3/oidc/auth/return/{key}",
		"GET /id/v3/oidc/auth/confirmation", "POST /id/v3/oidc/auth/confirmation", "DELETE /id/v3/oidc/auth/confirmation",
		"GET /id/v3/oidc/auth/logout",
		"GET /transfer/v2/public/mailbox/{key}", "HEAD /transfer/v2/public/mailbox/{key}", "POST /transfer/v2/public/mailbox/{key}",
		"GET /transfer/v2/public/mailbox/{key}/avatar", "GET /transfer/v2/public/mailbox/{key}/picture",
		"GET /transfer/v2/public/mailbox/{key}/qr", "GET /transfer/v2/public/mailboxgroup/{key}", "POST /transfer/v2/public/transfers/{key}/code",
		"OPTIONS /transfer/v2/reservations/{uid}/uploads", "OPTIONS /transfer/v2/reservations/{uid}/objects/{clientId}/upload",
		"OPTIONS /transfer/v2/reservations/{uid}/tus", "OPTIONS /transfer/v2/reservations/{uid}/objects/{clientId}/tus",
		"GET /transfer/v2/public/transfers/{key}/extension", "POST /transfer/v2/public/transfers/{key}/extension",
		"GET /transfer/v2/public/requests/{key}", "POST /transfer/v2/public/requests/{key}", "POST /transfer/v2/public/requests/{key}/handin",
		"GET /transfer/v2/public/requests/{key}/receipt", "GET /transfer/v2/public/receipts/{key}", "POST /transfer/v2/public/receipts/{key}",
		"GET /transfer/v2/public/receipts/{key}/receipt",
		"POST /transfer/v2/public/requests/{key}/parties",
	},
	"id signup idcookie": {"POST /id/v3/auth/access", "POST /id/v3/auth/upgrade", "POST /id/v3/auth/logout"},
	"id signup":          {"POST /id/v3/auth/session"},
	"id idcookie": {"GET /id/v3/auth", "GET /id/v3/auth/uses", "POST /id/v3/auth/park", "GET /id/v3/tokens", "POST /id/v3/tokens",
		"DELETE /id/v3/tokens/{uid}"},
	"id":        {"POST /id/v3/auth/uid"},
	"pickup":    {"GET /id/v3/auth/park"},
	"preflight": {"GET /id/v3/oidc/auth"},
	"access unverified factorless": {
		"GET /id/v3/profile", "POST /id/v3/profile/emails/{address}/verify", "POST /id/v3/confirm/{key}",
	},
	"access unverified": {"PUT /id/v3/profile", "DELETE /id/v3/profile", "GET /id/v3/profile/emails"},
	"access factorless": {
		"POST /id/v3/organizations/{uid}/leave",
		"GET /id/v3/profile/authenticators", "POST /id/v3/profile/authenticators", "GET /id/v3/profile/authenticators/{uid}",
		"PUT /id/v3/profile/authenticators/{uid}", "DELETE /id/v3/profile/authenticators/{uid}",
		"POST /id/v3/profile/authenticators/{uid}/verify",
		"POST /id/v3/profile/passkey/options",
	},
	"access cookie": {"GET /id/v3/profile/avatar", "GET /id/v3/organizations/{uid}/avatar", "GET /id/v3/organizations/{uid}/documents"},
	"access": {
		"GET /id/v3/events", "GET /id/v3/device/{code}", "POST /id/v3/device/{code}/approve", "POST /id/v3/device/{code}/refuse",
		"GET /id/v3/profile/audit", "GET /id/v3/profile/export", "POST /id/v3/profile/export",
		"GET /id/v3/webhooks", "POST /id/v3/webhooks", "GET /id/v3/webhooks/{uid}", "PUT /id/v3/webhooks/{uid}", "DELETE /id/v3/webhooks/{uid}",
		"POST /id/v3/webhooks/{uid}/rotate", "POST /id/v3/webhooks/{uid}/ping", "GET /id/v3/webhooks/{uid}/deliveries",
		"POST /id/v3/webhooks/{uid}/deliveries/{delivery}/send",
		"PUT /id/v3/profile/avatar", "DELETE /id/v3/profile/avatar",
		"POST /id/v3/profile/emails", "DELETE /id/v3/profile/emails/{address}", "POST /id/v3/profile/emails/{address}/primary",
		"GET /id/v3/invitations", "POST /id/v3/invitations/{key}/accept",
		"POST /id/v3/organizations", "GET /id/v3/organizations/{uid}", "DELETE /id/v3/organizations/{uid}",
		"GET /id/v3/organizations/{uid}/profile", "PUT /id/v3/organizations/{uid}/profile",
		"PUT /id/v3/organizations/{uid}/avatar", "DELETE /id/v3/organizations/{uid}/avatar",
		"PUT /id/v3/organizations/{uid}/security", "GET /id/v3/organizations/{uid}/uploadorigins", "PUT /id/v3/organizations/{uid}/uploadorigins",
		"GET /id/v3/organizations/{uid}/limits", "GET /id/v3/organizations/{uid}/audit", "GET /id/v3/organizations/{uid}/people",
		"POST /id/v3/organizations/{uid}/members/{person}/end-sessions",
		"PUT /id/v3/organizations/{uid}/theme", "DELETE /id/v3/organizations/{uid}/theme",
		"GET /id/v3/organizations/{uid}/members", "GET /id/v3/organizations/{uid}/members/{person}",
		"PUT /id/v3/organizations/{uid}/members/{person}", "DELETE /id/v3/organizations/{uid}/members/{person}",
		"GET /id/v3/organizations/{uid}/invitations", "POST /id/v3/organizations/{uid}/invitations",
		"DELETE /id/v3/organizations/{uid}/invitations/{key}",
		"GET /transfer/v2/mailbox", "PUT /transfer/v2/mailbox", "PUT /transfer/v2/mailbox/picture", "DELETE /transfer/v2/mailbox/picture",
		"DELETE /transfer/v2/mailbox",
		"GET /transfer/v2/mailbox/transfers", "GET /transfer/v2/mailbox/reservations", "DELETE /transfer/v2/mailbox/reservations/{uid}",
		"POST /transfer/v2/reservations",
		"GET /transfer/v2/mailboxgroups", "POST /transfer/v2/mailboxgroups",
		"GET /transfer/v2/mailboxgroups/{uid}", "PUT /transfer/v2/mailboxgroups/{uid}", "DELETE /transfer/v2/mailboxgroups/{uid}",
		"GET /transfer/v2/adminunit", "PUT /transfer/v2/adminunit", "GET /transfer/v2/usage",
		"GET /transfer/v2/adminunit/holds", "POST /transfer/v2/adminunit/holds",
		"POST /transfer/v2/adminunit/holds/{uid}/end", "POST /transfer/v2/adminunit/holds/{uid}/export",
		"GET /transfer/v2/adminunit/usage", "GET /transfer/v2/adminunit/mailboxes", "GET /transfer/v2/adminunit/transfers",
		"GET /transfer/v2/adminunit/transfers/{uid}",
		"POST /transfer/v2/adminunit/transfers/{uid}/extend", "POST /transfer/v2/adminunit/transfers/{uid}/revoke",
		"GET /transfer/v2/transfers", "GET /transfer/v2/transfers/{uid}", "PATCH /transfer/v2/transfers/{uid}",
		"DELETE /transfer/v2/transfers/{uid}",
		"GET /transfer/v2/transfers/{uid}/receipt", "GET /transfer/v2/transfers/{uid}/qr",
		"GET /transfer/v2/transfers/{uid}/objects/{objectUid}/thumbnail",
		"POST /transfer/v2/transfers/{uid}/recipients", "DELETE /transfer/v2/transfers/{uid}/recipients/{deliveryUid}",
		"POST /transfer/v2/transfers/{uid}/recipients/{deliveryUid}/resend", "POST /transfer/v2/transfers/{uid}/remind",
		"GET /transfer/v2/transfers/{uid}/activity", "POST /transfer/v2/transfers/{uid}/forward",
		"GET /transfer/v2/transfers/{uid}/objects/{objectUid}/content", "HEAD /transfer/v2/transfers/{uid}/objects/{objectUid}/content",
		"GET /transfer/v2/transfers/{uid}/archive", "HEAD /transfer/v2/transfers/{uid}/archive", "POST /transfer/v2/auth/otk",
		"GET /transfer/v2/requests", "POST /transfer/v2/requests", "GET /transfer/v2/requests/{uid}", "PATCH /transfer/v2/requests/{uid}",
		"DELETE /transfer/v2/requests/{uid}", "GET /transfer/v2/requests/{uid}/archive", "GET /transfer/v2/requests/{uid}/table",
		"GET /transfer/v2/requests/{uid}/availability", "POST /transfer/v2/requests/{uid}/remind", "POST /transfer/v2/requests/{uid}/otk",
		"POST /transfer/v2/requests/{uid}/parties",
		"PATCH /transfer/v2/requests/{uid}/parties/{party}", "POST /transfer/v2/requests/{uid}/parties/{party}/remind",
		"PATCH /transfer/v2/requests/{uid}/parties/{party}/items/{item}",
	},
	"none cookie idcookie crossorigin access": {"POST /transfer/v2/public/transfers/{key}/access"},
	"none id signup mfa access unverified factorless cookie idcookie crossorigin pickup preflight uid reservation download": {
		"GET /transfer/v2/environment", "GET /transfer/v2/public/transfers/{key}", "GET /transfer/v2/public/transfers/{key}/receipt",
	},
	"download": {
		"GET /transfer/v2/public/transfers/{key}/objects/{objectUid}/thumbnail",
		"POST /transfer/v2/public/transfers/{key}/otk",
		"GET /transfer/v2/public/transfers/{key}/objects/{objectUid}/content",
		"HEAD /transfer/v2/public/transfers/{key}/objects/{objectUid}/content",
		"GET /transfer/v2/public/transfers/{key}/archive", "HEAD /transfer/v2/public/transfers/{key}/archive",
	},
	"reservation": {"POST /transfer/v2/reservations/{uid}/code", "POST /transfer/v2/reservations/{uid}/verify"},
	"reservation access": {
		"GET /transfer/v2/reservations/{uid}/receipt",
		"GET /transfer/v2/reservations/{uid}", "PATCH /transfer/v2/reservations/{uid}", "DELETE /transfer/v2/reservations/{uid}",
		"POST /transfer/v2/reservations/{uid}/confirm", "POST /transfer/v2/reservations/{uid}/objects",
		"GET /transfer/v2/reservations/{uid}/objects/{clientId}", "DELETE /transfer/v2/reservations/{uid}/objects/{clientId}",
		"POST /transfer/v2/reservations/{uid}/tus", "HEAD /transfer/v2/reservations/{uid}/objects/{clientId}/tus",
		"POST /transfer/v2/reservations/{uid}/objects/{clientId}/tus",
		"POST /transfer/v2/reservations/{uid}/uploads", "HEAD /transfer/v2/reservations/{uid}/objects/{clientId}/upload",
		"GET /transfer/v2/reservations/{uid}/objects/{clientId}/upload",
		"PATCH /transfer/v2/reservations/{uid}/objects/{clientId}/upload", "DELETE /transfer/v2/reservations/{uid}/objects/{clientId}/upload",
		"PATCH /transfer/v2/reservations/{uid}/objects/{clientId}/tus", "DELETE /transfer/v2/reservations/{uid}/objects/{clientId}/tus",
		"POST /transfer/v2/reservations/{uid}/objects/{clientId}/parts", "GET /transfer/v2/reservations/{uid}/objects/{clientId}/parts",
		"PUT /transfer/v2/reservations/{uid}/objects/{clientId}/parts/{number}",
		"PUT /transfer/v2/reservations/{uid}/objects/{clientId}/content", "HEAD /transfer/v2/reservations/{uid}/objects/{clientId}/content",
	},
	"operator oldoperator": operators,
	"operator":             operatorChanges,
}

// passers returns the callers that may call a route; false when the table has no row for it.
func passers(route string) ([]string, bool) {
	for rule, routes := range authorization {
		if slices.Contains(routes, route) {
			return strings.Fields(rule), true
		}
	}
	return nil, false
}

// caller is one kind of credentials, and the code of a route that refuses them.
type caller struct {
	name, token string
	refusal     func(rule []string) int
}

// callers returns a caller for every kind of token.
func callers(t *testing.T, s *testkit.Server) []caller {
	t.Helper()
	issuer := token.NewIssuer(s.App.Keys, s.Config.PublicURL.String()+s.Identity, s.Config.ClaimNamespace, token.Lifetimes{
		ID: time.Hour, Signup: time.Hour, MFA: time.Hour, Access: time.Hour, Pickup: time.Hour, Preflight: time.Hour, Reservation: time.Hour,
		Download: time.Hour,
	}, s.Clock.Now)
	mint := func(kind token.Kind, change func(*token.Claims)) string {
		t.Helper()
		c := token.Claims{
			Person: id.New[id.Person](), Session: id.New[id.Session](), AuthLevel: 1, Email: "ann@example.com", EmailVerified: true, Epoch: 1,
			State: "state", Nonce: "state", Reservation: id.New[id.Reservation](), Delivery: id.New[id.Delivery](),
		}
		if change != nil {
			change(&c)
		}
		raw, err := issuer.Issue(t.Context(), kind, c)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	always := func(code int) func([]string) int { return func([]string) int { return code } }
	wrongKind := always(token.ErrKind.Code)
	// The right kind of token that lacks something else gets the code of what is missing.
	lacking := func(kind string, code int) func([]string) int {
		return func(rule []string) int {
			if slices.Contains(rule, kind) || kind == "access" && slices.Contains(rule, "operator") {
				return code
			}
			return token.ErrKind.Code
		}
	}
	elsewhere := func(rule []string) int {
		if slices.Contains(rule, "idcookie") {
			return token.ErrCrossOrigin.Code
		}
		return token.ErrMissing.Code
	}
	level0 := func(c *token.Claims) { c.AuthLevel, c.EmailVerified = 0, false }
	return []caller{
		{"none", "", always(token.ErrMissing.Code)},
		{"garbage", "garbage", always(token.ErrInvalid.Code)},
		{"id", mint(token.KindID, nil), wrongKind},
		{"signup", mint(token.KindID, level0), lacking("id", token.ErrUnverified.Code)}, // ID token of authLevel 0
		{"mfa", mint(token.KindMFA, nil), wrongKind},
		{"access", mint(token.KindAccess, nil), lacking("access", token.ErrNotOperator.Code)},
		{"unverified", mint(token.KindAccess, level0), lacking("access", token.ErrUnverified.Code)}, // authLevel 0
		{"factorless", mint(token.KindAccess, func(c *token.Claims) { c.FactorRequired = true }),
			lacking("access", token.ErrFactorRequired.Code)},
		{"cookie", mint(token.KindAccess, nil), always(token.ErrMissing.Code)}, // an access token in the cookie acct
		// an ID token in the session cookie, from a page of the same origin
		{"idcookie", mint(token.KindID, nil), always(token.ErrMissing.Code)},
		{"crossorigin", mint(token.KindID, nil), elsewhere}, // the same from elsewhere
		{"pickup", mint(token.KindPickup, nil), wrongKind},
		{"preflight", mint(token.KindPreflight, nil), wrongKind},
		{"uid", mint(token.KindUID, nil), wrongKind},
		{"reservation", mint(token.KindReservation, nil), wrongKind},
		{"download", mint(token.KindDownload, nil), wrongKind},
	}
}

// refusals are the codes of a refused caller. Whether the person, reservation or delivery exists is checked after
// that.
var refusals = []int{token.ErrMissing.Code, token.ErrInvalid.Code, token.ErrKind.Code, token.ErrUnverified.Code,
	token.ErrFactorRequired.Code, token.ErrCrossOrigin.Code,
	token.ErrNotOperator.Code, token.ErrOperatorFactor.Code, token.ErrOperatorSession.Code, token.ErrOperatorRole.Code}

// present makes one call as one caller.
func present(t *testing.T, s *testkit.Server, r httpapi.MountedRoute, path string, c caller) *testkit.Response {
	t.Helper()
	p := s.Stranger().As(c.token)
	switch c.name {
	case "cookie":
		p = s.Stranger().With("Cookie", token.CookieName+"="+c.token)
	case "idcookie":
		p = s.Stranger().With("Cookie", "id="+c.token).With("Sec-Fetch-Site", "same-origin").With("Origin", s.URL)
	case "crossorigin":
		p = s.Stranger().With("Cookie", "id="+c.token).With("Sec-Fetch-Site", "same-site").With("Origin", s.URL)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return p.With("Accept", "application/x-nothing").Do(r.Method, path, nil)
	}
	resp, err := p.Open(t.Context(), r.Method, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got := &testkit.Response{Status: resp.StatusCode, Header: resp.Header}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		if got.Body, err = io.ReadAll(resp.Body); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

var parameter = regexp.MustCompile(`\{[^}]*\}`)

// TestAuthorization calls every route with every kind of token, each signed by this server for a person that does not
// exist. For calls that change something the Accept header excludes what the route offers, so that a caller that
// passes gets no further.
func TestAuthorization(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	all := callers(t, s)
	seen := map[string]bool{}
	for _, r := range s.App.API.Routes() {
		name := r.Method + " " + r.Path
		seen[name] = true
		passing, ok := passers(name)
		if !ok {
			t.Errorf("%s, declared as %q, is not in the table authorization: say there who may call it", name, r.Auth)
			continue
		}
		path := parameter.ReplaceAllString(r.Path, id.New[id.Transfer]().String())
		for _, c := range all {
			got := present(t, s, r, path, c)
			result := code(got)
			refused := slices.Contains(refusals, result)
			if r.Method == http.MethodHead { // the answer to HEAD has no body
				refused = got.Status == http.StatusUnauthorized || got.Status == http.StatusForbidden
			}
			want := c.refusal(passing)
			if r.Auth.IgnoresOthers() && want == token.ErrKind.Code {
				want = token.ErrMissing.Code
			}
			switch {
			case slices.Contains(passing, c.name) && refused:
				t.Errorf("%s turns %s away with %d, but the table lets it pass", name, c.name, result)
			case !slices.Contains(passing, c.name) && !refused:
				t.Errorf("%s lets %s pass (%d), but the table does not", name, c.name, got.Status)
			case !slices.Contains(passing, c.name) && r.Method != http.MethodHead && result != want:
				t.Errorf("%s turns %s away with %d, want %d", name, c.name, result, want)
			}
		}
	}
	for _, routes := range authorization {
		for _, name := range routes {
			if !seen[name] {
				t.Errorf("%s is in the table authorization, but not mounted", name)
			}
		}
	}
}

// TestOperatorAuthorization calls every route of the console with the sessions of real people. TestAuthorization has the other tokens.
func TestOperatorAuthorization(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	operator, _ := s.SignUpOperator("olga@example.com")
	addOrganization(t, s, "org.test")
	addPerson(t, s, "ann@example.com", "org.test", identity.RoleOrganizationAdmin)
	ann := signIn(s.Stranger().With("Host", "org.test"), "ann@example.com")
	program := operator.As(operator.ID).Post(s.Identity+"/tokens",
		map[string]any{"name": "program", "scopes": []string{"organization:manage"}}).Want(http.StatusCreated)
	former, _ := s.SignUpOperator("fred@example.com")
	if err := s.App.Identity.RemoveOperator(t.Context(), testkit.Command, "fred@example.com"); err != nil {
		t.Fatal(err)
	}
	role := func(email string, r token.OperatorRole) string {
		p, _ := s.SignUpOperator(email)
		if err := s.App.Identity.AddOperator(t.Context(), testkit.Command, email, r); err != nil {
			t.Fatal(err)
		}
		return p.Access
	}
	auditor, desk := role("aud@example.com", token.RoleAuditor), role("hal@example.com", token.RoleHelpDesk)
	refusedRole := map[bool]int{false: token.ErrOperatorRole.Code}
	single := mintAccess(t, s, "olga@example.com", func(c *token.Claims) { c.AuthLevel = 1 })
	old := mintAccess(t, s, "olga@example.com", func(c *token.Claims) { c.AuthTime = s.Clock.Now().Add(-s.Config.YoungSession - time.Minute) })
	for _, r := range s.App.API.Routes() {
		name := r.Method + " " + r.Path
		changes := slices.Contains(operatorChanges, name)
		if r.Base != httpapi.OperatorBase {
			if r.Auth.IsOperator() {
				t.Errorf("%s is for operators, and not below %s", name, httpapi.OperatorBase)
			}
			continue
		}
		path := parameter.ReplaceAllString(r.Path, id.New[id.Transfer]().String())
		for _, c := range []struct {
			who  string
			raw  string
			want int // 0: passes
		}{
			{"the administrator of an organization", ann.Access, token.ErrNotOperator.Code},
			{"an operator with one factor", single, token.ErrOperatorFactor.Code},
			{"an operator of before", former.Access, token.ErrNotOperator.Code},
			{"an API token of an operator", program.String("token"), token.ErrNoScope.Code},
			{"an operator's ID token", operator.ID, token.ErrKind.Code},
			{"an operator with an old session", old, map[bool]int{true: token.ErrOperatorSession.Code}[changes]},
			{"an operator", operator.Access, 0},
			{"an auditor", auditor, refusedRole[r.Method == http.MethodGet || name == "POST /admin/v1/session"]},
			{"the help desk", desk, refusedRole[slices.Contains(helpDesk, name)]},
		} {
			got := code(present(t, s, r, path, caller{name: c.who, token: c.raw}))
			if refused := slices.Contains(append([]int{token.ErrNoScope.Code}, refusals...), got); refused != (c.want != 0) || refused &&
				got != c.want {
				t.Errorf("%s answers %s with %d, want %d", name, c.who, got, c.want)
			}
		}
	}
}

// mintAccess returns an access token of a person with two factors and a recent login, as change leaves its claims.
func mintAccess(t *testing.T, s *testkit.Server, email string, change func(*token.Claims)) string {
	t.Helper()
	p, err := s.App.Identity.ShowPerson(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	issuer := token.NewIssuer(s.App.Keys, s.Config.PublicURL.String()+s.Identity, s.Config.ClaimNamespace, token.Lifetimes{Access: time.Hour},
		s.Clock.Now)
	c := token.Claims{Person: p.UID, Session: id.New[id.Session](), AuthLevel: 2, AuthTime: s.Clock.Now(), Email: email, EmailVerified: true,
		Epoch: 100}
	change(&c)
	raw, err := issuer.Issue(t.Context(), token.KindAccess, c)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
