package service_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/transfer"
)

// slowStore is a store whose first Append takes until it is called off.
type slowStore struct {
	blob.Store
	first   sync.Once
	opening chan struct{} // closed once it waits
}

func (s *slowStore) Append(ctx context.Context, key blob.Key, offset, size int64) (blob.Writer, error) {
	s.first.Do(func() {
		close(s.opening)
		<-ctx.Done()
	})
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	return s.Store.Append(ctx, key, offset, size)
}

// TestSecondWriterWinsAtOnce has the second writer come while the first is still on its way to the store.
func TestSecondWriterWinsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mailbox()
	store := &slowStore{Store: w.blobs, opening: make(chan struct{})}
	w.Service = w.serve(store)
	c, r := w.reserve()
	w.attach(c, r, "a", 1000)
	failed := make(chan error, 1)
	go func() {
		_, err := w.Upload(t.Context(), c, r, "a", whole(random(1000)))
		failed <- err
	}()
	<-store.opening
	mustUpload(w, c, r, "a", whole(random(1000)))
	if err := <-failed; !errors.Is(err, transfer.ErrOvertaken) {
		t.Fatalf("the first writer got %v", err)
	}
	if n := w.count(`SELECT sum(reserved) FROM transfer.volumes`); n != 0 {
		t.Errorf("%d bytes of volume are still set aside", n)
	}
}
