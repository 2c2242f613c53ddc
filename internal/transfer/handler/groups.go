package handler

import (
	"fmt"
	"iter"
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// groupResponse is a mailbox group without its mailboxes, which httpapi.List streams.
type groupResponse struct {
	UID         string    `json:"uid"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	VanityLink  string    `json:"vanityLink,omitempty"`
	MailboxUIDs *[]string `json:"mailboxUids,omitempty"` // for administrators: an answer can be changed and sent back
}

// groupFrom returns the public view of a mailbox group.
func groupFrom(g transfer.MailboxGroup) groupResponse {
	return groupResponse{UID: g.UID.String(), Name: g.Name, Description: g.Description, VanityLink: g.VanityLink}
}

// ownGroupFrom returns an administrator's view of a mailbox group.
func ownGroupFrom(g transfer.MailboxGroup) groupResponse {
	b := groupFrom(g)
	uids := make([]string, len(g.Members))
	for i, m := range g.Members {
		uids[i] = m.Mailbox.String()
	}
	b.MailboxUIDs = &uids
	return b
}

// mailboxes returns the mailboxes of a group.
func (h *Handler) mailboxes(r *http.Request, g transfer.MailboxGroup) iter.Seq2[transfer.PublicMailbox, error] {
	return h.service.GroupMailboxes(r.Context(), caller(r), g)
}

// getPublicGroup handles GET /public/mailboxgroup/{key}.
func (h *Handler) getPublicGroup(w http.ResponseWriter, r *http.Request) error {
	g, err := h.service.PublicGroup(r.Context(), caller(r), httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	return httpapi.List(w, groupFrom(g), "mailboxes", h.mailboxes(r, g), mailboxFrom)
}

// listGroups handles GET /mailboxgroups.
func (h *Handler) listGroups(w http.ResponseWriter, r *http.Request) error {
	list, err := h.service.Groups(r.Context(), caller(r))
	if err != nil {
		return err
	}
	mailboxes := func(g transfer.MailboxGroup) iter.Seq2[transfer.PublicMailbox, error] { return h.mailboxes(r, g) }
	return httpapi.Lists(w, "mailboxgroups", list, ownGroupFrom, "mailboxes", mailboxes, mailboxFrom)
}

type groupRequest struct {
	Name        *string  `json:"name"`
	Description string   `json:"description"`
	VanityLink  string   `json:"vanityLink"`
	MailboxUIDs []string `json:"mailboxUids"`
}

func (in groupRequest) domain() (service.GroupInput, error) {
	input := service.GroupInput{Description: in.Description, VanityLink: in.VanityLink}
	var problems fault.Problems
	if in.Name == nil {
		problems.Add("name", "is required")
	} else {
		input.Name = *in.Name
	}
	if in.MailboxUIDs == nil {
		problems.Add("mailboxUids", "is required")
	}
	for i, text := range in.MailboxUIDs {
		m, err := id.Parse[id.Person](text)
		if err != nil {
			problems.Add(fmt.Sprintf("mailboxUids[%d]", i), err.Error())
			break
		}
		input.Mailboxes = append(input.Mailboxes, m)
	}
	return input, problems.Err()
}

// decodeGroup decodes the body of createGroup and putGroup.
func decodeGroup(r *http.Request) (service.GroupInput, error) {
	var in groupRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return service.GroupInput{}, err
	}
	return in.domain()
}

// createGroup handles POST /mailboxgroups.
func (h *Handler) createGroup(w http.ResponseWriter, r *http.Request) error {
	input, err := decodeGroup(r)
	if err != nil {
		return err
	}
	g, err := h.service.CreateGroup(r.Context(), caller(r), input)
	if err != nil {
		return err
	}
	return httpapi.CreatedList(w, h.location(r, "/mailboxgroups/"+g.UID.String()), ownGroupFrom(g), "mailboxes", h.mailboxes(r, g),
		mailboxFrom)
}

// getGroup handles GET /mailboxgroups/{uid}.
func (h *Handler) getGroup(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Group](r, "uid")
	if err != nil {
		return err
	}
	g, err := h.service.Group(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	return httpapi.List(w, ownGroupFrom(g), "mailboxes", h.mailboxes(r, g), mailboxFrom)
}

// putGroup handles PUT /mailboxgroups/{uid}.
func (h *Handler) putGroup(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Group](r, "uid")
	if err != nil {
		return err
	}
	input, err := decodeGroup(r)
	if err != nil {
		return err
	}
	g, err := h.service.PutGroup(r.Context(), caller(r), uid, input)
	if err != nil {
		return err
	}
	return httpapi.List(w, ownGroupFrom(g), "mailboxes", h.mailboxes(r, g), mailboxFrom)
}

// deleteGroup handles DELETE /mailboxgroups/{uid}.
func (h *Handler) deleteGroup(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Group](r, "uid")
	if err != nil {
		return err
	}
	if err := h.service.DeleteGroup(r.Context(), caller(r), uid); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}
