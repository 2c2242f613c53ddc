package password

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/consign-dev/consign/internal/fault"
)

// TestDummyHash checks that the dummy hash for unknown accounts is well-formed and has the configured cost, so that comparing
// with it takes as long as with a real hash. TestEqualCost in package identity/handler measures the time.
func TestDummyHash(t *testing.T) {
	t.Parallel()
	for range 50 {
		hash := dummyHash(bcrypt.MinCost)
		if cost, err := bcrypt.Cost(hash); err != nil || cost != bcrypt.MinCost {
			t.Fatalf("%s has cost %d, %v", hash, cost, err)
		}
		if err := bcrypt.CompareHashAndPassword(hash, []byte("x")); !errors.Is(err, bcrypt.ErrMismatchedHashAndPassword) {
			t.Fatalf("%s: %v", hash, err)
		}
	}
}

// atWork holds the semaphore's only slot until finish is called.
func atWork(t *testing.T, b *Hasher) (finish func()) {
	t.Helper()
	waiting, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	finish, err := b.semaphore.Acquire(waiting)
	if err != nil {
		t.Fatal("the slot is still taken: ", err)
	}
	return finish
}

func TestWaitsItsTurn(t *testing.T) {
	t.Parallel()
	b, err := New(bcrypt.MinCost, 1)
	if err != nil {
		t.Fatal(err)
	}
	finish := atWork(t, b)
	impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := b.Compare(impatient, nil, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Compare while the slot is taken: %v", err)
	}
	if _, err := b.Hash(impatient, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Hash while the slot is taken: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := b.Compare(t.Context(), nil, "x")
		done <- err
	}()
	finish()
	if err := <-done; err != nil {
		t.Errorf("Compare after the slot is free: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Hash(ended, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("Hash with an ended context: %v", err)
	}
}

// TestWaitIsBounded checks that a call is refused after ten seconds while the slot stays taken, with a real hash or without one.
// A cancelled call returns at once. Neither keeps a slot.
func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, err := New(bcrypt.MinCost, 1)
		if err != nil {
			t.Fatal(err)
		}
		hash, err := b.Hash(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		finish := atWork(t, b)
		type outcome struct {
			err   error
			after time.Duration
		}
		start, outcomes := time.Now(), make(chan outcome)
		wait := func(call func(ctx context.Context) error) (leave func()) {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				err := call(ctx)
				outcomes <- outcome{err, time.Since(start)}
			}()
			return cancel
		}
		compare := func(hash []byte) func(context.Context) error {
			return func(ctx context.Context) error { _, err := b.Compare(ctx, hash, "x"); return err }
		}
		leave := wait(compare(hash))
		for _, call := range []func(context.Context) error{
			compare(hash), compare(nil), func(ctx context.Context) error { _, err := b.Hash(ctx, "x"); return err },
		} {
			defer wait(call)()
		}
		synctest.Wait()
		leave()
		if left := <-outcomes; !errors.Is(left.err, context.Canceled) || left.after != 0 {
			t.Errorf("the cancelled call returned %v after %v", left.err, left.after)
		}
		for range 3 {
			refused := <-outcomes
			var f *fault.Error
			if !errors.As(refused.err, &f) || f.Kind != fault.Unavailable || f.RetryAfter <= 0 || len(f.Details) != 1 ||
				refused.after != 10*time.Second {
				t.Errorf("the waiting call returned %v after %v", refused.err, refused.after)
			}
		}
		finish()
		if right, err := b.Compare(t.Context(), hash, "x"); !right || err != nil {
			t.Errorf("after the slot is free: %v, %v", right, err)
		}
		atWork(t, b)() // fails if the slot is still taken
	})
}

func TestHasher(t *testing.T) {
	t.Parallel()
	b, err := New(bcrypt.MinCost, 0)
	if err != nil {
		t.Fatal(err)
	}
	longest := strings.Repeat("é", 36)
	hash, err := b.Hash(t.Context(), longest)
	if err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]bool{longest: true, longest + "x": false, longest[:70]: false, "": false} {
		if got, err := b.Compare(t.Context(), hash, password); err != nil || got != want {
			t.Errorf("Compare with %d bytes = %v, %v, want %v", len(password), got, err, want)
		}
	}
	if _, err := b.Hash(t.Context(), longest+"x"); !errors.Is(err, ErrTooLong) {
		t.Errorf("Hash of 73 bytes: %v", err)
	}
	if got, err := b.Compare(t.Context(), nil, "whatever it is"); err != nil || got {
		t.Errorf("Compare without a hash = %v, %v", got, err)
	}
	if b.Outdated(hash) {
		t.Error("a fresh hash is outdated")
	}
	other, err := New(bcrypt.MinCost+1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !other.Outdated(hash) {
		t.Error("a hash of another cost is not outdated")
	}
	if _, err := New(3, 1); err == nil {
		t.Error("cost 3 was accepted")
	}
}
