// Tests of second factors in parallel, and of a new SECRET_KEY.

package service_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
)

func TestSecondFactor(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ann := k.caller(k.person("ann@example.com"))
	k.person("bob@example.com")
	secret := k.totp(ann.Person)
	code := func() string { return credential.TOTPCode(secret, k.clock.Now().Unix()/30) }
	mfa, err := k.login("ann@example.com", "bcrypt", password, "")
	must(t, err)
	if c := k.caller(mfa); c.Kind != token.KindMFA || !slices.Equal(c.Authenticators, []string{"totp"}) {
		t.Fatalf("the first factor returns %+v", c)
	}
	for _, wrong := range []struct {
		email, kind, key, mfa string
		want                  error
	}{
		{"ann@example.com", "totp", "000000x", mfa, identity.ErrCredentials},
		{"bob@example.com", "totp", code(), mfa, identity.ErrCredentials},
		{"ann@example.com", "recovery", "AAAAAAAAAA", mfa, identity.ErrFactorNotVerified},
		{"ann@example.com", "totp", code(), "", identity.ErrMFAToken},
	} {
		if _, err := k.login(wrong.email, wrong.kind, wrong.key, wrong.mfa); !errors.Is(err, wrong.want) {
			t.Errorf("%s of %s: %v, want %v", wrong.kind, wrong.email, err, wrong.want)
		}
	}
	once(t, parallel, func() error {
		raw, err := k.login("ann@example.com", "totp", code(), mfa)
		if err == nil && k.caller(raw).AuthLevel != 2 {
			t.Error("two factors are not authLevel 2")
		}
		return err
	}, identity.ErrCredentials, identity.ErrMFAToken, fault.ErrOverloaded)
	k.clock.Advance(30 * time.Second)
	if _, err := k.login("ann@example.com", "totp", code(), mfa); !errors.Is(err, identity.ErrMFAToken) {
		t.Errorf("an mfa token was used twice: %v", err)
	}
	must(t, k.RequestPasswordReset(t.Context(), k.client(), "ann@example.com", false))
	fromReset, err := k.ResetPassword(t.Context(), k.client(), k.key("ann@example.com", "/reset/", 1))
	must(t, err)
	if c := k.caller(fromReset.Token); c.Kind != token.KindMFA || !c.SetPassword {
		t.Fatalf("a reset with a second factor returns %+v", c)
	}
	k.clock.Advance(30 * time.Second)
	full, err := k.login("ann@example.com", "totp", code(), fromReset.Token)
	must(t, err)
	if !k.access(full).SetPassword {
		t.Error("the second step loses setPassword")
	}
}

func TestRecoveryRace(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ann := k.caller(k.person("ann@example.com"))
	k.totp(ann.Person)
	codes, salt := credential.NewRecoveryCodes()
	hashes := make([][]byte, len(codes))
	for i, c := range codes {
		hashes[i] = credential.HashRecoveryCode(salt, c)
	}
	must(t, k.store.ReplaceRecovery(t.Context(), ann.Person, id.New[id.Authenticator](), "", salt, hashes, k.clock.Now()))
	for _, code := range codes {
		mfa, err := k.login("ann@example.com", "bcrypt", password, "")
		must(t, err)
		once(t, 10, func() error {
			_, err := k.login("ann@example.com", "recovery", strings.ToLower(code), mfa)
			return err
		}, identity.ErrCredentials, identity.ErrMFAToken, identity.ErrFactorNotVerified, fault.ErrOverloaded)
		k.clock.Advance(2 * time.Minute) // the losers delay the next code
	}
	factors, err := k.store.Factors(t.Context(), ann.Person)
	if err != nil || !slices.Equal(factors, []string{"totp"}) {
		t.Errorf("after the last code there are %v, %v", factors, err)
	}
}

func TestReseal(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ann := k.caller(k.person("ann@example.com"))
	secret := k.totp(ann.Person)
	moving := openKit(t, k.url, testSealer(t, "n", "k"))
	for _, want := range []int{1, 0} {
		if n, err := moving.Reseal(t.Context()); err != nil || n != want {
			t.Fatalf("%d secrets were resealed, %v, want %d", n, err, want)
		}
	}
	factor, err := k.store.Factor(t.Context(), ann.Person, credential.TypeTOTP)
	must(t, err)
	if plain, err := testSealer(t, "n", "").Box("totp").Open(factor.Secret, factor.UID.UUID[:]); err != nil || !slices.Equal(plain, secret) {
		t.Errorf("the secret does not open with the new key alone: %v", err)
	}
}

// TestResealOfKeptSecrets: a TOTP secret that only the undoing of a change would restore is resealed too.
func TestResealOfKeptSecrets(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(s *service.Settings) { s.Undo = 7 * 24 * time.Hour })
	ann := k.access(k.person("ann@example.com"))
	secret := k.totp(ann.Person)
	must(t, k.ResetFactors(t.Context(), testkit.Command, "ann@example.com"))
	moving := openKit(t, k.url, testSealer(t, "n", "k"))
	for _, want := range []int{1, 0} {
		if n, err := moving.Reseal(t.Context()); err != nil || n != want {
			t.Fatalf("%d secrets were resealed, %v, want %d", n, err, want)
		}
	}
	var factor id.Authenticator
	var sealed []byte
	must(t, k.db.Pool.QueryRow(t.Context(), `SELECT uid, secret FROM identity.security_change_factors WHERE type = 'totp'`).Scan(&factor,
		&sealed))
	if plain, err := testSealer(t, "n", "").Box("totp").Open(sealed, factor.UUID[:]); err != nil || !slices.Equal(plain, secret) {
		t.Errorf("the kept secret does not open with the new key alone: %v", err)
	}
}

// TestParallelGuesses: of parallel guesses at a second factor three are checked, then the delays begin.
func TestParallelGuesses(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.totp(k.caller(k.person("ann@example.com")).Person)
	mfa, err := k.login("ann@example.com", "bcrypt", password, "")
	must(t, err)
	var checked atomic.Int64
	race(t, parallel, func() error {
		_, err := k.login("ann@example.com", "totp", "000000", mfa)
		if errors.Is(err, identity.ErrCredentials) {
			checked.Add(1)
		}
		return err
	}, identity.ErrCredentials, fault.ErrOverloaded)
	if n := checked.Load(); n != 3 {
		t.Errorf("%d guesses were checked", n)
	}
	k.clock.Advance(8 * 24 * time.Hour) // the count is forgotten, also before the job deletes it
	if mfa, err = k.login("ann@example.com", "bcrypt", password, ""); err == nil {
		for range 3 {
			if _, err := k.login("ann@example.com", "totp", "000000", mfa); !errors.Is(err, identity.ErrCredentials) {
				t.Errorf("a guess after a week: %v", err)
			}
		}
	}
	must(t, err)
	k.clock.Advance(8 * 24 * time.Hour)
	must(t, k.Clean(t.Context()))
	var left int
	must(t, k.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM identity.factor_tries`).Scan(&left))
	if left != 0 {
		t.Errorf("%d old counts are left", left)
	}
}
