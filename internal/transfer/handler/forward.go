package handler

import (
	"fmt"
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// forwardRequest is a Reservation with the objects that are forwarded; nil or empty: all.
type forwardRequest struct {
	reservationRequest
	Objects []string `json:"objects"`
}

func (in forwardRequest) domain() (service.Forwarding, error) {
	m, err := in.reservationRequest.domain()
	if err != nil {
		return service.Forwarding{}, err
	}
	f := service.Forwarding{Metadata: m, Objects: make([]id.Object, len(in.Objects))}
	if len(in.Objects) > transfer.MaxAttachments {
		return f, fault.ErrInvalid.With(fmt.Sprintf("objects: at most %d, or none for all", transfer.MaxAttachments))
	}
	for i, uid := range in.Objects {
		if f.Objects[i], err = id.Parse[id.Object](uid); err != nil {
			return f, fault.ErrInvalid.With(fmt.Sprintf("objects[%d]: is not a uid", i))
		}
	}
	return f, nil
}

// forwardTransfer handles POST /transfers/{uid}/forward.
func (h *Handler) forwardTransfer(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return err
	}
	var in forwardRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	request, err := in.domain()
	if err != nil {
		return err
	}
	t, objects, err := h.service.Forward(r.Context(), caller(r), uid, request)
	if err != nil {
		return err
	}
	head := transferFrom(service.SeenTransfer{Transfer: t, Brief: true})
	return httpapi.CreatedList(w, h.location(r, "/transfers/"+t.UID.String()), head, "objects", objects, deliveredObjectFrom)
}
