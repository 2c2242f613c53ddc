// Package handler serves the identity API: the route table, and the JSON form of requests and answers. A handler decodes
// the request, calls the service and answers. The rules are in identity/service.
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
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
)

// Options holds what New needs. All fields are required.
type Options struct {
	Service *service.Service
	Keys    *token.KeyRing
	Verify  func(ctx context.Context, raw string) (token.Caller, error) // the method of token.Verifier
	Buckets *httpapi.Buckets
	Hosts   *hosts.Directory
	Events  httpapi.HandlerFunc // GET /events
	// Export writes the zip of GET /profile/export.
	Export      ExportFunc
	Catalog     *i18n.Catalog
	PublicURL   *url.URL
	BasePath    string // of the identity API, for Location and Link headers
	IssuerURL   string // the iss claim of tokens
	AvatarBytes int    // size limit of an uploaded picture
	Sealer      *seal.Sealer
	Device      time.Duration // life of the device cookie

	NetworkShare int // percent of the mails a day to one address that one client network may cause

	Installation Installation // shown by GET /environment
}

// Handler serves the identity API.
type Handler struct {
	service     *service.Service
	keys        *token.KeyRing
	verify      func(ctx context.Context, raw string) (token.Caller, error)
	buckets     *httpapi.Buckets
	hosts       *hosts.Directory
	events      httpapi.HandlerFunc
	exports     exports
	catalog     *i18n.Catalog
	secure      bool   // cookies are Secure
	cookie      string // name of the session cookie
	publicHost  string // PUBLIC_URL's
	base        string
	discovered  discoveryResponse
	avatarBytes int
	devices     devices

	verifyAskerBucket, inviteAskerBucket, resetAskerBucket ratelimit.Bucket // mails to one address that one client network causes

	installation Installation
}

// New returns a Handler.
func New(o Options) *Handler {
	secure := httpapi.SecureCookies(o.PublicURL)
	return &Handler{
		service: o.Service, keys: o.Keys, verify: o.Verify, buckets: o.Buckets, hosts: o.Hosts, events: o.Events,
		exports: exports{write: o.Export},
		catalog: o.Catalog, secure: secure, cookie: SessionCookie(o.PublicURL), publicHost: hosts.Normalize(o.PublicURL.Hostname()),
		base: o.BasePath, discovered: discoveryFrom(o.IssuerURL),
		avatarBytes: o.AvatarBytes, installation: o.Installation,
		devices:           devices{box: o.Sealer.Box(devicePurpose), life: o.Device, secure: secure},
		verifyAskerBucket: askerBucket(verifyMailBucket, o.NetworkShare), resetAskerBucket: askerBucket(resetMailBucket, o.NetworkShare),
		inviteAskerBucket: askerBucket(inviteMailBucket, o.NetworkShare),
	}
}

// Routes returns the route table, with patterns relative to the base path.
func (h *Handler) Routes() []httpapi.Route {
	return slices.Concat(h.accountRoutes(), h.profileRoutes(), h.deviceRoutes(), h.externalRoutes(), h.organizationRoutes(), h.publicRoutes())
}

// accountRoutes holds signup, login, tokens and sessions.
func (h *Handler) accountRoutes() []httpapi.Route {
	anyone, id, cookie := token.None, token.NeedID, token.NeedID.WithSessionCookie()
	access, self := token.NeedAccess, token.NeedAccess.Unverified().WithoutFactor()
	signup, exists := httpapi.PerAddress("signup", accountLimit), httpapi.PerAddress("exists", accountLimit)
	passkeys := httpapi.PerAddress("passkey-options", ratelimit.Limit{Capacity: 60, PerSecond: 1})
	return []httpapi.Route{
		{Method: "POST", Pattern: "/signup", Auth: anyone, Bucket: signup, Handler: h.signUp, Grows: true},
		{Method: "GET", Pattern: "/oidc/discovery", Auth: anyone, Handler: h.getDiscovery},
		{Method: "GET", Pattern: openIDConfiguration, Auth: anyone, Handler: h.getOpenIDConfiguration},
		{Method: "GET", Pattern: authorizationServer, Auth: anyone, Handler: h.getAuthorizationServer},
		{Method: "GET", Pattern: "/auth/keys", Auth: anyone, Handler: h.listKeys},
		{Method: "POST", Pattern: "/auth/exists", Auth: anyone, Bucket: exists, Handler: h.findProvider},
		{Method: "POST", Pattern: "/auth/login", Auth: anyone, Bucket: httpapi.OwnBucket, Handler: h.logIn, SignIn: true},
		{Method: "POST", Pattern: "/auth/passkey/options", Auth: anyone, Bucket: passkeys, Handler: h.createPasskeyOptions, SignIn: true},
		{Method: "GET", Pattern: "/auth", Auth: cookie.Verified(), Handler: h.listSessions},
		{Method: "GET", Pattern: "/auth/uses", Auth: cookie.Verified(), Handler: h.listSessionUses},
		{Method: "POST", Pattern: "/auth/uid", Auth: id.Verified(), Handler: h.createUIDToken},
		{Method: "POST", Pattern: "/auth/upgrade", Auth: cookie, Handler: h.upgradeToken},
		{Method: "POST", Pattern: "/auth/park", Auth: cookie.Verified(), Handler: h.parkSession},
		{Method: "GET", Pattern: "/auth/park", Auth: token.NeedPickup, Handler: h.pickUpSession, Once: true},
		{Method: "POST", Pattern: "/auth/access", Auth: cookie, Handler: h.createAccessToken, SignIn: true},
		{Method: "POST", Pattern: "/auth/session", Auth: id, Handler: h.keepSession, SignIn: true},
		{Method: "POST", Pattern: "/auth/logout", Auth: cookie, Handler: h.logOut, SignIn: true},
		{Method: "GET", Pattern: "/tokens", Auth: cookie.Verified(), Handler: h.listAPITokens},
		{Method: "POST", Pattern: "/tokens", Auth: cookie.Verified(), Handler: h.createAPIToken, Creates: true},
		{Method: "DELETE", Pattern: "/tokens/{uid}", Auth: cookie.Verified(), Handler: h.deleteAPIToken},
		{Method: "POST", Pattern: "/auth/reset", Auth: anyone, Handler: h.requestReset},
		{Method: "POST", Pattern: "/auth/reset/{key}", Auth: anyone, Handler: h.resetPassword},
		{Method: "POST", Pattern: "/auth/undo/{key}", Auth: anyone, Handler: h.undoChange},
		{Method: "POST", Pattern: "/confirm/{key}", Auth: self, Bucket: httpapi.OwnBucket, Handler: h.confirmAddress},
		{Method: "GET", Pattern: "/events", Auth: access.For(token.ScopeTransfersRead), Produces: []string{"text/event-stream"},
			Handler: h.events},
	}
}

// profileRoutes holds the caller's own profile, addresses and authenticators.
func (h *Handler) profileRoutes() []httpapi.Route {
	access, readable := token.NeedAccess, token.NeedAccess.WithCookie()
	open, factor := access.Unverified(), access.WithoutFactor()
	const avatar, emails, address = "/profile/avatar", "/profile/emails", "/profile/emails/{address}"
	const authenticators, authenticator = "/profile/authenticators", "/profile/authenticators/{uid}"
	picture := httpapi.Body(h.avatarBytes)
	return []httpapi.Route{
		{Method: "GET", Pattern: "/profile", Auth: open.WithoutFactor().For(token.ScopeTransfersRead, token.ScopeOrganizationRead,
			token.ScopeOrganizationManage), Handler: h.getProfile},
		{Method: "PUT", Pattern: "/profile", Auth: open, Handler: h.putProfile},
		{Method: "DELETE", Pattern: "/profile", Auth: open, Handler: h.deleteProfile},
		{Method: "GET", Pattern: "/profile/audit", Auth: access, Handler: h.getProfileAudit},
		{Method: "GET", Pattern: "/profile/export", Auth: access, Produces: []string{typeZIP}, Handler: h.getExport, Download: true, Once: true},
		{Method: "POST", Pattern: "/profile/export", Auth: access, Produces: []string{typeZIP}, Handler: h.createExport},
		{Method: "GET", Pattern: avatar, Auth: readable, Produces: []string{typeJPEG}, Handler: h.getProfileAvatar},
		{Method: "PUT", Pattern: avatar, Auth: access, Body: picture, Produces: []string{typeJPEG}, Handler: h.putProfileAvatar},
		{Method: "DELETE", Pattern: avatar, Auth: access, Handler: h.deleteProfileAvatar},
		{Method: "GET", Pattern: emails, Auth: open, Handler: h.listEmails},
		{Method: "POST", Pattern: emails, Auth: access, Bucket: httpapi.OwnBucket, Handler: h.createEmail, Creates: true},
		{Method: "DELETE", Pattern: address, Auth: access, Handler: h.deleteEmail},
		{Method: "POST", Pattern: address + "/primary", Auth: access, Handler: h.makePrimary},
		{Method: "POST", Pattern: address + "/verify", Auth: open.WithoutFactor(), Bucket: httpapi.OwnBucket, Handler: h.requestVerification},
		{Method: "GET", Pattern: authenticators, Auth: factor, Handler: h.listAuthenticators},
		{Method: "POST", Pattern: authenticators, Auth: factor, Handler: h.createAuthenticator},
		{Method: "GET", Pattern: authenticator, Auth: factor, Handler: h.getAuthenticator},
		{Method: "PUT", Pattern: authenticator, Auth: factor, Handler: h.putAuthenticator},
		{Method: "DELETE", Pattern: authenticator, Auth: factor, Handler: h.deleteAuthenticator},
		{Method: "POST", Pattern: authenticator + "/verify", Auth: factor, Handler: h.verifyAuthenticator},
		{Method: "POST", Pattern: "/profile/passkey/options", Auth: factor, Handler: h.createProofOptions, SignIn: true},
	}
}

// externalRoutes holds logins at external providers. Browsers send some of these requests for a provider, with any Accept
// header.
func (h *Handler) externalRoutes() []httpapi.Route {
	anyone, browser := token.None, []string{httpapi.AnyType}
	return []httpapi.Route{
		{Method: "POST", Pattern: "/oidc/auth/implicit", Auth: anyone, Handler: h.logInImplicit},
		{Method: "POST", Pattern: "/oidc/auth/code", Auth: anyone, Handler: h.logInCode},
		{Method: "POST", Pattern: "/oidc/auth", Auth: anyone, Handler: h.registerState},
		{Method: "POST", Pattern: "/oidc/auth/form", Auth: anyone, Produces: browser, Handler: h.storeFormPost},
		{Method: "GET", Pattern: returnPath + "{key}", Auth: anyone, Produces: browser, Handler: h.returnFormPost, Once: true},
		{Method: "GET", Pattern: "/oidc/auth/confirmation", Auth: anyone, Handler: h.getConfirmation},
		{Method: "POST", Pattern: "/oidc/auth/confirmation", Auth: anyone, Handler: h.confirmLogin},
		{Method: "DELETE", Pattern: "/oidc/auth/confirmation", Auth: anyone, Handler: h.cancelLogin},
		{Method: "GET", Pattern: "/oidc/auth", Auth: token.NeedPreflight, Handler: h.claimState, Once: true},
		{Method: "GET", Pattern: "/oidc/auth/logout", Auth: anyone, Produces: browser, Handler: h.logOutExternal, Once: true},
	}
}

// organizationRoutes holds organizations, members, invitations and documents.
func (h *Handler) organizationRoutes() []httpapi.Route {
	access := token.NeedAccess
	reads := access.For(token.ScopeOrganizationRead, token.ScopeOrganizationManage)
	changes := access.For(token.ScopeOrganizationManage)
	const one, look = "/organizations/{uid}", "texts and looks"
	picture := httpapi.Body(h.avatarBytes)
	return []httpapi.Route{
		{Method: "GET", Pattern: "/invitations", Auth: access, Handler: h.listMyInvitations},
		{Method: "POST", Pattern: "/invitations/{key}/accept", Auth: access, Handler: h.acceptInvitation, Sensitive: []httpapi.Sensitive{
			{Change: token.AdministratorAdded, When: "the invitation has Organization.Admin: proved when it was made", NoProof: true},
			{Change: token.AdministratorRemoved, When: "the caller leaves another one as administrator"}}},
		{Method: "POST", Pattern: "/organizations", Auth: access, Handler: h.createOrganization, Creates: true,
			Harmless: "nobody else is in a new one"},
		{Method: "GET", Pattern: one, Auth: reads, Handler: h.getOrganization},
		{Method: "DELETE", Pattern: one, Auth: access, Handler: h.deleteOrganization,
			Sensitive: []httpapi.Sensitive{{Change: token.OrganizationDeleted}}},
		{Method: "POST", Pattern: one + "/leave", Auth: access.WithoutFactor(), Handler: h.leaveOrganization,
			Sensitive: []httpapi.Sensitive{{Change: token.AdministratorRemoved, When: "the caller is an administrator"}}},
		{Method: "GET", Pattern: one + "/profile", Auth: reads, Handler: h.getOrganizationProfile},
		{Method: "PUT", Pattern: one + "/profile", Auth: changes, Handler: h.putOrganizationProfile,
			Sensitive: []httpapi.Sensitive{{Change: token.HostnameChanged, When: "another hostname, or one inactive hostname less"}}},
		{Method: "GET", Pattern: one + "/avatar", Auth: reads.WithCookie(), Produces: []string{typeJPEG}, Handler: h.getOrganizationAvatar},
		{Method: "PUT", Pattern: one + "/avatar", Auth: changes, Body: picture, Produces: []string{typeJPEG}, Handler: h.putOrganizationAvatar,
			Harmless: look},
		{Method: "DELETE", Pattern: one + "/avatar", Auth: changes, Handler: h.deleteOrganizationAvatar, Harmless: look},
		{Method: "PUT", Pattern: one + "/theme", Auth: changes, Handler: h.putTheme, Harmless: look},
		{Method: "DELETE", Pattern: one + "/theme", Auth: changes, Handler: h.deleteTheme, Harmless: look},
		{Method: "PUT", Pattern: one + "/security", Auth: access, Handler: h.putSecurity,
			Sensitive: []httpapi.Sensitive{{Change: token.FactorWaived}}},
		{Method: "GET", Pattern: one + "/uploadorigins", Auth: reads, Handler: h.getUploadOrigins},
		{Method: "PUT", Pattern: one + "/uploadorigins", Auth: access, Handler: h.putUploadOrigins,
			Sensitive: []httpapi.Sensitive{{Change: token.OriginsChanged}}},
		{Method: "GET", Pattern: one + "/limits", Auth: reads, Handler: h.getOrganizationLimits},
		{Method: "GET", Pattern: one + "/audit", Auth: reads, Produces: []string{"application/json", httpapi.TypeCSV, httpapi.TypeJSONLines},
			Handler: h.getOrganizationAudit},
		{Method: "GET", Pattern: one + "/documents", Auth: reads.WithCookie(), Produces: []string{httpapi.TypePDF}, Handler: h.getDocument},
		{Method: "GET", Pattern: one + "/members", Auth: reads, Handler: h.listMembers},
		{Method: "GET", Pattern: one + "/members/{person}", Auth: reads, Handler: h.getMember},
		{Method: "PUT", Pattern: one + "/members/{person}", Auth: changes, Handler: h.putMember, Sensitive: []httpapi.Sensitive{
			{Change: token.AdministratorAdded, When: "Organization.Admin is added"},
			{Change: token.AdministratorRemoved, When: "Organization.Admin is removed"}}},
		{Method: "DELETE", Pattern: one + "/members/{person}", Auth: changes, Handler: h.deleteMember,
			Sensitive: []httpapi.Sensitive{{Change: token.AdministratorRemoved, When: "the member is an administrator"}}},
		{Method: "POST", Pattern: one + "/members/{person}/end-sessions", Auth: changes, Handler: h.endMemberSessions,
			Harmless: "it takes nothing that the member does not get back by signing in"},
		{Method: "GET", Pattern: one + "/people", Auth: reads, Handler: h.listOrganizationPeople},
		{Method: "GET", Pattern: one + "/invitations", Auth: reads, Handler: h.listInvitations},
		{Method: "POST", Pattern: one + "/invitations", Auth: changes, Bucket: httpapi.OwnBucket, Handler: h.createInvitation, Creates: true,
			Sensitive: []httpapi.Sensitive{{Change: token.AdministratorInvited, When: "roles has Organization.Admin"}}},
		{Method: "DELETE", Pattern: one + "/invitations/{key}", Auth: changes, Handler: h.deleteInvitation, Harmless: "nobody has it yet"},
	}
}

// publicRoutes holds what clients need before a login.
func (h *Handler) publicRoutes() []httpapi.Route {
	invitation := httpapi.PerAddress("invitation-read", ratelimit.Limit{Capacity: 60, PerSecond: 1})
	return []httpapi.Route{
		{Method: "GET", Pattern: "/public/invitations/{key}", Auth: token.None, Bucket: invitation, Handler: h.getPublicInvitation},
		{Method: "GET", Pattern: "/public/invitations/{key}/logo", Auth: token.None, Bucket: invitation, Produces: []string{typeJPEG},
			Handler: h.getInvitationLogo},
		{Method: "GET", Pattern: "/environment", Auth: token.None, Bucket: httpapi.NoBucket, Handler: h.getEnvironment, SignIn: true},
		{Method: "GET", Pattern: environmentPath, Auth: token.None, Bucket: httpapi.NoBucket, Handler: h.getEnvironment},
		{Method: "GET", Pattern: relatedOriginsPath, Auth: token.None, Bucket: httpapi.NoBucket, Handler: h.getRelatedOrigins},
		{Method: "GET", Pattern: "/i18n/{locale}", Auth: token.None, Produces: []string{"application/json", typePO}, Handler: h.getBundle},
		{Method: "GET", Pattern: "/assets/logo", Auth: token.None, Produces: []string{typeJPEG}, Handler: h.getLogo, SignIn: true},
		{Method: "GET", Pattern: "/assets/theme", Auth: token.None, Handler: h.getTheme, SignIn: true},
	}
}

// RootRoutes returns the routes at the root of each host.
func (h *Handler) RootRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: "GET", Pattern: authorizationServer, Auth: token.None, Handler: h.getAuthorizationServer},
		{Method: "GET", Pattern: authorizationServer + h.base, Auth: token.None, Handler: h.getAuthorizationServer},
		{Method: "GET", Pattern: environmentPath, Auth: token.None, Bucket: httpapi.NoBucket, Handler: h.getEnvironment},
		{Method: "GET", Pattern: relatedOriginsPath, Auth: token.None, Bucket: httpapi.NoBucket, Handler: h.getRelatedOrigins},
	}
}

// caller returns the person and the session of the request's token.
func caller(r *http.Request) token.Caller { return token.CallerFrom(r.Context()) }

// location returns the URL of a path of this API at the request host.
func (h *Handler) location(r *http.Request, path string) string {
	return h.locationAt(r, "", path)
}

// locationAt returns the URL of a path of this API at host, or at the request host when host is empty.
func (h *Handler) locationAt(r *http.Request, host, path string) string {
	if host == "" {
		host = httpapi.Client(r.Context()).Host.Name
	}
	return h.hosts.URL(host, h.base+path)
}

type tokenResponse struct {
	Token string     `json:"token"`
	Kind  token.Kind `json:"kind"` // as in the token's scope claim, which clients need not decode
}

// respondToken answers with a token in the body and in the Authorization header. The specification has both for all but
// access, uid and pickup tokens.
func respondToken(w http.ResponseWriter, raw string, kind token.Kind) error {
	httpapi.Bearer(w, raw)
	return httpapi.JSON(w, http.StatusOK, tokenResponse{raw, kind})
}

// orEmpty returns an optional string, empty when it is absent or null.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// orNull returns nil for the empty string: the member is null while it is unset.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// queryOne returns a query parameter that may be given once, nil when absent.
func queryOne(q url.Values, problems *fault.Problems, name string) *string {
	values, ok := q[name]
	if !ok {
		return nil
	}
	if len(values) > 1 {
		problems.Add(name, "must be given once only")
	}
	return &values[0]
}

// queryBool returns a boolean query parameter, false when absent.
func queryBool(q url.Values, problems *fault.Problems, name string) bool {
	v := queryOne(q, problems, name)
	switch {
	case v == nil || *v == "false":
		return false
	case *v == "true":
		return true
	}
	problems.Add(name, "must be true or false")
	return false
}
