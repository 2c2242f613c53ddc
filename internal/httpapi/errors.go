package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/ratelimit"
)

// Exchange is what the pipeline's http.ResponseWriter adds for WriteError and CutWhenDone, which find it below wrappers that
// have Unwrap.
type Exchange interface {
	// Fail answers with err in the style of the request's route.
	Fail(r *http.Request, err error)
	// CutWrites makes the current and all later writes fail.
	CutWrites()
}

// exchangeOf returns the exchange below w, nil when the request does not come from httpserver.
func exchangeOf(w http.ResponseWriter) Exchange {
	for w != nil {
		if x, ok := w.(Exchange); ok {
			return x
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil
		}
		w = u.Unwrap()
	}
	return nil
}

// WriteError answers with err. Handlers return their error instead; this is for an http.Handler, as pages are.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	if x := exchangeOf(w); x != nil {
		x.Fail(r, err)
		return
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		f = fault.ErrInternal
	}
	WriteFault(w, f)
}

// The error body of both APIs.
type errorResponse struct {
	Error errorMembers `json:"error"`
}

type errorMembers struct {
	Code    int      `json:"code"`
	Message string   `json:"message"`
	Details []string `json:"details"`

	Limit    int64  `json:"limit,omitempty"`
	Transfer string `json:"transfer,omitempty"`
}

// writeProblem answers with problem details (RFC 9457) that have the usual body as the member error.
func writeProblem(w http.ResponseWriter, f *fault.Error, members errorMembers) error {
	body := map[string]any{"type": f.Problem.Type, "title": f.Problem.Title, "status": int(f.Kind), "error": members}
	for name, value := range f.Problem.Members {
		body[name] = value
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return encoded(w, int(f.Kind), "application/problem+json", raw)
}

// WriteFault answers with f: status, headers and body. The pipeline decides what f is; everyone else calls WriteError.
func WriteFault(w http.ResponseWriter, f *fault.Error) {
	h := w.Header()
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(wholeSeconds(f.RetryAfter)))
	}
	// instead of the headers of a bucket that had room
	if f.Capacity > 0 && (h.Get("X-RateLimit-Limit") != strconv.Itoa(f.Capacity) || h.Get("X-RateLimit-Remaining") != "0") {
		writeLimit(h, "refusing", 0, ratelimit.Result{Limit: f.Capacity, RetryAfter: f.RetryAfter})
	}
	if f.Kind == fault.Unauthenticated {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if f.Challenge != "" {
		h.Set("WWW-Authenticate", f.Challenge)
	}
	// Headers that the handler set for the answer it could not give.
	for _, name := range []string{"Content-Disposition", "Content-Encoding", "ETag", "Last-Modified", "Accept-Ranges"} {
		h.Del(name)
	}
	h.Set("Cache-Control", "no-store")
	details := f.Details
	if details == nil {
		details = []string{}
	}
	// The kind's number is the status. A write error means that the client has left: nothing remains to do.
	members := errorMembers{Code: f.Code, Message: f.Message, Details: details, Limit: f.Limit, Transfer: f.Transfer}
	if f.Problem != nil {
		_ = writeProblem(w, f, members)
		return
	}
	_ = JSON(w, int(f.Kind), errorResponse{Error: members})
}

// CutWhenDone ends the answer when ctx is done, even in the middle of a write that a slow client blocks: downloads and
// streams use it to stop within a second of a revocation (contract 2.8). The handler calls stop before it returns.
func CutWhenDone(ctx context.Context, w http.ResponseWriter) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		if x := exchangeOf(w); x != nil {
			x.CutWrites()
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0))
	})
}
