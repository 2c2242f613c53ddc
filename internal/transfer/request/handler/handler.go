// Package handler serves requests for documents in the transfer API: its route table, and the JSON form of requests and answers. The rules
// are in request/service.
package handler

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/request/service"
)

// Handler serves requests.
type Handler struct {
	service *service.Service
	hosts   *hosts.Directory
	buckets *httpapi.Buckets
	catalog *i18n.Catalog
	base    string
}

// New returns a Handler. base is the base path of the transfer API.
func New(s *service.Service, h *hosts.Directory, b *httpapi.Buckets, c *i18n.Catalog, base string) *Handler {
	return &Handler{service: s, hosts: h, buckets: b, catalog: c, base: base}
}

// joinBucket bounds the links that one client network can have mailed at a public link.
var joinBucket = ratelimit.Bucket{Name: "request-join", Limit: ratelimit.Limit{Capacity: 5, PerSecond: ratelimit.Every(time.Minute)},
	By: ratelimit.ByAddress, Essential: true}

// Routes returns the route table, with patterns relative to the base path of the transfer API.
func (h *Handler) Routes() []httpapi.Route {
	reads := token.NeedAccess.For(token.ScopeRequestsRead, token.ScopeRequestsManage)
	changes, anyone := token.NeedAccess.For(token.ScopeRequestsManage), token.None
	const one, public = "/requests/{uid}", "/public/requests/{key}"
	const party = one + "/parties/{party}"
	return []httpapi.Route{
		{Method: "GET", Pattern: "/requests", Auth: reads, Handler: h.listRequests},
		{Method: "POST", Pattern: "/requests", Auth: changes, Handler: h.createRequest, Creates: true},
		{Method: "GET", Pattern: one, Auth: reads, Handler: h.getRequest},
		{Method: "PATCH", Pattern: one, Auth: changes, Handler: h.patchRequest},
		{Method: "DELETE", Pattern: one, Auth: changes, Handler: h.deleteRequest},
		{Method: "GET", Pattern: one + "/table", Auth: reads, Produces: []string{httpapi.TypeCSV}, Handler: h.getTable},
		{Method: "GET", Pattern: one + "/availability", Auth: reads, Handler: h.getAvailability},
		{Method: "POST", Pattern: one + "/parties", Auth: changes, Handler: h.addParties, Creates: true},
		{Method: "POST", Pattern: one + "/remind", Auth: changes, Handler: h.remindAll},
		{Method: "PATCH", Pattern: party, Auth: changes, Handler: h.patchParty},
		{Method: "POST", Pattern: party + "/remind", Auth: changes, Handler: h.remindParty},
		{Method: "PATCH", Pattern: party + "/items/{item}", Auth: changes, Handler: h.decideItem},
		{Method: "GET", Pattern: public, Auth: anyone, Handler: h.getPublicRequest},
		{Method: "POST", Pattern: public, Auth: anyone, Handler: h.openPublicRequest, Grows: true},
		{Method: "POST", Pattern: public + "/handin", Auth: anyone, Handler: h.handIn},
		{Method: "POST", Pattern: public + "/parties", Auth: anyone, Bucket: httpapi.OwnBucket, Handler: h.joinRequest, Grows: true},
	}
}

// caller returns the person and the session of the request's token.
func caller(r *http.Request) token.Caller { return token.CallerFrom(r.Context()) }

// location returns the URL of a path of this API at the request host.
func (h *Handler) location(r *http.Request, path string) string {
	return h.hosts.URL(caller(r).Client.Host.Name, h.base+path)
}

// uidParam parses a uid of the path.
// Errors: transfer.ErrNotFound when it is not a uid.
func uidParam[T ~struct{ uuid.UUID }](r *http.Request, name string) (T, error) {
	uid, err := id.Parse[T](httpapi.Param(r, name))
	if err != nil {
		return uid, transfer.ErrNotFound
	}
	return uid, nil
}

// partyParams parses the request and the party of the path.
// Errors: transfer.ErrNotFound when one is no uid.
func partyParams(r *http.Request) (uid id.Request, party id.Party, err error) {
	if uid, err = uidParam[id.Request](r, "uid"); err == nil {
		party, err = uidParam[id.Party](r, "party")
	}
	return uid, party, err
}

// etag returns the ETag of a version.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// version returns the version that If-Match names, 0 for any. The service compares it once the resource is locked.
// Errors: fault.ErrVersion when it names none.
func version(r *http.Request) (int64, error) {
	wanted := strings.TrimSpace(r.Header.Get("If-Match"))
	if wanted == "" || wanted == "*" {
		return 0, nil
	}
	n, err := strconv.ParseInt(strings.Trim(wanted, `"`), 10, 64)
	if err != nil || n <= 0 {
		return 0, fault.ErrVersion.With("If-Match: is not the ETag of an answer, or the version of a party in quotes")
	}
	return n, nil
}

// listOf returns list, or an empty list in place of nil.
func listOf[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
