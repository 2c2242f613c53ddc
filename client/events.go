// Follows a person's events. A silent or broken stream is connected again after the last event.

package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/consign-dev/consign/client/identityapi"
)

// Event is an event of the person's feed. Kind is empty for the begin of a stream.
type Event = identityapi.Event

// silence is how long a stream may be silent: the server sends a comment every 15 seconds.
const silence = 45 * time.Second

// Follow calls handle for each event of the person's feed, until ctx is done. It connects again after interruptions and continues with
// the event after the last. At the begin of each connection it calls handle with an Event without a Kind. Errors: ErrSessionEnded,
// *Error with 401 and 403, the cause of ctx.
func (c *Client) Follow(ctx context.Context, handle func(Event)) error {
	last := ""
	var pauses backoff
	for {
		got, err := c.stream(ctx, &last, handle)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if got {
			pauses.reset()
		}
		if err == nil {
			err = errors.New("the event stream ended")
		}
		least, passes := passing(err)
		if !passes {
			return err
		}
		if err := pauses.wait(ctx, c, err, max(least, time.Second)); err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// stream reads one connection. got reports whether anything arrived; last is the cursor.
func (c *Client) stream(ctx context.Context, last *string, handle func(Event)) (got bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(silence, func() { cancel(errors.New("the event stream is silent")) })
	defer watchdog.Stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.identityURL+"/events", http.NoBody)
	if err != nil {
		return false, err
	}
	r.Header.Set("Accept", "text/event-stream")
	if *last != "" {
		r.Header.Set("Last-Event-ID", *last)
	}
	token, err := c.token(ctx, "")
	if err == nil && token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if err != nil {
		return false, err
	}
	resp, err := c.send(r)
	if HasCode(err, codeTokenExpired, codeTokenRevoked) && c.apiToken == "" {
		if _, err := c.token(ctx, token); err != nil {
			return false, err
		}
		return false, errors.New("the access token has ended") // the next connection has another one
	}
	if err != nil {
		return false, silent(ctx, err)
	}
	defer resp.Body.Close()
	handle(Event{})
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	data := ""
	for lines.Scan() {
		got = true
		watchdog.Reset(silence)
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case name == "id":
			*last = value
		case name == "data":
			data += value
		case lines.Text() == "" && data != "":
			var e Event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				return got, fmt.Errorf("an event is no JSON: %w", err)
			}
			data = ""
			if e.Kind != "" { // the first event of a stream only has a cursor
				handle(e)
			}
		}
	}
	return got, silent(ctx, lines.Err())
}

// silent replaces the cancellation by the watchdog with its cause, which is an interruption.
func silent(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
