package content

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// opener is a store from which blobs can be read.
type opener struct {
	blob.Store
	open func() (blob.Reader, error)
}

func (o opener) Open(context.Context, blob.Key) (blob.Reader, error) { return o.open() }

// TestCheckWithoutVerdict: a check finds a changed byte. When the deadline of its run comes before its turn to read, or the storage goes
// away, it says nothing about the bytes.
func TestCheckWithoutVerdict(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("abc"))
	row := postgres.StoredObject{IntendedSize: 3, Held: 3, SHA256: sum[:]}
	check := func(within time.Duration, pace rate.Limit, stored string, away error) (*Finding, error) {
		ctx, stop := context.WithTimeout(t.Context(), within)
		defer stop()
		s := &Service{blobs: opener{open: func() (blob.Reader, error) { return empty{bytes.NewReader([]byte(stored))}, away }}}
		limiter := rate.NewLimiter(pace, 3)
		limiter.AllowN(time.Now(), 3) // the first three bytes wait for their turn, too
		_, finding, err := s.checkStored(ctx, row, []postgres.Segment{{Number: 1, Size: 3}}, limiter)
		return finding, err
	}
	if finding, err := check(time.Hour, rate.Inf, "abc", nil); finding != nil || err != nil {
		t.Errorf("intact: %v, %v", finding, err)
	}
	if finding, err := check(time.Hour, rate.Inf, "abd", nil); finding == nil || finding.Kind != FindingDamaged || err != nil {
		t.Errorf("a byte has changed: %v, %v", finding, err)
	}
	if finding, err := check(10*time.Second, 0.1, "abc", nil); finding != nil || err == nil {
		t.Errorf("shortly before the deadline: %v, %v", finding, err)
	}
	if finding, err := check(time.Hour, rate.Inf, "abc", blob.ErrAway); finding != nil || !errors.Is(err, blob.ErrAway) {
		t.Errorf("away: %v, %v", finding, err)
	}
}
