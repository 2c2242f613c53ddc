// Holds over HTTP: of administrators in the transfer API, and of operators in the console's (contract 4.30).

package handler

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/hold"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer/holding"
)

// holdRoutes holds what administrators do with holds. API tokens have no part in it: a case is nobody else's business.
func (h *Handler) holdRoutes() []httpapi.Route {
	access := token.NeedAccess
	changes := []httpapi.Sensitive{{Change: token.HoldChanged}}
	const one = "/adminunit/holds/{uid}"
	return []httpapi.Route{
		{Method: "GET", Pattern: "/adminunit/holds", Auth: access, Handler: h.listHolds},
		{Method: "POST", Pattern: "/adminunit/holds", Auth: access, Handler: h.addHold, Creates: true, Sensitive: changes},
		{Method: "POST", Pattern: one + "/end", Auth: access, Handler: h.endHold, Sensitive: changes},
		{Method: "POST", Pattern: one + "/export", Auth: access, Produces: []string{httpapi.TypeJSONLines}, Handler: h.exportHold,
			Harmless: "it changes nothing"},
	}
}

// operatorHoldRoutes holds what operators do with holds. Auditors see them.
func (h *Handler) operatorHoldRoutes() []httpapi.Route {
	reads, changes := operators()
	const one = "/holds/{uid}"
	return []httpapi.Route{
		{Method: "GET", Pattern: "/holds", Auth: reads, Handler: h.listAllHolds},
		{Method: "POST", Pattern: "/holds", Auth: changes, Handler: h.addOperatorHold, Creates: true},
		{Method: "POST", Pattern: one + "/end", Auth: changes, Handler: h.endAnyHold},
		{Method: "POST", Pattern: one + "/export", Auth: changes, Produces: []string{httpapi.TypeJSONLines}, Handler: h.exportAnyHold},
	}
}

type holdResponse struct {
	UID          uuid.UUID        `json:"uid"`
	Kind         string           `json:"kind"`
	Subject      uuid.UUID        `json:"subject"`
	Email        *string          `json:"email"`
	Case         string           `json:"case"`
	Reason       string           `json:"reason"`
	Until        *httpapi.Time    `json:"until"`
	Notice       bool             `json:"notice"`
	CreatedAt    httpapi.Time     `json:"createdAt"`
	Rows         int64            `json:"rows"`
	Files        int64            `json:"files"`
	Bytes        int64            `json:"bytes"`
	Organization *id.Organization `json:"organization"`
}

type holdsResponse struct {
	Holds []holdResponse `json:"holds"`
}

func holdsFrom(list []hold.Listed) holdsResponse {
	out := holdsResponse{Holds: make([]holdResponse, len(list))}
	for i, l := range list {
		out.Holds[i] = holdResponse{UID: l.UID, Kind: l.Kind, Subject: l.Subject, Email: orNull(l.Email), Case: l.Name, Reason: l.Reason,
			Notice: l.Notice, CreatedAt: httpapi.Time(l.CreatedAt), Rows: l.Rows, Files: l.Files, Bytes: l.Bytes}
		if l.Until != nil {
			out.Holds[i].Until = new(httpapi.Time(*l.Until))
		}
		if !l.Organization.IsZero() {
			out.Holds[i].Organization = &l.Organization
		}
	}
	return out
}

// holdRequest begins a hold. Its reason is that of the audit entry, too.
type holdRequest struct {
	httpapi.Change
	Kind    string     `json:"kind"`
	Subject string     `json:"subject"`
	Case    string     `json:"case"`
	Until   *time.Time `json:"until"`
	Notice  bool       `json:"notice"`
}

func (in holdRequest) domain() (hold.Hold, holding.Subject) {
	return hold.Hold{Name: in.Case, Reason: in.Reason, Until: in.Until, Notice: in.Notice},
		holding.Subject{Kind: in.Kind, Reference: in.Subject}
}

type holdAdded struct {
	UID uuid.UUID `json:"uid"`
}

// listHolds handles GET /adminunit/holds.
func (h *Handler) listHolds(w http.ResponseWriter, r *http.Request) error {
	list, err := h.holds.ListOwn(r.Context(), caller(r))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, holdsFrom(list))
}

// addHold handles POST /adminunit/holds.
func (h *Handler) addHold(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		holdRequest
		httpapi.ProofRequest
	}
	if _, err := httpapi.DecodeChange(r, audit.Administrator, &in); err != nil {
		return err
	}
	if err := h.buckets.TakeGuess(w, r, in.ProofRequest, httpapi.Transfer); err != nil {
		return err
	}
	what, of := in.domain()
	uid, err := h.holds.AddOwn(r.Context(), caller(r), what, of, in.Proof())
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusCreated, holdAdded{uid})
}

// endHold handles POST /adminunit/holds/{uid}/end.
func (h *Handler) endHold(w http.ResponseWriter, r *http.Request) error {
	uid, err := holdUID(r)
	if err != nil {
		return err
	}
	var in struct {
		httpapi.Change
		httpapi.ProofRequest
	}
	by, err := httpapi.DecodeChange(r, audit.Administrator, &in)
	if err != nil {
		return err
	}
	if err := h.buckets.TakeGuess(w, r, in.ProofRequest, httpapi.Transfer); err != nil {
		return err
	}
	if err := h.holds.EndOwn(r.Context(), caller(r), uid, by.Reason, in.Proof()); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// exportHold handles POST /adminunit/holds/{uid}/export.
func (h *Handler) exportHold(w http.ResponseWriter, r *http.Request) error {
	return exportHold(w, r, audit.Administrator, func(ctx context.Context, by audit.Actor, uid uuid.UUID, write func(hold.Row) error) error {
		return h.holds.ExportOwn(ctx, caller(r), uid, by.Reason, write)
	})
}

// listAllHolds handles GET /holds of the console.
func (h *Handler) listAllHolds(w http.ResponseWriter, r *http.Request) error {
	list, err := h.holds.List(r.Context())
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, holdsFrom(list))
}

// addOperatorHold handles POST /holds of the console.
func (h *Handler) addOperatorHold(w http.ResponseWriter, r *http.Request) error {
	var in holdRequest
	by, err := httpapi.DecodeChange(r, audit.Operator, &in)
	if err != nil {
		return err
	}
	what, of := in.domain()
	uid, err := h.holds.Add(r.Context(), by, what, of)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusCreated, holdAdded{uid})
}

// endAnyHold handles POST /holds/{uid}/end of the console.
func (h *Handler) endAnyHold(w http.ResponseWriter, r *http.Request) error {
	uid, err := holdUID(r)
	if err != nil {
		return err
	}
	by, err := httpapi.DecodeChange(r, audit.Operator, &httpapi.Change{})
	if err != nil {
		return err
	}
	if err := h.holds.End(r.Context(), by, uid); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// exportAnyHold handles POST /holds/{uid}/export of the console.
func (h *Handler) exportAnyHold(w http.ResponseWriter, r *http.Request) error {
	return exportHold(w, r, audit.Operator, h.holds.Export)
}

// keptRow is a line of an export.
type keptRow struct {
	Table     string          `json:"table"`
	DeletedAt httpapi.Time    `json:"deletedAt"`
	Row       json.RawMessage `json:"row"`
}

// exportHold answers with the kept rows, one a line. What is refused before the first row is an answer of its own.
func exportHold(w http.ResponseWriter, r *http.Request, as audit.Kind,
	export func(context.Context, audit.Actor, uuid.UUID, func(hold.Row) error) error) error {
	uid, err := holdUID(r)
	if err != nil {
		return err
	}
	by, err := httpapi.DecodeChange(r, as, &httpapi.Change{})
	if err != nil {
		return err
	}
	next, stop := iter.Pull2(kept(r.Context(), by, uid, export))
	defer stop()
	first, err, more := next()
	if more && err != nil {
		return err
	}
	return httpapi.Lines(w, "kept.jsonl", func(yield func(hold.Row, error) bool) {
		for ; more && yield(first, err); first, err, more = next() { // the loop is in its head
		}
	}, func(row hold.Row) keptRow { return keptRow{row.Source, httpapi.Time(row.At), row.Data} })
}

// kept iterates over the rows of an export.
func kept(ctx context.Context, by audit.Actor, uid uuid.UUID,
	export func(context.Context, audit.Actor, uuid.UUID, func(hold.Row) error) error) iter.Seq2[hold.Row, error] {
	return func(yield func(hold.Row, error) bool) {
		stopped := false
		err := export(ctx, by, uid, func(row hold.Row) error {
			if !yield(row, nil) {
				stopped = true
				return fmt.Errorf("export of hold %s: the client is gone", uid)
			}
			return nil
		})
		if err != nil && !stopped {
			yield(hold.Row{}, err)
		}
	}
}

func holdUID(r *http.Request) (uuid.UUID, error) {
	uid, err := uuid.Parse(httpapi.Param(r, "uid"))
	if err != nil {
		return uid, hold.ErrNotFound
	}
	return uid, nil
}
