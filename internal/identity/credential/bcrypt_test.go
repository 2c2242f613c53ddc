package credential

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// TestDummyHash checks that comparing with nobody's hash is the work of comparing with a real one: a well-formed hash of
// the same cost. TestEqualCost of package handler measures it.
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

func TestBcryptWaitsItsTurn(t *testing.T) {
	t.Parallel()
	b, err := NewBcrypt(bcrypt.MinCost, 1)
	if err != nil {
		t.Fatal(err)
	}
	b.turns <- struct{}{} // somebody is at work
	impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := b.Compare(impatient, nil, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Compare while somebody is at work: %v", err)
	}
	if _, err := b.Hash(impatient, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Hash while somebody is at work: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := b.Compare(t.Context(), nil, "x")
		done <- err
	}()
	<-b.turns
	if err := <-done; err != nil {
		t.Errorf("Compare once it is its turn: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Hash(ended, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("Hash with an ended context: %v", err)
	}
}
