package httpapi_test

import (
	"errors"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/ratelimit"
)

func TestBucketsTake(t *testing.T) {
	t.Parallel()
	buckets := httpapi.NewBuckets(ratelimit.NewLimiter(ratelimit.NewMemory(time.Now), true, slog.New(slog.DiscardHandler)))
	mails := ratelimit.Bucket{Name: "verify", Limit: ratelimit.Limit{Capacity: 1, PerSecond: ratelimit.Every(time.Minute)},
		Refusal: fault.New(429002, "ask again in a minute")}
	if err := buckets.Take(httptest.NewRecorder(), t.Context(), mails, "ann", httpapi.Identity); err != nil {
		t.Fatal(err)
	}
	err := buckets.Take(httptest.NewRecorder(), t.Context(), mails, "ann", httpapi.Identity)
	f := new(fault.Error)
	if !errors.As(err, &f) || f.Code != 429002 || len(f.Details) != 1 {
		t.Fatalf("second token: %v", err)
	}
	w := httptest.NewRecorder()
	if httpapi.WriteFault(w, f); w.Header().Get("Retry-After") != "60" {
		t.Errorf("headers %v", w.Header())
	}
}

func TestBucketingString(t *testing.T) {
	t.Parallel()
	for b, want := range map[httpapi.Bucketing]string{
		httpapi.General: "general", httpapi.NoBucket: "none", httpapi.OwnBucket: "own",
		httpapi.PerSession("upload", ratelimit.Limit{Capacity: 1}): "upload per session",
	} {
		if b.String() != want {
			t.Errorf("%q, want %q", b.String(), want)
		}
	}
}
