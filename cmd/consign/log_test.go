package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/consign-dev/consign/internal/config"
)

// writes notes each write by itself.
type writes struct {
	mu     sync.Mutex
	all    []string
	broken bool
}

// Write implements io.Writer.
func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		return 0, errors.New("no space left on device")
	}
	w.all = append(w.all, string(p))
	return len(p), nil
}

func (w *writes) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all)
}

func (w *writes) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.all, "")
}

var jsonLog = config.Config{LogFormat: "json", LogLevel: "info"}

// TestServerLogGathers: lines wait for a tenth of a second at most, and not beyond a warning, before which they come.
func TestServerLogGathers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out writes
		log, flush := serverLogger(jsonLog, &out)
		log.Info("one")
		log.With("part", "mail").Info("two")
		if out.count() != 0 {
			t.Fatalf("written at once: %q", out.all)
		}
		time.Sleep(gatherTime - time.Nanosecond)
		if out.count() != 0 {
			t.Errorf("written before its time: %q", out.all)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if text := out.text(); out.count() != 1 || strings.Index(text, `"one"`) > strings.Index(text, `"two"`) || !strings.Contains(text, `"part":"mail"`) {
			t.Fatalf("after %s: %q", gatherTime, out.all)
		}
		for i, level := range []slog.Level{slog.LevelWarn, slog.LevelError} {
			log.Info("before")
			log.WithGroup("group").Log(t.Context(), level, "at once", "k", 1)
			if out.count() != 2+i || strings.Count(out.all[1+i], "\n") != 2 || !strings.Contains(out.all[1+i], `"before"`) {
				t.Fatalf("with %s: %q", level, out.all)
			}
		}
		log.Info("last")
		flush()
		if out.count() != 4 || !strings.Contains(out.all[3], `"last"`) {
			t.Errorf("at the end: %q", out.all)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if flush(); out.count() != 4 {
			t.Errorf("wrote nothing: %q", out.all[4:])
		}
	})
}

// TestServerLogText: what somebody watches comes line by line.
func TestServerLogText(t *testing.T) {
	t.Parallel()
	var out writes
	log, _ := serverLogger(config.Config{LogFormat: "text", LogLevel: "info"}, &out)
	log.Info("one")
	log.Info("two")
	if out.count() != 2 {
		t.Errorf("%q", out.all)
	}
}

// TestServerLogParallel: every line comes once and whole, many in one write, whatever goes on at the same time.
func TestServerLogParallel(t *testing.T) {
	t.Parallel()
	const loggers, each = 8, 500
	var out writes
	log, flush := serverLogger(jsonLog, &out)
	var running sync.WaitGroup
	for l := range loggers {
		running.Go(func() {
			for i := range each {
				level := slog.LevelInfo
				if i%100 == 0 {
					level = slog.LevelWarn
				}
				log.Log(t.Context(), level, fmt.Sprint(l, " ", i), "text", strings.Repeat("x", i))
			}
		})
	}
	running.Wait()
	log.Info("a long one", "text", strings.Repeat("y", 2*gatherBytes))
	flush()
	seen := map[string]bool{}
	for _, w := range out.all {
		if len(w) > gatherBytes && strings.Count(w, "\n") > 1 {
			t.Errorf("%d bytes in one write", len(w))
		}
		for line := range bytes.Lines([]byte(w)) {
			var l struct{ Msg string }
			if err := json.Unmarshal(line, &l); err != nil || seen[l.Msg] {
				t.Fatalf("%q: %v", line, err)
			}
			seen[l.Msg] = true
		}
	}
	if len(seen) != loggers*each+1 || out.count() > loggers*each/10 {
		t.Errorf("%d lines in %d writes", len(seen), out.count())
	}
}

// TestServerLogBroken: a log that could not be written for a while goes on when it can be again.
func TestServerLogBroken(t *testing.T) {
	t.Parallel()
	out := writes{broken: true}
	log, _ := serverLogger(jsonLog, &out)
	log.Warn("lost")
	out.broken = false
	log.Warn("kept")
	if out.count() != 1 || !strings.Contains(out.text(), `"kept"`) {
		t.Errorf("%q", out.all)
	}
}
