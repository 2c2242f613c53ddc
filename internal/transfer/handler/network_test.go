package handler_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/cutter"
	"github.com/consign-dev/consign/internal/transfer"
)

// uploader sends an object of a reservation in one of the dialects, over a network that fails.
type uploader struct {
	dialect, url, token string
	conn                *http.Client
}

// request makes a request of the dialect and returns the headers and the Content-Length of its answer; ok is false when it was refused or
// lost.
func (u uploader) request(ctx context.Context, method string, body io.Reader,
	headers map[string]string) (answer http.Header, length int64, ok bool) {
	end := map[string]string{"PUT": "/content", "tus": "/tus", "resumable": "/upload"}[u.dialect]
	r, err := http.NewRequestWithContext(ctx, method, u.url+end, body)
	if err != nil {
		return nil, 0, false
	}
	headers["Authorization"], headers["Tus-Resumable"], headers["Upload-Draft-Interop-Version"] = "Bearer "+u.token, "1.0.0", "8"
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	resp, err := u.conn.Do(r)
	if err != nil {
		return nil, 0, false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Header, resp.ContentLength, resp.StatusCode < 300
}

// held asks how many bytes the server holds; -1: no answer.
func (u uploader) held(ctx context.Context) int {
	answer, length, ok := u.request(ctx, "HEAD", nil, map[string]string{})
	if !ok {
		return -1
	}
	if u.dialect == "PUT" {
		return int(length)
	}
	n, err := strconv.Atoi(answer.Get("Upload-Offset"))
	if err != nil {
		return -1
	}
	return n
}

// send sends the bytes from an offset on. The answer may be lost.
func (u uploader) send(ctx context.Context, data []byte, at int) {
	method, headers := "PATCH", map[string]string{"Upload-Offset": strconv.Itoa(at)}
	switch u.dialect {
	case "PUT":
		method, headers = "PUT", map[string]string{"Content-Type": "application/octet-stream",
			"Content-Range": rangeOf(at, len(data)-1, len(data))}
	case "tus":
		headers["Content-Type"] = "application/offset+octet-stream"
	case "resumable":
		headers["Content-Type"], headers["Upload-Complete"] = "application/partial-upload", "?1"
	}
	u.request(ctx, method, bytes.NewReader(data[at:]), headers)
}

// upload sends data to its end, going on after each failure.
func (u uploader) upload(t *testing.T, data []byte) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	for at := -1; at < len(data); at = u.held(ctx) {
		if ctx.Err() != nil {
			t.Fatalf("%s: %d of %d bytes are held after two minutes", u.dialect, at, len(data))
		}
		if at >= 0 {
			u.send(ctx, data, at)
		}
	}
}

// TestNetworks uploads in each dialect over a slow line, one with little bandwidth, one whose connections are reset, and one on which the
// server learns late that a client has gone. All bytes arrive, and are counted once.
func TestNetworks(t *testing.T) {
	t.Parallel()
	const size, cuts = 800_000, 4
	for name, weather := range map[string]cutter.Weather{
		"latency":    {Latency: 40 * time.Millisecond},
		"bandwidth":  {Rate: 1_500_000},
		"reset":      {Reset: true},
		"slow close": {SlowClose: 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network := cutter.New(t)
			s, ann := newMailbox(t, testkit.PublicURL(network.URL))
			network.To(strings.TrimPrefix(s.URL, "http://"))
			network.Set(weather)
			d := reserve(s)
			sent, counted := map[string][]byte{}, 0
			for i, dialect := range []string{"PUT", "tus", "resumable"} {
				data, before := random(size), network.Cuts()
				sent[dialect] = data
				d.attach(dialect, size)
				counted += size + transfer.ObjectCost
				u := uploader{dialect: dialect, url: network.URL + d.path + "/objects/" + dialect, token: d.Access,
					conn: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
				network.Cut(cuts, 120_000+int64(i)*10_000)
				u.upload(t, data)
				if network.Cuts()-before != cuts {
					t.Errorf("%s: %d cuts", dialect, network.Cuts()-before)
				}
			}
			uid := d.confirm()
			got := ann.Get(s.Transfer + "/transfers/" + uid).Want(http.StatusOK)
			if got.Number("objectCount") != 3 || got.Number("totalBytes") != 3*size {
				t.Errorf("%s", got.Body)
			}
			for i := range 3 {
				object := got.Value(fmt.Sprintf("objects.%d", i)).(map[string]any)
				content := ann.Get(s.Transfer + "/transfers/" + uid + "/objects/" + object["uid"].(string) + "/content").Want(http.StatusOK)
				if name := strings.TrimSuffix(object["name"].(string), ".bin"); !bytes.Equal(content.Body, sent[name]) {
					t.Errorf("%s: other bytes", name)
				}
			}
			if used := ann.Get(s.Transfer + "/usage").Want(http.StatusOK).Number("uploadBytes"); used != float64(counted) {
				t.Errorf("%.0f bytes are counted, want %d", used, counted)
			}
		})
	}
}
