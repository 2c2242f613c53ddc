// Which requests are repeated after which failures and pauses, and how a request gets its token.

package client

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// The codes of the general errors that this package acts on. api/*.yaml list all.
const (
	codeTokenExpired = 401903
	codeTokenRevoked = 401904
	codeNotStored    = 409001
	codeProviderAway = 409050
	codeTooManyKeys  = 403906
	codeAnswerLost   = 409903
)

const idempotencyHeader = "Idempotency-Key"

// backoff waits between tries: 0.25 s, doubled up to 20 s, and a random part of it.
type backoff struct {
	tries int
	since time.Time // of the first failure in a row
}

// pauseAfter returns how long to wait after so many tries, at least as long as the server asks for. A server in maintenance asks for
// minutes, but may be back sooner: no pause is longer than a quarter of patience.
func pauseAfter(tries int, least, patience time.Duration) time.Duration {
	usual := min(250*time.Millisecond<<min(tries, 10), 20*time.Second)
	return min(max(usual/2+rand.N(usual/2), least), max(patience/4, time.Second))
}

// wait waits before the next try, or returns err when the client's patience has ended or ctx is done. least is the server's Retry-After.
func (b *backoff) wait(ctx context.Context, c *Client, err error, least time.Duration) error {
	patience := c.patience
	if b.tries == 0 {
		b.since = time.Now()
	}
	pause := pauseAfter(b.tries, least, patience)
	b.tries++
	if time.Since(b.since)+pause > patience {
		return err
	}
	if c.onWait != nil {
		c.onWait(err, pause)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), err)
	case <-timer.C:
		return nil
	}
}

// reset is called when bytes got through.
func (b *backoff) reset() { *b = backoff{} }

// passing reports whether a failure can end by itself, and after how long: the server was not reached, is busy or in maintenance, or
// something else goes on that it waits for (409 with Retry-After). testdata/retries.json has the cases.
func passing(err error) (least time.Duration, ok bool) {
	var e *Error
	if !errors.As(err, &e) {
		var name *net.DNSError
		final := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrSessionEnded) ||
			errors.As(err, &name) && name.IsNotFound || errors.As(err, new(*tls.CertificateVerificationError))
		return 0, err != nil && !final
	}
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable,
		http.StatusGatewayTimeout, 509:
		return e.RetryAfter, true
	case http.StatusConflict:
		return e.RetryAfter, e.RetryAfter > 0 || e.Code == codeNotStored || e.Code == codeProviderAway
	}
	return e.RetryAfter, false
}

// again calls try until it succeeds, fails for good, or the client's patience has ended.
func again(ctx context.Context, c *Client, try func() error) error {
	var pauses backoff
	for {
		err := try()
		least, repeat := passing(err)
		if err == nil || !repeat {
			return err
		}
		if err := pauses.wait(ctx, c, err, least); err != nil {
			return err
		}
	}
}

// refused reports whether the server has not carried the request out, so that even a POST can be repeated.
func refused(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Status == http.StatusTooManyRequests || e.Status == 509 || e.Status == http.StatusServiceUnavailable ||
		e.Code == codeNotStored || e.Code == codeProviderAway)
}

// doer sends requests of the generated clients: it adds the token, repeats what can be repeated, and makes errors of answers.
type doer struct {
	c *Client
	// token returns the token of calls, or none. With stale it replaces that one first.
	token func(ctx context.Context, stale string) (string, error)
}

// Do implements the HttpRequestDoer of the generated packages. Errors: *Error.
func (d doer) Do(r *http.Request) (*http.Response, error) {
	own := r.Header.Get("Authorization") != ""
	var pauses backoff
	stale := ""
	for {
		used := ""
		if d.token != nil && !own {
			token, err := d.token(r.Context(), stale)
			if err != nil {
				return nil, err
			}
			if used = token; token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
		}
		resp, err := d.c.send(r)
		if err == nil {
			return resp, nil
		}
		replayable := r.Body == nil || r.GetBody != nil
		if used != "" && stale == "" && replayable && HasCode(err, codeTokenExpired, codeTokenRevoked) && d.c.apiToken == "" {
			stale = used
		} else {
			least, again := passing(err)
			once := r.Method == http.MethodPost && r.Header.Get(idempotencyHeader) == ""
			if !again || !replayable || once && !refused(err) {
				return nil, err
			}
			if err := pauses.wait(r.Context(), d.c, err, least); err != nil {
				return nil, err
			}
		}
		if r.GetBody != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// send sends a request once. An answer of 400 or more is an *Error.
func (c *Client) send(r *http.Request) (*http.Response, error) {
	r.Header.Set("User-Agent", c.userAgent)
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 400 {
		return nil, problem(resp)
	}
	return resp, nil
}

// drain reads the rest of a small answer, so that its connection is used again.
func drain(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	resp.Body.Close()
}
