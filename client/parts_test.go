// Tests of uploads in parts, and of requests that arrive late.

package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/consign-dev/consign/client"
)

const mib = 1 << 20

// TestUploadInPartsSurvivesCuts: the network cuts connections of an upload in parts.
func TestUploadInPartsSurvivesCuts(t *testing.T) {
	t.Parallel()
	_, network, _ := behindCutter(t)
	data := random(12*mib+345, 7)
	u := reserve(t, connect(t, network.URL), file("a", data))
	network.Cut(12, 400_000)
	if err := u.Upload(t.Context(), client.UploadOptions{AtOnce: 3, Part: mib, Parallel: 1}); err != nil {
		t.Fatal(err)
	}
	if network.Cuts() != 12 {
		t.Errorf("%d cuts", network.Cuts())
	}
	if !u.Objects[0].Complete || u.Objects[0].SHA256 != sum(data) {
		t.Errorf("%+v", u.Objects[0])
	}
	if _, err := u.Confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestUploadInPartsContinues: another program goes on with the parts, and a file that changed is refused before the confirm.
func TestUploadInPartsContinues(t *testing.T) {
	t.Parallel()
	s, _, _ := behindCutter(t)
	url, data := s.Config.PublicURL.String(), random(6*mib, 8)
	for name, content := range map[string][]byte{"same": data, "changed": random(6*mib, 9)} {
		u := reserve(t, connect(t, url), file("a", data))
		ctx, kill := context.WithCancel(t.Context())
		err := u.Upload(ctx, client.UploadOptions{AtOnce: 2, Part: mib, Progress: func(_ int, held int64) {
			if held > 3*mib {
				kill()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("killed: %v", err)
		}
		stored, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		var second client.Upload
		if err := json.Unmarshal(stored, &second); err != nil {
			t.Fatal(err)
		}
		if err := connect(t, url).Continue(&second, file("a", content)); err != nil {
			t.Fatal(err)
		}
		err = second.Upload(t.Context(), client.UploadOptions{AtOnce: 2})
		if name == "changed" {
			if !errors.Is(err, client.ErrChanged) {
				t.Errorf("a changed file: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := second.Confirm(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// lateRequests answers PUTs as if a request of a killed program had arrived after them.
type lateRequests struct{ left atomic.Int32 }

func (l *lateRequests) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPut || l.left.Add(-1) < 0 {
		return http.DefaultTransport.RoundTrip(r)
	}
	r.Body.Close()
	return &http.Response{StatusCode: http.StatusConflict, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"error": {"code": 409012, "message": "a newer request writes this object"}}`))}, nil
}

// TestUploadOvertakenOnce: a request that arrived late ends an upload only when it happens again, in one stream and in parts.
func TestUploadOvertakenOnce(t *testing.T) {
	t.Parallel()
	s, _, _ := behindCutter(t)
	for _, o := range []client.UploadOptions{{AtOnce: 1}, {AtOnce: 2, Part: mib}} {
		late := &lateRequests{}
		c := connect(t, s.Config.PublicURL.String(), client.WithHTTPClient(&http.Client{Transport: late}))
		u := reserve(t, c, file("a", random(2*mib, 10)))
		late.left.Store(1)
		if err := u.Upload(t.Context(), o); err != nil {
			t.Errorf("%d at once, one late request: %v", o.AtOnce, err)
		}
		u = reserve(t, c, file("a", random(2*mib, 11)))
		late.left.Store(4)
		if err := u.Upload(t.Context(), o); !errors.Is(err, client.ErrOvertaken) {
			t.Errorf("%d at once, another program: %v", o.AtOnce, err)
		}
	}
}
