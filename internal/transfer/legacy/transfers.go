// Transfers as the older API shows them.

package legacy

import (
	"encoding/hex"
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

type transferResponse struct {
	RecipientID        string        `json:"recipientId"`
	IsProtected        bool          `json:"isProtected"`
	PasswordAttempts   int           `json:"passwordAttempts"`
	IsLocked           bool          `json:"isLocked"`
	NeedsRecipientCode bool          `json:"isRecipientAuthenticationEnabled"`
	Sender             person        `json:"sender"`
	Receiver           person        `json:"receiver"`
	UploadTimestamp    httpapi.Time  `json:"uploadTimestamp"`
	AccessTimestamp    *httpapi.Time `json:"accessTimestamp,omitempty"`
	ExpirationTime     httpapi.Time  `json:"expirationTimestamp"`
	Subject            string        `json:"subject,omitempty"`
	Description        string        `json:"description,omitempty"`
	Priority           int32         `json:"priority,omitempty"`
	IsInDrive          bool          `json:"isInDrive"`
	IsExpired          bool          `json:"isExpired"`
	IsBounced          bool          `json:"isBounced"`
	IsUnread           bool          `json:"isUnread"`
	MalwareStatus      string        `json:"malwareStatus"`
	ProcessingState    string        `json:"processingState"`
	DirectLink         string        `json:"directLink,omitempty"`
	TotalFileSize      int64         `json:"totalFileSize"`
	Files              []fileEntry   `json:"files"`
}

type person struct {
	Email    string    `json:"email"`
	RealName string    `json:"realname,omitempty"`
	UID      id.Person `json:"uid,omitzero"`
	Type     string    `json:"type,omitempty"`
}

type fileEntry struct {
	ObjectID  string `json:"objectId"`
	Name      string `json:"name"`
	Size      int64  `json:"size"`
	URL       string `json:"url"`
	Hash      string `json:"hashsum,omitempty"`
	Downloads int64  `json:"downloadCounter"`
	MIMEType  string `json:"mimeType,omitempty"`
}

// from returns a transfer as the older API shows it, with the files that it lists itself.
func (h *Handler) from(r *http.Request, t service.SeenTransfer) transferResponse {
	out := transferResponse{
		RecipientID: t.UID.String(), IsProtected: t.Protection != transfer.ProtectNone, IsLocked: t.Locked,
		NeedsRecipientCode: t.Protection == transfer.ProtectIdentity,
		Sender:             person{Email: t.Sender.Email, RealName: t.Sender.Name, UID: t.Sender.Person},
		UploadTimestamp:    httpapi.Time(t.CreatedAt), AccessTimestamp: httpapi.TimeOrNil(&t.AccessedAt),
		ExpirationTime: httpapi.Time(t.ExpiresAt),
		Subject:        t.Subject, Description: t.Message, Priority: t.Priority, IsExpired: t.State.Ended(), IsUnread: t.Reached && !t.Read,
		MalwareStatus: malwareStatus(t.MalwareStatus), ProcessingState: processingState(t.MalwareStatus), DirectLink: t.Link,
		TotalFileSize: t.TotalBytes, Files: []fileEntry{},
	}
	for i, d := range t.Recipients {
		out.IsBounced = out.IsBounced || d.Undelivered
		if i == 0 || d.Person == caller(r).Person {
			out.Receiver = person{d.Email, d.Name, d.Person, string(d.Destination)}
		}
	}
	for _, o := range t.Objects {
		out.Files = append(out.Files, h.file(r, t.UID, o))
	}
	return out
}

func (h *Handler) file(r *http.Request, t id.Transfer, o transfer.Object) fileEntry {
	return fileEntry{
		ObjectID: o.UID.String(), Name: o.Name, Size: o.Held, Hash: hex.EncodeToString(o.SHA256), Downloads: o.Downloads, MIMEType: o.MIMEType,
		URL: h.hosts.URL(caller(r).Client.Host.Name, h.base+"/transfers/"+t.String()+"/objects/"+o.UID.String()+"/content"),
	}
}

// list handles GET /transfers: the newest transfers, at most transfer.MaxPage.
func (h *Handler) list(w http.ResponseWriter, r *http.Request) error {
	q := service.TransferQuery{Search: r.URL.Query().Get("search"), Limit: transfer.MaxPage}
	switch r.URL.Query().Get("location") {
	case "received":
		q.Received = true
	case "sent":
		q.Sent = true
	case "", "sentandreceived":
		q.Received, q.Sent = true, true
	case "drive": // an archive of folders, which is not here
		return httpapi.JSON(w, http.StatusOK, map[string]any{"total": 0, "transfers": []transferResponse{}})
	default:
		return fault.ErrInvalid.With("location: must be received, sent, sentandreceived or drive")
	}
	list, _, err := h.service.Transfers(r.Context(), caller(r), q)
	if err != nil {
		return err
	}
	all := []transferResponse{}
	for t, err := range list {
		if err != nil {
			return err
		}
		all = append(all, h.from(r, t))
	}
	return httpapi.JSON(w, http.StatusOK, map[string]any{"total": len(all), "transfers": all})
}

// show handles GET /transfers/{recipientId}.
func (h *Handler) show(w http.ResponseWriter, r *http.Request) error {
	uid, err := id.Parse[id.Transfer](httpapi.Param(r, "recipientId"))
	if err != nil {
		return transfer.ErrNotFound
	}
	t, objects, err := h.service.Transfer(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	out := h.from(r, t)
	out.Files = []fileEntry{}
	for o, err := range objects {
		if err != nil {
			return err
		}
		out.Files = append(out.Files, h.file(r, uid, o))
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

// malwareStatus returns the word of the older API for the state of an inspection.
func malwareStatus(s transfer.ScanState) string {
	switch s {
	case transfer.Clean:
		return "ok"
	case transfer.Infected:
		return "infected"
	case transfer.Partly, transfer.Failed:
		return "error"
	}
	return "unknown"
}

func processingState(s transfer.ScanState) string {
	if s == transfer.Scanning {
		return "malwareScan"
	}
	return "completed"
}
