// Package legacy serves the subset of an older transfer API (/api/skp/v1) that the public command-line client of that system uses. It
// is an adapter over the services of package transfer, off by default (CONSIGN_LEGACY_API). What is sent and expected is in contract 4.23.
//
// The older API names a reservation by a token, an object by its id, and a transfer by the id of a recipient. Here they are the uid of the
// reservation, the clientId of the object and the uid of the transfer. Each call has an access token, so these names are no secrets.
package legacy

import (
	"net/http"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/handler"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// Base paths of the older APIs, and of the page that its client names after a delivery.
const (
	TransferBase = "/api/skp/v1"
	IdentityBase = "/api/id/v3"
	pagePattern  = "/transfer/get/{recipientId}"
)

// since is when the older API became deprecated here: when it was added.
var since = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

var errNoFolders = fault.ErrForbidden.With("this server has no folders of an archive: download the transfer instead")

// Options holds what New needs. All fields are required.
type Options struct {
	Service      *service.Service
	Handler      *handler.Handler // receives bytes
	Hosts        *hosts.Directory
	BasePath     string          // of the transfer API, for links to files
	UploadBucket ratelimit.Limit // per session
}

// Handler serves the older API.
type Handler struct {
	service *service.Service
	handler *handler.Handler
	hosts   *hosts.Directory
	base    string
	upload  httpapi.Bucketing
}

// New returns a Handler.
func New(o Options) *Handler {
	return &Handler{service: o.Service, handler: o.Handler, hosts: o.Hosts, base: o.BasePath,
		upload: httpapi.PerSession("upload", o.UploadBucket)}
}

// Routes returns the route table, with patterns relative to TransferBase.
func (h *Handler) Routes() []httpapi.Route {
	access := token.NeedAccess
	const transfers, one = "/transfers", "/transfers/{recipientId}"
	routes := []httpapi.Route{
		{Method: "GET", Pattern: "/environment", Auth: token.None, Handler: h.environment},
		{Method: "POST", Pattern: "/reservations", Auth: access, Handler: h.reserve, Grows: true},
		{Method: "POST", Pattern: "/upload", Auth: access, Bucket: h.upload, Body: httpapi.StreamBody, Handler: h.receive, Grows: true},
		{Method: "HEAD", Pattern: "/upload/{objectId}", Auth: access, Bucket: h.upload, Produces: []string{httpapi.AnyType}, Handler: h.held},
		{Method: "POST", Pattern: "/reservations/{token}/confirm", Auth: access, Handler: h.confirm},
		{Method: "GET", Pattern: transfers, Auth: access, Handler: h.list},
		{Method: "GET", Pattern: one, Auth: access, Handler: h.show},
		{Method: "POST", Pattern: one + "/copy", Auth: access, Handler: func(http.ResponseWriter, *http.Request) error { return errNoFolders }},
	}
	for i := range routes {
		routes[i] = deprecated(routes[i], h.base)
	}
	return routes
}

// IdentityRoutes returns the routes of the identity API that the older client uses, for IdentityBase. access is the route by which an
// access token is made; the older client calls it below TransferBase, too.
func IdentityRoutes(all []httpapi.Route, base string) (identity []httpapi.Route, access httpapi.Route) {
	used := map[string]bool{"GET /environment": true, "POST /auth/exists": true, "POST /auth/login": true, "POST /auth/access": true,
		"GET /profile/emails": true}
	for _, route := range all {
		name := route.Method + " " + route.Pattern
		if !used[name] {
			continue
		}
		identity = append(identity, deprecated(route, base))
		if name == "POST /auth/access" {
			access = deprecated(route, base)
		}
	}
	return identity, access
}

// PageRoute redirects from the page that the older client prints to the inbox, which has the transfer.
func (h *Handler) PageRoute() httpapi.Route {
	return deprecated(httpapi.Route{
		Method: "GET", Pattern: pagePattern, Auth: token.None, Produces: []string{httpapi.AnyType},
		Handler: func(w http.ResponseWriter, r *http.Request) error {
			http.Redirect(w, r, "/inbox", http.StatusSeeOther)
			return nil
		},
	}, h.base)
}

func deprecated(r httpapi.Route, instead string) httpapi.Route {
	r.Deprecated, r.DeprecatedSince = "use "+instead, since
	return r
}

// environment handles GET /environment.
func (h *Handler) environment(w http.ResponseWriter, r *http.Request) error {
	e, err := h.service.Environment(r.Context(), caller(r))
	if err != nil {
		return err
	}
	type expiration struct {
		Values  []int32 `json:"values"`
		Default int32   `json:"default"`
	}
	return httpapi.JSON(w, http.StatusOK, map[string]expiration{"expiration": {e.Adminunit.AvailableTTL, e.Adminunit.DefaultTTL}})
}

func caller(r *http.Request) token.Caller { return token.CallerFrom(r.Context()) }

// reservationOf parses the token of a reservation, which is its uid.
// Errors: transfer.ErrNotFound.
func reservationOf(text string) (id.Reservation, error) {
	uid, err := id.Parse[id.Reservation](strings.TrimSpace(text))
	if err != nil {
		return uid, transfer.ErrNotFound
	}
	return uid, nil
}
