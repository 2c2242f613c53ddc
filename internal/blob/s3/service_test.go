//go:build s3

// Conformance of the bucket store against a real service.

package s3_test

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/s3"
	"github.com/consign-dev/consign/internal/testkit/blobtest"
)

// options returns Options for a prefix of the test bucket of its own. test/s3.sh starts the bucket.
func options(t testing.TB) s3.Options {
	t.Helper()
	raw := os.Getenv("TEST_S3_URL")
	if raw == "" {
		t.Fatal("TEST_S3_URL is not set: run make test-s3")
	}
	o, err := s3.Parse(raw)
	if err != nil {
		t.Fatalf("TEST_S3_URL %v", err)
	}
	o.Prefix += strings.ToLower(rand.Text()) + "/"
	o.SpoolDir = t.TempDir()
	return o
}

func open(t testing.TB, o s3.Options) *s3.Store {
	t.Helper()
	s, err := s3.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStore opens every store with its own spools: a restart is another replica.
func TestStore(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) func() blob.Store {
		o := options(t)
		return func() blob.Store {
			o.SpoolDir = t.TempDir()
			return open(t, o)
		}
	})
}

func TestNewNeedsTheBucket(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Bucket = "not-there"
	if _, err := s3.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "create it first") {
		t.Errorf("a bucket that is not there: %v", err)
	}
	o = options(t)
	o.SecretKey = "wrong"
	if _, err := s3.New(t.Context(), o); err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("a wrong secret: %v", err)
	}
}

// TestTry: the service grants everything that a store does, and the trial leaves nothing.
func TestTry(t *testing.T) {
	t.Parallel()
	o := options(t)
	got, err := s3.Try(t.Context(), o)
	if err != nil || got.Left != "" || got.Versions || len(got.Rights) != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, r := range got.Rights {
		if r.Err != nil {
			t.Errorf("%s: %v", r.Name, r.Err)
		}
	}
	if empty, err := open(t, o).Empty(t.Context()); err != nil || !empty {
		t.Errorf("left something behind: %v, %v", empty, err)
	}
	o.SecretKey = "wrong"
	if _, err := s3.Try(t.Context(), o); err == nil {
		t.Error("a wrong secret is accepted")
	}
}
