// Settings, maintenance, refused requests and signing keys in the console over HTTP.

package handler

import (
	"net/http"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/operator"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/translog"
)

type settingResponse struct {
	Group       string `json:"group"`
	Name        string `json:"name"`
	Value       string `json:"value"`
	Default     string `json:"default"`
	Description string `json:"description"`
	Source      string `json:"source"`
}

type settingsResponse struct {
	Maintenance bool              `json:"maintenance"`
	From        *httpapi.Time     `json:"maintenanceFrom,omitempty"`
	Until       *httpapi.Time     `json:"maintenanceUntil,omitempty"`
	Settings    []settingResponse `json:"settings"`
}

// getSettings handles GET /settings.
func (h *Handler) getSettings(w http.ResponseWriter, _ *http.Request) error {
	m, begun := h.service.Maintenance()
	answer := settingsResponse{Maintenance: begun, From: known(m.From), Until: known(m.Until)}
	for _, s := range h.service.Settings() {
		source := "default"
		if s.Given {
			source = "environment"
		}
		answer.Settings = append(answer.Settings, settingResponse{s.Group, s.Name, s.Value, s.Default, s.Description, source})
	}
	return httpapi.JSON(w, http.StatusOK, answer)
}

// known returns a time, nil for the zero one.
func known(at time.Time) *httpapi.Time {
	if at.IsZero() {
		return nil
	}
	return new(httpapi.Time(at))
}

type maintenanceRequest struct {
	On    *bool      `json:"on"`
	From  *time.Time `json:"from"`
	Until *time.Time `json:"until"`
}

// putMaintenance handles PUT /maintenance.
func (h *Handler) putMaintenance(w http.ResponseWriter, r *http.Request) error {
	var in maintenanceRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	if in.On == nil {
		return fault.ErrInvalid.With("on: is required")
	}
	m := operator.Maintenance{On: *in.On}
	if m.On && in.From != nil {
		m.From = in.From.UTC()
	}
	if m.On && in.Until != nil {
		m.Until = in.Until.UTC()
	}
	if problem := m.Problem(h.service.Now()); problem != "" {
		return fault.ErrInvalid.With(problem)
	}
	if err := h.service.SetMaintenance(r.Context(), m); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

type refusalsResponse struct {
	Bucket string `json:"bucket"`
	Count  int64  `json:"count"`
}

type limitsResponse struct {
	Refusals []refusalsResponse `json:"refusals"`
}

// getLimits handles GET /limits.
func (h *Handler) getLimits(w http.ResponseWriter, _ *http.Request) error {
	answer := limitsResponse{Refusals: []refusalsResponse{}}
	for _, r := range h.service.Refusals() {
		answer.Refusals = append(answer.Refusals, refusalsResponse(r))
	}
	return httpapi.JSON(w, http.StatusOK, answer)
}

type signingKeyResponse struct {
	KID            string       `json:"kid"`
	Purpose        string       `json:"purpose"`
	State          string       `json:"state"`
	SignsFrom      httpapi.Time `json:"signsFrom"`
	SignsUntil     httpapi.Time `json:"signsUntil"`
	PublishedUntil httpapi.Time `json:"publishedUntil"`
}

func (h *Handler) signingKey(k token.Key) signingKeyResponse {
	return signingKeyResponse{k.KID, k.Purpose, k.State(h.service.Now()), httpapi.Time(k.SignsFrom), httpapi.Time(k.SignsUntil),
		httpapi.Time(k.PublishedUntil)}
}

type logKeyResponse struct {
	Verifier   string        `json:"verifier"`
	State      string        `json:"state"`
	Created    httpapi.Time  `json:"created"`
	SignsUntil *httpapi.Time `json:"signsUntil"`
}

func (h *Handler) logKey(k translog.Key) (logKeyResponse, error) {
	text, err := k.Verifier()
	return logKeyResponse{text, k.State(h.service.Now()), httpapi.Time(k.CreatedAt), httpapi.TimeOrNil(k.SignsUntil)}, err
}

type keysResponse struct {
	Signing []signingKeyResponse `json:"signing"`
	Log     []logKeyResponse     `json:"log"`
}

// getKeys handles GET /keys.
func (h *Handler) getKeys(w http.ResponseWriter, r *http.Request) error {
	signing, err := h.service.SigningKeys(r.Context())
	if err != nil {
		return err
	}
	receipts, err := h.service.LogKeys(r.Context())
	if err != nil {
		return err
	}
	answer := keysResponse{Signing: make([]signingKeyResponse, len(signing)), Log: make([]logKeyResponse, len(receipts))}
	for i, k := range signing {
		answer.Signing[i] = h.signingKey(k)
	}
	for i, k := range receipts {
		if answer.Log[i], err = h.logKey(k); err != nil {
			return err
		}
	}
	return httpapi.JSON(w, http.StatusOK, answer)
}

// rotateSigningKey handles POST /keys/rotate.
func (h *Handler) rotateSigningKey(w http.ResponseWriter, r *http.Request) error {
	k, err := h.service.RotateSigningKey(r.Context())
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, h.signingKey(k))
}

// deleteSigningKey handles DELETE /keys/{kid}.
func (h *Handler) deleteSigningKey(w http.ResponseWriter, r *http.Request) error {
	kid := httpapi.Param(r, "kid")
	keys, err := h.service.SigningKeys(r.Context()) // a kid that is no text never reaches the database
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.KID == kid {
			if err := h.service.RevokeSigningKey(r.Context(), kid); err != nil {
				return err
			}
			return httpapi.NoContent(w)
		}
	}
	return token.ErrUnknownKey
}

// rotateLogKey handles POST /keys/log/rotate.
func (h *Handler) rotateLogKey(w http.ResponseWriter, r *http.Request) error {
	return h.replaceLogKey(w, r, false)
}

// revokeLogKey handles POST /keys/log/revoke.
func (h *Handler) revokeLogKey(w http.ResponseWriter, r *http.Request) error {
	return h.replaceLogKey(w, r, true)
}

func (h *Handler) replaceLogKey(w http.ResponseWriter, r *http.Request, revoke bool) error {
	k, err := h.service.RotateLogKey(r.Context(), revoke)
	if err != nil {
		return err
	}
	answer, err := h.logKey(k)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, answer)
}
