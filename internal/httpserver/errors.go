package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/strictjson"
)

// statusClientGone is what the log says of a request whose client left before the answer. It is never sent.
const statusClientGone = 499

var (
	errStalled    = fault.ErrInvalid.With("the request body did not arrive in time")
	errBroken     = fault.ErrInvalid.With("the request body broke off")
	errClientGone = errors.New("the client went away")
)

const unavailableRetry = 5 * time.Second

// Fail implements httpapi.Exchange: it answers with err. If the answer has begun, or nobody is there to read it, the connection is cut instead.
func (x *exchange) Fail(r *http.Request, err error) {
	x.err = err
	if ended := r.Context().Err(); x.status != 0 && ended != nil { // net/http ends it when it cannot write
		err = ended
	}
	f, err := x.server.public(r.Context(), err)
	if errors.Is(err, errClientGone) {
		x.status = statusClientGone
		panic(http.ErrAbortHandler)
	}
	if x.status != 0 {
		x.torn = int(f.Kind)
		panic(http.ErrAbortHandler)
	}
	httpapi.WriteFault(x, x.style.Refusal(f))
}

// public finds what a client may learn of err; the second result is errClientGone when there is no client any more.
// Kinds of errors that no domain names are classified here: this is the end of the line (contract 1.6, 1.9).
func (s *Server) public(ctx context.Context, err error) (*fault.Error, error) {
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
		return strictjson.TooLarge(large.Limit), nil
	}
	if s.classify != nil && errors.As(s.classify(err), &f) {
		return f, nil
	}
	if canceled || errors.Is(err, context.DeadlineExceeded) {
		return fault.ErrUnavailable.WithRetryAfter(unavailableRetry), nil
	}
	return fault.ErrInternal, nil
}

// crashed turns a panic into an answer. It reports whether the connection has to be cut, since the answer had begun.
func (x *exchange) crashed(thrown any) (cut bool) {
	x.err, x.stack = fmt.Errorf("panic: %v", thrown), debug.Stack()
	if x.status != 0 {
		return true
	}
	httpapi.WriteFault(x, fault.ErrInternal)
	return false
}
