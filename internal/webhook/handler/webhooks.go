// Webhooks and their deliveries over HTTP.

package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/webhook"
	"github.com/consign-dev/consign/internal/webhook/service"
)

// webhookSendBucket bounds the messages that one person causes by hand: tests, and deliveries that are sent again.
var webhookSendBucket = ratelimit.Bucket{Name: "webhook-send", Limit: ratelimit.Limit{Capacity: 60, PerSecond: 1}, By: ratelimit.ByPerson,
	Essential: true}

// Routes returns the routes of webhooks and the log of their deliveries (contract 3.26), relative to the base path of the identity API.
func (h *Handler) Routes() []httpapi.Route {
	access := token.NeedAccess.For(token.ScopeWebhooks)
	const one, log = "/webhooks/{uid}", "/webhooks/{uid}/deliveries"
	const uids, stops = "messages hold uids only", "it only stops what goes out"
	target := []httpapi.Sensitive{{Change: token.TargetChanged, When: "an export target of an organization gets another place or login"}}
	return []httpapi.Route{
		{Method: "GET", Pattern: "/webhooks", Auth: access, Handler: h.listWebhooks},
		{Method: "POST", Pattern: "/webhooks", Auth: access, Handler: h.createWebhook, Creates: true, Sensitive: target},
		{Method: "GET", Pattern: one, Auth: access, Handler: h.getWebhook},
		{Method: "PUT", Pattern: one, Auth: access, Handler: h.putWebhook, Sensitive: target},
		{Method: "DELETE", Pattern: one, Auth: access, Handler: h.deleteWebhook, Harmless: stops},
		{Method: "POST", Pattern: one + "/rotate", Auth: access, Handler: h.rotateWebhook, Harmless: uids},
		{Method: "POST", Pattern: one + "/ping", Auth: access, Handler: h.pingWebhook, Harmless: uids},
		{Method: "GET", Pattern: log, Auth: access, Handler: h.listWebhookDeliveries},
		{Method: "POST", Pattern: log + "/{delivery}/send", Auth: access, Handler: h.resendWebhookDelivery,
			Harmless: "it goes where it went before"},
	}
}

type webhookRequest struct {
	webhookChangeRequest
	Organization *id.Organization `json:"organization"`
}

type webhookChangeRequest struct {
	URL      string   `json:"url"`
	Events   []string `json:"events"`
	Active   *bool    `json:"active"`
	User     *string  `json:"user"`
	Password *string  `json:"password"`
	httpapi.ProofRequest
}

func (in webhookChangeRequest) settings() service.Settings {
	return service.Settings{URL: in.URL, Events: in.Events, Active: in.Active == nil || *in.Active, User: in.User, Password: in.Password}
}

type webhookResponse struct {
	UID            id.Webhook       `json:"uid"`
	Organization   *id.Organization `json:"organization"`
	Kind           string           `json:"kind"`
	URL            string           `json:"url"`
	User           *string          `json:"user"`
	Events         []string         `json:"events"`
	Active         bool             `json:"active"`
	DisabledReason *string          `json:"disabledReason"`
	Created        httpapi.Time     `json:"createdTimestamp"`
	Failing        *httpapi.Time    `json:"failingSinceTimestamp"`
	Previous       *httpapi.Time    `json:"previousSecretExpirationTimestamp"`
}

// webhookSecretResponse shows the secret, which only the answers to its creation have. It is empty for an export target.
type webhookSecretResponse struct {
	webhookResponse
	Secret string `json:"secret"`
}

type webhooksResponse struct {
	Webhooks []webhookResponse `json:"webhooks"`
}

func webhookFrom(w webhook.Webhook) webhookResponse {
	out := webhookResponse{
		UID: w.UID, Kind: w.Kind, URL: w.URL, User: orNull(w.Username), Events: w.Events, Active: w.Active,
		DisabledReason: orNull(w.DisabledReason), Created: httpapi.Time(w.CreatedAt),
		Failing: (*httpapi.Time)(w.FailingSince), Previous: (*httpapi.Time)(w.PreviousUntil),
	}
	if !w.Organization.IsZero() {
		out.Organization = &w.Organization
	}
	return out
}

type webhookDeliveryResponse struct {
	UID      id.Message    `json:"uid"`
	Event    id.Event      `json:"event"`
	Kind     string        `json:"kind"`
	Subject  string        `json:"subject"`
	State    string        `json:"state"`
	Attempts int           `json:"attempts"`
	Created  httpapi.Time  `json:"createdTimestamp"`
	Last     *httpapi.Time `json:"lastAttemptTimestamp"`
	Next     *httpapi.Time `json:"nextAttemptTimestamp"`
	Status   *int          `json:"status"`
	Duration *int          `json:"duration"`
	Answer   *string       `json:"answer"`
	Reason   *string       `json:"reason"`
}

type webhookDeliveriesResponse struct {
	Deliveries []webhookDeliveryResponse `json:"deliveries"`
}

func webhookDeliveryFrom(d webhook.Delivery) webhookDeliveryResponse {
	out := webhookDeliveryResponse{
		UID: d.UID, Event: d.Event, Kind: d.Kind, Subject: d.Subject, State: d.State, Attempts: d.Attempts, Created: httpapi.Time(d.CreatedAt),
		Last: (*httpapi.Time)(d.LastAttemptAt), Status: d.Status, Duration: d.DurationMs, Answer: d.Answer, Reason: d.Reason,
	}
	if d.State == webhook.DeliveryPending {
		next := httpapi.Time(d.NextAttemptAt)
		out.Next = &next
	}
	return out
}

// createWebhook handles POST /webhooks.
func (h *Handler) createWebhook(w http.ResponseWriter, r *http.Request) error {
	var in webhookRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	if err := h.buckets.TakeGuess(w, r, in.ProofRequest, httpapi.Identity); err != nil {
		return err
	}
	var o id.Organization
	if in.Organization != nil {
		o = *in.Organization
	}
	hook, secret, err := h.service.CreateWebhook(r.Context(), caller(r), o, in.settings(), in.Proof())
	if err != nil {
		return err
	}
	return httpapi.Created(w, h.hosts.URL(httpapi.Client(r.Context()).Host.Name, h.base+"/webhooks/"+hook.UID.String()),
		webhookSecretResponse{webhookFrom(hook), secret})
}

// listWebhooks handles GET /webhooks.
func (h *Handler) listWebhooks(w http.ResponseWriter, r *http.Request) error {
	q := httpapi.QueryOf(r)
	o := httpapi.QueryUID[id.Organization](q, "organization")
	if err := q.Err(); err != nil {
		return err
	}
	hooks, err := h.service.Webhooks(r.Context(), caller(r), o)
	if err != nil {
		return err
	}
	out := webhooksResponse{Webhooks: make([]webhookResponse, len(hooks))}
	for i, hook := range hooks {
		out.Webhooks[i] = webhookFrom(hook)
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

// webhookOf returns the uid of the path.
// Errors: webhook.ErrNotFound.
func webhookOf(r *http.Request) (id.Webhook, error) {
	uid, err := id.Parse[id.Webhook](httpapi.Param(r, "uid"))
	if err != nil {
		return uid, webhook.ErrNotFound
	}
	return uid, nil
}

// getWebhook handles GET /webhooks/{uid}.
func (h *Handler) getWebhook(w http.ResponseWriter, r *http.Request) error {
	uid, err := webhookOf(r)
	if err != nil {
		return err
	}
	hook, err := h.service.Webhook(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, webhookFrom(hook))
}

// putWebhook handles PUT /webhooks/{uid}.
func (h *Handler) putWebhook(w http.ResponseWriter, r *http.Request) error {
	var in webhookChangeRequest
	uid, err := webhookOf(r)
	if err != nil {
		return err
	}
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	if err := h.buckets.TakeGuess(w, r, in.ProofRequest, httpapi.Identity); err != nil {
		return err
	}
	hook, err := h.service.PutWebhook(r.Context(), caller(r), uid, in.settings(), in.Proof())
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, webhookFrom(hook))
}

// deleteWebhook handles DELETE /webhooks/{uid}.
func (h *Handler) deleteWebhook(w http.ResponseWriter, r *http.Request) error {
	uid, err := webhookOf(r)
	if err != nil {
		return err
	}
	if err := h.service.DeleteWebhook(r.Context(), caller(r), uid); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// rotateWebhook handles POST /webhooks/{uid}/rotate.
func (h *Handler) rotateWebhook(w http.ResponseWriter, r *http.Request) error {
	uid, err := webhookOf(r)
	if err != nil {
		return err
	}
	hook, secret, err := h.service.RotateWebhook(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, webhookSecretResponse{webhookFrom(hook), secret})
}

// pingWebhook handles POST /webhooks/{uid}/ping.
func (h *Handler) pingWebhook(w http.ResponseWriter, r *http.Request) error {
	uid, err := webhookOf(r)
	if err != nil {
		return err
	}
	if err := h.buckets.Take(w, r.Context(), webhookSendBucket, caller(r).Person.String(), httpapi.Identity); err != nil {
		return err
	}
	d, err := h.service.PingWebhook(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusAccepted, webhookDeliveryFrom(d))
}

// listWebhookDeliveries handles GET /webhooks/{uid}/deliveries.
func (h *Handler) listWebhookDeliveries(w http.ResponseWriter, r *http.Request) error {
	q := httpapi.QueryOf(r)
	state := q.One("state")
	uid, err := webhookOf(r)
	if err != nil {
		return err
	}
	if err := q.Err(); err != nil {
		return err
	}
	list, err := h.service.WebhookDeliveries(r.Context(), caller(r), uid, state)
	if err != nil {
		return err
	}
	out := webhookDeliveriesResponse{Deliveries: make([]webhookDeliveryResponse, len(list))}
	for i, d := range list {
		out.Deliveries[i] = webhookDeliveryFrom(d)
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

// resendWebhookDelivery handles POST /webhooks/{uid}/deliveries/{delivery}/send.
func (h *Handler) resendWebhookDelivery(w http.ResponseWriter, r *http.Request) error {
	uid, err := webhookOf(r)
	if err != nil {
		return err
	}
	delivery, err := id.Parse[id.Message](httpapi.Param(r, "delivery"))
	if err != nil {
		return webhook.ErrDeliveryNotFound
	}
	if err := h.buckets.Take(w, r.Context(), webhookSendBucket, caller(r).Person.String(), httpapi.Identity); err != nil {
		return err
	}
	d, err := h.service.ResendDelivery(r.Context(), caller(r), uid, delivery)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusAccepted, webhookDeliveryFrom(d))
}
