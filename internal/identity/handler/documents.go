package handler

import (
	"net/http"
	"strconv"

	"github.com/consign-dev/consign/internal/fault"
)

const typePDF = "application/pdf"

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
	header := w.Header()
	header.Set("Content-Type", typePDF)
	header.Set("Content-Length", strconv.Itoa(len(file)))
	header.Set("Content-Disposition", `attachment; filename="data-processing-agreement-`+domain+`.pdf"`)
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	if r.Method == http.MethodHead {
		return nil
	}
	_, err = w.Write(file)
	return err
}
