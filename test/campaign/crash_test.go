//go:build campaign

// Kills the server at random moments of an upload, with each protocol.

package campaign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	fileSize = 48 << 20
	chunk    = 1 << 20
)

// TestCrash kills the server at random moments of uploads and confirmations, alternating SIGKILL and SIGTERM. The rounds send in turn by
// PUT, tus and the IETF's resumable uploads, and what one has begun another goes on with after the restart. After each restart on the
// same data the server must still store every byte acknowledged by a response or by HEAD. Confirmed transfers must stay confirmed.
func TestCrash(t *testing.T) {
	crashUploads(t, func(s *server, n int) received { return s.round(n, randomBytes(fileSize)) })
}

// dialect is a protocol of uploads.
type dialect struct {
	name, method, path string
	header             func(from, to, size int64) http.Header
}

// The dialects of uploads. All go on where another has ended.
var dialects = []dialect{
	{"PUT", "PUT", "/content", func(from, to, size int64) http.Header {
		return http.Header{"Content-Range": {fmt.Sprintf("bytes %d-%d/%d", from, to-1, size)}, "Content-Type": {"application/octet-stream"}}
	}},
	{"tus", "PATCH", "/tus", func(from, _, _ int64) http.Header {
		return http.Header{"Tus-Resumable": {"1.0.0"}, "Upload-Offset": {strconv.FormatInt(from, 10)},
			"Content-Type": {"application/offset+octet-stream"}}
	}},
	{"resumable", "PATCH", "/upload", func(from, to, size int64) http.Header {
		complete := map[bool]string{true: "?1", false: "?0"}[to == size]
		return http.Header{"Upload-Complete": {complete}, "Upload-Offset": {strconv.FormatInt(from, 10)},
			"Content-Type": {"application/partial-upload"}}
	}},
}

// offset returns the bytes held that the HEAD of a dialect tells.
func (c client) offset(d dialect, object string) (int64, error) {
	if d.name == "PUT" {
		return c.held(object)
	}
	resp, err := c.do(context.Background(), "HEAD", object+d.path, nil, http.Header{"Tus-Resumable": {"1.0.0"}})
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	return strconv.ParseInt(resp.Header.Get("Upload-Offset"), 10, 64)
}

// job is the upload of one round and its progress.
type job struct {
	c                   client
	dialect             int // of dialects; 0 is PUT
	reservation, object string
	data                []byte
	sent, acknowledged  atomic.Int64
	transfer            string // once confirmed
}

// round uploads one file through one crash and confirms it.
func (s *server) round(n int, data []byte) received {
	s.t.Helper()
	sig, whole := syscall.SIGKILL, n%4 >= 2 // half of the rounds send one body, acknowledged by HEAD only
	if n%2 == 1 {
		sig = syscall.SIGTERM
	}
	j := &job{data: data, dialect: n % len(dialects)}
	var err error
	if j.c, j.reservation, j.object, err = s.reserve(int64(len(data))); err != nil {
		s.t.Fatal(err)
	}
	moment := rand.Int64N(fileSize)
	if n%5 == 4 {
		moment = fileSize // around the confirmation
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		j.run(whole)
	}()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		j.watch(ended)
	}()
	for j.sent.Load() < moment && !closed(ended) {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(rand.N(40 * time.Millisecond))
	s.signal(sig)
	_ = s.wait()
	<-ended
	<-watched
	s.start()

	ack := j.acknowledged.Load()
	held, err := j.c.held(j.object)
	if err != nil && j.transfer == "" {
		s.t.Fatal(err)
	}
	for _, d := range dialects {
		if at, err := j.c.offset(d, j.object); j.transfer == "" && err == nil && at != held {
			s.t.Fatalf("%s says %d bytes are held, PUT %d", d.name, at, held)
		}
	}
	s.t.Logf("round %2d, %-10s by %-9s: sent %8d, acknowledged %8d, held %8d of %d, confirmed %t", n, sig, dialects[j.dialect].name,
		j.sent.Load(), ack, held, len(data), j.transfer != "")
	if j.transfer == "" && held < ack {
		s.t.Fatalf("%d bytes were acknowledged, %d are held", ack, held)
	}
	j.dialect = (n + 1) % len(dialects)
	if err := j.complete(held); err != nil {
		s.t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return received{j.transfer, hex.EncodeToString(sum[:])}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// run sends the file in chunks, or as one slow body, and confirms, until the server goes away.
func (j *job) run(whole bool) {
	size := int64(len(j.data))
	step, pace := int64(chunk), 4*time.Millisecond
	if whole {
		step, pace = size, 12*time.Millisecond // slow enough that the server stores parts of it before the end
	}
	for at := int64(0); at < size; at += step {
		if err := j.put(at, min(at+step, size), pace); err != nil {
			return
		}
		j.acknowledged.Store(min(at+step, size))
	}
	_ = j.confirm()
}

// watch records the offset that HEAD acknowledges.
func (j *job) watch(ended <-chan struct{}) {
	for !closed(ended) {
		if held, err := j.c.held(j.object); err == nil && held > j.acknowledged.Load() {
			j.acknowledged.Store(held)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// complete sends what is missing and confirms, unless the server did so before it was killed.
func (j *job) complete(held int64) error {
	if j.transfer != "" {
		return nil
	}
	err := j.confirm() // an earlier confirm may have succeeded although its response was lost
	if err == nil || held == int64(len(j.data)) {
		return err
	}
	if err := j.put(held, int64(len(j.data)), 0); err != nil {
		return err
	}
	return j.confirm()
}

var confirmed = regexp.MustCompile(`its transfer is ([0-9a-f-]{36})`)

// confirm confirms the reservation, or learns that it is confirmed already.
func (j *job) confirm() error {
	var transfer struct{ UID string }
	_, err := j.c.call("POST", j.reservation+"/confirm", nil, &transfer)
	if err != nil {
		if match := confirmed.FindStringSubmatch(err.Error()); match != nil {
			j.transfer = match[1]
			return nil
		}
		return err
	}
	j.transfer = transfer.UID
	return nil
}

// put sends bytes from to to-1, 200 KiB per pace, so that the server can be killed in the middle.
func (j *job) put(from, to int64, pace time.Duration) error {
	d, size := dialects[j.dialect], int64(len(j.data))
	resp, err := j.c.do(context.Background(), d.method, j.object+d.path, &slow{r: bytes.NewReader(j.data[from:to]), pace: pace, sent: &j.sent},
		d.header(from, to, size))
	if err != nil {
		return err
	}
	return uploaded(resp)
}

// uploaded closes the answer to sent bytes and returns an error unless they are held.
func uploaded(resp *http.Response) error {
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("the upload answered %d: %s", resp.StatusCode, body)
	}
	return nil
}

type slow struct {
	r    io.Reader
	pace time.Duration
	sent *atomic.Int64
}

// Read implements io.Reader.
func (s *slow) Read(p []byte) (int, error) {
	time.Sleep(s.pace)
	n, err := s.r.Read(p[:min(len(p), 200<<10)])
	s.sent.Add(int64(n))
	return n, err
}

// download returns the SHA-256 of the downloaded bytes of a transfer's only object.
func (c client) download(transfer string) (string, error) {
	_, resp, err := c.fetch(transfer)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	h := sha256.New()
	if _, err := io.Copy(h, resp.Body); err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("download answered %d", resp.StatusCode)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// fetch asks for the bytes of a transfer's only object. It also returns its state of inspection before.
func (c client) fetch(transfer string) (malwareStatus string, resp *http.Response, err error) {
	var out struct {
		State   string
		Objects []struct{ UID, MalwareStatus string }
	}
	if _, err := c.call("GET", "/transfer/v2/transfers/"+transfer, nil, &out); err != nil {
		return "", nil, err
	}
	if len(out.Objects) != 1 {
		return "", nil, fmt.Errorf("transfer %s is %s and has %d objects", transfer, out.State, len(out.Objects))
	}
	resp, err = c.do(context.Background(), "GET", "/transfer/v2/transfers/"+transfer+"/objects/"+out.Objects[0].UID+"/content", nil,
		http.Header{})
	return out.Objects[0].MalwareStatus, resp, err
}
