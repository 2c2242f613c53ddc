// Handlers of the export of a person's data.

package handler

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/token"
)

const typeZIP = "application/zip"

// ExportFunc writes the data of a person as a zip. contents: with subjects, texts, answers and names of files of transfers.
type ExportFunc func(ctx context.Context, w io.Writer, r service.PersonRecord, contents bool) error

// exports writes the data of persons, one export of a person at a time on this replica.
type exports struct {
	write  ExportFunc
	active sync.Map // id.Person of exports in progress
}

// errExporting is the refusal of a parallel export.
var errExporting = fault.ErrOverloaded.With("an export of the same data is in progress; wait until it has ended").WithRetryAfter(
	10 * time.Second)

// begin starts the person's only export. ok is false while another one runs. Otherwise the caller calls end when done.
func (e *exports) begin(p id.Person) (end func(), ok bool) {
	_, busy := e.active.LoadOrStore(p, true)
	return func() { e.active.Delete(p) }, !busy
}

// getExport handles GET /profile/export. It has no body for a proof, so it needs a recent login.
func (h *Handler) getExport(w http.ResponseWriter, r *http.Request) error {
	return h.export(w, r, token.Proof{})
}

// createExport handles POST /profile/export.
func (h *Handler) createExport(w http.ResponseWriter, r *http.Request) error {
	proof, err := h.buckets.Proof(w, r, httpapi.Identity)
	if err != nil {
		return err
	}
	return h.export(w, r, proof)
}

// export answers with the caller's data. It streams: an error after the first bytes cuts the connection.
func (h *Handler) export(w http.ResponseWriter, r *http.Request, proof token.Proof) error {
	by := caller(r)
	end, ok := h.exports.begin(by.Person)
	if !ok {
		return errExporting
	}
	defer end()
	var record service.PersonRecord
	err := h.buckets.TakeFor(w, r.Context(), exportBucket, by.Person.String(), httpapi.Identity, func() (counts bool, err error) {
		record, err = h.service.ExportProfile(r.Context(), by, proof)
		return err == nil, err // a refused proof must not use up the person's exports
	})
	if err != nil {
		return err
	}
	return h.sendExport(w, r, record, true)
}

// sendExport answers with an export until the caller's session ends.
func (h *Handler) sendExport(w http.ResponseWriter, r *http.Request, record service.PersonRecord, contents bool) error {
	ctx, cancel := h.service.Watch(r.Context(), caller(r))
	defer cancel()
	defer httpapi.CutWhenDone(ctx, w)()
	header := w.Header()
	header.Set("Content-Type", typeZIP)
	header.Set("Content-Disposition", `attachment; filename="export.zip"`)
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	return h.exports.write(ctx, w, record, contents)
}
