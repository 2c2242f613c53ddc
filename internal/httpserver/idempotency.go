// Idempotency-Key: a repeated request gets the stored answer of the first one.

package httpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/idempotency"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
)

// keptHeaders are the headers of an answer that are repeated with it.
var keptHeaders = []string{"Authorization", "Content-Type", "Content-Length", "Etag", "Location", "Link"}

// onceTime bounds a request with a key. It is shorter than the lease of its claim.
const onceTime = 20 * time.Second

// once runs a handler of a route that creates. With an Idempotency-Key it runs it once for the key, and repeats its answer.
func (s *Server) once(x *exchange, r *http.Request, route httpapi.Route, caller token.Caller) error {
	if !route.Creates || s.idempotency == nil {
		return route.Handler(x, r)
	}
	key, err := idempotency.Key(r.Header)
	if err != nil {
		return err
	}
	if key == "" {
		return route.Handler(x, r)
	}
	body, failed := io.ReadAll(r.Body) // within the route's limit
	r.Body = io.NopCloser(bytes.NewReader(body))
	if failed != nil {
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), broken{failed}))
		return route.Handler(x, r) // which refuses the body
	}
	claim, former, err := s.idempotency.Begin(r.Context(), repeater(caller, x.client), key, fingerprint(r, x.client.Host.Name, body))
	switch {
	case err != nil:
		return err
	case former != nil:
		return repeat(x, former)
	}
	return s.run(x, r, route, claim)
}

// run runs the handler of a claimed request and stores its answer before the client gets it.
func (s *Server) run(x *exchange, r *http.Request, route httpapi.Route, claim *idempotency.Claim) (err error) {
	settled := false
	defer func() {
		if !settled { // it failed, or panicked
			var f *fault.Error
			sure := errors.As(err, &f) && f.Kind < fault.Internal && f.Kind != fault.Conflict
			if drop := claim.Drop(r.Context(), sure); drop != nil {
				s.log.WarnContext(r.Context(), "an idempotency key was not dropped", slog.Any("error", drop))
			}
		}
	}()
	// A client that leaves does not end the request: it comes back for the answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), onceTime)
	defer cancel()
	w := &recorder{x: x}
	if err = route.Handler(w, r.WithContext(claim.Context(ctx))); err != nil {
		return err
	}
	settled = true
	a := idempotency.Answer{Status: w.status, Header: http.Header{}, Body: w.body.Bytes()}
	for _, name := range keptHeaders {
		if values := x.Header().Values(name); len(values) > 0 {
			a.Header[name] = values
		}
	}
	if keep := claim.Keep(r.Context(), a); keep != nil { // a repetition gets ErrLost
		s.log.WarnContext(r.Context(), "the answer for an idempotency key was not stored", slog.Any("error", keep))
	}
	return w.send()
}

// repeater identifies who may repeat a request: an API token, the person, the reservation, or the client network of anonymous callers.
func repeater(caller token.Caller, client token.Client) idempotency.Caller {
	named := func(name string) idempotency.Caller {
		return idempotency.Caller{Name: name, Quota: idempotency.PersonQuota}
	}
	switch {
	case caller.Anonymous():
		return idempotency.Caller{Network: ratelimit.AddressKey(client.Address), Quota: idempotency.NetworksQuota}
	case caller.Kind == token.KindAPI:
		return named("token " + caller.Session.String())
	case caller.IsPerson():
		return named("person " + caller.Person.String())
	}
	return named("session " + sessionKey(caller))
}

// fingerprint identifies a request. Replicas behind different ports serve the same host.
func fingerprint(r *http.Request, host string, body []byte) [sha256.Size]byte {
	h := sha256.New()
	name, _, _ := strings.Cut(host, ":")
	for _, part := range []string{r.Method, name, r.URL.EscapedPath(), r.URL.RawQuery, string(body)} {
		_, _ = fmt.Fprintf(h, "%d %s\n", len(part), part)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func repeat(x *exchange, a *idempotency.Answer) error {
	for name, values := range a.Header {
		x.Header()[name] = values
	}
	x.Header().Set("Idempotency-Replayed", "true")
	x.WriteHeader(a.Status)
	if _, err := x.Write(a.Body); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}

// broken is the rest of a body that could not be read.
type broken struct{ err error }

// Read implements io.Reader.
func (b broken) Read([]byte) (int, error) { return 0, b.err }

// recorder holds an answer back until it is stored. It flushes nothing.
type recorder struct {
	x      *exchange
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.x.Header() }

// Unwrap lets httpapi find the exchange.
func (w *recorder) Unwrap() http.ResponseWriter { return w.x }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// FlushError is used by http.ResponseController.
func (w *recorder) FlushError() error { return nil }

// send sends what was held back.
func (w *recorder) send() error {
	w.WriteHeader(http.StatusOK)
	if w.body.Len() > 0 {
		w.x.Header().Set("Content-Length", strconv.Itoa(w.body.Len()))
	}
	w.x.WriteHeader(w.status)
	if _, err := w.x.Write(w.body.Bytes()); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}
