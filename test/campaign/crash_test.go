//go:build campaign

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
	"syscall"
	"testing"
	"time"
)

const (
	rounds   = 20
	fileSize = 48 << 20
	chunk    = 4 << 20
)

// TestCrash kills the server at random moments of uploads, with SIGKILL and SIGTERM in turn. After each restart on the same data
// the server must hold at least what it had acknowledged; the file must arrive byte for byte, and so must the files of all earlier rounds.
func TestCrash(t *testing.T) {
	s := newServer(t)
	s.start()
	var sent []received
	for round := range rounds {
		sig := syscall.SIGKILL
		if round%2 == 1 {
			sig = syscall.SIGTERM
		}
		data := make([]byte, fileSize)
		random := rand.New(rand.NewPCG(uint64(round), 1))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		sent = append(sent, s.round(round, sig, data))
	}
	owner, err := s.owner()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range sent {
		got, err := owner.download(r.transfer)
		if err != nil {
			t.Error(err)
		} else if got != r.sum {
			t.Errorf("transfer %s: SHA-256 %s, sent %s", r.transfer, got, r.sum)
		}
	}
	t.Logf("%d rounds: nothing acknowledged was lost, %d files are byte for byte what was sent", rounds, len(sent))
}

type received struct{ transfer, sum string }

// round uploads one file through one crash and confirms it.
func (s *server) round(n int, sig syscall.Signal, data []byte) received {
	s.t.Helper()
	c, reservation, object, err := s.reserve(int64(len(data)))
	if err != nil {
		s.t.Fatal(err)
	}
	acknowledged := make(chan int64, 1)
	go func() { acknowledged <- c.uploadUntilFailure(object, data, rand.N(2) == 0) }()
	time.Sleep(rand.N(400 * time.Millisecond))
	s.signal(sig)
	_ = s.wait()
	ack := <-acknowledged
	s.start()

	held, err := c.held(object)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("round %2d, %-10s: acknowledged %9d, held %9d of %d", n, sig, ack, held, len(data))
	if held < ack {
		s.t.Fatalf("%d bytes were acknowledged, %d are held", ack, held)
	}
	if held < int64(len(data)) {
		if err := c.put(object, data, held, int64(len(data))); err != nil {
			s.t.Fatal(err)
		}
	}
	var transfer struct{ UID string }
	if _, err := c.call("POST", reservation+"/confirm", nil, &transfer); err != nil {
		s.t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return received{transfer.UID, hex.EncodeToString(sum[:])}
}

// uploadUntilFailure sends the file in chunks, or as one slow body, and tells how many bytes were acknowledged when the server went away.
func (c client) uploadUntilFailure(object string, data []byte, whole bool) int64 {
	if whole {
		if err := c.put(object, data, 0, int64(len(data))); err != nil {
			return 0
		}
		return int64(len(data))
	}
	for at := int64(0); at < int64(len(data)); at += chunk {
		if err := c.put(object, data, at, min(at+chunk, int64(len(data)))); err != nil {
			return at
		}
	}
	return int64(len(data))
}

// put sends bytes from up to but not including to, at about 200 MB/s so that there is a middle to be killed in.
func (c client) put(object string, data []byte, from, to int64) error {
	header := http.Header{"Content-Range": {fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(data))}, "Content-Type": {"application/octet-stream"}}
	resp, err := c.do(context.Background(), "PUT", object+"/content", &slow{r: bytes.NewReader(data[from:to])}, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("PUT answered %d: %s", resp.StatusCode, body)
	}
	return nil
}

type slow struct{ r io.Reader }

func (s *slow) Read(p []byte) (int, error) {
	time.Sleep(time.Millisecond)
	return s.r.Read(p[:min(len(p), 200<<10)])
}

// download gives the SHA-256 of a transfer's only object as it comes down.
func (c client) download(transfer string) (string, error) {
	var out struct{ Objects []struct{ UID string } }
	if _, err := c.call("GET", "/transfer/v2/transfers/"+transfer, nil, &out); err != nil {
		return "", err
	}
	if len(out.Objects) != 1 {
		return "", fmt.Errorf("transfer %s has %d objects", transfer, len(out.Objects))
	}
	resp, err := c.do(context.Background(), "GET", "/transfer/v2/transfers/"+transfer+"/objects/"+out.Objects[0].UID+"/content", nil, http.Header{})
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
