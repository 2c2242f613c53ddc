// Package handler is the HTTP of the identity API: the route table, the wire form of requests and answers, and nothing
// that decides. Each handler decodes, calls the service, responds.
package handler

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/i18n"
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
	Events      httpapi.HandlerFunc // GET /events
	Catalog     *i18n.Catalog
	PublicURL   *url.URL
	BasePath    string // of the identity API
	IssuerURL   string // the iss claim
	AvatarBytes int    // of an uploaded picture at most

	Installation Installation // what GET /environment says of it
}

// Handler serves the identity API.
type Handler struct {
	service     *service.Service
	keys        *token.KeyRing
	verify      func(ctx context.Context, raw string) (token.Caller, error)
	buckets     *httpapi.Buckets
	hosts       *hosts.Directory
	events      httpapi.HandlerFunc
	catalog     *i18n.Catalog
	secure      bool
	base        string
	discovered  discoveryResponse
	avatarBytes int

	installation Installation
}

// New makes a Handler.
func New(o Options) *Handler {
	return &Handler{
		service: o.Service, keys: o.Keys, verify: o.Verify, buckets: o.Buckets, hosts: o.Hosts, events: o.Events,
		catalog: o.Catalog, secure: o.PublicURL.Scheme == "https", base: o.BasePath, discovered: discover(o.IssuerURL),
		avatarBytes: o.AvatarBytes, installation: o.Installation,
	}
}

// The buckets of "Limits" and contract 1.7 and 7. The login bucket is one for all types of an address; second factors fill
// one of their person's as well. The email calls have one each. The credential bucket counts guesses at one's own
// authenticators, the address bucket mails to addresses that are nobody's yet, the inbox bucket those to one such address,
// added, invited or signed up with. The failed-login bucket counts what a client address has guessed of anybody's, the
// kept-session bucket sessions beside the one they come from, each of which has a general bucket of its own.
var (
	loginBucket        = ratelimit.Bucket{Name: "login", Limit: ratelimit.Limit{Capacity: 3, PerSecond: ratelimit.Every(15 * time.Second)}, By: ratelimit.ByEmail, Essential: true}
	failedLoginBucket  = ratelimit.Bucket{Name: "failed-login", Limit: ratelimit.Limit{Capacity: 60, PerSecond: 1}, By: ratelimit.ByAddress}
	factorBucket       = ratelimit.Bucket{Name: "second-factor", Limit: loginBucket.Limit, By: ratelimit.ByPerson, Essential: true}
	verificationBucket = ratelimit.Bucket{Name: "verification", Limit: ratelimit.Limit{Capacity: 1, PerSecond: ratelimit.Every(time.Minute)}, By: ratelimit.ByPerson, Essential: true, Refusal: identity.ErrEmailTooOften}
	confirmationBucket = ratelimit.Bucket{Name: "confirmation", Limit: ratelimit.Limit{Capacity: 1, PerSecond: ratelimit.Every(time.Minute)}, By: ratelimit.ByPerson, Essential: true, Refusal: identity.ErrEmailTooOften}
	resetBucket        = ratelimit.Bucket{Name: "reset", Limit: ratelimit.Limit{Capacity: 3, PerSecond: ratelimit.Every(time.Minute)}, By: ratelimit.ByEmail, Essential: true}
	addressBucket      = ratelimit.Bucket{Name: "address-added", Limit: ratelimit.Limit{Capacity: 100, PerSecond: ratelimit.Every(time.Minute)}, By: ratelimit.ByPerson, Essential: true}
	inboxBucket        = ratelimit.Bucket{Name: "inbox", Limit: ratelimit.Limit{Capacity: 10, PerSecond: ratelimit.Every(time.Minute)}, By: ratelimit.ByPerson, Essential: true}
	keptSessionBucket  = ratelimit.Bucket{Name: "kept-session", Limit: ratelimit.Limit{Capacity: 60, PerSecond: ratelimit.Every(time.Minute)}, By: ratelimit.ByPerson, Essential: true}
	credentialBucket   = ratelimit.Bucket{Name: "credential", Limit: ratelimit.Limit{Capacity: 10, PerSecond: ratelimit.Every(15 * time.Second)}, By: ratelimit.ByPerson, Essential: true}
	invitationBucket   = ratelimit.Bucket{Name: "invitation", Limit: ratelimit.Limit{Capacity: 100, PerSecond: ratelimit.Every(time.Minute)}, By: ratelimit.ByPerson, Essential: true}

	accountLimit = ratelimit.Limit{Capacity: 20, PerSecond: ratelimit.Every(10 * time.Second)}
)

// Routes is the identity API, below its base path: accounts and sessions, profiles, organizations, and what clients start
// with.
func (h *Handler) Routes() []httpapi.Route {
	return slices.Concat(h.accountRoutes(), h.profileRoutes(), h.externalRoutes(), h.organizationRoutes(), h.publicRoutes())
}

// accountRoutes are those of a person and its sessions.
func (h *Handler) accountRoutes() []httpapi.Route {
	anyone, id := token.None, token.NeedID
	access, self := token.NeedAccess, token.NeedAccess.Unverified().WithoutFactor()
	signup, exists := httpapi.PerAddress("signup", accountLimit), httpapi.PerAddress("exists", accountLimit)
	return []httpapi.Route{
		{Method: "POST", Pattern: "/signup", Auth: anyone, Bucket: signup, Handler: h.signUp},
		{Method: "GET", Pattern: "/oidc/discovery", Auth: anyone, Handler: h.getDiscovery},
		{Method: "GET", Pattern: openIDConfiguration, Auth: anyone, Handler: h.getDiscovery},
		{Method: "GET", Pattern: "/auth/keys", Auth: anyone, Handler: h.listKeys},
		{Method: "POST", Pattern: "/auth/exists", Auth: anyone, Bucket: exists, Handler: h.findProvider},
		{Method: "POST", Pattern: "/auth/login", Auth: anyone, Bucket: httpapi.OwnBucket, Handler: h.logIn},
		{Method: "GET", Pattern: "/auth", Auth: id.Verified(), Handler: h.listSessions},
		{Method: "POST", Pattern: "/auth/uid", Auth: id.Verified(), Handler: h.createUIDToken},
		{Method: "POST", Pattern: "/auth/upgrade", Auth: id, Handler: h.upgradeToken},
		{Method: "POST", Pattern: "/auth/park", Auth: id.Verified(), Handler: h.parkSession},
		{Method: "GET", Pattern: "/auth/park", Auth: token.NeedPickup, Handler: h.pickUpSession, Once: true},
		{Method: "POST", Pattern: "/auth/access", Auth: id, Handler: h.createAccessToken},
		{Method: "POST", Pattern: "/auth/logout", Auth: id, Handler: h.logOut},
		{Method: "POST", Pattern: "/auth/reset", Auth: anyone, Handler: h.requestReset},
		{Method: "POST", Pattern: "/auth/reset/{key}", Auth: anyone, Handler: h.resetPassword},
		{Method: "POST", Pattern: "/confirm/{key}", Auth: self, Bucket: httpapi.OwnBucket, Handler: h.confirmAddress},
		{Method: "GET", Pattern: "/events", Auth: access, Handler: h.events, Produces: []string{"text/event-stream"}},
	}
}

// profileRoutes are those of what a person may change about itself.
func (h *Handler) profileRoutes() []httpapi.Route {
	access, readable := token.NeedAccess, token.NeedAccess.WithCookie()
	open, factor := access.Unverified(), access.WithoutFactor()
	const avatar, emails, address = "/profile/avatar", "/profile/emails", "/profile/emails/{address}"
	const authenticators, authenticator = "/profile/authenticators", "/profile/authenticators/{uid}"
	picture := httpapi.Body(h.avatarBytes)
	return []httpapi.Route{
		{Method: "GET", Pattern: "/profile", Auth: open.WithoutFactor(), Handler: h.getProfile},
		{Method: "PUT", Pattern: "/profile", Auth: open, Handler: h.putProfile},
		{Method: "DELETE", Pattern: "/profile", Auth: open, Handler: h.deleteProfile},
		{Method: "GET", Pattern: avatar, Auth: readable, Handler: h.getProfileAvatar, Produces: []string{typeJPEG}},
		{Method: "PUT", Pattern: avatar, Auth: access, Handler: h.putProfileAvatar, Body: picture, Produces: []string{typeJPEG}},
		{Method: "DELETE", Pattern: avatar, Auth: access, Handler: h.deleteProfileAvatar},
		{Method: "GET", Pattern: emails, Auth: open, Handler: h.listEmails},
		{Method: "POST", Pattern: emails, Auth: access, Bucket: httpapi.OwnBucket, Handler: h.createEmail},
		{Method: "DELETE", Pattern: address, Auth: access, Handler: h.deleteEmail},
		{Method: "POST", Pattern: address + "/primary", Auth: access, Handler: h.makePrimary},
		{Method: "POST", Pattern: address + "/verify", Auth: open.WithoutFactor(), Bucket: httpapi.OwnBucket, Handler: h.requestVerification},
		{Method: "GET", Pattern: authenticators, Auth: factor, Handler: h.listAuthenticators},
		{Method: "POST", Pattern: authenticators, Auth: factor, Handler: h.createAuthenticator},
		{Method: "GET", Pattern: authenticator, Auth: factor, Handler: h.getAuthenticator},
		{Method: "PUT", Pattern: authenticator, Auth: factor, Handler: h.putAuthenticator},
		{Method: "DELETE", Pattern: authenticator, Auth: factor, Handler: h.deleteAuthenticator},
		{Method: "POST", Pattern: authenticator + "/verify", Auth: factor, Handler: h.verifyAuthenticator},
	}
}

// externalRoutes are those of logins at external providers. What a browser sends on a provider's behalf asks for no
// media type in particular.
func (h *Handler) externalRoutes() []httpapi.Route {
	anyone, browser := token.None, []string{httpapi.AnyType}
	return []httpapi.Route{
		{Method: "POST", Pattern: "/oidc/auth/implicit", Auth: anyone, Handler: h.logInImplicit},
		{Method: "POST", Pattern: "/oidc/auth/code", Auth: anyone, Handler: h.logInCode},
		{Method: "POST", Pattern: "/oidc/auth", Auth: anyone, Handler: h.registerState},
		{Method: "POST", Pattern: "/oidc/auth/form", Auth: anyone, Handler: h.storeFormPost, Produces: browser},
		{Method: "GET", Pattern: "/oidc/auth", Auth: token.NeedPreflight, Handler: h.claimState, Once: true},
		{Method: "GET", Pattern: "/oidc/auth/logout", Auth: anyone, Handler: h.logOutExternal, Once: true, Produces: browser},
	}
}

// organizationRoutes are those of organizations, their members, invitations and documents.
func (h *Handler) organizationRoutes() []httpapi.Route {
	access, readable := token.NeedAccess, token.NeedAccess.WithCookie()
	const one = "/organizations/{uid}"
	picture := httpapi.Body(h.avatarBytes)
	return []httpapi.Route{
		{Method: "GET", Pattern: "/invitations", Auth: access, Handler: h.listMyInvitations},
		{Method: "POST", Pattern: "/invitations/{key}/accept", Auth: access, Handler: h.acceptInvitation},
		{Method: "POST", Pattern: "/organizations", Auth: access, Handler: h.createOrganization},
		{Method: "GET", Pattern: one, Auth: access, Handler: h.getOrganization},
		{Method: "DELETE", Pattern: one, Auth: access, Handler: h.deleteOrganization},
		{Method: "POST", Pattern: one + "/leave", Auth: access.WithoutFactor(), Handler: h.leaveOrganization},
		{Method: "GET", Pattern: one + "/profile", Auth: access, Handler: h.getOrganizationProfile},
		{Method: "PUT", Pattern: one + "/profile", Auth: access, Handler: h.putOrganizationProfile},
		{Method: "GET", Pattern: one + "/avatar", Auth: readable, Handler: h.getOrganizationAvatar, Produces: []string{typeJPEG}},
		{Method: "PUT", Pattern: one + "/avatar", Auth: access, Handler: h.putOrganizationAvatar, Body: picture, Produces: []string{typeJPEG}},
		{Method: "DELETE", Pattern: one + "/avatar", Auth: access, Handler: h.deleteOrganizationAvatar},
		{Method: "PUT", Pattern: one + "/theme", Auth: access, Handler: h.putTheme},
		{Method: "DELETE", Pattern: one + "/theme", Auth: access, Handler: h.deleteTheme},
		{Method: "GET", Pattern: one + "/documents", Auth: readable, Handler: h.getDocument, Produces: []string{typePDF}},
		{Method: "GET", Pattern: one + "/members", Auth: access, Handler: h.listMembers},
		{Method: "GET", Pattern: one + "/members/{person}", Auth: access, Handler: h.getMember},
		{Method: "PUT", Pattern: one + "/members/{person}", Auth: access, Handler: h.putMember},
		{Method: "DELETE", Pattern: one + "/members/{person}", Auth: access, Handler: h.deleteMember},
		{Method: "GET", Pattern: one + "/invitations", Auth: access, Handler: h.listInvitations},
		{Method: "POST", Pattern: one + "/invitations", Auth: access, Bucket: httpapi.OwnBucket, Handler: h.createInvitation},
		{Method: "DELETE", Pattern: one + "/invitations/{key}", Auth: access, Handler: h.deleteInvitation},
	}
}

// publicRoutes are those that a client calls before anybody has signed in.
func (h *Handler) publicRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: "GET", Pattern: "/environment", Auth: token.None, Bucket: httpapi.NoBucket, Handler: h.getEnvironment},
		{Method: "GET", Pattern: environmentPath, Auth: token.None, Bucket: httpapi.NoBucket, Handler: h.getEnvironment},
		{Method: "GET", Pattern: "/i18n/{locale}", Auth: token.None, Handler: h.getBundle, Produces: []string{"application/json", typePO}},
		{Method: "GET", Pattern: "/assets/logo", Auth: token.None, Handler: h.getLogo, Produces: []string{typeJPEG}},
		{Method: "GET", Pattern: "/assets/theme", Auth: token.None, Handler: h.getTheme},
	}
}

// RootRoutes are served at the root of each host.
func (h *Handler) RootRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: "GET", Pattern: openIDConfiguration, Auth: token.None, Handler: h.getDiscovery},
		{Method: "GET", Pattern: environmentPath, Auth: token.None, Bucket: httpapi.NoBucket, Handler: h.getEnvironment},
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
