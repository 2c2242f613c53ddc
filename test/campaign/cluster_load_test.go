//go:build campaign

// Measures what a second and a third replica add.

package campaign

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	loadWorkers  = 24
	loadTime     = 4 * time.Second
	loadUploads  = 96      // at once
	loadFileSize = 4 << 20 // bytes of each
)

// TestClusterLoad loads one replica and then all three, without the proxy, and prints what they carry and what it costs. The machine
// has to serve clients, replicas and Postgres: the rates of few cores say little, the processor time of a request does not depend on
// them. It fails when a request fails.
func TestClusterLoad(t *testing.T) {
	c := newCluster(t, "CONSIGN_NETWORK_UPLOADS=256")
	owner, err := c.replicas[0].owner()
	if err != nil {
		t.Fatal(err)
	}
	work := []struct {
		name string
		do   func(s *server) error
	}{
		{"GET /public/mailbox/{key}", func(s *server) error {
			_, err := client{s: s}.call("GET", "/transfer/v2/public/mailbox/demo", nil, nil)
			return err
		}},
		{"GET /transfers, an inbox", func(s *server) error {
			_, err := owner.at(s).call("GET", "/transfer/v2/transfers?location=received", nil, nil)
			return err
		}},
		{"a delivery of a file of 1 kB, four requests", func(s *server) error { return deliver(owner.at(s), make([]byte, 1000)) }},
		{fmt.Sprintf("%d uploads of %d MiB at once", loadUploads, loadFileSize>>20), nil},
	}
	for _, w := range work {
		for _, replicas := range [][]*server{c.replicas[:1], c.replicas[:]} {
			if w.do == nil {
				uploadAtOnce(t, w.name, replicas, owner)
				continue
			}
			requests(t, w.name, replicas, w.do)
		}
	}
}

// requests repeats one kind of work for loadTime with loadWorkers clients.
func requests(t *testing.T, name string, replicas []*server, do func(*server) error) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), loadTime)
	defer stop()
	var done atomic.Int64
	var workers sync.WaitGroup
	spent := processorTime(replicas)
	for n := range loadWorkers {
		workers.Go(func() {
			for i := n; ctx.Err() == nil; i++ {
				if err := do(replicas[i%len(replicas)]); err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				done.Add(1)
			}
		})
	}
	workers.Wait()
	n := max(done.Load(), 1)
	t.Logf("%s, replicas: %d: %.0f/s, processor time of the replicas %.0f µs each", name, len(replicas), float64(n)/loadTime.Seconds(),
		(processorTime(replicas)-spent)*1e6/float64(n))
}

// uploadAtOnce sends many files at the same time.
func uploadAtOnce(t *testing.T, name string, replicas []*server, owner client) {
	t.Helper()
	data := bytes.Repeat([]byte("consign "), loadFileSize/8)
	began, spent := time.Now(), processorTime(replicas)
	var workers sync.WaitGroup
	for n := range loadUploads {
		workers.Go(func() {
			if _, _, err := send(owner.at(replicas[n%len(replicas)]), data); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	workers.Wait()
	took := time.Since(began)
	gib := float64(loadUploads*loadFileSize) / (1 << 30)
	t.Logf("%s, replicas: %d: %v, %.0f MB/s, processor time of the replicas %.1f s for each GiB", name, len(replicas),
		took.Round(time.Millisecond),
		gib*1073.7/took.Seconds(), (processorTime(replicas)-spent)/gib)
}

// processorTime returns the seconds of processor time that the replicas have used.
func processorTime(replicas []*server) (sum float64) {
	for _, s := range replicas {
		sum += s.metric("process_cpu_seconds_total")
	}
	return sum
}

// send creates a transfer of the owner with one file and uploads it. It returns a client with the reservation's token.
func send(owner client, data []byte) (c client, reservation string, err error) {
	var out struct{ UID string }
	header, err := owner.call("POST", "/transfer/v2/reservations", map[string]any{"subject": "load"}, &out)
	if err != nil {
		return c, "", err
	}
	c = client{s: owner.s, token: strings.TrimPrefix(header.Get("Authorization"), "Bearer ")}
	reservation = "/transfer/v2/reservations/" + out.UID
	return c, reservation, upload(c, reservation, "file", data)
}

// upload adds an object to a reservation and uploads its bytes.
func upload(c client, reservation, name string, data []byte) error {
	if _, err := c.call("POST", reservation+"/objects", map[string]any{"clientId": name, "name": name + ".bin", "intendedSize": len(data)},
		nil); err != nil {
		return err
	}
	resp, err := c.do(context.Background(), "PUT", reservation+"/objects/"+name+"/content", bytes.NewReader(data), http.Header{
		"Content-Range": {fmt.Sprintf("bytes 0-%d/%d", len(data)-1, len(data))}, "Content-Type": {"application/octet-stream"},
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("PUT answered %d: %s", resp.StatusCode, body)
	}
	return err
}

// deliver sends and confirms.
func deliver(owner client, data []byte) error {
	c, reservation, err := send(owner, data)
	if err == nil {
		_, err = c.call("POST", reservation+"/confirm", nil, nil)
	}
	return err
}
