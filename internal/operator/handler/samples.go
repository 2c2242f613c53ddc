package handler

import (
	"cmp"
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/operator/service"
)

type sampleResponse struct {
	At         httpapi.Time `json:"at"`
	Requests   int64        `json:"requests"`
	Errors     int64        `json:"errors"`
	Uploads    int64        `json:"uploads"`
	Downloads  int64        `json:"downloads"`
	BytesIn    int64        `json:"bytesIn"`
	BytesOut   int64        `json:"bytesOut"`
	Logins     *int64       `json:"logins"`
	Deliveries *int64       `json:"deliveries"`
	Mails      *int64       `json:"mails"`
	Jobs       *int64       `json:"jobs"`
	Free       *int64       `json:"free"`
	Database   *int64       `json:"database"`
	People     *int64       `json:"people"`
	Transfers  *int64       `json:"transfers"`
}

type samplesResponse struct {
	From    httpapi.Time     `json:"from"`
	Until   httpapi.Time     `json:"until"`
	Seconds int64            `json:"seconds"`
	Samples []sampleResponse `json:"samples"`
}

// getSamples handles GET /samples.
func (h *Handler) getSamples(w http.ResponseWriter, r *http.Request) error {
	q := httpapi.QueryOf(r)
	period := cmp.Or(q.Word("period", service.Periods...), service.Periods[0])
	if err := q.Err(); err != nil {
		return err
	}
	list, from, until, step, err := h.service.Samples(r.Context(), period)
	if err != nil {
		return err
	}
	answer := samplesResponse{From: httpapi.Time(from), Until: httpapi.Time(until), Seconds: int64(step.Seconds()),
		Samples: make([]sampleResponse, len(list))}
	for i, s := range list {
		answer.Samples[i] = sampleResponse{
			At: httpapi.Time(s.At), Requests: s.Requests, Errors: s.Errors, Uploads: s.Uploads, Downloads: s.Downloads, BytesIn: s.BytesIn,
			BytesOut: s.BytesOut,
			Logins:   s.Logins, Deliveries: s.Deliveries, Mails: s.Mails, Jobs: s.Jobs, Free: s.Free, Database: s.Database, People: s.People,
			Transfers: s.Transfers,
		}
	}
	return httpapi.JSON(w, http.StatusOK, answer)
}
