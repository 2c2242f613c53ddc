package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
)

// getDocument handles GET /organizations/{uid}/documents.
func (h *Handler) getDocument(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	var problems fault.Problems
	q := r.URL.Query()
	kind, domain := orEmpty(queryOne(q, &problems, "type")), orEmpty(queryOne(q, &problems, "domain"))
	if kind == "" {
		problems.Add("type", "is required, such as dataProcessing")
	}
	if err := problems.Err(); err != nil {
		return err
	}
	file, err := h.service.Document(r.Context(), caller(r), o, kind, domain)
	if err != nil {
		return err
	}
	return httpapi.PDF(w, "data-processing-agreement-"+domain+".pdf", file)
}
