// The stored files in the console over HTTP: counts, and checks of all.

package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// listedChecks is how many checks of the storage an answer has.
const listedChecks = 20

// Storage serves the routes of the console about stored files.
type Storage struct {
	content   *content.Service
	encrypted bool // new files are
}

// NewStorage returns a Storage. encrypted says that new files are encrypted.
func NewStorage(c *content.Service, encrypted bool) *Storage { return &Storage{c, encrypted} }

// Routes returns the routes, relative to httpapi.OperatorBase.
func (h *Storage) Routes() []httpapi.Route {
	reads, changes := operators()
	return []httpapi.Route{
		{Method: "GET", Pattern: "/storage", Auth: reads, Handler: h.get},
		{Method: "POST", Pattern: "/storage/checks", Auth: changes, Handler: h.start},
		{Method: "GET", Pattern: "/storage/checks/{check}", Auth: reads, Handler: h.getCheck},
		{Method: "POST", Pattern: "/storage/checks/{check}/cancel", Auth: changes, Handler: h.cancel},
		{Method: "POST", Pattern: "/storage/accept", Auth: changes, Handler: h.accept},
	}
}

type storageResponse struct {
	Objects          int64            `json:"objects"`
	Bytes            int64            `json:"bytes"`
	Encryption       bool             `json:"encryption"`
	EncryptedObjects int64            `json:"encryptedObjects"`
	EncryptedBytes   int64            `json:"encryptedBytes"`
	SweepOff         bool             `json:"sweepOff"`
	Checks           []checkResponse  `json:"checks"`
	Damaged          []damageResponse `json:"damaged"`
}

type damageResponse struct {
	Object    id.Object                  `json:"object"`
	Detail    string                     `json:"detail"`
	Found     httpapi.Time               `json:"found"`
	Transfers []transfer.DamagedTransfer `json:"transfers"`
}

type checkResponse struct {
	UID      id.StorageCheck           `json:"uid"`
	State    string                    `json:"state"`
	Scrub    bool                      `json:"scrub"`
	Started  httpapi.Time              `json:"started"`
	Finished *httpapi.Time             `json:"finished"`
	Total    *int64                    `json:"total"`
	Objects  int64                     `json:"objects"`
	Bytes    int64                     `json:"bytes"`
	Findings int64                     `json:"findings"`
	SweepOff bool                      `json:"sweepOff"`
	Problems []transfer.StorageProblem `json:"problems"`
}

func checkFrom(c transfer.StorageCheck) checkResponse {
	return checkResponse{
		UID: c.UID, State: c.State, Scrub: c.Scrub, Started: httpapi.Time(c.StartedAt), Finished: httpapi.TimeOrNil(c.FinishedAt), Total: c.Total,
		Objects: c.Objects,
		Bytes:   c.Bytes, Findings: c.Findings, SweepOff: c.SweepOff, Problems: append([]transfer.StorageProblem{}, c.Problems...),
	}
}

// operator returns the operator of a change that needs no reason.
func operator(r *http.Request) audit.Actor { return audit.Of(caller(r)).As(audit.Operator) }

// get handles GET /storage.
func (h *Storage) get(w http.ResponseWriter, r *http.Request) error {
	size, err := h.content.StorageSize(r.Context())
	if err != nil {
		return err
	}
	checks, err := h.content.Checks(r.Context(), listedChecks)
	if err != nil {
		return err
	}
	off, err := h.content.SweepOff(r.Context(), checks)
	if err != nil {
		return err
	}
	damages, err := h.content.Damages(r.Context())
	if err != nil {
		return err
	}
	answer := storageResponse{
		Objects: size.Objects, Bytes: size.Bytes, Encryption: h.encrypted, EncryptedObjects: size.EncryptedObjects,
		EncryptedBytes: size.EncryptedBytes,
		SweepOff:       off, Checks: make([]checkResponse, len(checks)), Damaged: make([]damageResponse, len(damages)),
	}
	for i, d := range damages {
		answer.Damaged[i] = damageResponse{d.Content, d.Detail, httpapi.Time(d.FoundAt), d.Transfers}
	}
	for i, c := range checks {
		answer.Checks[i] = checkFrom(c)
	}
	return httpapi.JSON(w, http.StatusOK, answer)
}

// start handles POST /storage/checks.
func (h *Storage) start(w http.ResponseWriter, r *http.Request) error {
	c, err := h.content.StartCheck(r.Context(), operator(r))
	return respondCheck(w, c, err)
}

// getCheck handles GET /storage/checks/{check}.
func (h *Storage) getCheck(w http.ResponseWriter, r *http.Request) error {
	uid, err := checkUID(r)
	if err != nil {
		return err
	}
	c, err := h.content.Check(r.Context(), uid)
	return respondCheck(w, c, err)
}

// cancel handles POST /storage/checks/{check}/cancel.
func (h *Storage) cancel(w http.ResponseWriter, r *http.Request) error {
	uid, err := checkUID(r)
	if err != nil {
		return err
	}
	c, err := h.content.CancelCheck(r.Context(), operator(r), uid)
	return respondCheck(w, c, err)
}

func respondCheck(w http.ResponseWriter, c transfer.StorageCheck, err error) error {
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, checkFrom(c))
}

// checkUID returns the check of the path.
// Errors: transfer.ErrNoCheck.
func checkUID(r *http.Request) (id.StorageCheck, error) {
	uid, err := id.Parse[id.StorageCheck](httpapi.Param(r, "check"))
	if err != nil {
		return uid, transfer.ErrNoCheck
	}
	return uid, nil
}

// accept handles POST /storage/accept.
func (h *Storage) accept(w http.ResponseWriter, r *http.Request) error {
	by, err := httpapi.DecodeChange(r, audit.Operator, &httpapi.Change{})
	if err != nil {
		return err
	}
	if err := h.content.AcceptOrphans(r.Context(), by); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}
