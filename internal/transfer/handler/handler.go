// Package handler serves the transfer API: the route table, and the JSON form of requests and answers. A handler decodes
// the request, calls the service and answers. The rules are in transfer/service.
package handler

import (
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/holding"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// Options holds what New needs. All fields are required.
type Options struct {
	Service        *service.Service
	Holds          *holding.Service
	Hosts          *hosts.Directory
	Catalog        *i18n.Catalog // chooses an uploader's language
	Buckets        *httpapi.Buckets
	BasePath       string          // of the transfer API, for Location headers
	Secure         bool            // cookies are Secure
	PictureBytes   int             // size limit of an uploaded picture
	ResumeLifetime time.Duration   // how long a download started with a one-time key may continue
	UploadBucket   ratelimit.Limit // attach, content PUT and HEAD, per reservation
	DownloadBucket ratelimit.Limit // per session or delivery
}

// Handler serves the transfer API.
type Handler struct {
	service      *service.Service
	holds        *holding.Service
	hosts        *hosts.Directory
	catalog      *i18n.Catalog
	buckets      *httpapi.Buckets
	base         string
	secure       bool
	pictureBytes int
	resume       time.Duration
	upload       httpapi.Bucketing
	download     httpapi.Bucketing

	environment atomic.Pointer[encodedEnvironment] // the last answer, nil at first
}

// New returns a Handler.
func New(o Options) *Handler {
	return &Handler{
		service: o.Service, holds: o.Holds, hosts: o.Hosts, catalog: o.Catalog, buckets: o.Buckets, base: o.BasePath, secure: o.Secure,
		pictureBytes: o.PictureBytes, resume: o.ResumeLifetime,
		upload: httpapi.PerSession("upload", o.UploadBucket), download: httpapi.PerSession("download", o.DownloadBucket),
	}
}

// The buckets of the section "Limits" and of contract 1.7 and 7.
//   - one-time-key: one-time keys of one person, or of the delivery of a download token.
//   - access-code: codes mailed for one link, so that its holder cannot flood the recipient.
//   - extension: requests to extend a transfer through one link, so that its holder cannot keep the database busy.
//   - access: attempts to open one link, so that its holder cannot guess the password or the code.
var (
	oneTimeKeyBucket = ratelimit.Bucket{Name: "one-time-key",
		Limit: ratelimit.Limit{Capacity: 10, PerSecond: ratelimit.Every(30 * time.Second)}, By: ratelimit.ByPerson, Essential: true}
	extensionBucket = ratelimit.Bucket{Name: "extension", Limit: ratelimit.Limit{Capacity: 3, PerSecond: ratelimit.Every(time.Minute)},
		By: ratelimit.ByLink, Essential: true}
	codeBucket = ratelimit.Bucket{Name: "access-code", Limit: ratelimit.Limit{Capacity: 1, PerSecond: ratelimit.Every(time.Minute)},
		By: ratelimit.ByLink, Essential: true}
	accessBucket = ratelimit.Bucket{Name: "access", Limit: ratelimit.Limit{Capacity: 5, PerSecond: ratelimit.Every(time.Minute)},
		By: ratelimit.ByLink, Essential: true}
)

// Routes returns the route table, with patterns relative to the base path.
func (h *Handler) Routes() []httpapi.Route {
	return slices.Concat(h.mailboxRoutes(), h.adminunitRoutes(), h.organizationRoutes(), h.holdRoutes(), h.reservationRoutes(),
		h.partRoutes(uploaders()), h.tusRoutes(uploaders()), h.resumableRoutes(uploaders()), h.transferRoutes(), h.linkRoutes())
}

// mailboxRoutes holds mailboxes and mailbox groups.
func (h *Handler) mailboxRoutes() []httpapi.Route {
	anyone, access := token.None, token.NeedAccess
	// The request of a stranger may name its person by a uid token or an access token. Others are ignored, as GET does.
	stranger := token.AnyOf(token.NeedUID, token.NeedAccess).IgnoreUnusable().Unverified().WithoutFactor().For(token.ScopeMailboxDrop)
	own := access.For(token.ScopeMailboxManage)
	reads, changes := access.For(token.ScopeOrganizationRead, token.ScopeOrganizationManage), access.For(token.ScopeOrganizationManage)
	const public, group = "/public/mailbox/{key}", "/mailboxgroups/{uid}"
	return []httpapi.Route{
		{Method: "GET", Pattern: public, Auth: anyone, Handler: h.getPublicMailbox},
		{Method: "HEAD", Pattern: public, Auth: anyone, Handler: h.getPublicMailbox},
		{Method: "POST", Pattern: public, Auth: stranger, Handler: h.reserveMailbox, Creates: true},
		{Method: "GET", Pattern: public + "/avatar", Auth: anyone, Produces: []string{typeJPEG}, Handler: h.getMailboxAvatar},
		{Method: "GET", Pattern: public + "/picture", Auth: anyone, Produces: []string{typeJPEG}, Handler: h.getMailboxPicture},
		{Method: "GET", Pattern: public + "/qr", Auth: anyone, Produces: []string{typeSVG}, Handler: h.getMailboxQRCode},
		{Method: "GET", Pattern: "/public/mailboxgroup/{key}", Auth: anyone, Handler: h.getPublicGroup},
		{Method: "GET", Pattern: "/mailbox", Auth: own, Handler: h.getMailbox},
		{Method: "PUT", Pattern: "/mailbox", Auth: own, Handler: h.putMailbox, Grows: true},
		{Method: "DELETE", Pattern: "/mailbox", Auth: own, Handler: h.deleteMailbox},
		{Method: "PUT", Pattern: "/mailbox/picture", Auth: own, Body: httpapi.Body(h.pictureBytes), Produces: []string{typeJPEG},
			Handler: h.putMailboxPicture},
		{Method: "DELETE", Pattern: "/mailbox/picture", Auth: own, Handler: h.deleteMailboxPicture},
		{Method: "GET", Pattern: "/mailbox/transfers", Auth: access.For(token.ScopeTransfersRead), Produces: []string{httpapi.TypeCSV},
			Handler: h.tableOfTransfers},
		{Method: "GET", Pattern: "/mailbox/reservations", Auth: own, Handler: h.listOpenReservations},
		{Method: "DELETE", Pattern: "/mailbox/reservations/{uid}", Auth: own, Handler: h.cancelOpenReservation},
		{Method: "GET", Pattern: "/mailboxgroups", Auth: reads, Handler: h.listGroups},
		{Method: "POST", Pattern: "/mailboxgroups", Auth: changes, Handler: h.createGroup, Creates: true},
		{Method: "GET", Pattern: group, Auth: reads, Handler: h.getGroup},
		{Method: "PUT", Pattern: group, Auth: changes, Handler: h.putGroup},
		{Method: "DELETE", Pattern: group, Auth: changes, Handler: h.deleteGroup},
	}
}

// adminunitRoutes holds the settings and the usage of an organization.
func (h *Handler) adminunitRoutes() []httpapi.Route {
	access := token.NeedAccess
	reads, changes := access.For(token.ScopeOrganizationRead, token.ScopeOrganizationManage), access.For(token.ScopeOrganizationManage)
	person := access.IgnoreOthers().Unverified().WithoutFactor().For(token.Scopes...)
	return []httpapi.Route{
		{Method: "GET", Pattern: "/environment", Auth: person, Bucket: httpapi.NoBucket, Handler: h.getEnvironment},
		{Method: "GET", Pattern: "/adminunit", Auth: reads, Handler: h.getAdminunit},
		{Method: "PUT", Pattern: "/adminunit", Auth: changes, Handler: h.putAdminunit,
			Sensitive: []httpapi.Sensitive{{Change: token.RulesLowered, When: "protectionLevel or inspection protects less, or retention differs"}}},
		{Method: "GET", Pattern: "/usage", Auth: access.For(token.ScopeTransfersRead, token.ScopeTransfersSend), Handler: h.getUsage},
	}
}

// uploaders may work on a reservation: its token, and its creator.
func uploaders() token.Auth {
	return token.AnyOf(token.NeedReservation, token.NeedAccess).For(token.ScopeTransfersSend)
}

// reservationRoutes holds reservations, their objects and the upload of bytes.
func (h *Handler) reservationRoutes() []httpapi.Route {
	access, uploader := token.NeedAccess, uploaders()
	const reservation = "/reservations/{uid}"
	const objects, object, content = reservation + "/objects", reservation + "/objects/{clientId}", reservation + "/objects/{clientId}/content"
	file := []string{httpapi.AnyType}
	return []httpapi.Route{
		{Method: "POST", Pattern: "/reservations", Auth: access.For(token.ScopeTransfersSend), Handler: h.createReservation, Creates: true},
		{Method: "GET", Pattern: reservation, Auth: uploader, Handler: h.getReservation},
		{Method: "PATCH", Pattern: reservation, Auth: uploader, Handler: h.patchReservation},
		{Method: "DELETE", Pattern: reservation, Auth: uploader, Handler: h.cancelReservation},
		{Method: "POST", Pattern: reservation + "/confirm", Auth: uploader, Handler: h.confirmReservation},
		{Method: "GET", Pattern: reservation + "/receipt", Auth: uploader, Produces: receiptTypes, Handler: h.getReservationReceipt},
		{Method: "POST", Pattern: reservation + "/code", Auth: token.NeedReservation, Handler: h.sendSenderCode},
		{Method: "POST", Pattern: reservation + "/verify", Auth: token.NeedReservation, Handler: h.verifySender},
		{Method: "POST", Pattern: objects, Auth: uploader, Bucket: h.upload, Handler: h.attachObjects, Grows: true},
		{Method: "GET", Pattern: object, Auth: uploader, Handler: h.getObject},
		{Method: "DELETE", Pattern: object, Auth: uploader, Handler: h.deleteObject},
		{Method: "PUT", Pattern: content, Auth: uploader, Bucket: h.upload, Body: httpapi.StreamBody,
			Handler: either(h.putResumable, h.putContent)},
		{Method: "HEAD", Pattern: content, Auth: uploader, Bucket: h.upload, Produces: file, Handler: h.headContent},
	}
}

// transferRoutes holds the caller's transfers and their downloads. A download with a one-time key has no token; without
// both the handler refuses it.
func (h *Handler) transferRoutes() []httpapi.Route {
	reads, sends := token.NeedAccess.For(token.ScopeTransfersRead), token.NeedAccess.For(token.ScopeTransfersSend)
	both := token.NeedAccess.ForEach(token.ScopeTransfersRead, token.ScopeTransfersSend)
	optional, requests := reads.Optional(), token.NeedAccess.For(token.ScopeRequestsRead, token.ScopeRequestsManage)
	const one, request = "/transfers/{uid}", "/requests/{uid}"
	const object, archive = one + "/objects/{objectUid}/content", one + "/archive"
	file := []string{httpapi.AnyType}
	return []httpapi.Route{
		{Method: "GET", Pattern: "/transfers", Auth: reads, Handler: h.listTransfers},
		{Method: "GET", Pattern: one, Auth: reads, Handler: h.getTransfer},
		{Method: "PATCH", Pattern: one, Auth: both, Handler: h.patchTransfer},
		{Method: "DELETE", Pattern: one, Auth: sends, Handler: h.deleteTransfer},
		{Method: "GET", Pattern: one + "/receipt", Auth: reads, Produces: receiptTypes, Handler: h.getReceipt},
		{Method: "GET", Pattern: one + "/qr", Auth: reads, Produces: []string{typeSVG}, Handler: h.getTransferQRCode},
		{Method: "POST", Pattern: one + "/forward", Auth: both, Handler: h.forwardTransfer, Creates: true},
		{Method: "POST", Pattern: one + "/recipients", Auth: sends, Handler: h.addRecipients, Creates: true},
		{Method: "DELETE", Pattern: one + "/recipients/{deliveryUid}", Auth: sends, Handler: h.deleteRecipient},
		{Method: "POST", Pattern: one + "/recipients/{deliveryUid}/resend", Auth: sends, Handler: h.resendTransfer},
		{Method: "GET", Pattern: one + "/activity", Auth: reads, Handler: h.getActivity},
		{Method: "POST", Pattern: one + "/remind", Auth: sends, Handler: h.remindRecipients},
		{Method: "GET", Pattern: object, Auth: optional, Bucket: h.download, Produces: file, Handler: h.downloadObject, Download: true},
		{Method: "HEAD", Pattern: object, Auth: optional, Bucket: h.download, Produces: file, Handler: h.downloadObject},
		{Method: "GET", Pattern: one + "/objects/{objectUid}/thumbnail", Auth: reads, Bucket: h.download, Produces: []string{typeJPEG},
			Handler: h.getThumbnail},
		{Method: "GET", Pattern: archive, Auth: optional, Bucket: h.download, Produces: file, Handler: h.downloadArchive, Download: true},
		{Method: "HEAD", Pattern: archive, Auth: optional, Bucket: h.download, Produces: file, Handler: h.downloadArchive},
		{Method: "POST", Pattern: "/auth/otk", Auth: reads, Bucket: httpapi.OwnBucket, Handler: h.createOneTimeKey},
		{Method: "GET", Pattern: request + "/archive", Auth: requests.Optional(), Bucket: h.download, Produces: file,
			Handler: h.downloadRequestArchive, Download: true},
		{Method: "POST", Pattern: request + "/otk", Auth: requests, Bucket: httpapi.OwnBucket, Handler: h.createRequestOneTimeKey},
	}
}

// linkRoutes holds what the holder of a link can do without an account. Downloads are as in transferRoutes.
func (h *Handler) linkRoutes() []httpapi.Route {
	download, optional := token.NeedDownload, token.NeedDownload.IgnoreOthers()
	const link = "/public/transfers/{key}"
	const object, archive = link + "/objects/{objectUid}/content", link + "/archive"
	file := []string{httpapi.AnyType}
	return []httpapi.Route{
		{Method: "GET", Pattern: link, Auth: optional, Handler: h.getPublicTransfer},
		{Method: "GET", Pattern: "/public/requests/{key}/receipt", Auth: token.None, Produces: receiptTypes, Handler: h.getPartyReceipt},
		{Method: "GET", Pattern: "/public/receipts/{key}", Auth: token.None, Handler: h.getSenderReceipt},
		{Method: "POST", Pattern: "/public/receipts/{key}", Auth: token.None, Handler: h.proveSender},
		{Method: "GET", Pattern: "/public/receipts/{key}/receipt", Auth: token.None, Produces: receiptTypes, Handler: h.getSentReceipt},
		{Method: "GET", Pattern: link + "/receipt", Auth: optional, Produces: receiptTypes, Handler: h.getLinkedReceipt},
		{Method: "POST", Pattern: link + "/code", Auth: token.None, Bucket: httpapi.OwnBucket, Handler: h.sendAccessCode},
		{Method: "POST", Pattern: link + "/access", Auth: token.NeedAccess.Optional(), Bucket: httpapi.OwnBucket, Handler: h.openPublicTransfer},
		{Method: "GET", Pattern: link + "/extension", Auth: token.None, Handler: h.getExpiredTransfer},
		{Method: "POST", Pattern: link + "/extension", Auth: token.None, Bucket: httpapi.OwnBucket, Handler: h.askExtension},
		{Method: "POST", Pattern: link + "/otk", Auth: download, Bucket: httpapi.OwnBucket, Handler: h.createLinkedOneTimeKey},
		{Method: "GET", Pattern: object, Auth: optional, Bucket: h.download, Produces: file, Handler: h.downloadLinkedObject, Download: true},
		{Method: "HEAD", Pattern: object, Auth: optional, Bucket: h.download, Produces: file, Handler: h.downloadLinkedObject},
		{Method: "GET", Pattern: link + "/objects/{objectUid}/thumbnail", Auth: download, Bucket: h.download, Produces: []string{typeJPEG},
			Handler: h.getLinkedThumbnail},
		{Method: "GET", Pattern: archive, Auth: optional, Bucket: h.download, Produces: file, Handler: h.downloadLinkedArchive, Download: true},
		{Method: "HEAD", Pattern: archive, Auth: optional, Bucket: h.download, Produces: file, Handler: h.downloadLinkedArchive},
	}
}

// OperatorRoutes returns the routes of the console's API that belong to this domain, relative to httpapi.OperatorBase.
func (h *Handler) OperatorRoutes() []httpapi.Route {
	reads, _ := operators()
	return slices.Concat(h.operatorTransferRoutes(), h.operatorMailboxRoutes(), h.operatorHoldRoutes(), []httpapi.Route{
		{Method: "GET", Pattern: "/organizations/{organization}/usage", Auth: reads, Handler: h.getOrganizationUsage},
	})
}

// operators returns who may read in the console, and who may change.
func operators() (reads, changes token.Auth) {
	return token.NeedAccess.Operator().Auditor(), token.NeedAccess.Operator().Young()
}

// orNull returns nil for the empty string: the member is null while it is unset.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

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

// caller returns the person and the session of the request's token.
func caller(r *http.Request) token.Caller { return token.CallerFrom(r.Context()) }
