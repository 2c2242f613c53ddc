// Turns errors into answers and log lines: 413, 503, 500, panics, and clients that left.

package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/strictjson"
)

// statusClientGone is the status in the log of a request whose client left before the answer. It is never sent.
const statusClientGone = 499

var (
	errStalled    = fault.ErrInvalid.With("the request body did not arrive in time")
	errBroken     = fault.ErrInvalid.With("the request body broke off")
	errClientGone = errors.New("the client went away")
)

const unavailableRetry = 5 * time.Second

// Fail implements httpapi.Exchange: it answers with err. When the answer has begun, or the client has left, it cuts the
// connection by a panic with http.ErrAbortHandler.
func (x *exchange) Fail(r *http.Request, err error) {
	x.err = err
	if ended := r.Context().Err(); x.status != 0 && ended != nil { // net/http cancels the context when a write fails
		err = ended
	}
	f, err := x.server.public(r.Context(), err)
	if errors.Is(err, errClientGone) {
		x.status = statusClientGone
		panic(http.ErrAbortHandler)
	}
	if x.status != 0 {
		x.lateStatus = int(f.Kind)
		panic(http.ErrAbortHandler)
	}
	httpapi.WriteFault(x, x.style.Refusal(f))
}

// public returns the fault that the client gets for err. Errors that are no faults become 413, 503 or 500 here (contract 1.6, 1.9).
// Errors: errClientGone when the client has left.
func (s *Server) public(ctx context.Context, err error) (*fault.Error, error) {
	var f *fault.Error
	canceled := errors.Is(err, context.Canceled)
	if canceled && ctx.Err() != nil {
		// Shutdown and revocation cancel the context with a fault as its cause. A client that leaves cancels it without one.
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
		return strictjson.TooLarge(large.Limit), nil
	}
	if s.classify != nil && errors.As(s.classify(err), &f) {
		return f, nil
	}
	outOfDescriptors := errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
	if canceled || outOfDescriptors || errors.Is(err, context.DeadlineExceeded) {
		return fault.ErrUnavailable.WithRetryAfter(unavailableRetry), nil
	}
	return fault.ErrInternal, nil
}

// crashed answers a panic with 500. It reports whether the connection has to be cut because the answer has begun.
func (x *exchange) crashed(thrown any) (cut bool) {
	x.err, x.stack = fmt.Errorf("panic: %v", thrown), debug.Stack()
	if x.status != 0 {
		return true
	}
	httpapi.WriteFault(x, fault.ErrInternal)
	return false
}
