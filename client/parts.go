// Uploads one large file in parts at once: when, how many, how it resumes, and the wait until the server has joined them.

package client

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/client/transferapi"
)

const (
	// partsFrom is the size from which a file may be sent in parts at once.
	partsFrom = 64 << 20
	partUnit  = 1 << 20
	// nearby is the time of a request below which one stream fills the line.
	nearby = 25 * time.Millisecond
	// mostRequests is how many parts of all files are sent at once.
	mostRequests = 12
	// mostParts is how many parts of a file are sent at once; the server takes no more.
	mostParts = 6
)

// codeOtherWay leads to one stream: the object is in one, or the storage takes no parts.
const codeOtherWay = 409023

// partsAtOnce returns how many parts are sent at once on a line on which a request takes so long.
func partsAtOnce(trip time.Duration) int {
	if trip < nearby {
		return 1
	}
	return min(2+int(trip/nearby), mostParts)
}

// inParts sends a large file in parts at once, if the line is long and the server takes them, or if it has begun so. False: the file is
// to be sent in one stream.
func (p *parts) inParts(ctx context.Context) (bool, error) {
	if p.size <= partsFrom && p.o.AtOnce == 0 {
		return false, nil
	}
	began := time.Now()
	held, err := p.held(ctx)
	if err != nil {
		return false, err
	}
	trip := time.Since(began)
	began = time.Now()
	state, err := p.state(ctx)
	trip = min(trip, time.Since(began))
	files := min(orDefault(p.o.Parallel, defaultParallel), len(p.u.Objects))
	at := orDefault(p.o.AtOnce, min(partsAtOnce(trip), max(mostRequests/files, 1)))
	if HasStatus(err, http.StatusNotFound) {
		if held > 0 || at == 1 {
			return false, nil
		}
		state, err = p.plan(ctx)
		if HasCode(err, codeOtherWay) || HasStatus(err, http.StatusNotFound) {
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	return true, p.sendParts(ctx, state, max(at, 2))
}

// plan makes the plan of the object.
func (p *parts) plan(ctx context.Context) (*transferapi.Parts, error) {
	return p.read(ctx, func() (*transferapi.Parts, error) {
		wanted := transferapi.PartsRequest{PartSize: some(p.o.Part / partUnit * partUnit)}
		return p.u.c.Transfer.PlanParts(ctx, p.u.UID, p.u.Objects[p.i].ClientID, wanted, bearer(p.u.Token))
	})
}

// state returns the plan of the object and what the server holds of it.
func (p *parts) state(ctx context.Context) (*transferapi.Parts, error) {
	return p.read(ctx, func() (*transferapi.Parts, error) {
		return p.u.c.Transfer.GetParts(ctx, p.u.UID, p.u.Objects[p.i].ClientID, bearer(p.u.Token))
	})
}

// read repeats a request for the plan that fails for a moment, and checks that the answer is about the file.
func (p *parts) read(ctx context.Context, request func() (*transferapi.Parts, error)) (state *transferapi.Parts, err error) {
	err = again(ctx, p.u.c, func() error {
		state, err = request()
		return err
	})
	if err == nil && (state.Count < 1 || state.PartSize < 1 || state.IntendedSize != p.size) {
		err = errors.New("the server has other parts than the file")
	}
	return state, err
}

// partQueue is what the senders of a file's parts share.
type partQueue struct {
	p     *parts
	state *transferapi.Parts
	ends  []atomic.Int64 // by part: bytes that are held, or being sent
}

// sendParts sends all parts that are not held, at at a time, and waits until the server has joined them. It compares the SHA-256.
func (p *parts) sendParts(ctx context.Context, state *transferapi.Parts, at int) error {
	q := &partQueue{p: p, state: state, ends: make([]atomic.Int64, state.Count)}
	for _, part := range state.Parts {
		q.ends[part.Number-1].Store(part.Held)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int)
	var all sync.WaitGroup
	for range at {
		all.Go(func() {
			for n := range numbers {
				if err := q.send(ctx, n); err != nil {
					cancel(err)
				}
			}
		})
	}
	for n := range state.Count {
		select {
		case numbers <- n + 1:
		case <-ctx.Done():
		}
	}
	close(numbers)
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := p.hashTo(p.size); err != nil {
		return err
	}
	return p.joined(ctx)
}

// piece returns where a part begins and ends in the file.
func (q *partQueue) piece(number int) (begin, end int64) {
	begin = int64(number-1) * q.state.PartSize
	return begin, min(begin+q.state.PartSize, q.p.size)
}

// progress notes how far a part is.
func (q *partQueue) progress(number int, held int64) {
	q.ends[number-1].Store(held)
	sum := int64(0)
	for i := range q.ends {
		sum += q.ends[i].Load()
	}
	q.p.progress(sum)
}

// send sends the rest of one part, however often it is interrupted.
func (q *partQueue) send(ctx context.Context, number int) error {
	var pauses backoff
	begin, end := q.piece(number)
	held, overtaken := q.ends[number-1].Load(), false
	for begin+held < end && ctx.Err() == nil {
		before := held
		now, err := q.request(ctx, number, held)
		if err == nil {
			held = now
		}
		least, known := time.Duration(0), int64(-1)
		if err != nil {
			var again bool
			if least, again, known = q.p.interrupted(err, &overtaken); !again {
				return err
			}
		}
		if known >= 0 {
			held = min(known, end-begin)
		}
		q.progress(number, held)
		if held > before {
			pauses.reset()
			continue
		}
		if err == nil {
			err = errors.New("the server holds nothing of what was sent")
		}
		if err := pauses.wait(ctx, q.p.u.c, err, least); err != nil {
			return err
		}
		if held, err = q.held(ctx, number); err != nil {
			return err
		}
	}
	return nil
}

// held asks how many bytes of a part the server holds.
func (q *partQueue) held(ctx context.Context, number int) (int64, error) {
	state, err := q.p.state(ctx)
	if err != nil {
		return 0, err
	}
	for _, part := range state.Parts {
		if part.Number == number {
			return part.Held, nil
		}
	}
	return 0, nil
}

// request sends a part from a byte of it on, and returns how many bytes of it the server holds then.
func (q *partQueue) request(ctx context.Context, number int, held int64) (int64, error) {
	begin, end := q.piece(number)
	body := &partReader{ctx: ctx, p: q.p, at: begin + held, end: end, progress: func(at int64) { q.progress(number, at-begin) }}
	to := strings.TrimSuffix(q.p.url(), "content") + "parts/" + strconv.Itoa(number)
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, to, body)
	if err != nil {
		return held, err
	}
	r.ContentLength = end - begin - held
	r.Header.Set("Authorization", "Bearer "+q.p.u.Token)
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", held, end-begin-1, end-begin))
	resp, err := q.p.u.c.send(r)
	if cause := body.failure(); cause != nil {
		err = cause // why the request failed
	}
	if HasCode(err, codeOvertaken) {
		err = ErrOvertaken
	}
	if err != nil {
		return held, err
	}
	drain(resp)
	return end - begin, nil
}

// joined waits until the server has joined the parts, and compares the SHA-256.
func (p *parts) joined(ctx context.Context) error {
	var pauses backoff
	for at := int64(-1); ; {
		state, err := p.state(ctx)
		if err != nil {
			return err
		}
		if state.Sha256 != nil {
			if *state.Sha256 != hex.EncodeToString(p.digest.Sum(nil)) {
				return ErrChanged
			}
			return nil
		}
		if state.Joined > at {
			at = state.Joined
			pauses.reset()
		}
		if err := pauses.wait(ctx, p.u.c, errors.New("the server still joins the parts"), 0); err != nil {
			return err
		}
	}
}
