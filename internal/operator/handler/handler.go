// Package handler serves the parts of the console's API (contract 9) that belong to no other domain: the route table and the JSON form
// of answers. The rules are in operator/service.
package handler

import (
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/operator/service"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
)

// testMails limits test mails, which go to any address.
var testMails = httpapi.PerSession("test-mail", ratelimit.Limit{Capacity: 10, PerSecond: ratelimit.Every(time.Minute)}).Essential()

// examinations limits runs of the checks: each writes to the disk of files and asks all services.
var examinations = httpapi.PerSession("doctor", ratelimit.Limit{Capacity: 5, PerSecond: ratelimit.Every(time.Minute)}).Essential()

// Handler serves the routes.
type Handler struct{ service *service.Service }

// New returns a Handler.
func New(s *service.Service) *Handler { return &Handler{s} }

// Routes returns the route table, with patterns relative to httpapi.OperatorBase. Every route is for operators, and those that
// read for auditors; those that change something also need a young login. The help desk sees the mail queue.
func (h *Handler) Routes() []httpapi.Route {
	reads, changes := token.NeedAccess.Operator().Auditor(), token.NeedAccess.Operator().Young()
	return []httpapi.Route{
		{Method: "GET", Pattern: "/overview", Auth: reads.HelpDesk().Outage(), Handler: h.getOverview},
		{Method: "GET", Pattern: "/samples", Auth: reads, Handler: h.getSamples},
		{Method: "POST", Pattern: "/doctor", Auth: token.NeedAccess.Operator(), Bucket: examinations, Handler: h.examine},
		{Method: "GET", Pattern: "/mails", Auth: reads.HelpDesk(), Handler: h.listMails},
		{Method: "POST", Pattern: "/mails/retry", Auth: changes, Handler: h.retryMails},
		{Method: "POST", Pattern: "/mails/test", Auth: changes, Bucket: testMails, Handler: h.sendTestMail},
		{Method: "POST", Pattern: "/mails/{uid}/retry", Auth: changes.HelpDesk(), Handler: h.retryMail},
		{Method: "GET", Pattern: "/jobs", Auth: reads, Handler: h.listJobs},
		{Method: "POST", Pattern: "/jobs/{id}/retry", Auth: changes, Handler: h.retryJob},
		{Method: "POST", Pattern: "/jobs/{id}/cancel", Auth: changes, Handler: h.cancelJob},
		{Method: "GET", Pattern: "/settings", Auth: reads, Handler: h.getSettings},
		{Method: "PUT", Pattern: "/maintenance", Auth: changes, Handler: h.putMaintenance},
		{Method: "GET", Pattern: "/limits", Auth: reads, Handler: h.getLimits},
		{Method: "GET", Pattern: "/keys", Auth: reads, Handler: h.getKeys},
		{Method: "POST", Pattern: "/keys/rotate", Auth: changes, Handler: h.rotateSigningKey},
		{Method: "DELETE", Pattern: "/keys/{kid}", Auth: changes, Handler: h.deleteSigningKey},
		{Method: "POST", Pattern: "/keys/log/rotate", Auth: changes, Handler: h.rotateLogKey},
		{Method: "POST", Pattern: "/keys/log/revoke", Auth: changes, Handler: h.revokeLogKey},
		{Method: "GET", Pattern: "/audit", Auth: reads, Produces: []string{"application/json", httpapi.TypeCSV, httpapi.TypeJSONLines},
			Handler: h.getAudit},
	}
}

// Items of a page of a list.
const (
	defaultLimit = 50
	maxLimit     = 200
)

// pageLimit returns how many items a page has.
func pageLimit(q *httpapi.Query) int { return int(q.Number("limit", 1, maxLimit, defaultLimit)) }
