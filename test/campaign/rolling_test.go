//go:build campaign

package campaign

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// load is the traffic during a rolling restart and its results.
type load struct {
	t     *testing.T
	c     *cluster
	owner client
	ended chan struct{}

	requests, retried, failed, reconnects atomic.Int64

	mu        sync.Mutex
	latencies []time.Duration
	sums      map[string]string // SHA-256 by transfer
	told      map[string]bool   // transfers reported by events
}

// TestRollingRestart restarts the three replicas one after the other under load. Clients retry a request only after a 503. Any other
// error counts as a failed request, and no request may fail.
func TestRollingRestart(t *testing.T) {
	c := newCluster(t, "CONSIGN_RATE_LIMIT=off")
	l := newLoad(t, c)
	l.run(func() {
		for n := range c.replicas {
			l.restart(n)
			time.Sleep(3 * time.Second)
		}
	})
}

func newLoad(t *testing.T, c *cluster) *load {
	t.Helper()
	owner, err := c.front.owner()
	if err != nil {
		t.Fatal(err)
	}
	return &load{t: t, c: c, owner: owner, ended: make(chan struct{}), sums: map[string]string{}, told: map[string]bool{}}
}

// run changes the cluster under load, then checks that no request failed and that every transfer arrived.
func (l *load) run(change func()) {
	l.t.Helper()
	var workers sync.WaitGroup
	for n := range 3 {
		workers.Go(func() { l.read() })
		workers.Go(func() { l.upload(fmt.Sprintf("small%d", n), 300_000, 100_000, 0) })
	}
	for n := range 3 { // each takes longer than a stopping replica keeps serving, so some are cut off
		workers.Go(func() { l.upload(fmt.Sprintf("large%d", n), 20<<20, 20<<20, 50*time.Millisecond) })
	}
	workers.Go(func() { l.upload("", 300_000, 100_000, 0) })
	watching := make(chan struct{})
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		l.listen(watching)
	}()
	began := time.Now()
	time.Sleep(3 * time.Second)
	change()
	close(l.ended)
	workers.Wait()
	took := time.Since(began)
	l.check()
	within(l.t, "every transfer was told", 10*time.Second, time.Now(), l.allTold)
	close(watching)
	<-listening
	l.t.Logf("%d requests in %v: %d answered 503 and repeated, %d failed; %d transfers whole, %d event streams opened",
		l.requests.Load(), took.Round(time.Millisecond), l.retried.Load(), l.failed.Load(), len(l.sums), l.reconnects.Load())
	figure(l.t, int(l.requests.Load()), "requests")
	figure(l.t, int(l.failed.Load()), "failed")
	report(l.t, "requests other than uploads", l.latencies, 30*time.Second)
	if l.failed.Load() > 0 {
		l.t.Errorf("%d requests failed", l.failed.Load())
	}
	if l.requests.Load() < 200 || len(l.sums) < 5 {
		l.t.Error("the load was too small to be meaningful")
	}
}

// restart stops a replica and starts its program again.
func (l *load) restart(n int) {
	l.t.Helper()
	s, stopping := l.c.replicas[n], time.Now()
	s.signal(syscall.SIGTERM)
	if err := s.wait(); err != nil {
		l.t.Errorf("replica %d ended with %v", n+1, err)
	}
	stopped := time.Since(stopping)
	s.start()
	l.t.Logf("replica %d: stopped in %v, ready again after %v", n+1, stopped.Round(time.Millisecond),
		time.Since(stopping).Round(time.Millisecond))
}

func (l *load) over() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// do repeats a request until the response is not 503 and returns the response's header and body. body returns a new request body for
// each attempt.
func (l *load) do(as client, method, path string, header http.Header, body func() io.Reader) (http.Header, []byte, bool) {
	for {
		l.requests.Add(1)
		began := time.Now()
		resp, err := as.do(context.Background(), method, path, body(), header.Clone())
		if err != nil {
			return l.fail("%s %s: %v", method, path, err)
		}
		raw, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return l.fail("%s %s, answer %d: %v", method, path, resp.StatusCode, err)
		}
		if method != http.MethodPut {
			l.mu.Lock()
			l.latencies = append(l.latencies, time.Since(began))
			l.mu.Unlock()
		}
		switch {
		case resp.StatusCode < 300:
			return resp.Header, raw, true
		case resp.StatusCode != http.StatusServiceUnavailable:
			return l.fail("%s %s answered %d: %.300s", method, path, resp.StatusCode, raw)
		case resp.Header.Get("Retry-After") == "" && resp.Header.Get("X-Request-Id") != "":
			return l.fail("%s %s answered 503 without Retry-After", method, path)
		}
		l.retried.Add(1)
		time.Sleep(300 * time.Millisecond)
		if method == http.MethodPut {
			return resp.Header, raw, false // the client first asks for the stored offset
		}
	}
}

func (l *load) fail(format string, args ...any) (http.Header, []byte, bool) {
	l.failed.Add(1)
	l.t.Errorf(format, args...)
	return nil, nil, false
}

func none() io.Reader { return nil }

// read repeatedly fetches pages as a signed-in person and as a stranger.
func (l *load) read() {
	for !l.over() {
		for _, path := range []string{"/transfer/v2/environment", "/transfer/v2/public/mailbox/demo", "/id/v3/profile",
			"/transfer/v2/transfers?limit=5"} {
			as := l.owner
			if strings.Contains(path, "environment") || strings.Contains(path, "public") {
				as.token = ""
			}
			l.do(as, "GET", path, http.Header{}, none)
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// upload sends files of about size bytes as strangers of a name, or without a name as the owner, in chunks of step bytes, throttled by
// pace.
func (l *load) upload(name string, size, step int, pace time.Duration) {
	for n := 0; !l.over(); n++ {
		data := randomBytes(size + n)
		from := name
		if name != "" {
			from = fmt.Sprintf("%s-%d@example.com", name, n)
		}
		j, ok := l.reserve(from, len(data))
		if !ok || !l.send(j, data, step, pace) {
			return
		}
		_, raw, ok := l.do(j.c, "POST", j.reservation+"/confirm", http.Header{}, none)
		if !ok {
			return
		}
		var out struct{ UID string }
		if err := json.Unmarshal(raw, &out); err != nil {
			l.fail("confirm: %v", err)
			return
		}
		sum := sha256.Sum256(data)
		l.mu.Lock()
		l.sums[out.UID] = hex.EncodeToString(sum[:])
		l.mu.Unlock()
	}
}

// reserve reserves a file of a stranger, or, without an address, one that the owner sends to herself.
func (l *load) reserve(from string, size int) (*job, bool) {
	object := func(v any) func() io.Reader {
		raw, _ := json.Marshal(v)
		return func() io.Reader { return bytes.NewReader(raw) }
	}
	header := http.Header{"Content-Type": {"application/json"}}
	as, path, body := client{s: l.c.front}, "/transfer/v2/public/mailbox/demo",
		map[string]any{"subject": "rolling", "anonSender": "Sam", "anonEmail": from}
	if from == "" {
		as, path, body = l.owner, "/transfer/v2/reservations", map[string]any{"subject": "rolling", "recipients": recipients(l.c.front.email)}
	}
	answer, raw, ok := l.do(as, "POST", path, header, object(body))
	if !ok {
		return nil, false
	}
	var out struct{ UID string }
	if err := json.Unmarshal(raw, &out); err != nil {
		l.fail("reserve: %v", err)
		return nil, false
	}
	j := &job{c: client{s: l.c.front, token: strings.TrimPrefix(answer.Get("Authorization"), "Bearer ")},
		reservation: "/transfer/v2/reservations/" + out.UID}
	j.object = j.reservation + "/objects/file"
	_, _, ok = l.do(j.c, "POST", j.reservation+"/objects", header,
		object(map[string]any{"clientId": "file", "name": "file.bin", "intendedSize": size}))
	return j, ok
}

// send sends a file's bytes. After a 503 it resumes at the stored offset.
func (l *load) send(j *job, data []byte, step int, pace time.Duration) bool {
	for at := 0; at < len(data); {
		end := min(at+step, len(data))
		header := http.Header{"Content-Range": {fmt.Sprintf("bytes %d-%d/%d", at, end-1, len(data))},
			"Content-Type": {"application/octet-stream"}}
		answer, _, ok := l.do(j.c, "PUT", j.object+"/content", header, func() io.Reader {
			return &slow{r: bytes.NewReader(data[at:end]), pace: pace, sent: &j.sent}
		})
		switch {
		case ok:
			at = end
		case answer == nil:
			return false
		default:
			head, _, ok := l.do(j.c, "HEAD", j.object+"/content", http.Header{}, none)
			if !ok {
				return false
			}
			held, err := strconv.Atoi(head.Get("Content-Length"))
			if err != nil {
				l.fail("HEAD tells no Content-Length: %v", err)
				return false
			}
			at = held
		}
	}
	return true
}

// listen keeps an event stream open. When it ends, listen reconnects after the last event received.
func (l *load) listen(done <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-done
		cancel()
	}()
	last := "0"
	for ctx.Err() == nil {
		l.reconnects.Add(1)
		resp, err := l.owner.do(ctx, "GET", "/id/v3/events", nil, http.Header{"Last-Event-Id": {last}})
		if err != nil {
			if ctx.Err() == nil {
				l.fail("GET /events: %v", err)
			}
			return
		}
		switch {
		case resp.StatusCode == http.StatusOK:
			last = l.follow(resp.Body, last)
		case resp.StatusCode != http.StatusServiceUnavailable:
			l.fail("GET /events answered %d", resp.StatusCode)
		}
		resp.Body.Close()
		time.Sleep(50 * time.Millisecond)
	}
}

// follow records the events of one stream until it ends and returns the last event's ID.
func (l *load) follow(body io.Reader, last string) string {
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			last = id
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var e struct{ Subject string }
			if json.Unmarshal([]byte(data), &e) == nil {
				l.mu.Lock()
				l.told[e.Subject] = true
				l.mu.Unlock()
			}
		}
	}
	return last
}

func (l *load) allTold() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uid := range l.sums {
		if !l.told[uid] {
			return false
		}
	}
	return true
}

// check downloads every transfer.
func (l *load) check() {
	began := time.Now()
	defer func() { l.t.Logf("all %d downloaded in %v", len(l.sums), time.Since(began).Round(time.Millisecond)) }()
	for uid, want := range l.sums {
		if got, err := l.owner.download(uid); err != nil || got != want {
			l.t.Errorf("transfer %s: %s, %v; sent %s", uid, got, err, want)
		}
	}
}
