// The overview of the console over HTTP.

package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/operator"
)

type overviewResponse struct {
	Version     string           `json:"version"`
	Started     httpapi.Time     `json:"started"`
	At          httpapi.Time     `json:"at"`
	Maintenance bool             `json:"maintenance"`
	Database    databaseResponse `json:"database"`
	Storage     storageResponse  `json:"storage"`
	Mail        mailResponse     `json:"mail"`
	Redis       redisResponse    `json:"redis"`
	Scanner     scannerResponse  `json:"scanner"`
	Jobs        jobsResponse     `json:"jobs"`
	Receipts    receiptsResponse `json:"receipts"`
	Audit       auditState       `json:"audit"`
	Traffic     trafficResponse  `json:"traffic"`
}

type databaseResponse struct {
	State        operator.State `json:"state"`
	Milliseconds float64        `json:"milliseconds"`
	Connections  int32          `json:"connections"`
	Maximum      int32          `json:"maximum"`
}

type storageResponse struct {
	State    operator.State `json:"state"`
	Free     int64          `json:"free"`
	Size     int64          `json:"size"`
	Floor    int64          `json:"floor"`
	Damaged  int64          `json:"damaged"`
	Problems int64          `json:"problems"`
}

type mailResponse struct {
	State         operator.State `json:"state"`
	Queued        int64          `json:"queued"`
	OldestSeconds float64        `json:"oldestSeconds"`
	Refused       int64          `json:"refused"`
	Sent          int64          `json:"sent"`
	Failed        int64          `json:"failed"`
}

type redisResponse struct {
	State    operator.State `json:"state"`
	Failures int64          `json:"failures"`
}

type scannerResponse struct {
	State         operator.State `json:"state"`
	Engine        string         `json:"engine"`
	Waiting       int64          `json:"waiting"`
	OldestSeconds float64        `json:"oldestSeconds"`
}

type jobsResponse struct {
	State    operator.State  `json:"state"`
	Failures int64           `json:"failures"`
	Queues   []queueResponse `json:"queues"`
}

type queueResponse struct {
	Name          string  `json:"name"`
	Due           int64   `json:"due"`
	Scheduled     int64   `json:"scheduled"`
	Running       int64   `json:"running"`
	OldestSeconds float64 `json:"oldestSeconds"`
}

type receiptsResponse struct {
	State   operator.State `json:"state"`
	Waiting int64          `json:"waiting"`
}

type auditState struct {
	State         operator.State `json:"state"`
	Waiting       int64          `json:"waiting"`
	OldestSeconds float64        `json:"oldestSeconds"`
	Trouble       string         `json:"trouble"`
}

type trafficResponse struct {
	Uploads   int64 `json:"uploads"`
	Downloads int64 `json:"downloads"`
	Streams   int64 `json:"streams"`
	BytesIn   int64 `json:"bytesIn"`
	BytesOut  int64 `json:"bytesOut"`
}

// getOverview handles GET /overview.
func (h *Handler) getOverview(w http.ResponseWriter, r *http.Request) error {
	o := h.service.Overview(r.Context())
	queues := make([]queueResponse, len(o.Jobs.Queues))
	for i, q := range o.Jobs.Queues {
		queues[i] = queueResponse{q.Name, q.Due, q.Scheduled, q.Running, q.OldestDue.Seconds()}
	}
	return httpapi.JSON(w, http.StatusOK, overviewResponse{
		Version: o.Version, Started: httpapi.Time(o.Started), At: httpapi.Time(o.At), Maintenance: o.Maintenance,
		Database: databaseResponse{o.Database.State, float64(o.Database.Latency.Microseconds()) / 1000, o.Database.Connections,
			o.Database.Maximum},
		Storage:  storageResponse(o.Storage),
		Mail:     mailResponse{o.Mail.State, o.Mail.Queued, o.Mail.OldestDue.Seconds(), o.Mail.Refused, o.Mail.Sent, o.Mail.Failed},
		Redis:    redisResponse(o.Redis),
		Scanner:  scannerResponse{o.Scanner.State, o.Scanner.Engine, o.Scanner.Waiting, o.Scanner.OldestDue.Seconds()},
		Jobs:     jobsResponse{o.Jobs.State, o.Jobs.Failures, queues},
		Receipts: receiptsResponse(o.Receipts),
		Audit:    auditState{o.Audit.State, o.Audit.Waiting, o.Audit.OldestDue.Seconds(), o.Audit.Trouble},
		Traffic:  trafficResponse(o.Traffic),
	})
}
