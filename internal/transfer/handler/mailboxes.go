// Mailboxes over HTTP: the public view, and the owner's.

package handler

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/transfer"
)

type mailboxResponse struct {
	UID                       string          `json:"uid"`
	Secure                    bool            `json:"secure"`
	Name                      string          `json:"name,omitempty"`
	Email                     string          `json:"email"`
	VanityLink                string          `json:"vanityLink,omitempty"`
	Slogan                    string          `json:"slogan,omitempty"`
	Absent                    bool            `json:"absent"`
	AbsenceMessage            string          `json:"absenceMessage,omitempty"`
	FieldsSchema              json.RawMessage `json:"fieldsSchema,omitempty"`
	UISchema                  json.RawMessage `json:"uiSchema,omitempty"`
	MIMETypeFilterEnabled     bool            `json:"mimeTypeFilterEnabled"`
	MIMETypeFilterDescription string          `json:"mimeTypeFilterDescription,omitempty"`
	MIMETypeFilter            []string        `json:"mimeTypeFilter,omitempty"` // for the owner only
	MaxFiles                  int32           `json:"maxFiles"`
	MaxFileSizeMB             int64           `json:"maxFileSizeMb"`
	VolumeLimitExceeded       bool            `json:"volumeLimitExceeded"`
	Available                 bool            `json:"available"`
	UnavailableReason         string          `json:"unavailableReason,omitempty"`
	VerifySender              bool            `json:"verifySender"`
	PrefillLocked             bool            `json:"prefillLocked"`
	HasPicture                bool            `json:"hasPicture"`
	HasAvatar                 bool            `json:"hasAvatar"`

	// For the owner only.
	OwnNetworks            []string `json:"ownNetworks,omitempty"`
	Inspection             string   `json:"inspection,omitempty"`
	OrganizationInspection string   `json:"organizationInspection,omitempty"` // left out without a scanner
}

// mailboxFrom returns the public view of a mailbox.
func mailboxFrom(m transfer.PublicMailbox) mailboxResponse {
	reason, _ := m.Unavailable()
	b := mailboxResponse{
		UID: m.Person.String(), Secure: m.Protection() == transfer.ProtectIdentity, Name: m.DisplayName(), Email: m.Address(),
		VanityLink: m.VanityLink, Slogan: m.Slogan,
		Absent: m.Absent, AbsenceMessage: m.AbsenceMessage, FieldsSchema: m.FieldsSchema, UISchema: m.UISchema,
		MIMETypeFilterEnabled: m.Filtered(), MaxFiles: m.FileLimit(), MaxFileSizeMB: m.FileSizeLimitMB(),
		VolumeLimitExceeded: m.Owner.VolumeExceeded(), Available: reason == "", UnavailableReason: string(reason),
		VerifySender: m.VerifySender, PrefillLocked: m.PrefillLocked, HasPicture: m.HasPicture, HasAvatar: m.HasAvatar,
	}
	if b.MIMETypeFilterEnabled {
		b.MIMETypeFilterDescription = strings.Join(m.MIMETypeFilter, ", ")
	}
	return b
}

// ownMailboxFrom returns the owner's view of a mailbox. Its secure is the owner's own setting: a client sends it back, and
// the adminunit's level must not become the owner's choice.
func (h *Handler) ownMailboxFrom(m transfer.PublicMailbox) mailboxResponse {
	b := mailboxFrom(m)
	b.Secure = m.Secure
	b.MIMETypeFilter = m.MIMETypeFilter
	for _, p := range m.OwnNetworks {
		b.OwnNetworks = append(b.OwnNetworks, p.String())
	}
	b.Inspection = string(m.Inspection)
	if h.service.Inspects() {
		b.OrganizationInspection = string(m.Owner.Inspection.Effective().Strangers)
	}
	return b
}

// getPublicMailbox handles GET and HEAD /public/mailbox/{key}.
func (h *Handler) getPublicMailbox(w http.ResponseWriter, r *http.Request) error {
	m, err := h.service.PublicMailbox(r.Context(), caller(r), httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, mailboxFrom(m))
}

// getMailbox handles GET /mailbox.
func (h *Handler) getMailbox(w http.ResponseWriter, r *http.Request) error {
	m, err := h.service.Mailbox(r.Context(), caller(r))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, h.ownMailboxFrom(m))
}

type mailboxRequest struct {
	Secure         bool            `json:"secure"`
	Name           string          `json:"name"`
	Email          string          `json:"email"`
	VanityLink     string          `json:"vanityLink"`
	Slogan         string          `json:"slogan"`
	Absent         bool            `json:"absent"`
	AbsenceMessage string          `json:"absenceMessage"`
	FieldsSchema   json.RawMessage `json:"fieldsSchema"`
	UISchema       json.RawMessage `json:"uiSchema"`
	MIMETypeFilter []string        `json:"mimeTypeFilter"`
	MaxFiles       *int64          `json:"maxFiles"`
	MaxFileSizeMB  *int64          `json:"maxFileSizeMb"`
	VerifySender   bool            `json:"verifySender"`
	PrefillLocked  bool            `json:"prefillLocked"`
	Inspection     string          `json:"inspection"`
	OwnNetworks    []string        `json:"ownNetworks"`
}

func (in mailboxRequest) domain() (transfer.Mailbox, error) {
	m := transfer.Mailbox{
		Secure: in.Secure, Name: in.Name, Email: in.Email, VanityLink: in.VanityLink, Slogan: in.Slogan, Absent: in.Absent,
		AbsenceMessage: in.AbsenceMessage, FieldsSchema: document(in.FieldsSchema), UISchema: document(in.UISchema),
		MIMETypeFilter: in.MIMETypeFilter,
		VerifySender:   in.VerifySender, PrefillLocked: in.PrefillLocked, Inspection: transfer.InspectionPolicy(in.Inspection),
	}
	var problems fault.Problems
	own, problem := transfer.ParseOwnNetworks(in.OwnNetworks)
	if m.OwnNetworks = own; problem != "" {
		problems.Add("ownNetworks", problem)
	}
	if in.Inspection != "" && !m.Inspection.Valid() {
		problems.Add("inspection", "must be hold, mark or off")
	}
	if in.MaxFiles != nil {
		if *in.MaxFiles < 1 {
			problems.Add("maxFiles", "must be at least 1")
		}
		m.MaxFiles = int32(min(*in.MaxFiles, math.MaxInt32))
	}
	if in.MaxFileSizeMB != nil {
		if *in.MaxFileSizeMB < 1 {
			problems.Add("maxFileSizeMb", "must be at least 1")
		}
		m.MaxFileSizeMB = *in.MaxFileSizeMB
	}
	return m, problems.Err()
}

// document returns a JSON value, nil when it is absent or null.
func document(raw json.RawMessage) []byte {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// putMailbox handles PUT /mailbox.
func (h *Handler) putMailbox(w http.ResponseWriter, r *http.Request) error {
	var in mailboxRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	input, err := in.domain()
	if err != nil {
		return err
	}
	m, created, err := h.service.PutMailbox(r.Context(), caller(r), input)
	if err != nil {
		return err
	}
	if created {
		return httpapi.Created(w, h.location(r, "/mailbox"), h.ownMailboxFrom(m))
	}
	return httpapi.JSON(w, http.StatusOK, h.ownMailboxFrom(m))
}

// deleteMailbox handles DELETE /mailbox.
func (h *Handler) deleteMailbox(w http.ResponseWriter, r *http.Request) error {
	if err := h.service.DeleteMailbox(r.Context(), caller(r)); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}
