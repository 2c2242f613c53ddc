// The size and root of the log in the file storage, by which a restored database is detected.

package translog

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/consign-dev/consign/internal/blob"
)

// The mark detects a restored database: the size and root of the largest tree that may have been signed, kept in the blob store and not in
// Postgres. It is written before the checkpoint is signed, alternately to two places, so that a crash while one is replaced leaves the
// other. A store that was restored together with the database has an old mark and detects nothing; witnesses do.

// maxMark is more than the bytes of a mark.
const maxMark = 200

// ErrFork means that the log would contradict what it has signed: its database is older than its mark.
var ErrFork = errors.New("the database holds less of the transparency log than was signed, as after a restore from a backup: signing " +
	"would fork the log. " +
	"Bring back the newer database, or begin a new log with: consign log restart")

// mark is the largest tree that may have been signed.
type mark struct {
	size int64
	root tlog.Hash
}

// markKey returns the place of a mark. Generations alternate between two.
func markKey(r row, generation int64) blob.Key {
	return blob.Key(fmt.Sprintf("consign-log-%d-%d", r.ID, generation%2))
}

// writeMark stores the mark of a log.
func (l *Log) writeMark(ctx context.Context, r row) error {
	key, text := markKey(r, r.Generation), fmt.Sprintf("%d %s %s\n", r.Size, base64.StdEncoding.EncodeToString(r.Root), r.Origin)
	if err := l.marks.Delete(ctx, key); err != nil {
		return fmt.Errorf("delete mark of log: %w", err)
	}
	w, err := l.marks.Append(ctx, key, 0, int64(len(text)))
	if err != nil {
		return fmt.Errorf("write mark of log: %w", err)
	}
	defer w.Close()
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write mark of log: %w", err)
	}
	if _, err := w.Sync(); err != nil {
		return fmt.Errorf("write mark of log: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write mark of log: %w", err)
	}
	return l.marks.Finish(ctx, key, int64(len(text)))
}

// readMark returns the larger of the marks of a log; its size is -1 when there is none.
func (l *Log) readMark(ctx context.Context, r row) (mark, error) {
	largest := mark{size: -1}
	for generation := range int64(2) {
		m, err := l.readMarkAt(ctx, markKey(r, generation))
		if err != nil {
			return mark{}, err
		}
		if m.size > largest.size {
			largest = m
		}
	}
	return largest, nil
}

func (l *Log) readMarkAt(ctx context.Context, key blob.Key) (mark, error) {
	reader, err := l.marks.Open(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		return mark{size: -1}, nil
	}
	if err != nil {
		return mark{}, fmt.Errorf("read mark of log: %w", err)
	}
	defer reader.Close()
	text, err := io.ReadAll(io.LimitReader(reader, maxMark))
	if err != nil {
		return mark{}, fmt.Errorf("read mark of log: %w", err)
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return mark{}, fmt.Errorf("the mark %s of the transparency log is damaged", key)
	}
	size, sizeErr := strconv.ParseInt(fields[0], 10, 64)
	root, rootErr := base64.StdEncoding.DecodeString(fields[1])
	if err := errors.Join(sizeErr, rootErr); err != nil || len(root) != tlog.HashSize {
		return mark{}, fmt.Errorf("the mark %s of the transparency log is damaged", key)
	}
	return mark{size: size, root: tlog.Hash(root)}, nil
}

// checkMark compares a log with its mark.
// Errors: ErrFork.
func (l *Log) checkMark(ctx context.Context, r row) error {
	m, err := l.readMark(ctx, r)
	switch {
	case err != nil:
		return err
	case m.size > r.Size:
		return ErrFork
	case m.size < r.Published: // the marks are gone: the storage is another one, or an older backup
		l.log.Warn("the mark of the transparency log is older than the log: a restored storage detects no fork", "mark", m.size, "published",
			r.Published)
		return nil
	case m.size < 1:
		return nil
	}
	root, err := tlog.TreeHash(m.size, l.hashes(ctx, r))
	if err != nil {
		return fmt.Errorf("read transparency log: %w", err)
	}
	if root != m.root {
		return ErrFork
	}
	return nil
}
