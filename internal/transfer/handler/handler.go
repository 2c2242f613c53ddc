// Package handler is transfer's HTTP: the route table, the wire forms of its resources, and nothing that decides. A
// handler decodes, calls the service and answers; rules are in transfer/service.
package handler

import (
	"net/http"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// Options are what a Handler works with.
type Options struct {
	Service        *service.Service
	Hosts          *hosts.Directory
	Catalog        *i18n.Catalog // tells an uploader's language
	Buckets        *httpapi.Buckets
	BasePath       string          // of this API, for Location headers
	UploadBucket   ratelimit.Limit // attach, content PUT and HEAD, per reservation
	DownloadBucket ratelimit.Limit // per session or delivery
}

// Handler answers the requests of the transfer API.
type Handler struct {
	service *service.Service
	hosts   *hosts.Directory
	catalog *i18n.Catalog
	buckets *httpapi.Buckets
	base    string
	upload  httpapi.Bucketing
	content httpapi.Bucketing

	environment atomic.Pointer[encodedEnvironment] // the last one given; nil at first
}

// New makes a Handler. Buckets of no capacity take the contract's sizes: 1000 and 50/s, 200 and 10/s.
func New(o Options) *Handler {
	if o.UploadBucket.Capacity == 0 {
		o.UploadBucket = ratelimit.Limit{Capacity: 1000, PerSecond: 50}
	}
	if o.DownloadBucket.Capacity == 0 {
		o.DownloadBucket = ratelimit.Limit{Capacity: 200, PerSecond: 10}
	}
	return &Handler{
		service: o.Service, hosts: o.Hosts, catalog: o.Catalog, buckets: o.Buckets, base: o.BasePath,
		upload: httpapi.PerSession("upload", o.UploadBucket), content: httpapi.PerSession("download", o.DownloadBucket),
	}
}

// Routes is the table of the transfer API.
func (h *Handler) Routes() []httpapi.Route {
	const (
		reservation = "/reservations/{uid}"
		objects     = reservation + "/objects"
		object      = objects + "/{clientId}"
		bytes       = object + "/content"
		group       = "/mailboxgroups/{uid}"
		download    = "/transfers/{uid}/objects/{objectUid}/content"
		archive     = "/transfers/{uid}/archive"
		link        = "/public/transfers/{key}"
	)
	acc := token.NeedAccess
	res := token.AnyOf(token.NeedReservation, token.NeedAccess)
	// A stranger's request may name its person: by a uid token, or by being signed in.
	anybody := token.AnyOf(token.NeedUID, token.NeedAccess).Optional().Unverified().WithoutFactor()
	// Who comes with a one-time key has no token; without either the handler refuses.
	dl := token.NeedDownload
	file := []string{httpapi.AnyType}
	return []httpapi.Route{
		{Method: "GET", Pattern: "/environment", Bucket: httpapi.NoBucket, Handler: h.getEnvironment},

		{Method: "GET", Pattern: "/public/mailbox/{key}", Handler: h.getPublicMailbox},
		{Method: "HEAD", Pattern: "/public/mailbox/{key}", Handler: h.getPublicMailbox},
		{Method: "POST", Pattern: "/public/mailbox/{key}", Auth: anybody, Handler: h.reserveMailbox},

		{Method: "GET", Pattern: "/public/mailbox/{key}/avatar", Produces: []string{typeJPEG}, Handler: h.getMailboxAvatar},
		{Method: "GET", Pattern: "/public/mailboxgroup/{key}", Handler: h.getPublicGroup},

		{Method: "GET", Pattern: "/mailbox", Auth: acc, Handler: h.getMailbox},
		{Method: "PUT", Pattern: "/mailbox", Auth: acc, Handler: h.putMailbox},
		{Method: "DELETE", Pattern: "/mailbox", Auth: acc, Handler: h.deleteMailbox},
		{Method: "GET", Pattern: "/mailbox/reservations", Auth: acc, Handler: h.listOpenReservations},
		{Method: "DELETE", Pattern: "/mailbox/reservations/{uid}", Auth: acc, Handler: h.cancelOpenReservation},

		{Method: "GET", Pattern: "/mailboxgroups", Auth: acc, Handler: h.listGroups},
		{Method: "POST", Pattern: "/mailboxgroups", Auth: acc, Handler: h.createGroup},
		{Method: "GET", Pattern: group, Auth: acc, Handler: h.getGroup},
		{Method: "PUT", Pattern: group, Auth: acc, Handler: h.putGroup},
		{Method: "DELETE", Pattern: group, Auth: acc, Handler: h.deleteGroup},

		{Method: "GET", Pattern: "/adminunit", Auth: acc, Handler: h.getAdminunit},
		{Method: "PUT", Pattern: "/adminunit", Auth: acc, Handler: h.putAdminunit},
		{Method: "GET", Pattern: "/usage", Auth: acc, Handler: h.getUsage},

		{Method: "POST", Pattern: "/reservations", Auth: acc, Handler: h.createReservation},

		{Method: "GET", Pattern: reservation, Auth: res, Handler: h.getReservation},
		{Method: "PATCH", Pattern: reservation, Auth: res, Handler: h.patchReservation},
		{Method: "DELETE", Pattern: reservation, Auth: res, Handler: h.cancelReservation},
		{Method: "POST", Pattern: reservation + "/confirm", Auth: res, Handler: h.confirmReservation},

		{Method: "POST", Pattern: objects, Auth: res, Bucket: h.upload, Handler: h.attachObjects},
		{Method: "GET", Pattern: object, Auth: res, Handler: h.getObject},
		{Method: "DELETE", Pattern: object, Auth: res, Handler: h.deleteObject},
		{Method: "PUT", Pattern: bytes, Auth: res, Bucket: h.upload, Body: httpapi.StreamBody, Handler: h.putContent},
		{Method: "HEAD", Pattern: bytes, Auth: res, Bucket: h.upload, Produces: file, Handler: h.headContent},

		{Method: "GET", Pattern: "/transfers", Auth: acc, Handler: h.listTransfers},
		{Method: "GET", Pattern: "/transfers/{uid}", Auth: acc, Handler: h.getTransfer},
		{Method: "DELETE", Pattern: "/transfers/{uid}", Auth: acc, Handler: h.deleteTransfer},
		{Method: "GET", Pattern: download, Auth: acc.Optional(), Bucket: h.content, Produces: file, Handler: h.downloadObject, Download: true},
		{Method: "HEAD", Pattern: download, Auth: acc.Optional(), Bucket: h.content, Produces: file, Handler: h.downloadObject},
		{Method: "GET", Pattern: archive, Auth: acc.Optional(), Bucket: h.content, Produces: file, Handler: h.downloadArchive, Download: true},
		{Method: "HEAD", Pattern: archive, Auth: acc.Optional(), Bucket: h.content, Produces: file, Handler: h.downloadArchive},
		{Method: "POST", Pattern: "/auth/otk", Auth: acc, Bucket: httpapi.OwnBucket, Handler: h.createOneTimeKey},

		{Method: "GET", Pattern: link, Auth: dl.Optional(), Handler: h.getPublicTransfer},
		{Method: "POST", Pattern: link + "/code", Bucket: httpapi.OwnBucket, Handler: h.sendAccessCode},
		{Method: "POST", Pattern: link + "/access", Auth: acc.Optional(), Bucket: httpapi.OwnBucket, Handler: h.openPublicTransfer},
		{Method: "POST", Pattern: link + "/otk", Auth: dl, Bucket: httpapi.OwnBucket, Handler: h.createLinkedOneTimeKey},
		{Method: "GET", Pattern: link + "/objects/{objectUid}/content", Auth: dl.Optional(), Bucket: h.content, Produces: file, Handler: h.downloadLinkedObject, Download: true},
		{Method: "HEAD", Pattern: link + "/objects/{objectUid}/content", Auth: dl.Optional(), Bucket: h.content, Produces: file, Handler: h.downloadLinkedObject},
		{Method: "GET", Pattern: link + "/archive", Auth: dl.Optional(), Bucket: h.content, Produces: file, Handler: h.downloadLinkedArchive, Download: true},
		{Method: "HEAD", Pattern: link + "/archive", Auth: dl.Optional(), Bucket: h.content, Produces: file, Handler: h.downloadLinkedArchive},
	}
}

// url is the absolute address of a path of this API on the host that the caller is at, by its configured name.
func (h *Handler) url(c token.Caller, path string) string {
	return h.hosts.URL(c.Client.Host.Name, h.base+path)
}

// uidParam reads a path parameter that names a thing; what is not a uid names nothing.
func uidParam[T ~struct{ uuid.UUID }](r *http.Request, name string) (T, error) {
	uid, err := id.Parse[T](httpapi.Param(r, name))
	if err != nil {
		return uid, transfer.ErrNotFound
	}
	return uid, nil
}

func caller(r *http.Request) token.Caller { return token.CallerFrom(r.Context()) }
