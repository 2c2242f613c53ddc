package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/transfer/content"
)

// TestProgress: a log gets a line each half minute with count, bytes, rate and time left; a terminal's line is written over.
func TestProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Now()
	p := newProgress(&out, func() time.Time { return now })
	at := content.Progress{TotalObjects: 100, TotalBytes: 100_000_000_000}
	for range 100 { // a file of a gigabyte each second
		now = now.Add(time.Second)
		at.Objects++
		at.Bytes += 1_000_000_000
		p.passed(at)
	}
	p.end()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || lines[0] != "30 of 100 files, 30.0 of 100.0 GB, 1000 MB/s, 1m10s left" {
		t.Errorf("the log is\n%s", out.String())
	}
	out.Reset()
	p.overwrites = true
	now = now.Add(time.Second)
	p.passed(at)
	p.passed(at)
	p.end()
	if text := out.String(); strings.Count(text, "\r\x1b[K") != 2 || strings.Contains(text, "\n") || !strings.HasSuffix(text, "\r\x1b[K") {
		t.Errorf("the terminal shows %q", text)
	}
}
