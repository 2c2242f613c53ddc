// How far a long command is: a line that is written over on a terminal, and a line each half minute elsewhere.

package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/consign-dev/consign/internal/transfer/content"
)

const (
	drawEvery = 200 * time.Millisecond // on a terminal
	tellEvery = 30 * time.Second       // in a log
)

// progress shows how far a command over all stored files is.
type progress struct {
	w          io.Writer
	now        func() time.Time
	overwrites bool
	began      time.Time
	last       time.Time // of a line
}

func newProgress(w io.Writer, now func() time.Time) *progress {
	f, ok := w.(*os.File)
	return &progress{w: w, now: now, overwrites: ok && term.IsTerminal(int(f.Fd())), began: now(), last: now()}
}

// passed shows p, if it is time.
func (s *progress) passed(p content.Progress) {
	now := s.now()
	every, lead, end := tellEvery, "", "\n"
	if s.overwrites {
		every, lead, end = drawEvery, "\r\x1b[K", ""
	}
	if now.Sub(s.last) < every {
		return
	}
	s.last = now
	_, _ = fmt.Fprint(s.w, lead+describeProgress(p, now.Sub(s.began))+end)
}

// end removes the line from a terminal.
func (s *progress) end() {
	if s.overwrites {
		_, _ = fmt.Fprint(s.w, "\r\x1b[K")
	}
}

// describeProgress returns count, bytes, rate and the time that is left at that rate. What was added meanwhile makes the totals too small.
func describeProgress(p content.Progress, took time.Duration) string {
	text := fmt.Sprintf("%d of %d files, %.1f of %.1f GB", p.Objects, max(p.TotalObjects, p.Objects), gigabytes(p.Bytes),
		gigabytes(max(p.TotalBytes, p.Bytes)))
	if took <= 0 || p.Bytes == 0 {
		return text
	}
	rate := float64(p.Bytes) / took.Seconds()
	left := time.Duration(float64(max(p.TotalBytes-p.Bytes, 0)) / rate * float64(time.Second))
	return fmt.Sprintf("%s, %.0f MB/s, %s left", text, rate/1e6, left.Round(time.Second))
}

func gigabytes(n int64) float64 { return float64(n) / 1e9 }
