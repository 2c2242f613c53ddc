// Adds second factors and compares their codes. Wrong codes delay the next try.

package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/notice"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/token"
)

// errFactorDelayed refuses a second factor before the delay of the last wrong one is over.
var errFactorDelayed = fault.ErrOverloaded.With("there were too many wrong codes; retry after the time that the Retry-After header says")

func (s *Service) registerTOTP(ctx context.Context, caller token.Caller, name, account string, p proved) (Registered, error) {
	uid, secret := id.New[id.Authenticator](), credential.NewTOTPSecret()
	uri := credential.TOTPURI(secret, s.settings.ProductName, account)
	image, err := credential.TOTPImage(uri)
	if err != nil {
		return Registered{}, err
	}
	r := Registered{Key: credential.TOTPKey(secret), DataURI: image, URI: uri}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := s.lockProved(ctx, tx, caller, p); err != nil {
			return err
		}
		if err := tx.InsertTOTP(ctx, caller.Person, uid, name, s.secrets.Seal(secret, uid.UUID[:]), false, s.now()); err != nil {
			return err
		}
		if err := s.recordOwn(ctx, tx, caller, "factor.register", uid.String(), map[string]string{"type": credential.TypeTOTP}); err != nil {
			return err
		}
		r.Authenticator, err = tx.Authenticator(ctx, caller.Person, uid)
		return err
	})
	return r, err
}

func (s *Service) registerRecovery(ctx context.Context, caller token.Caller, name string, p proved) (Registered, error) {
	uid := id.New[id.Authenticator]()
	codes, salt := credential.NewRecoveryCodes()
	hashes := make([][]byte, len(codes))
	for i, c := range codes {
		hashes[i] = credential.HashRecoveryCode(salt, c)
	}
	r := Registered{Key: strings.Join(codes, " ")}
	err := s.store.InTx(ctx, func(tx *postgres.Store) (err error) {
		if err := s.lockProved(ctx, tx, caller, p); err != nil {
			return err
		}
		n := factorNotice(mail.FactorAdded, credential.TypeRecovery, name)
		if err := s.notices.Secure(ctx, tx, caller.Person, caller.Client, n); err != nil {
			return err
		}
		if err := tx.ReplaceRecovery(ctx, caller.Person, uid, name, salt, hashes, s.now()); err != nil {
			return err
		}
		if r.Authenticator, err = tx.Authenticator(ctx, caller.Person, uid); err != nil {
			return err
		}
		return s.factorChanged(ctx, tx, caller, "factor.add", r.Authenticator)
	})
	return r, err
}

// lockProved locks the caller and consumes the proof p. It refuses when the person logs in with two factors, and neither the session nor p
// has presented the second one.
// Errors: identity.ErrFactorFirst, and those of p.use.
func (s *Service) lockProved(ctx context.Context, tx *postgres.Store, caller token.Caller, p proved) error {
	if err := tx.LockPerson(ctx, caller.Person); err != nil {
		return err
	}
	factors, err := tx.Factors(ctx, caller.Person)
	switch {
	case err != nil:
		return err
	case credential.Needed(factors) && caller.AuthLevel < identity.LevelTwo && !p.factor:
		return identity.ErrFactorFirst
	}
	return p.consume(ctx, tx)
}

// factorNotice returns the notice of a change of a second factor.
func factorNotice(template, kind, name string) notice.Notice {
	data := map[string]any{"type": kind}
	if name != "" {
		data["name"] = name
	}
	return notice.Notice{Template: template, Detail: " " + kind, Data: data}
}

// factorChanged revokes every access token, ends what other sessions have proved with a factor, and records a change of second factors. The
// person is locked.
func (s *Service) factorChanged(ctx context.Context, tx *postgres.Store, caller token.Caller, action string,
	a identity.Authenticator) error {
	epoch, err := tx.RaiseEpoch(ctx, caller.Person)
	if err != nil {
		return err
	}
	if err := tx.ForgetFactors(ctx, caller.Person, caller.Session); err != nil {
		return err
	}
	if err := s.recordOwn(ctx, tx, caller, action, a.UID.String(), map[string]string{"type": a.Type}); err != nil {
		return err
	}
	return s.revocations.Publish(ctx, tx.Tx(), token.Revocation{Person: caller.Person, Epoch: epoch})
}

func (s *Service) verifyTOTP(ctx context.Context, caller token.Caller, a id.Authenticator, sealed []byte,
	code string) (idToken string, err error) {
	secret, err := s.secrets.Open(sealed, a.UUID[:])
	if err != nil {
		return "", fmt.Errorf("open TOTP secret: %w", err)
	}
	step, ok := credential.TOTPStep(secret, code, s.now())
	if !ok {
		return "", identity.ErrVerificationFailed
	}
	return s.addFactor(ctx, caller, a, func(tx *postgres.Store) error { return tx.VerifyTOTP(ctx, a, step, s.now()) })
}

// addFactor makes an authenticator count: store marks it verified. Others that wait for their verification are discarded: somebody who
// has only the password may have begun them, before a second factor was needed for that.
func (s *Service) addFactor(ctx context.Context, caller token.Caller, a id.Authenticator,
	store func(*postgres.Store) error) (idToken string, err error) {
	var issued *postgres.Issued
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, caller.Person); err != nil {
			return err
		}
		verified, err := tx.Authenticator(ctx, caller.Person, a)
		if err != nil {
			return err
		}
		n := factorNotice(mail.FactorAdded, verified.Type, verified.Name)
		if err := s.notices.Secure(ctx, tx, caller.Person, caller.Client, n); err != nil {
			return err
		}
		if err := store(tx); err != nil {
			return err
		}
		if err := tx.DiscardUnverified(ctx, caller.Person); err != nil {
			return err
		}
		if err := tx.RaiseLevel(ctx, caller.Person, caller.Session); err != nil {
			return err
		}
		if issued, err = s.renewSession(ctx, tx, caller); err != nil {
			return err
		}
		return s.factorChanged(ctx, tx, caller, "factor.add", verified)
	})
	if err != nil {
		return "", err
	}
	return s.signRenewed(ctx, issued)
}

// useOwn checks one of the caller's verified authenticators other than the password, outside a login. use consumes the code or the
// signature.
// Errors: fault.ErrInvalid, identity.ErrCredentials, identity.ErrFactorNotVerified, fault.ErrOverloaded.
func (s *Service) useOwn(ctx context.Context, caller token.Caller, a id.Authenticator,
	given token.Factor) (use func(context.Context, *postgres.Store) error, err error) {
	if given.Type != credential.TypePasskey {
		return s.checkFactor(ctx, factorTry{by: caller, client: caller.Client, source: caller.Session.UUID, kind: given.Type, code: given.Key})
	}
	k, err := s.checkPasskey(ctx, passkeyTry{
		client: caller.Client, purpose: challengeProof, subject: caller.Session.UUID, person: caller.Person, answer: given.Key,
	})
	if err == nil && k.Authenticator != a {
		err = identity.ErrCredentials
	}
	return k.use, err
}

// factorTry is an attempt to verify a second factor.
type factorTry struct {
	by     token.Caller // the person, by an mfa token or an access token
	client token.Client
	source uuid.UUID // whose wrong codes are counted together
	kind   string
	code   string
}

// factorSource returns the source of a login's second factor. Somebody who knows the password can delay the codes of
// unknown browsers. A known device and a login after a reset are counted separately, so that the owner can log in.
func factorSource(mfa token.Caller, device id.Device) uuid.UUID {
	switch {
	case !device.IsZero():
		return device.UUID
	case mfa.SetPassword:
		return mfa.Person.UUID
	}
	return uuid.Nil
}

// checkFactor compares a code with the person's authenticator. use consumes the code; run it in the transaction of the
// login. Only use decides between parallel logins with the same code. After some wrong codes in a row each one delays the
// next try, and the person gets a mail (contract 3.2).
// Errors: identity.ErrCredentials, identity.ErrFactorNotVerified, fault.ErrOverloaded.
func (s *Service) checkFactor(ctx context.Context, t factorTry) (use func(context.Context, *postgres.Store) error, err error) {
	person := t.by.Person
	factor, err := s.store.Factor(ctx, person, t.kind)
	if err != nil {
		return nil, err
	}
	now := s.now()
	begun, err := s.store.BeginFactor(ctx, person, t.source, now)
	if err != nil {
		return nil, err
	}
	if begun.Failures == 0 {
		return nil, errFactorDelayed.WithRetryAfter(untilNext(begun, now))
	}
	consume, err := s.compareCode(ctx, factor, t)
	if errors.Is(err, identity.ErrCredentials) && begun.Failures%identity.FactorWarning == 0 {
		if err := s.warnOfGuesses(ctx, t); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, tx *postgres.Store) error {
		if err := consume(ctx, tx); err != nil {
			return err
		}
		return tx.ForgetFactor(ctx, person, t.source)
	}, nil
}

// untilNext returns how long a refused try has to wait: a second when NextAt has passed, because a parallel try was counted meanwhile.
func untilNext(t postgres.FactorTry, now time.Time) time.Duration {
	if t.NextAt == nil || !t.NextAt.After(now) {
		return time.Second
	}
	return t.NextAt.Sub(now)
}

// compareCode compares a code with the stored factor. consume uses it up.
// Errors: identity.ErrCredentials.
func (s *Service) compareCode(ctx context.Context, factor postgres.Factor,
	t factorTry) (consume func(context.Context, *postgres.Store) error, err error) {
	if t.kind == credential.TypeRecovery {
		hash := credential.HashRecoveryCode(factor.Salt, t.code)
		exists, err := s.store.HasRecoveryCode(ctx, factor.UID, hash)
		if err == nil && !exists {
			err = identity.ErrCredentials
		}
		return func(ctx context.Context, tx *postgres.Store) error { return tx.UseRecoveryCode(ctx, factor.UID, hash) }, err
	}
	secret, err := s.secrets.Open(factor.Secret, factor.UID.UUID[:])
	if err != nil {
		return nil, fmt.Errorf("open TOTP secret: %w", err)
	}
	step, ok := credential.TOTPStep(secret, t.code, s.now())
	if !ok {
		return nil, identity.ErrCredentials
	}
	return func(ctx context.Context, tx *postgres.Store) error { return tx.UseStep(ctx, factor.UID, step) }, nil
}

// warnOfGuesses mails the person about wrong codes.
func (s *Service) warnOfGuesses(ctx context.Context, t factorTry) error {
	by := token.Caller{Person: t.by.Person, Client: t.client}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		to, err := tx.Addressee(ctx, by.Person)
		if err != nil {
			return err
		}
		if err := s.notices.Inform(ctx, tx, to, by.Person, t.client, notice.Notice{Template: mail.FactorGuesses}); err != nil {
			return err
		}
		return s.recordOwn(ctx, tx, by, "factor.guesses", by.Person.String(), nil)
	})
}

// resealBatch is how many secrets one query returns.
const resealBatch = 500

// Reseal encrypts every TOTP secret of the previous secret key with the current one. It returns how many it has changed.
func (s *Service) Reseal(ctx context.Context) (resealed int, err error) {
	var after postgres.Sealed
	for {
		batch, err := s.store.SealedAfter(ctx, after, resealBatch)
		if err != nil {
			return resealed, err
		}
		for _, b := range batch {
			after = b
			fresh, err := s.secrets.Renew(b.Secret, b.UID.UUID[:])
			switch {
			case err != nil:
				return resealed, fmt.Errorf("open TOTP secret %s: %w", b.UID, err)
			case fresh == nil:
				continue
			}
			if err := s.store.ReplaceSealed(ctx, b, fresh); err != nil {
				return resealed, err
			}
			resealed++
		}
		if len(batch) < resealBatch {
			return resealed, nil
		}
	}
}
