package httpapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/consign-dev/consign/internal/fault"
)

// statusClientGone is what the log says of a request whose client left before the answer. It is never sent.
const statusClientGone = 499

var (
	errStalled    = fault.ErrInvalid.With("the request body did not arrive in time")
	errBroken     = fault.ErrInvalid.With("the request body broke off")
	errClientGone = errors.New("the client went away")
)

const unavailableRetry = 5 * time.Second

// The error body of both APIs.
type errorBody struct {
	Error errorMembers `json:"error"`
}

type errorMembers struct {
	Code    int      `json:"code"`
	Message string   `json:"message"`
	Details []string `json:"details"`
}

// WriteError answers with err. Handlers return their error instead; this is for http.Handlers below an API, and the
// one place where an error becomes a status.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	if x := exchangeOf(w); x != nil {
		x.fail(r, err)
		return
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		f = fault.ErrInternal
	}
	writeFault(w, f)
}

// fail answers with err. If the answer has begun, or nobody is there to read it, the connection is cut instead.
func (x *exchange) fail(r *http.Request, err error) {
	x.err = err
	if ended := r.Context().Err(); x.status != 0 && ended != nil { // net/http ends it when it cannot write
		err = ended
	}
	f, err := x.api.public(r.Context(), err)
	if errors.Is(err, errClientGone) {
		x.status = statusClientGone
		panic(http.ErrAbortHandler)
	}
	if x.status != 0 {
		x.torn = int(f.Kind)
		panic(http.ErrAbortHandler)
	}
	writeFault(x, x.style.refusal(f))
}

// public finds what a client may learn of err; the second result is errClientGone when there is no client any more.
// Kinds of errors that no domain names are classified here: this is the end of the line (contract 1.6, 1.9).
func (a *API) public(ctx context.Context, err error) (*fault.Error, error) {
	var f *fault.Error
	canceled := errors.Is(err, context.Canceled)
	if canceled && ctx.Err() != nil {
		// Shutdown and revocation end a request's context with a fault as its cause; a client that leaves, without.
		if errors.As(context.Cause(ctx), &f) {
			return f, nil
		}
		return nil, errClientGone
	}
	if errors.As(err, &f) {
		return f, nil
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return tooLarge(large.Limit), nil
	}
	if a.classify != nil && errors.As(a.classify(err), &f) {
		return f, nil
	}
	if canceled || errors.Is(err, context.DeadlineExceeded) {
		return fault.ErrUnavailable.WithRetryAfter(unavailableRetry), nil
	}
	return fault.ErrInternal, nil
}

func writeFault(w http.ResponseWriter, f *fault.Error) {
	h := w.Header()
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(f.RetryAfter.Seconds())), 10))
	}
	if f.Kind == fault.Unauthenticated {
		h.Set("WWW-Authenticate", "Bearer")
	}
	for _, name := range []string{"Content-Disposition", "Content-Encoding", "ETag", "Last-Modified", "Accept-Ranges"} {
		h.Del(name) // of the answer that was meant to be
	}
	h.Set("Cache-Control", "no-store")
	details := f.Details
	if details == nil {
		details = []string{}
	}
	// The kind's number is the status; nothing is left to do if the client is gone by now.
	_ = JSON(w, int(f.Kind), errorBody{Error: errorMembers{Code: f.Code, Message: f.Message, Details: details}})
}

func tooLarge(limit int64) *fault.Error {
	return fault.ErrTooLarge.With("the request body may have " + strconv.FormatInt(limit, 10) + " bytes at most")
}

// crashed turns a panic into an answer. It reports whether the connection has to be cut, since the answer had begun.
func (x *exchange) crashed(thrown any) (cut bool) {
	x.err, x.stack = fmt.Errorf("panic: %v", thrown), debug.Stack()
	if x.status != 0 {
		return true
	}
	writeFault(x, fault.ErrInternal)
	return false
}
