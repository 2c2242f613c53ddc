// What happened to a sent transfer, over HTTP.

package handler

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

type activityResponse struct {
	Kind      string             `json:"kind"`
	At        httpapi.Time       `json:"at"`
	Recipient *activityRecipient `json:"recipient,omitempty"`
	Addresses []string           `json:"addresses,omitempty"`

	// Of downloads.
	Archive   bool             `json:"archive,omitempty"`
	Objects   []activityObject `json:"objects,omitempty"`
	Downloads *int32           `json:"downloads,omitempty"`
	Bytes     *int64           `json:"bytes,omitempty"`
	Complete  *bool            `json:"complete,omitempty"`
	LastAt    *httpapi.Time    `json:"lastAt,omitempty"`

	// Of changes.
	Members   []string `json:"members,omitempty"`
	ExpiresAt string   `json:"expiresAt,omitempty"`
	Count     int      `json:"count,omitempty"`
	Reason    string   `json:"reason,omitempty"`
}

type activityRecipient struct {
	Delivery string `json:"delivery"`
	Name     string `json:"name,omitempty"`
	Email    string `json:"email,omitempty"`
	Link     bool   `json:"link,omitempty"`
	Removed  bool   `json:"removed,omitempty"`
}

type activityObject struct {
	UID  string `json:"uid"`
	Name string `json:"name,omitempty"`
}

func activityFrom(a service.Activity) activityResponse {
	b := activityResponse{Kind: a.Kind, At: httpapi.Time(a.At), Members: strings.Fields(a.Details["members"]),
		ExpiresAt: a.Details["expiresAt"], Reason: a.Details["reason"]}
	if a.By == audit.Administrator {
		b.Reason = string(a.By)
	}
	b.Count, _ = strconv.Atoi(a.Details["recipients"])
	for _, address := range a.Addresses {
		b.Addresses = append(b.Addresses, address.String())
	}
	if d := a.Recipient; d != nil {
		b.Recipient = &activityRecipient{Delivery: d.UID.String(), Name: d.Name, Email: d.Email, Link: d.Destination == transfer.ToLink,
			Removed: d.Destination == ""}
	}
	if u := a.Use; u != nil {
		b.Archive, b.Downloads, b.Bytes, b.Complete, b.LastAt = u.Archive, &u.Downloads, &u.Bytes, &u.Complete, httpapi.TimeOrNil(&u.Last)
		for _, o := range a.Objects {
			b.Objects = append(b.Objects, activityObject{UID: o.UID.String(), Name: o.Name})
		}
	}
	return b
}

// getActivity handles GET /transfers/{uid}/activity.
func (h *Handler) getActivity(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return err
	}
	values := r.URL.Query()
	q := service.ActivityQuery{After: values.Get("after"), Limit: transfer.DefaultPage}
	if values.Has("limit") {
		n, err := strconv.Atoi(values.Get("limit"))
		if err != nil || n < 1 || n > transfer.MaxPage {
			return fault.ErrInvalid.With("limit: must be from 1 to " + strconv.Itoa(transfer.MaxPage))
		}
		q.Limit = n
	}
	list, next, err := h.service.Activity(r.Context(), caller(r), uid, q)
	if err != nil {
		return err
	}
	body := struct {
		Activity []activityResponse `json:"activity"`
		Next     string             `json:"next,omitempty"`
	}{Activity: slices.Collect(func(yield func(activityResponse) bool) {
		for _, a := range list {
			if !yield(activityFrom(a)) {
				return
			}
		}
	}), Next: next}
	if body.Activity == nil {
		body.Activity = []activityResponse{}
	}
	return httpapi.JSON(w, http.StatusOK, body)
}
