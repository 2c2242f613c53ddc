package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
)

type findingResponse struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Sentence string `json:"sentence"`
	Advice   string `json:"advice"`
}

type examinationResponse struct {
	At       httpapi.Time      `json:"at"`
	Findings []findingResponse `json:"findings"`
}

// examine handles POST /doctor.
func (h *Handler) examine(w http.ResponseWriter, r *http.Request) error {
	findings, err := h.service.Examine(r.Context())
	if err != nil {
		return err
	}
	answer := examinationResponse{At: httpapi.Time(h.service.Now()), Findings: make([]findingResponse, len(findings))}
	for i, f := range findings {
		answer.Findings[i] = findingResponse(f)
	}
	return httpapi.JSON(w, http.StatusOK, answer)
}
