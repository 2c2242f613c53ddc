// Tests of each route with API tokens of each scope.

package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
)

// scopes is the table of which scopes of API tokens open which route. It repeats the route tables on purpose. A route that is in no row
// refuses every API token, unless it ignores tokens.
var scopes = map[string][]string{
	"mailbox:drop": {"POST /transfer/v2/public/mailbox/{key}"},
	"transfers:read": {
		"GET /id/v3/events", "GET /transfer/v2/mailbox/transfers",
		"GET /transfer/v2/transfers", "GET /transfer/v2/transfers/{uid}", "GET /transfer/v2/transfers/{uid}/receipt",
		"GET /transfer/v2/transfers/{uid}/qr", "GET /transfer/v2/transfers/{uid}/objects/{objectUid}/thumbnail",
		"GET /transfer/v2/transfers/{uid}/activity",
		"GET /transfer/v2/transfers/{uid}/objects/{objectUid}/content", "HEAD /transfer/v2/transfers/{uid}/objects/{objectUid}/content",
		"GET /transfer/v2/transfers/{uid}/archive", "HEAD /transfer/v2/transfers/{uid}/archive", "POST /transfer/v2/auth/otk",
	},
	"transfers:send": {
		"POST /transfer/v2/reservations", "GET /transfer/v2/reservations/{uid}", "PATCH /transfer/v2/reservations/{uid}",
		"DELETE /transfer/v2/reservations/{uid}",
		"POST /transfer/v2/reservations/{uid}/confirm", "GET /transfer/v2/reservations/{uid}/receipt",
		"POST /transfer/v2/reservations/{uid}/objects",
		"GET /transfer/v2/reservations/{uid}/objects/{clientId}", "DELETE /transfer/v2/reservations/{uid}/objects/{clientId}",
		"POST /transfer/v2/reservations/{uid}/objects/{clientId}/parts", "GET /transfer/v2/reservations/{uid}/objects/{clientId}/parts",
		"PUT /transfer/v2/reservations/{uid}/objects/{clientId}/parts/{number}",
		"PUT /transfer/v2/reservations/{uid}/objects/{clientId}/content", "HEAD /transfer/v2/reservations/{uid}/objects/{clientId}/content",
		"POST /transfer/v2/reservations/{uid}/tus", "HEAD /transfer/v2/reservations/{uid}/objects/{clientId}/tus",
		"PATCH /transfer/v2/reservations/{uid}/objects/{clientId}/tus", "DELETE /transfer/v2/reservations/{uid}/objects/{clientId}/tus",
		"POST /transfer/v2/reservations/{uid}/objects/{clientId}/tus",
		"POST /transfer/v2/reservations/{uid}/uploads", "HEAD /transfer/v2/reservations/{uid}/objects/{clientId}/upload",
		"GET /transfer/v2/reservations/{uid}/objects/{clientId}/upload",
		"PATCH /transfer/v2/reservations/{uid}/objects/{clientId}/upload",
		"DELETE /transfer/v2/reservations/{uid}/objects/{clientId}/upload",
		"DELETE /transfer/v2/transfers/{uid}",
		"POST /transfer/v2/transfers/{uid}/recipients", "DELETE /transfer/v2/transfers/{uid}/recipients/{deliveryUid}",
		"POST /transfer/v2/transfers/{uid}/recipients/{deliveryUid}/resend", "POST /transfer/v2/transfers/{uid}/remind",
	},
	// no single scope opens it
	"transfers:read+transfers:send": {"PATCH /transfer/v2/transfers/{uid}", "POST /transfer/v2/transfers/{uid}/forward"},
	"transfers:read transfers:send": {"GET /transfer/v2/usage"},
	"mailbox:manage": {
		"GET /transfer/v2/mailbox", "PUT /transfer/v2/mailbox", "DELETE /transfer/v2/mailbox", "PUT /transfer/v2/mailbox/picture",
		"DELETE /transfer/v2/mailbox/picture",
		"GET /transfer/v2/mailbox/reservations", "DELETE /transfer/v2/mailbox/reservations/{uid}",
	},
	"organization:read organization:manage": {
		"GET /id/v3/organizations/{uid}", "GET /id/v3/organizations/{uid}/profile", "GET /id/v3/organizations/{uid}/avatar",
		"GET /id/v3/organizations/{uid}/limits", "GET /id/v3/organizations/{uid}/uploadorigins", "GET /id/v3/organizations/{uid}/audit",
		"GET /id/v3/organizations/{uid}/people", "GET /id/v3/organizations/{uid}/documents",
		"GET /id/v3/organizations/{uid}/members", "GET /id/v3/organizations/{uid}/members/{person}", "GET /id/v3/organizations/{uid}/invitations",
		"GET /transfer/v2/mailboxgroups", "GET /transfer/v2/mailboxgroups/{uid}", "GET /transfer/v2/adminunit",
		"GET /transfer/v2/adminunit/usage", "GET /transfer/v2/adminunit/mailboxes", "GET /transfer/v2/adminunit/transfers",
		"GET /transfer/v2/adminunit/transfers/{uid}",
	},
	"webhooks": {
		"GET /id/v3/webhooks", "POST /id/v3/webhooks", "GET /id/v3/webhooks/{uid}", "PUT /id/v3/webhooks/{uid}", "DELETE /id/v3/webhooks/{uid}",
		"POST /id/v3/webhooks/{uid}/rotate", "POST /id/v3/webhooks/{uid}/ping", "GET /id/v3/webhooks/{uid}/deliveries",
		"POST /id/v3/webhooks/{uid}/deliveries/{delivery}/send",
	},
	"organization:manage": {
		"PUT /id/v3/organizations/{uid}/profile", "PUT /id/v3/organizations/{uid}/avatar", "DELETE /id/v3/organizations/{uid}/avatar",
		"PUT /id/v3/organizations/{uid}/theme", "DELETE /id/v3/organizations/{uid}/theme",
		"PUT /id/v3/organizations/{uid}/members/{person}", "POST /id/v3/organizations/{uid}/members/{person}/end-sessions",
		"DELETE /id/v3/organizations/{uid}/members/{person}",
		"POST /id/v3/organizations/{uid}/invitations", "DELETE /id/v3/organizations/{uid}/invitations/{key}",
		"POST /transfer/v2/mailboxgroups", "PUT /transfer/v2/mailboxgroups/{uid}", "DELETE /transfer/v2/mailboxgroups/{uid}",
		"PUT /transfer/v2/adminunit",
	},
	"requests:read requests:manage": {
		"GET /transfer/v2/requests", "GET /transfer/v2/requests/{uid}", "GET /transfer/v2/requests/{uid}/archive",
		"POST /transfer/v2/requests/{uid}/otk",
		"GET /transfer/v2/requests/{uid}/table", "GET /transfer/v2/requests/{uid}/availability",
	},
	"requests:manage": {
		"POST /transfer/v2/requests", "PATCH /transfer/v2/requests/{uid}", "DELETE /transfer/v2/requests/{uid}",
		"POST /transfer/v2/requests/{uid}/parties", "PATCH /transfer/v2/requests/{uid}/parties/{party}",
		"POST /transfer/v2/requests/{uid}/parties/{party}/remind", "POST /transfer/v2/requests/{uid}/remind",
		"PATCH /transfer/v2/requests/{uid}/parties/{party}/items/{item}",
	},
	"transfers:read organization:read organization:manage": {"GET /id/v3/profile"},
	"mailbox:drop transfers:read transfers:send mailbox:manage organization:read organization:manage webhooks requests:read requests:manage": {
		"GET /transfer/v2/environment"},
}

// opening returns the scopes that open a route.
func opening(route string) []string {
	for list, routes := range scopes {
		if slices.Contains(routes, route) {
			return strings.Fields(list)
		}
	}
	return nil
}

// TestScopes calls every route with an API token of each scope. For calls that change something the Accept header excludes what the
// route offers, as in TestAuthorization.
func TestScopes(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann"}).Want(http.StatusCreated)
	tokens := map[string]string{}
	for _, scope := range token.Scopes {
		body := map[string]any{"name": "program", "scopes": []string{string(scope)}}
		if scope == token.ScopeMailboxDrop {
			body["mailboxes"] = []string{"ann"}
		}
		tokens[string(scope)] = ann.As(ann.ID).Post(s.Identity+"/tokens", body).Want(http.StatusCreated).String("token")
	}
	refusals := append(slices.Clone(refusals), token.ErrScope.Code, token.ErrNoScope.Code)
	seen := map[string]bool{}
	for _, r := range s.App.API.Routes() {
		name := r.Method + " " + r.Path
		seen[name] = true
		need := opening(name)
		path := parameter.ReplaceAllString(r.Path, id.New[id.Transfer]().String())
		for scope, raw := range tokens {
			got := present(t, s, r, path, caller{name: scope, token: raw})
			result := code(got)
			refused := slices.Contains(refusals, result) || r.Method == http.MethodHead &&
				(got.Status == http.StatusUnauthorized || got.Status == http.StatusForbidden)
			want := token.ErrNoScope.Code
			if len(need) > 0 {
				want = token.ErrScope.Code
			}
			passes := slices.Contains(need, scope) || r.Auth == token.None
			switch {
			case passes && refused:
				t.Errorf("%s turns %s away with %d, but the table lets it pass", name, scope, result)
			case passes || r.Method == http.MethodHead && refused:
			case r.Auth.IgnoresOthers(): // the token counts as none
				if refused != !slices.Contains(mustPass(t, name), "none") {
					t.Errorf("%s answers %s with %d, unlike a request without token", name, scope, result)
				}
			case result != want:
				t.Errorf("%s answers %s with %d, want %d", name, scope, result, want)
			case want == token.ErrScope.Code && got.Header.Get("WWW-Authenticate") != `Bearer error="insufficient_scope", scope="`+
				strings.ReplaceAll(strings.Join(need, " "), "+", " ")+`"`:
				t.Errorf("%s: WWW-Authenticate is %q", name, got.Header.Get("WWW-Authenticate"))
			}
		}
	}
	for _, routes := range scopes {
		for _, name := range routes {
			if !seen[name] {
				t.Errorf("%s is in the table scopes, but not mounted", name)
			}
		}
	}
}

func mustPass(t *testing.T, route string) []string {
	t.Helper()
	list, ok := passers(route)
	if !ok {
		t.Errorf("%s is not in the table authorization", route)
	}
	return list
}

// TestScopesAreDocumented compares the scopes of the route tables with those of the OpenAPI documents.
func TestScopesAreDocumented(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	documents := testkit.LoadDocuments(t, s.Identity, s.Transfer)
	for _, r := range s.App.API.Routes() {
		item := documents[r.Base]
		if item == nil || item.Paths.Value(r.Pattern) == nil || item.Paths.Value(r.Pattern).GetOperation(r.Method) == nil {
			continue
		}
		var want, got []string
		for _, scope := range r.Auth.Scopes() {
			want = append(want, string(scope))
		}
		if security := item.Paths.Value(r.Pattern).GetOperation(r.Method).Security; security != nil {
			for _, one := range *security {
				got = append(got, one["apiToken"]...)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s%s %s: the document must name the scopes %s", r.Base, r.Pattern, r.Method, strings.Join(want, ", "))
		}
	}
}
