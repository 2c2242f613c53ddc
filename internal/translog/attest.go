// Asks witnesses and time stamp services to attest published checkpoints. Nothing waits for them.

package translog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/database"
)

// Third parties attest checkpoints after these are published: witnesses cosign them (witness.go), a time stamp service stamps them. Nothing
// waits for them. One that is slow or down delays only its own statement, which the next rounds ask for again.

const (
	askAgain   = 10 * time.Second // pause before a statement that failed is asked for again
	askWithin  = 5 * time.Second  // of one request
	askPause   = time.Second      // at least, between rounds
	mostAnswer = 64 << 10         // bytes of an answer
	stampQuery = "application/timestamp-query"
	// cosignQuery is what witnesses take.
	cosignQuery = "text/plain; charset=utf-8"
)

// attest starts the loops that have checkpoints attested. The returned function waits for their end.
func (l *Log) attest(ctx context.Context) (wait func()) {
	var loops sync.WaitGroup
	begin := func(what string, round func(context.Context) error) {
		published := make(chan struct{}, 1)
		l.published = append(l.published, published)
		loops.Go(func() { l.attesting(ctx, published, what, round) })
	}
	if len(l.witnesses) > 0 {
		begin("cosigned", l.Cosign)
	}
	if l.tsa != "" {
		begin("stamped", l.Stamp)
	}
	return loops.Wait
}

// announce tells the loops that there is a new checkpoint.
func (l *Log) announce() {
	for _, c := range l.published {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// attesting runs a round after each checkpoint that this server publishes, until ctx ends.
func (l *Log) attesting(ctx context.Context, published <-chan struct{}, what string, round func(context.Context) error) {
	var complained time.Time
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		case <-published:
		}
		leads, err := database.Scalar[bool](ctx, l.db.Pool, "look for the leader", nil,
			`SELECT EXISTS (SELECT FROM log.logs WHERE closed_at IS NULL AND leader = $1)`, l.me)
		if err == nil && leads {
			err = round(ctx)
		}
		// ErrPending: the log has no entry yet.
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrPending) && time.Since(complained) > complainPer {
			l.log.Warn("checkpoints of the transparency log are not "+what, "error", err)
			complained = time.Now()
		}
		select {
		case <-ctx.Done():
		case <-time.After(askPause):
		}
	}
}

// newest returns the open log and its newest checkpoint that has entries.
// Errors: ErrPending, errNoLog.
func (l *Log) newest(ctx context.Context) (row, checkpointRow, error) {
	r, err := l.current(ctx, l.db.Pool)
	if err != nil {
		return row{}, checkpointRow{}, err
	}
	c, err := database.One[checkpointRow](ctx, l.db.Pool, "find checkpoint", ErrPending,
		`SELECT `+checkpointColumns+` FROM log.checkpoints c WHERE c.log = $1 AND c.size > 0 ORDER BY c.size DESC LIMIT 1`, r.ID)
	return r, c, err
}

// text returns what signatures and time stamps of a checkpoint cover.
func (c checkpointRow) text() string {
	text, _, _ := strings.Cut(c.Note, "\n\n")
	return text + "\n"
}

// Stamp asks for a time stamp of the newest checkpoint, at most one in Options.StampEvery.
// Errors: ErrPending, proof.ErrStamp.
func (l *Log) Stamp(ctx context.Context) error {
	if l.now().Before(l.stamped.Add(l.stampEvery)) {
		return nil
	}
	r, c, err := l.newest(ctx)
	if err != nil || c.Timestamp != nil {
		return err
	}
	answer, err := l.stamp(ctx, c.text())
	if err != nil {
		return err
	}
	l.stamped = l.now()
	_, err = database.Exec(ctx, l.db.Pool, "store time stamp",
		`UPDATE log.checkpoints SET timestamp = $3 WHERE log = $1 AND size = $2 AND note = $4 AND timestamp IS NULL`, r.ID, c.Size, answer,
		c.Note)
	return err
}

// ask posts a request to a third party and returns the beginning of its answer.
func (l *Log) ask(ctx context.Context, url, kind string, body []byte) (status int, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("ask for an attestation: %w", err)
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("User-Agent", "consign")
	response, err := l.client.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("ask for an attestation: %w", err)
	}
	defer response.Body.Close()
	if answer, err = io.ReadAll(io.LimitReader(response.Body, mostAnswer)); err != nil {
		return 0, nil, fmt.Errorf("ask for an attestation: %w", err)
	}
	return response.StatusCode, answer, nil
}
