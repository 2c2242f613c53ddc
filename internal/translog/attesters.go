// Whether witnesses and the time stamp service attest the log: how long checkpoints wait for them, and what they answer.

package translog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/proof"
)

// stampService is the name of the time stamp service as an attester. Names of witnesses have no blank.
const stampService = "time stamp service"

// LateAttestation is how long a checkpoint may wait for an attester before operators are warned.
const LateAttestation = 10 * time.Minute

// Attester is a witness, by its name, or the time stamp service.
type Attester struct {
	Name    string
	Witness bool
	Waiting time.Duration // how long the oldest checkpoint after the last attested one waits for it
	Trouble error         // why it does not attest; only TryAttesters finds it
}

// Late reports whether a checkpoint waits for too long.
func (a Attester) Late() bool { return a.Waiting > LateAttestation }

// maxCosigned bounds the checkpoints in which the last cosignature of a witness is looked for. A server has one cosigned a second at most,
// so a witness whose cosignature is in none of them is late.
const maxCosigned = 1000

// Attesters returns the witnesses and the time stamp service of the settings. The database tells for how long checkpoints wait, so that all
// replicas say the same.
func (l *Log) Attesters(ctx context.Context) ([]Attester, error) {
	var all []Attester
	for _, w := range l.witnesses {
		since, err := l.waits(ctx, "look for cosignatures", `
			SELECT c.signed_at FROM log.logs o JOIN log.checkpoints c ON c.log = o.id
			WHERE o.closed_at IS NULL AND c.size > coalesce(
				(SELECT r.size FROM (`+lastCosigned+`) r WHERE position($1 IN r.cosignatures) > 0 ORDER BY r.size DESC LIMIT 1),
				(SELECT min(r.size) - 1 FROM (`+lastCosigned+`) r), 0)
			ORDER BY c.size LIMIT 1`, w.mark(), maxCosigned)
		if err != nil {
			return nil, err
		}
		all = append(all, Attester{Name: w.key.Name(), Witness: true, Waiting: since})
	}
	if l.tsa == "" {
		return all, nil
	}
	since, err := l.waits(ctx, "look for time stamps", `
		SELECT c.signed_at FROM log.logs o JOIN log.checkpoints c ON c.log = o.id
		WHERE o.closed_at IS NULL AND c.size > coalesce(
			(SELECT s.size FROM log.checkpoints s WHERE s.log = o.id AND s.timestamp IS NOT NULL ORDER BY s.size DESC LIMIT 1), 0)
		ORDER BY c.size LIMIT 1`)
	return append(all, Attester{Name: stampService, Waiting: since}), err
}

const lastCosigned = `SELECT s.size, s.cosignatures FROM log.checkpoints s
	WHERE s.log = o.id AND s.cosignatures IS NOT NULL ORDER BY s.size DESC LIMIT $2`

// waits returns the age of the checkpoint whose time a statement selects, 0 if it selects none.
func (l *Log) waits(ctx context.Context, what, sql string, args ...any) (time.Duration, error) {
	at, err := database.Scalar[time.Time](ctx, l.db.Pool, what, nil, sql, args...)
	if err != nil || at.IsZero() {
		return 0, err
	}
	return max(l.now().Sub(at), 0), nil
}

// TryAttesters is Attesters with what each of them answers now. It stores nothing: witnesses are asked for the newest checkpoint, the time
// stamp service for a stamp of a constant.
func (l *Log) TryAttesters(ctx context.Context) ([]Attester, error) {
	all, err := l.Attesters(ctx)
	if err != nil {
		return nil, err
	}
	var asked sync.WaitGroup
	for i := range all {
		asked.Go(func() {
			if all[i].Witness {
				all[i].Trouble = l.tryWitness(ctx, l.witnesses[i])
			} else {
				_, all[i].Trouble = l.stamp(ctx, "consign doctor\n")
			}
		})
	}
	asked.Wait()
	return all, nil
}

// tryWitness asks a witness for the newest checkpoint. While there is none, it sees whether the address is that of a witness, which refuses
// an empty request with 400.
func (l *Log) tryWitness(ctx context.Context, w *Witness) error {
	r, c, err := l.newest(ctx)
	if err == nil {
		_, err = l.cosignature(ctx, &Witness{key: w.key, url: w.url}, r, c)
		return err
	}
	if !errors.Is(err, ErrPending) && !errors.Is(err, errNoLog) {
		return err
	}
	status, _, err := l.ask(ctx, w.url, cosignQuery, nil)
	if err == nil && status != http.StatusBadRequest {
		err = fmt.Errorf("the witness %s answers %d to an empty request, not 400", w.key.Name(), status)
	}
	return err
}

// stamp returns the time stamp of a text.
// Errors: proof.ErrStamp.
func (l *Log) stamp(ctx context.Context, text string) ([]byte, error) {
	request, err := proof.StampRequest(text)
	if err != nil {
		return nil, err
	}
	status, answer, err := l.ask(ctx, l.tsa, stampQuery, request)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("the time stamp service answers %d", status)
	}
	_, err = proof.CheckStamp(answer, text, nil)
	return answer, err
}
