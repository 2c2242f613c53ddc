package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
)

type undoResponse struct {
	Undone bool `json:"undone"` // false: the key only ended the sessions
}

// undoChange handles POST /auth/undo/{key}.
func (h *Handler) undoChange(w http.ResponseWriter, r *http.Request) error {
	var undone bool
	err := h.guess(w, r, func() (err error) {
		undone, err = h.service.Undo(r.Context(), httpapi.Client(r.Context()), httpapi.Param(r, "key"))
		return err
	})
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, undoResponse{Undone: undone})
}
