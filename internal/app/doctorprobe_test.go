package app_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/doctor/probe"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/testkit"
)

// TestProbe: the server tells how a request arrived only to who has the secret key; for all others the path does not exist.
func TestProbe(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, loopback(), testkit.Env("CONSIGN_REQUIRE_HTTPS", "on"))
	keyed := func(letter string) *seal.Sealer {
		sealer, err := seal.New(bytes.Repeat([]byte(letter), 32), nil)
		if err != nil {
			t.Fatal(err)
		}
		return sealer
	}
	ours := keyed("k")
	for _, body := range []any{nil, strings.NewReader(strings.Repeat("x", 3<<20)), strings.NewReader(strings.Repeat("x", 9<<20))} {
		question := probe.Question(ours, s.Clock.Now())
		method := map[bool]string{true: "GET", false: "POST"}[body == nil]
		r := s.Stranger().With(probe.Header, question).With("X-Forwarded-For", "192.0.2.9").With("Host", "nobody.example").Do(method, probe.Path,
			body).Want(http.StatusOK)
		if !probe.Proves(ours, question, r.String("proof")) || r.String("address") != "192.0.2.9" || r.Value("trusted") != true ||
			r.Value("https") != false || r.String("host") != "nobody.example" {
			t.Errorf("answered %s", r.Body)
		}
	}
	for name, question := range map[string]string{
		"another key": probe.Question(keyed("x"), s.Clock.Now()), "too old": probe.Question(ours, s.Clock.Now().Add(-25*time.Hour)),
		"nothing": "", "garbage": strings.Repeat("ÿ.", 9000/3),
	} {
		r := s.Stranger().With(probe.Header, question).With("X-Forwarded-Proto", "https").Get(probe.Path)
		if r.Status != http.StatusNotFound && r.Status != http.StatusRequestHeaderFieldsTooLarge || strings.Contains(string(r.Body), "proof") {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	if !strings.Contains(s.Log(), `"route":"`+probe.Path+`"`) {
		t.Error("the log does not name the route")
	}
}
