// Requests over HTTP: what their owners do.

package handler

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/transfer/request"
	"github.com/consign-dev/consign/internal/transfer/request/postgres"
	"github.com/consign-dev/consign/internal/transfer/request/service"
)

// listRequests handles GET /requests.
func (h *Handler) listRequests(w http.ResponseWriter, r *http.Request) error {
	q := httpapi.QueryOf(r)
	state := q.Word("state", "open", "closed", "template")
	limit := q.Number("limit", 1, request.MaxPage, request.DefaultPage)
	after := q.One("after")
	if err := q.Err(); err != nil {
		return err
	}
	l := postgres.List{State: request.Open, Limit: int(limit) + 1, Template: state == "template"}
	if state == "closed" {
		l.State = request.Closed
	}
	uid, key, ok := id.ParsePosition[id.Request](after)
	at, err := time.Parse(time.RFC3339Nano, key)
	if after != "" && (!ok || err != nil) {
		return fault.ErrInvalid.With("after: must be the member next of the page before")
	}
	l.Before, l.BeforeID = at, uid
	list, err := h.service.List(r.Context(), caller(r), l)
	if err != nil {
		return err
	}
	body := struct {
		Requests []summaryResponse `json:"requests"`
		Next     string            `json:"next,omitempty"`
	}{Requests: []summaryResponse{}}
	if len(list) > int(limit) {
		list = list[:limit]
		last := list[limit-1]
		body.Next = id.Position(last.UID, last.CreatedAt.UTC().Format(time.RFC3339Nano))
	}
	for _, s := range list {
		body.Requests = append(body.Requests, summaryFrom(s))
	}
	return httpapi.JSON(w, http.StatusOK, body)
}

// requestRequest holds the members of a request that its owner sets. A nil member is not given.
type requestRequest struct {
	Title        *string         `json:"title"`
	Message      *string         `json:"message"`
	Due          *httpapi.Time   `json:"due"`
	TimeZone     *string         `json:"timeZone"`
	Late         *string         `json:"late"`
	Language     *string         `json:"language"`
	FieldsSchema json.RawMessage `json:"fieldsSchema"`
	UISchema     json.RawMessage `json:"uiSchema"`
	Reminders    *bool           `json:"reminders"`
	PublicLink   *bool           `json:"publicLink"`
	State        *string         `json:"state"`
	Items        []itemRequest   `json:"items"`
}

type itemRequest struct {
	UID           *string  `json:"uid"`
	Name          string   `json:"name"`
	Hint          string   `json:"hint"`
	MIMETypes     []string `json:"mimeTypes"`
	Required      *bool    `json:"required"`
	MaxFiles      int64    `json:"maxFiles"`
	MaxFileSizeMB int64    `json:"maxFileSizeMb"`
	Example       string   `json:"example"`
}

type createRequest struct {
	requestRequest
	Template bool           `json:"template"`
	Parties  []partyRequest `json:"parties"`
}

type partyRequest struct {
	Email    string  `json:"email"`
	Name     string  `json:"name"`
	Language *string `json:"language"`
}

// set puts a member that is given into a request.
func set[T any](to *T, value *T) {
	if value != nil {
		*to = *value
	}
}

// apply changes a request and returns its items, nil for no change of them. known are the present items. removed are members that
// the client removes.
func (in requestRequest) apply(r *request.Request, known []request.Item, removed []string) ([]request.Item, error) {
	var problems fault.Problems
	for _, member := range removed {
		switch member {
		case "due":
			r.Due = nil
		case "message":
			r.Message = ""
		case "fieldsSchema":
			r.FieldsSchema = nil
		case "uiSchema":
			r.UISchema = nil
		}
	}
	set(&r.Title, in.Title)
	set(&r.Message, in.Message)
	set(&r.TimeZone, in.TimeZone)
	set(&r.Reminders, in.Reminders)
	set(&r.Public, in.PublicLink)
	set((*string)(&r.Late), in.Late)
	if in.Due != nil {
		due := time.Time(*in.Due)
		r.Due = &due
	}
	if in.Language != nil {
		if r.Locale = *in.Language; !i18n.Supported(r.Locale) {
			problems.Add("language", "must be one of "+strings.Join(i18n.Locales(), ", "))
		}
	}
	if in.State != nil {
		if r.State = request.State(*in.State); r.State != request.Open && r.State != request.Closed {
			problems.Add("state", "must be open or closed")
		}
	}
	if document(in.FieldsSchema) != nil {
		r.FieldsSchema = in.FieldsSchema
	}
	if document(in.UISchema) != nil {
		r.UISchema = in.UISchema
	}
	if in.Items == nil || problems.Err() != nil {
		return nil, problems.Err()
	}
	return itemsOf(in.Items, known)
}

// document returns a JSON value, nil when it is absent or null.
func document(raw json.RawMessage) []byte {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// itemsOf returns items of a request. One with a uid is one of the present ones.
// Errors: fault.ErrInvalid.
func itemsOf(in []itemRequest, known []request.Item) ([]request.Item, error) {
	var problems fault.Problems
	items := make([]request.Item, 0, len(in))
	used := map[id.Item]bool{}
	for i, b := range in {
		it := request.Item{Name: b.Name, Hint: b.Hint, MIMETypes: b.MIMETypes, Required: b.Required == nil || *b.Required,
			MaxFiles: int32(min(max(b.MaxFiles, -1), request.MaxItemFiles+1)), MaxFileSizeMB: b.MaxFileSizeMB, Example: b.Example}
		if b.UID != nil {
			uid, err := id.Parse[id.Item](*b.UID)
			present := false
			for _, k := range known {
				present = present || k.UID == uid
			}
			if err != nil || !present || used[uid] {
				problems.Add(fmt.Sprintf("items[%d].uid", i), "must be that of an item of the request, once")
				break
			}
			it.UID, used[uid] = uid, true
		}
		items = append(items, it)
	}
	return items, problems.Err()
}

// partiesOf returns parties to ask.
// Errors: fault.ErrInvalid.
func partiesOf(in []partyRequest) ([]request.Party, error) {
	var problems fault.Problems
	list := make([]request.Party, len(in))
	for i, b := range in {
		list[i] = request.Party{Email: b.Email, Name: b.Name}
		if b.Language != nil {
			if list[i].Locale = *b.Language; !i18n.Supported(*b.Language) {
				problems.Add(fmt.Sprintf("parties[%d].language", i), "must be one of "+strings.Join(i18n.Locales(), ", "))
				break
			}
		}
	}
	return list, problems.Err()
}

// createRequest handles POST /requests.
func (h *Handler) createRequest(w http.ResponseWriter, r *http.Request) error {
	var in createRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	made := request.Request{Template: in.Template, Reminders: true, Late: request.LateMark}
	items, err := in.apply(&made, nil, nil)
	if err != nil {
		return err
	}
	parties, err := partiesOf(in.Parties)
	if err != nil {
		return err
	}
	d, err := h.service.Create(r.Context(), caller(r), made, items, parties)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", etag(d.Version))
	return httpapi.Created(w, h.location(r, "/requests/"+d.UID.String()), detailFrom(d))
}

// respond answers with a request.
func respond(w http.ResponseWriter, d service.Detail, err error) error {
	if err != nil {
		return err
	}
	w.Header().Set("ETag", etag(d.Version))
	return httpapi.JSON(w, http.StatusOK, detailFrom(d))
}

// getRequest handles GET /requests/{uid}.
func (h *Handler) getRequest(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Request](r, "uid")
	if err != nil {
		return err
	}
	d, err := h.service.Request(r.Context(), caller(r), uid)
	return respond(w, d, err)
}

// patchRequest handles PATCH /requests/{uid}.
func (h *Handler) patchRequest(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Request](r, "uid")
	if err != nil {
		return err
	}
	var in requestRequest
	_, removed, err := strictjson.DecodePatch(r, &in)
	if err != nil {
		return err
	}
	v, err := version(r)
	if err != nil {
		return err
	}
	d, err := h.service.Patch(r.Context(), caller(r), uid, service.Change{Version: v,
		Apply: func(q *request.Request, items []request.Item) ([]request.Item, error) {
			return in.apply(q, items, removed)
		}})
	return respond(w, d, err)
}

// deleteRequest handles DELETE /requests/{uid}.
func (h *Handler) deleteRequest(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Request](r, "uid")
	if err != nil {
		return err
	}
	if err := h.service.Delete(r.Context(), caller(r), uid); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// getTable handles GET /requests/{uid}/table.
func (h *Handler) getTable(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Request](r, "uid")
	if err != nil {
		return err
	}
	d, err := h.service.Request(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	head := []string{"name", "email", "item", "required", "state", "reason", "changed", "handed in", "late", "files", "bytes"}
	return httpapi.Table(w, "request-"+uid.String()+".csv", head, d.Table(), rowOf)
}

// rowOf returns the row of a cell.
func rowOf(c service.Cell) []string {
	names, size := make([]string, len(c.Files)), int64(0)
	for i, f := range c.Files {
		names[i], size = f.Name, size+f.Held
	}
	stamp := func(t *time.Time) string {
		if t == nil || t.IsZero() {
			return ""
		}
		return httpapi.Time(*t).String()
	}
	return []string{c.Party.Name, c.Party.Email, c.Item.Name, fmt.Sprint(c.Item.Required), string(c.State.State), c.State.Reason,
		stamp(&c.State.ChangedAt), stamp(c.Party.HandedInAt), fmt.Sprint(c.Party.Late), strings.Join(names, "; "), fmt.Sprint(size)}
}

type availabilityResponse struct {
	From       httpapi.Time  `json:"from"`
	Until      httpapi.Time  `json:"until"`
	Heartbeats int           `json:"heartbeats"`
	Gaps       []gapResponse `json:"gaps"`
}

// gapResponse is a time without heartbeats. Before and After are files for `consign verify`.
type gapResponse struct {
	From    httpapi.Time `json:"from"`
	Until   httpapi.Time `json:"until"`
	Seconds int64        `json:"seconds"`
	Before  string       `json:"before,omitempty"`
	After   string       `json:"after,omitempty"`
}

// getAvailability handles GET /requests/{uid}/availability.
func (h *Handler) getAvailability(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Request](r, "uid")
	if err != nil {
		return err
	}
	a, err := h.service.Availability(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	b := availabilityResponse{From: httpapi.Time(a.From), Until: httpapi.Time(a.Until), Heartbeats: a.Heartbeats, Gaps: []gapResponse{}}
	for _, g := range a.Gaps {
		b.Gaps = append(b.Gaps, gapResponse{From: httpapi.Time(g.From), Until: httpapi.Time(g.Until),
			Seconds: int64(g.Until.Sub(g.From) / time.Second), Before: string(g.BeforeFile), After: string(g.AfterFile)})
	}
	return httpapi.JSON(w, http.StatusOK, b)
}
