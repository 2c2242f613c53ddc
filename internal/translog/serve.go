// Serves the log over HTTP as tiles (C2SP tlog-tiles).

package translog

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
)

// Prefix is the path below which the log is served (C2SP tlog-tiles). A closed log is at Prefix and its number.
const Prefix = "/log"

const (
	forever = "public, max-age=31536000, immutable"
	briefly = "public, max-age=2"
)

// Handler serves the log: checkpoint, tile/…, tile/entries/… and keys.
func (l *Log) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := l.serve(w, r); err != nil {
			httpapi.WriteError(w, r, err)
		}
	})
}

func (l *Log) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return fault.ErrMethodNotAllowed
	}
	ctx := r.Context()
	path := strings.TrimPrefix(r.URL.Path, Prefix+"/")
	if path == "keys" {
		return l.serveKeys(ctx, w, r)
	}
	which, path := logOf(path)
	switch {
	case path == "checkpoint":
		return l.serveCheckpoint(ctx, w, r, which)
	case strings.HasPrefix(path, "tile/entries/"):
		return l.serveEntries(ctx, w, r, which, strings.TrimPrefix(path, "tile/entries/"))
	case strings.HasPrefix(path, "tile/"):
		return l.serveTile(ctx, w, r, which, strings.TrimPrefix(path, "tile/"))
	}
	return errNothing
}

var errNothing = fault.ErrNotFound.With("the transparency log has checkpoint, keys, tile/LEVEL/N and tile/entries/N")

// logOf cuts the number of a closed log from the path; 0 is the open log.
func logOf(path string) (int32, string) {
	head, rest, found := strings.Cut(path, "/")
	if n, err := strconv.ParseInt(head, 10, 32); found && err == nil && n > 0 {
		return int32(n), rest
	}
	return 0, path
}

// whichLog selects a log by its number, or the open one by 0.
const whichLog = `(SELECT id FROM log.logs WHERE CASE WHEN $1::integer = 0 THEN closed_at IS NULL ELSE id = $1 END)`

// Checkpoint returns the newest checkpoint with its cosignatures, of the log with that number or of the open log for 0.
// Errors: ErrPending.
func (l *Log) Checkpoint(ctx context.Context, which int32) (string, error) {
	c, err := database.One[checkpointRow](ctx, l.db.Pool, "find checkpoint", ErrPending,
		`SELECT `+checkpointColumns+` FROM log.checkpoints c WHERE c.log = `+whichLog+` ORDER BY c.size DESC LIMIT 1`, which)
	return c.signed(), err
}

func (l *Log) serveCheckpoint(ctx context.Context, w http.ResponseWriter, r *http.Request, which int32) error {
	text, err := l.Checkpoint(ctx, which)
	if err == ErrPending { //nolint:errorlint // returned as it is
		return fault.ErrNotFound.With("the log has no checkpoint yet")
	}
	if err != nil {
		return err
	}
	return answer(w, r, "text/plain; charset=utf-8", briefly, []byte(text))
}

func (l *Log) serveKeys(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	keys, err := l.Keys(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, k := range keys {
		verifier, err := k.Verifier()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s\n", verifier, k.State(l.now()))
	}
	return answer(w, r, "text/plain; charset=utf-8", briefly, []byte(b.String()))
}

func (l *Log) serveTile(ctx context.Context, w http.ResponseWriter, r *http.Request, which int32, path string) error {
	level, rest, _ := strings.Cut(path, "/")
	t, ok := parseTile(level, rest)
	if !ok {
		return errNothing
	}
	data, err := database.Scalar[[]byte](ctx, l.db.Pool, "read tile", errNothing, `
		SELECT substring(hashes FOR $4) FROM log.tiles WHERE log = `+whichLog+` AND level = $2 AND n = $3 AND octet_length(hashes) >= $4`,
		which, t.L, t.N, t.W*tlog.HashSize)
	if err != nil {
		return err
	}
	return answer(w, r, "application/octet-stream", forever, data)
}

func (l *Log) serveEntries(ctx context.Context, w http.ResponseWriter, r *http.Request, which int32, path string) error {
	t, ok := parseTile("0", path)
	if !ok {
		return errNothing
	}
	first := t.N * tileWidth
	entries, err := database.Scalars[[]byte](ctx, l.db.Pool, "read log entries", `
		SELECT entry FROM log.entries WHERE log = `+whichLog+` AND index >= $2 AND index < $3 ORDER BY index`, which, first, first+int64(t.W))
	if err != nil {
		return err
	}
	if len(entries) < t.W {
		return errNothing
	}
	return answer(w, r, "application/octet-stream", forever, bundle(entries))
}

// bundle returns entries in the form of a tile.
func bundle(entries [][]byte) []byte {
	var out []byte
	for _, e := range entries {
		out = append(binary.BigEndian.AppendUint16(out, uint16(len(e))), e...)
	}
	return out
}

// parseTile reads the level, the number and the width of a tile's path. Each tile has one path.
func parseTile(level, path string) (tlog.Tile, bool) {
	t, err := tlog.ParseTilePath(fmt.Sprintf("tile/%d/%s/%s", tileHeight, level, path))
	if err != nil || t.L < 0 || t.L > 63 || t.Path() != fmt.Sprintf("tile/%d/%s/%s", tileHeight, level, path) {
		return tlog.Tile{}, false
	}
	return t, true
}

func answer(w http.ResponseWriter, r *http.Request, kind, caching string, body []byte) error {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", caching)
	return httpapi.Document(w, r, body)
}
