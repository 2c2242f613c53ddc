// The client of witnesses (C2SP tlog-witness).

package translog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/proof"
)

// ErrContradicted means that a witness has cosigned another state of the log than the database holds.
var ErrContradicted = errors.New(
	"a witness has cosigned a state of the transparency log that the database does not continue, as after a restore from a backup: " +
		"signing would fork the log. Bring back the newer database, begin a new log with: consign log restart, or remove the witness from " +
		"CONSIGN_LOG_WITNESSES if it is wrong")

// Witness cosigns checkpoints of which it has verified that they continue those that it has seen (C2SP tlog-witness).
type Witness struct {
	key  *proof.Cosigner
	url  string
	log  int32 // the log that size is about
	size int64 // of the last checkpoint that it has cosigned, as far as this process knows
}

// mark is how a cosignature of the witness begins.
func (w *Witness) mark() string { return "— " + w.key.Name() + " " }

var errWitness = errors.New("must be KEY URL, separated by a blank: the key of the witness as name+hash+base64 and the address before " +
	"/add-checkpoint")

// ParseWitness reads a witness: its key and its address, separated by a blank.
func ParseWitness(text string) (*Witness, error) {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return nil, errWitness
	}
	key, err := proof.NewCosigner(fields[0])
	if err != nil {
		return nil, errWitness
	}
	u, err := url.Parse(fields[1])
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errWitness
	}
	return &Witness{key: key, url: strings.TrimSuffix(fields[1], "/") + "/add-checkpoint"}, nil
}

// Cosign asks each witness that has not cosigned the newest checkpoint to do so, all at the same time, and stores their signatures.
// Errors: ErrPending, ErrContradicted.
func (l *Log) Cosign(ctx context.Context) error {
	r, c, err := l.newest(ctx)
	if err != nil {
		return err
	}
	known := ""
	if c.Cosignatures != nil {
		known = *c.Cosignatures
	}
	lines, failures := make([]string, len(l.witnesses)), make([]error, len(l.witnesses))
	var all sync.WaitGroup
	for i, w := range l.witnesses {
		if strings.Contains(known, w.mark()) {
			continue
		}
		all.Go(func() { lines[i], failures[i] = l.cosignature(ctx, w, r, c) })
	}
	all.Wait()
	err = errors.Join(failures...)
	if errors.Is(err, ErrContradicted) {
		l.mu.Lock()
		l.contradicted = r.ID
		l.mu.Unlock()
	}
	fresh := strings.Join(lines, "")
	if fresh == "" {
		return err
	}
	_, stored := database.Exec(ctx, l.db.Pool, "store cosignatures",
		`UPDATE log.checkpoints SET cosignatures = $4::text || $5 WHERE log = $1 AND size = $2 AND note = $3 AND coalesce(cosignatures, '') = $4`,
		r.ID, c.Size, c.Note, known, fresh)
	return errors.Join(err, stored)
}

// cosignature returns the signature line of a witness. A witness that has seen another size than this process knows says so, and is asked
// again.
// Errors: ErrContradicted.
func (l *Log) cosignature(ctx context.Context, w *Witness, r row, c checkpointRow) (string, error) {
	if w.log != r.ID || w.size > c.Size {
		w.log, w.size = r.ID, 0
	}
	for range 2 {
		body, err := l.addCheckpoint(ctx, r, c, w.size)
		if err != nil {
			return "", err
		}
		status, answer, err := l.ask(ctx, w.url, cosignQuery, body)
		if err != nil {
			return "", err
		}
		switch status {
		case http.StatusOK:
			line, err := w.accept(c, string(answer))
			if err == nil {
				w.size = c.Size
			}
			return line, err
		case http.StatusUnprocessableEntity:
			return "", fmt.Errorf("%s: %w", w.key.Name(), ErrContradicted)
		case http.StatusConflict:
			seen, err := strconv.ParseInt(strings.TrimSpace(string(answer)), 10, 64)
			if err != nil || seen < 0 {
				return "", fmt.Errorf("the witness %s answers 409 without a size", w.key.Name())
			}
			if seen == w.size || seen > c.Size {
				return "", l.contradiction(ctx, w, seen, c)
			}
			w.size = seen
		default:
			return "", fmt.Errorf("the witness %s answers %d", w.key.Name(), status)
		}
	}
	return "", fmt.Errorf("the witness %s does not agree about the size that it has seen", w.key.Name())
}

// contradiction returns the error for a witness that has seen a size of the log which this server does not have. The log may have grown
// since, by another leader; then there is none.
// Errors: ErrContradicted.
func (l *Log) contradiction(ctx context.Context, w *Witness, seen int64, c checkpointRow) error {
	now, err := l.current(ctx, l.db.Pool)
	if err != nil {
		return err
	}
	if seen > c.Size && seen <= now.Size {
		return nil
	}
	return fmt.Errorf("%s: %w", w.key.Name(), ErrContradicted)
}

// addCheckpoint returns the body of a request to a witness which has seen the log at a size: the proof that the checkpoint continues it.
func (l *Log) addCheckpoint(ctx context.Context, r row, c checkpointRow, seen int64) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "old %d\n", seen)
	if seen > 0 {
		hashes, err := tlog.ProveTree(c.Size, seen, l.hashes(ctx, r))
		if err != nil {
			return nil, fmt.Errorf("prove consistency of log: %w", err)
		}
		for _, h := range hashes {
			b.WriteString(h.String() + "\n")
		}
	}
	b.WriteString("\n" + c.Note)
	return []byte(b.String()), nil
}

// accept returns the line of a witness's answer that is its valid cosignature.
func (w *Witness) accept(c checkpointRow, answer string) (string, error) {
	for line := range strings.Lines(answer) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		n, err := note.Open([]byte(c.text()+"\n"+line), note.VerifierList(w.key))
		if err == nil && len(n.Sigs) == 1 {
			return line, nil
		}
	}
	return "", fmt.Errorf("the witness %s answers without its signature", w.key.Name())
}
