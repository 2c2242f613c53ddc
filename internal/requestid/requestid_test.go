package requestid_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/requestid"
)

func TestLogger(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := requestid.Logger(slog.New(slog.NewTextHandler(&out, nil))).With("part", "mail")
	log.InfoContext(t.Context(), "outside")
	log.InfoContext(requestid.With(t.Context(), ""), "without one")
	log.InfoContext(requestid.With(t.Context(), "abc-123"), "inside")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines: %s", len(lines), out.String())
	}
	for i, want := range []bool{false, false, true} {
		if strings.Contains(lines[i], "request_id=abc-123") != want || strings.Contains(lines[i], "request_id=") != want ||
			!strings.Contains(lines[i], "part=mail") {
			t.Errorf("line %d: %s", i, lines[i])
		}
	}
}
