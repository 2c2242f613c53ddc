//go:build campaign

// Kills the server while requests with an Idempotency-Key are served.

package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/consign-dev/consign/internal/database"
)

// idempotentRounds is the largest number of kills; ROUNDS overrides it.
const idempotentRounds = 200

// TestFaultsIdempotency kills the server with SIGKILL before each message that it sends to Postgres during a request with an
// Idempotency-Key that makes a reservation at a mailbox, a reservation of a person, or a transfer (a forward). The request is then repeated
// with its key until it is answered. Each key makes one thing, and every answer for it is the same.
func TestFaultsIdempotency(t *testing.T) {
	rounds := number(t, "ROUNDS", idempotentRounds)
	l := newLiving(t)
	l.stride = max(1, mostMessages*3/int64(max(rounds, 1)))
	i := idempotent{living: l}
	operations := []func(n int) request{i.mailbox, i.reservation, i.forwarding}
	for n := range rounds {
		l.kind = n % len(operations)
		i.round(n, operations[l.kind](n))
	}
	l.fsck()
	t.Logf("%d rounds of 3 operations; %v were answered before the kill, the last kills were at message %v; of the others %d ran again, %d "+
		"were answered as lost, %d from the store",
		rounds, l.passed, l.deepest, i.again, i.lost, i.stored)
}

type idempotent struct {
	*living
	again, lost, stored int
}

// request is one that makes something, with a statement that counts what it has made.
type request struct {
	as    func() client
	path  string
	body  map[string]any
	count string
}

func (i *idempotent) mailbox(n int) request {
	return request{
		func() client { return client{s: i.server} }, "/transfer/v2/public/mailbox/demo",
		map[string]any{"subject": fmt.Sprint("once ", n), "anonSender": "Sam", "anonEmail": "sam@example.com"},
		"SELECT count(*) FROM transfer.reservations WHERE subject = $1",
	}
}

func (i *idempotent) reservation(n int) request {
	return request{
		func() client { return i.owner }, "/transfer/v2/reservations", map[string]any{"subject": fmt.Sprint("once ", n)},
		"SELECT count(*) FROM transfer.reservations WHERE subject = $1",
	}
}

func (i *idempotent) forwarding(n int) request {
	to := fmt.Sprintf("once%d@example.org", n)
	i.mailed = append(i.mailed, to)
	return request{
		func() client { return i.owner }, i.deliver(n, "") + "/forward",
		map[string]any{"subject": fmt.Sprint("once ", n), "recipients": recipients(to)},
		"SELECT count(*) FROM transfer.transfers WHERE subject = $1",
	}
}

// once sends a request with its key.
func (i *idempotent) once(n int, r request) (status int, replayed bool, body []byte, err error) {
	raw, err := json.Marshal(r.body)
	if err != nil {
		return 0, false, nil, err
	}
	resp, err := r.as().do(context.Background(), "POST", r.path, bytes.NewReader(raw), http.Header{
		"Content-Type": {"application/json"}, "Idempotency-Key": {fmt.Sprint("round-", n)},
	})
	if err != nil {
		return 0, false, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header.Get("Idempotency-Replayed") == "true", body, err
}

func (i *idempotent) round(n int, r request) {
	i.t.Helper()
	var first []byte
	answered := i.killed(func() error {
		status, _, body, err := i.once(n, r)
		if err == nil && status != http.StatusCreated && status != http.StatusOK {
			err = fmt.Errorf("answered %d: %s", status, body)
		}
		if err == nil {
			first = body
		}
		return err
	})
	// The lease of a killed request lasts 30 s. This test does not wait for it.
	if _, err := database.Exec(i.t.Context(), i.db.Pool, "end leases",
		"UPDATE idempotency_keys SET busy_until = now() - interval '1 second'"); err != nil {
		i.t.Fatal(err)
	}
	var last []byte
	lost := false
	for range 2 {
		status, replayed, body, err := i.once(n, r)
		switch {
		case err != nil:
			i.t.Fatalf("round %d: %v", n, err)
		case status == http.StatusConflict && !answered && bytes.Contains(body, []byte("409903")):
			lost = true
		case status != http.StatusCreated && status != http.StatusOK:
			i.t.Fatalf("round %d: the repetition was answered %d: %s", n, status, body)
		case first != nil && !bytes.Equal(first, body), last != nil && !bytes.Equal(last, body), lost, answered && !replayed:
			i.t.Fatalf("round %d: first %s, last %s, now %s (lost %v, replayed %v)", n, first, last, body, lost, replayed)
		case last == nil && !answered && replayed:
			i.stored++
		case last == nil && !answered:
			i.again++
		}
		last = body
	}
	if lost {
		i.lost++
	}
	made, err := database.Scalar[int](i.t.Context(), i.db.Pool, "count", nil, r.count, r.body["subject"])
	if err != nil || made != 1 {
		i.t.Fatalf("round %d: %d things of one key, %v (answered %v, lost %v)", n, made, err, answered, lost)
	}
}
