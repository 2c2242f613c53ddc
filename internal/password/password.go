// Package password hashes and compares passwords with bcrypt. It refuses passwords that bcrypt would truncate. It runs on
// all cores but one at a time, so that a login storm leaves a core to the rest of the server. The domains decide which
// passwords are strong enough.
package password

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
	"github.com/consign-dev/consign/internal/ratelimit"
)

// MaxLength is the longest password in bytes: bcrypt ignores the rest.
const MaxLength = 72

// ErrTooLong is returned by Hash for a password longer than MaxLength.
var ErrTooLong = errors.New("is longer than 72 bytes")

// maxWait is how long a call waits for a slot.
const maxWait = 10 * time.Second

// ErrBusy is returned when no slot was free for ten seconds.
var ErrBusy = fault.ErrUnavailable.With(
	"too many passwords are being checked at the moment; retry after as many seconds as Retry-After says").WithRetryAfter(maxWait)

// Hasher hashes and compares passwords. A call waits up to ten seconds for a slot.
type Hasher struct {
	cost      int
	semaphore *ratelimit.Semaphore
	dummy     []byte // compared when there is no hash
}

// New returns a Hasher of a bcrypt cost between 4 and 31. parallel is how many calls run in parallel; 0 means all cores but
// one, and at least one.
func New(cost, parallel int) (*Hasher, error) {
	if cost < bcrypt.MinCost || cost > bcrypt.MaxCost {
		return nil, fmt.Errorf("bcrypt cost %d is not between %d and %d", cost, bcrypt.MinCost, bcrypt.MaxCost)
	}
	if parallel <= 0 {
		parallel = max(1, runtime.GOMAXPROCS(0)-1)
	}
	return &Hasher{cost: cost, semaphore: ratelimit.NewSemaphore(parallel), dummy: dummyHash(cost)}, nil
}

// Hash returns the bcrypt hash of password.
// Errors: ErrTooLong, ErrBusy, the error of ctx when it ends before a slot is free.
func (h *Hasher) Hash(ctx context.Context, password string) ([]byte, error) {
	if len(password) > MaxLength {
		return nil, ErrTooLong
	}
	release, err := h.acquire(ctx)
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

// Compare reports whether hash is the hash of password. It takes equally long for a nil hash (no such person, or no
// password set) and for a password that is too long; neither ever matches.
// Errors: ErrBusy, the error of ctx when it ends
// before a slot is free.
func (h *Hasher) Compare(ctx context.Context, hash []byte, password string) (bool, error) {
	possible := len(hash) > 0 && len(password) <= MaxLength
	if len(hash) == 0 {
		hash = h.dummy
	}
	if len(password) > MaxLength {
		password = password[:MaxLength]
	}
	release, err := h.acquire(ctx)
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

// Forgive takes back that the client of ctx has waited for a slot, because its password was right: networks of people who sign in stay
// before those that guess.
func (h *Hasher) Forgive(ctx context.Context) { h.semaphore.Forgive(ctx) }

// Outdated reports whether hash has another cost than this Hasher's, or is malformed, and should be replaced.
func (h *Hasher) Outdated(hash []byte) bool {
	cost, err := bcrypt.Cost(hash)
	return err != nil || cost != h.cost
}

// acquire waits for a slot.
// Errors: ErrBusy, the error of ctx when it ends first.
func (h *Hasher) acquire(ctx context.Context) (release func(), err error) {
	waiting, cancel := context.WithTimeoutCause(ctx, maxWait, ErrBusy)
	defer cancel()
	release, err = h.semaphore.Acquire(waiting)
	if err != nil {
		return nil, fmt.Errorf("wait for bcrypt: %w", err)
	}
	return release, nil
}

// dummyHash returns a well-formed hash of no known password, without the work of hashing. Comparing with it costs as much
// as with a real one. Format: 16 bytes of salt and 23 of hash, in base64 with bcrypt's own alphabet.
func dummyHash(cost int) []byte {
	random := make([]byte, 39)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	encoding := base64.NewEncoding("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789").WithPadding(base64.NoPadding)
	return fmt.Appendf(nil, "$2a$%02d$%s%s", cost, encoding.EncodeToString(random[:16]), encoding.EncodeToString(random[16:]))
}
