// Transfers over HTTP: the lists of a person, one transfer, and its end.

package handler

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

type senderResponse struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email"`
	UID   string `json:"uid,omitempty"`

	Verified bool `json:"verified"`
}

func senderFrom(s transfer.Sender) senderResponse {
	return senderResponse{Name: s.Name, Email: s.Email, UID: uidOrEmpty(s.Person), Verified: s.Verified}
}

type deliveredObjectResponse struct {
	UID           string `json:"uid"`
	Name          string `json:"name,omitempty"`
	ContentLength int64  `json:"contentLength"`
	MIMEType      string `json:"mimeType,omitempty"`
	SHA256        string `json:"sha256,omitempty"`
	Downloads     int64  `json:"downloads"`

	MalwareStatus string           `json:"malwareStatus,omitempty"` // left out: unscanned
	Malware       *malwareResponse `json:"malware,omitempty"`
	Held          bool             `json:"held,omitempty"`
}

// receiverResponse is a recipient of a transfer. Only the sender sees the members of its own.
type receiverResponse struct {
	recipientResponse

	Delivery     string        `json:"delivery,omitempty"` // uid of this recipient of this transfer
	AccessedAt   *httpapi.Time `json:"accessedAt,omitempty"`
	DownloadedAt *httpapi.Time `json:"downloadedAt,omitempty"`
	Downloads    int32         `json:"downloads,omitempty"`
	RemindedAt   *httpapi.Time `json:"remindedAt,omitempty"`
}

func receiverFrom(d transfer.Delivery, managed bool) receiverResponse {
	b := receiverResponse{recipientResponse: recipientResponse{UID: uidOrEmpty(d.Person), Name: d.Name, Email: d.Email,
		DestinationType: string(d.Destination)}}
	if managed {
		b.Delivery, b.AccessedAt, b.RemindedAt = d.UID.String(), httpapi.TimeOrNil(&d.AccessedAt), httpapi.TimeOrNil(&d.RemindedAt)
		b.DownloadedAt, b.Downloads = httpapi.TimeOrNil(&d.DownloadedAt), d.Downloads
	}
	return b
}

type transferResponse struct {
	UID         string                     `json:"uid"`
	Type        string                     `json:"type"`
	State       string                     `json:"state"`
	Locked      bool                       `json:"locked"`
	Subject     string                     `json:"subject,omitempty"`
	Message     string                     `json:"message,omitempty"`
	Sender      senderResponse             `json:"sender"`
	Recipients  []receiverResponse         `json:"recipients"`
	Undelivered []string                   `json:"undelivered,omitempty"`
	Unmailed    bool                       `json:"unmailed,omitempty"`
	Priority    int32                      `json:"priority,omitempty"`
	Protection  string                     `json:"protection"`
	Fields      json.RawMessage            `json:"fields,omitempty"`
	Answers     []answerResponse           `json:"answers,omitempty"`
	CreatedAt   httpapi.Time               `json:"createdAt"`
	ExpiresAt   httpapi.Time               `json:"expiresAt"`
	AccessedAt  *httpapi.Time              `json:"accessedAt,omitempty"`
	ObjectCount *int32                     `json:"objectCount,omitempty"`
	TotalBytes  *int64                     `json:"totalBytes,omitempty"`
	Objects     *[]deliveredObjectResponse `json:"objects,omitempty"`
	Link        string                     `json:"link,omitempty"`
	Forwarding  bool                       `json:"forwarding"`

	MalwareStatus  string `json:"malwareStatus,omitempty"`
	DownloadAnyway bool   `json:"downloadAnyway,omitempty"`

	limitsResponse
	ExtendableUntil *httpapi.Time `json:"extendableUntil,omitempty"`
	LegalHold       bool          `json:"legalHold,omitempty"`

	// For a recipient.
	Read   *bool  `json:"read,omitempty"`
	Pinned *bool  `json:"pinned,omitempty"`
	Notes  string `json:"notes,omitempty"`

	// For the sender.
	DeliveryNotification *bool `json:"deliveryNotification,omitempty"`
	RemindBefore         int32 `json:"remindBefore,omitempty"`
}

// limitsResponse are the limits of downloads that a transfer has.
type limitsResponse struct {
	MaxDownloads        int32 `json:"maxDownloads,omitempty"`
	MaxTotalDownloads   int32 `json:"maxTotalDownloads,omitempty"`
	DeleteAfterDownload bool  `json:"deleteAfterDownload,omitempty"`
}

func transferFrom(t service.SeenTransfer) transferResponse {
	b := transferResponse{
		UID: t.UID.String(), Type: string(t.Kind), State: string(t.State), Locked: t.Locked, Subject: t.Subject, Message: t.Message,
		Sender:     senderFrom(t.Sender),
		Recipients: make([]receiverResponse, len(t.Recipients)), Unmailed: t.Unmailed, Priority: t.Priority, Protection: string(t.Protection),
		Fields: t.Fields, Answers: answersFrom(t.Answers),
		CreatedAt: httpapi.Time(t.CreatedAt), ExpiresAt: httpapi.Time(t.ExpiresAt), AccessedAt: httpapi.TimeOrNil(&t.AccessedAt), Link: t.Link,
		ExtendableUntil: httpapi.TimeOrNil(&t.ExtendableUntil), Forwarding: t.Forwarding && (t.Managed || !t.Limited()),
		limitsResponse: limitsResponse(t.Limits),
	}
	if t.Managed {
		b.DeliveryNotification, b.RemindBefore = &t.Notify, t.RemindBefore
	}
	if t.Reached {
		b.Read, b.Pinned, b.Notes = &t.Read, &t.Pinned, t.Notes
	}
	for i, d := range t.Recipients {
		b.Recipients[i] = receiverFrom(d, t.Managed)
		if d.Undelivered {
			b.Undelivered = append(b.Undelivered, d.Email)
		}
	}
	if t.Locked {
		return b
	}
	b.ObjectCount, b.TotalBytes, b.MalwareStatus, b.DownloadAnyway = &t.ObjectCount, &t.TotalBytes, string(t.MalwareStatus), t.DownloadAnyway
	if t.Brief {
		return b
	}
	objects := make([]deliveredObjectResponse, len(t.Objects))
	for i, o := range t.Objects {
		objects[i] = deliveredObjectFrom(o)
	}
	b.Objects = &objects
	return b
}

func deliveredObjectFrom(o transfer.Object) deliveredObjectResponse {
	b := deliveredObjectResponse{
		UID: o.UID.String(), Name: o.Name, ContentLength: o.Held, MIMEType: o.MIMEType, SHA256: hex.EncodeToString(o.SHA256),
		Downloads: o.Downloads,
		Held:      o.Withheld,
	}
	if o.Scan != nil {
		b.MalwareStatus, b.Malware = string(o.Scan.State), malwareFrom(*o.Scan)
	}
	return b
}

// listTransfers handles GET /transfers.
func (h *Handler) listTransfers(w http.ResponseWriter, r *http.Request) error {
	q, err := transferQuery(r)
	if err != nil {
		return err
	}
	list, next, err := h.service.Transfers(r.Context(), caller(r), q)
	if err != nil {
		return err
	}
	head := struct {
		Next string `json:"next,omitempty"`
	}{next}
	return httpapi.List(w, head, "transfers", list, transferFrom)
}

func transferQuery(r *http.Request) (service.TransferQuery, error) {
	values := r.URL.Query()
	q := service.TransferQuery{Search: values.Get("search"), After: values.Get("after"), Limit: transfer.DefaultPage}
	var problems fault.Problems
	if !values.Has("location") {
		q.Received, q.Sent = true, true
	} else {
		for location := range strings.SplitSeq(strings.Join(values["location"], ","), ",") {
			switch location {
			case "received":
				q.Received = true
			case "sent":
				q.Sent = true
			default:
				problems.Add("location", "must be received, sent, or both with a comma")
			}
		}
	}
	switch values.Get("order") {
	case "", "newest":
	case "oldest":
		q.Oldest = true
	default:
		problems.Add("order", "must be newest or oldest")
	}
	switch f := transfer.Filter(values.Get("filter")); f {
	case transfer.FilterNone, transfer.FilterNew, transfer.FilterOpen, transfer.FilterExpired, transfer.FilterPinned:
		q.Filter = f
	default:
		problems.Add("filter", "must be new, open, expired or pinned")
	}
	if values.Has("limit") {
		n, err := strconv.Atoi(values.Get("limit"))
		if err != nil || n < 1 || n > transfer.MaxPage {
			problems.Add("limit", "must be from 1 to "+strconv.Itoa(transfer.MaxPage))
		}
		q.Limit = n
	}
	return q, problems.Err()
}

// getTransfer handles GET /transfers/{uid}.
func (h *Handler) getTransfer(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return err
	}
	return h.respondTransfer(w, r, uid)
}

// respondTransfer answers with a transfer as the caller sees it.
func (h *Handler) respondTransfer(w http.ResponseWriter, r *http.Request, uid id.Transfer) error {
	t, objects, err := h.service.Transfer(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	out := transferFrom(t)
	if by := caller(r); t.Managed || t.Owner == by.Person {
		if out.LegalHold, err = h.holds.Noticed(r.Context(), uid); err != nil {
			return err
		}
	}
	if !t.Brief || t.Locked {
		return httpapi.JSON(w, http.StatusOK, out)
	}
	return httpapi.List(w, out, "objects", objects, deliveredObjectFrom)
}

// deleteTransfer handles DELETE /transfers/{uid}.
func (h *Handler) deleteTransfer(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return err
	}
	if err := h.service.DeleteTransfer(r.Context(), caller(r), uid); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}
