// Package bcrypt owns the hashing of passwords: with bcrypt, never cutting one that is too long, and on all cores but one
// at a time, so that a storm of logins leaves the rest of the server a core to run on. Which passwords are good enough is
// for the domains to say.
package bcrypt

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/share"
)

// MaxPassword is the longest password in bytes: bcrypt reads no further.
const MaxPassword = 72

// ErrTooLong is returned by Hash for a password over MaxPassword, which is never cut.
var ErrTooLong = errors.New("is longer than 72 bytes")

// patience is how long a call waits for its turn. Commands and the demo never have to: nobody else is in their process, or yet.
const patience = 10 * time.Second

// ErrBusy is returned when the turn has not come for ten seconds, so that who asks for passwords in heaps makes nobody wait
// for longer.
var ErrBusy = fault.ErrUnavailable.With("too many passwords are being checked at the moment; retry after as many seconds as Retry-After says").WithRetryAfter(patience)

// Hasher hashes and compares passwords. A call waits for its turn, but not for long, nor longer than its context lives.
type Hasher struct {
	cost  int
	turns *share.Turns
	dummy []byte
}

// New makes a Hasher of that cost (4 to 31). parallel bounds how many run at once; 0 means all cores but one, and
// at least one.
func New(cost, parallel int) (*Hasher, error) {
	if cost < bcrypt.MinCost || cost > bcrypt.MaxCost {
		return nil, fmt.Errorf("bcrypt cost %d is not between %d and %d", cost, bcrypt.MinCost, bcrypt.MaxCost)
	}
	if parallel <= 0 {
		parallel = max(1, runtime.GOMAXPROCS(0)-1)
	}
	return &Hasher{cost: cost, turns: share.NewTurns(parallel), dummy: dummyHash(cost)}, nil
}

// Hash returns the bcrypt hash of password. Errors: ErrTooLong, ErrBusy, or that of ctx when it ends
// before the turn comes.
func (h *Hasher) Hash(ctx context.Context, password string) ([]byte, error) {
	if len(password) > MaxPassword {
		return nil, ErrTooLong
	}
	release, err := h.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), h.cost)
	if err != nil {
		return nil, fmt.Errorf("hash password: %w", err)
	}
	return hash, nil
}

// Compare reports whether hash is that of password. A nil hash, for want of a person or a password, is compared all the
// same, so that the answer takes as long; so is a password that is too long, which never matches. Errors: ErrBusy, or that of ctx.
func (h *Hasher) Compare(ctx context.Context, hash []byte, password string) (bool, error) {
	possible := len(hash) > 0 && len(password) <= MaxPassword
	if len(hash) == 0 {
		hash = h.dummy
	}
	if len(password) > MaxPassword {
		password = password[:MaxPassword]
	}
	release, err := h.turn(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	err = bcrypt.CompareHashAndPassword(hash, []byte(password))
	if err != nil && !errors.Is(err, bcrypt.ErrMismatchedHashAndPassword) {
		return false, fmt.Errorf("compare password: %w", err)
	}
	return err == nil && possible, nil
}

// Outdated reports whether hash was made at another cost than this Hasher's and should be made anew.
func (h *Hasher) Outdated(hash []byte) bool {
	cost, err := bcrypt.Cost(hash)
	return err != nil || cost != h.cost
}

// turn waits for one of the turns, first come, first served among different clients. Errors: ErrBusy, or that of ctx when it ends before.
func (h *Hasher) turn(ctx context.Context) (release func(), err error) {
	waiting, cancel := context.WithTimeoutCause(ctx, patience, ErrBusy)
	defer cancel()
	release, err = h.turns.Take(waiting)
	if err != nil {
		return nil, fmt.Errorf("wait for bcrypt: %w", err)
	}
	return release, nil
}

// dummyHash makes a well-formed hash of no known password without the work of hashing: a comparison costs the same.
// bcrypt writes 16 bytes of salt and 23 of hash, in base64 with an alphabet of its own.
func dummyHash(cost int) []byte {
	random := make([]byte, 39)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	encoding := base64.NewEncoding("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789").WithPadding(base64.NoPadding)
	return fmt.Appendf(nil, "$2a$%02d$%s%s", cost, encoding.EncodeToString(random[:16]), encoding.EncodeToString(random[16:]))
}
