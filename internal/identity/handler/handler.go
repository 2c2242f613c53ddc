// Package handler is the HTTP of the identity API: the route table, the wire form of requests and answers, and nothing
// that decides. Each handler decodes, calls the service, responds.
package handler

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
)

// Options are what a Handler is built from; all are required.
type Options struct {
	Service     *service.Service
	Keys        *token.KeyRing
	Verify      func(ctx context.Context, raw string) (token.Caller, error) // token.Verifier's method
	Buckets     *httpapi.Buckets
	Hosts       *hosts.Directory
	Events      httpapi.HandlerFunc                // GET /events
	MatchLocale func(acceptLanguage string) string // i18n.Catalog's method
	PublicURL   *url.URL
	BasePath    string // of the identity API
	IssuerURL   string // the iss claim
}

// Handler serves the identity API.
type Handler struct {
	service     *service.Service
	keys        *token.KeyRing
	verify      func(ctx context.Context, raw string) (token.Caller, error)
	buckets     *httpapi.Buckets
	hosts       *hosts.Directory
	events      httpapi.HandlerFunc
	matchLocale func(acceptLanguage string) string
	secure      bool
	base        string
	discovered  discovery
}

// New makes a Handler.
func New(o Options) *Handler {
	return &Handler{
		service: o.Service, keys: o.Keys, verify: o.Verify, buckets: o.Buckets, hosts: o.Hosts, events: o.Events,
		matchLocale: o.MatchLocale, secure: o.PublicURL.Scheme == "https", base: o.BasePath, discovered: discover(o.IssuerURL),
	}
}

// The buckets of "Limits" and contract 1.7 and 7. The login bucket is one for all types of an address; the email calls
// have one each.
var (
	loginBucket        = ratelimit.Bucket{Name: "login", Limit: ratelimit.Limit{Capacity: 3, PerSecond: ratelimit.Every(15 * time.Second)}, By: ratelimit.ByEmail, Essential: true}
	verificationBucket = ratelimit.Bucket{Name: "verification", Limit: ratelimit.Limit{Capacity: 1, PerSecond: ratelimit.Every(time.Minute)}, By: ratelimit.ByPerson, Essential: true, Refusal: identity.ErrEmailTooOften}
	confirmationBucket = ratelimit.Bucket{Name: "confirmation", Limit: ratelimit.Limit{Capacity: 1, PerSecond: ratelimit.Every(time.Minute)}, By: ratelimit.ByPerson, Essential: true, Refusal: identity.ErrEmailTooOften}
	resetBucket        = ratelimit.Bucket{Name: "reset", Limit: ratelimit.Limit{Capacity: 3, PerSecond: ratelimit.Every(time.Minute)}, By: ratelimit.ByEmail, Essential: true}

	accountLimit = ratelimit.Limit{Capacity: 20, PerSecond: ratelimit.Every(10 * time.Second)}
)

// Routes is the identity API, below its base path.
func (h *Handler) Routes() []httpapi.Route {
	anyone, id := token.None, token.NeedID
	access, self := token.NeedAccess, token.NeedAccess.Unverified().WithoutFactor()
	signup, exists := httpapi.PerAddress("signup", accountLimit), httpapi.PerAddress("exists", accountLimit)
	return []httpapi.Route{
		{Method: "POST", Pattern: "/signup", Auth: anyone, Bucket: signup, Handler: h.signUp},
		{Method: "GET", Pattern: "/oidc/discovery", Auth: anyone, Handler: h.readDiscovery},
		{Method: "GET", Pattern: openIDConfiguration, Auth: anyone, Handler: h.readDiscovery},
		{Method: "GET", Pattern: "/auth/keys", Auth: anyone, Handler: h.listKeys},
		{Method: "POST", Pattern: "/auth/exists", Auth: anyone, Bucket: exists, Handler: h.findProvider},
		{Method: "POST", Pattern: "/auth/login", Auth: anyone, Bucket: httpapi.OwnBucket, Handler: h.logIn},
		{Method: "GET", Pattern: "/auth", Auth: id.Verified(), Handler: h.listSessions},
		{Method: "POST", Pattern: "/auth/uid", Auth: id.Verified(), Handler: h.createUIDToken},
		{Method: "POST", Pattern: "/auth/upgrade", Auth: id, Handler: h.upgradeToken},
		{Method: "POST", Pattern: "/auth/park", Auth: id.Verified(), Handler: h.parkSession},
		{Method: "GET", Pattern: "/auth/park", Auth: token.NeedPickup, Handler: h.pickUpSession},
		{Method: "POST", Pattern: "/auth/access", Auth: id, Handler: h.createAccessToken},
		{Method: "POST", Pattern: "/auth/logout", Auth: id, Handler: h.logOut},
		{Method: "POST", Pattern: "/auth/reset", Auth: anyone, Handler: h.requestReset},
		{Method: "POST", Pattern: "/auth/reset/{key}", Auth: anyone, Handler: h.resetPassword},
		{Method: "GET", Pattern: "/profile", Auth: self, Handler: h.readProfile},
		{Method: "POST", Pattern: "/profile/emails/{address}/verify", Auth: self, Bucket: httpapi.OwnBucket, Handler: h.requestVerification},
		{Method: "POST", Pattern: "/confirm/{key}", Auth: self, Bucket: httpapi.OwnBucket, Handler: h.confirmAddress},
		{Method: "GET", Pattern: "/events", Auth: access, Handler: h.events, Produces: []string{"text/event-stream"}},
	}
}

// RootRoutes are served at the root of each host.
func (h *Handler) RootRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: "GET", Pattern: openIDConfiguration, Auth: token.None, Handler: h.readDiscovery},
	}
}

// tokenResponse is the body of every answer that hands out a token.
type tokenResponse struct {
	Token string `json:"token"`
}

// handOut answers with a token in the body and, as the specification has it for all but access, uid and pickup tokens,
// in the Authorization header.
func handOut(w http.ResponseWriter, raw string) error {
	httpapi.Bearer(w, raw)
	return httpapi.JSON(w, http.StatusOK, tokenResponse{Token: raw})
}

// queryOne returns a query parameter that may be given once; nil if it is absent.
func queryOne(q url.Values, problems *fault.Problems, name string) *string {
	values, ok := q[name]
	if !ok {
		return nil
	}
	if len(values) > 1 {
		problems.Add(name, "is given more than once")
	}
	return &values[0]
}

// queryBool returns a boolean query parameter, false if it is absent.
func queryBool(q url.Values, problems *fault.Problems, name string) bool {
	v := queryOne(q, problems, name)
	switch {
	case v == nil || *v == "false":
		return false
	case *v == "true":
		return true
	}
	problems.Add(name, "is neither true nor false")
	return false
}
