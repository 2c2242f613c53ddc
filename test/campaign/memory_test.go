//go:build campaign

// Bounds the memory of many uploads at once.

package campaign

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	uploads     = 32
	uploadSize  = 1_000_000_000
	memoryLimit = 120_000_000 // bytes resident
)

// TestMemory uploads 32 files of 1 GB in parallel and fails when the server's resident memory ever exceeds 120 MB.
func TestMemory(t *testing.T) {
	s := newServer(t, fmt.Sprintf("CONSIGN_RESERVATION_UPLOADS=%d", uploads), "CONSIGN_STRANGER_SHARE=100")
	s.start()
	stop := make(chan struct{})
	peak := make(chan int64, 1)
	go func() { peak <- s.watchMemory(stop) }()
	// All uploads share one reservation: a mailbox accepts 20 new reservations at once, but objects are not limited.
	c, reservation, _, err := s.reserve(uploadSize)
	if err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	var group sync.WaitGroup
	for i := range uploads {
		group.Go(func() {
			name := fmt.Sprintf("zeros-%d", i)
			_, err := c.call("POST", reservation+"/objects", map[string]any{"clientId": name, "name": name, "intendedSize": uploadSize}, nil)
			if err == nil {
				err = c.putZeros(reservation+"/objects/"+name, uploadSize)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	close(stop)
	highest := <-peak
	seconds := time.Since(started).Seconds()
	t.Logf("%d uploads of %d MB in %.0f s (%.0f MB/s): peak resident memory %.1f MB", uploads, uploadSize/1_000_000, seconds,
		float64(uploads)*uploadSize/1e6/seconds, float64(highest)/1e6)
	if highest == 0 {
		t.Fatal("the resident memory could not be read")
	}
	if highest > memoryLimit {
		t.Errorf("peak resident memory is %d bytes, want at most %d", highest, memoryLimit)
	}
}

// watchMemory samples the server's resident memory until stop and returns the highest value in bytes.
func (s *server) watchMemory(stop <-chan struct{}) int64 {
	var highest int64
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		highest = max(highest, resident(s.cmd.Process.Pid))
		select {
		case <-stop:
			return highest
		case <-tick.C:
		}
	}
}

// resident returns a process's resident memory in bytes: the high-water mark from /proc if available, else the current value of ps.
func resident(pid int) int64 {
	if raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
		for _, line := range strings.Split(string(raw), "\n") {
			if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				kb, _ := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
				return kb * 1024
			}
		}
	}
	out, err := exec.CommandContext(context.Background(), "ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0
	}
	kb, _ := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return kb * 1024
}

func (c client) putZeros(object string, size int64) error {
	header := http.Header{"Content-Type": {"application/octet-stream"}}
	r, err := http.NewRequestWithContext(context.Background(), "PUT", c.s.url+object+"/content", io.LimitReader(zeros{}, size))
	if err != nil {
		return err
	}
	r.Header, r.ContentLength = header, size
	r.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return uploaded(resp)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
