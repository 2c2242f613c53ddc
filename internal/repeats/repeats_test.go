package repeats_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/repeats"
)

func TestLogger(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Now()
	log := repeats.Logger(slog.New(slog.NewTextHandler(&out, nil)), time.Minute, func() time.Time { return now }).With("replica", "a")
	for i := range 120 { // two minutes, a line each second
		log.Error("no connection", "error", errors.New(strings.Repeat("x", i)))
		log.Warn("no connection")
		now = now.Add(time.Second)
	}
	log.Error("no connection")
	text := out.String()
	if n := strings.Count(text, "level=ERROR"); n != 3 {
		t.Errorf("%d lines of three minutes:\n%s", n, text)
	}
	if strings.Count(text, "level=WARN") != 2 || strings.Count(text, "repeated=59") != 3 || !strings.Contains(text, "replica=a") {
		t.Errorf("the log is:\n%s", text)
	}
}
