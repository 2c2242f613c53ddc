// Sign-up, the claim of an address against unverified holders, and the erasure of a person.

package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/notice"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/identity/session"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// NewAccount is the input of a signup or of an operator's registration of a person.
type NewAccount struct {
	Address  string
	Password string
	Name     string // empty: unset
	Locale   string // empty: i18n.Default
	TimeZone string // empty: the organization's
	Next     string // path that the confirmation page opens afterwards, at the host of the signup; empty: none
	host     string // of the signup
}

// check validates the account and normalizes its address. A password has at least minimum characters.
// Errors: fault.ErrInvalid with a detail for each problem.
func (a *NewAccount) check(minimum int) error {
	var problems fault.Problems
	if a.Address == "" {
		problems.Add("address", "is required")
	} else if normalized, err := text.Email(a.Address); err != nil {
		problems.Add("address", err.Error())
	} else {
		a.Address = normalized
	}
	if a.Password == "" {
		problems.Add("password", "is required")
	} else if err := credential.CheckPassword(a.Password, minimum); err != nil {
		problems.Add("password", err.Error())
	}
	identity.CheckProfile(&problems, a.Name, a.Locale, a.TimeZone)
	checkNext(&problems, a.Next)
	return problems.Err()
}

// checkNext validates the path of a page to continue at. The empty path is valid.
func checkNext(problems *fault.Problems, next string) {
	if next != "" && (!hosts.LocalPath(next) || text.Line(next, text.MaxURL) != nil) {
		problems.Add("next", "is not a path of this host, such as /inbox")
	}
}

// SignUp registers a person, queues the mail that verifies the address, and returns the ID token of a session with
// authLevel 0.
// Errors: fault.ErrInvalid, identity.ErrSignupAddressInUse.
func (s *Service) SignUp(ctx context.Context, c token.Client, a NewAccount) (session.SignedIn, error) {
	if err := a.check(s.settings.PasswordMinimum); err != nil {
		return session.SignedIn{}, err
	}
	hash, err := s.hasher.Hash(ctx, a.Password)
	if err != nil {
		return session.SignedIn{}, err
	}
	a.host = c.Host.Name
	if a.Locale == "" {
		a.Locale = i18n.Default
	}
	if a.TimeZone == "" {
		if a.TimeZone, err = s.store.TimeZone(ctx, c.Host.Organization); err != nil {
			return session.SignedIn{}, err
		}
	}
	var begun session.Begun
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		now := s.now()
		if err := s.claimAddress(ctx, tx, a.Address, now); err != nil {
			return err
		}
		person, err := s.insertUnverified(ctx, tx, a, hash, now, true)
		if err != nil {
			return err
		}
		if begun, err = s.BeginSession(ctx, tx, c, session.NewSession{Person: person, Epoch: 1, Level: identity.LevelUnverified}); err != nil {
			return err
		}
		if _, err := s.Remember(ctx, tx, c, begun); err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Entry{Actor: audit.By(person, c), Action: "person.signup", Object: person.String(), Target: person})
	})
	if errors.Is(err, identity.ErrAddressInUse) {
		err = identity.ErrSignupAddressInUse.Because(err)
	}
	if err != nil {
		return session.SignedIn{}, err
	}
	return s.SignIn(ctx, begun)
}

// insertUnverified stores a new person with an unverified address. If ask is set it queues the mail that verifies it.
func (s *Service) insertUnverified(ctx context.Context, tx *postgres.Store, a NewAccount, hash []byte, now time.Time,
	ask bool) (id.Person, error) {
	key, person, expires := seal.NewKey(), id.New[id.Person](), now.Add(s.settings.VerificationKey)
	if err := tx.InsertPerson(ctx, postgres.NewPerson{
		UID: person, Name: a.Name, Locale: a.Locale, TimeZone: a.TimeZone, Address: a.Address, CreatedAt: now,
		RemoveAt: now.Add(s.settings.UnverifiedEmail), KeyHash: seal.Hash(key), KeyExpiresAt: expires,
		PasswordHash: hash, Authenticator: id.New[id.Authenticator](),
	}); err != nil || !ask {
		return person, err
	}
	return person, s.notices.Verify(ctx, tx, notice.Verification{Person: person, Address: a.Address, Key: key, Expires: expires, Next: a.Next,
		Host: a.host})
}

// claimAddress locks an address and takes it from the person who signed up with it and has not verified it within the lifetime of a signup
// token (contract 3.1). Those who hold it as an unverified secondary address do not count: the first who verifies it wins.
// Errors: identity.ErrSignupAddressInUse.
func (s *Service) claimAddress(ctx context.Context, tx *postgres.Store, address string, now time.Time) error {
	if err := tx.LockAddress(ctx, address); err != nil {
		return err
	}
	holders, err := tx.Holders(ctx, address)
	if err != nil {
		return err
	}
	holders = slices.DeleteFunc(holders, func(h postgres.Holder) bool { return !h.Verified && !h.IsPrimary })
	for _, h := range holders {
		if h.Verified || now.Before(h.CreatedAt.Add(s.issuer.Lifetimes().Signup)) {
			return identity.ErrSignupAddressInUse
		}
	}
	return s.evict(ctx, tx, address, holders)
}

// evict takes an address from those holders who have not verified it. A person without another address is deleted
// (contract 3.1).
func (s *Service) evict(ctx context.Context, tx *postgres.Store, address string, holders []postgres.Holder) error {
	for _, h := range holders {
		if h.Verified {
			continue
		}
		if h.Only {
			if _, err := s.erase(ctx, tx, h.Person, audit.Actor{Kind: audit.Job}, "address yielded"); err != nil &&
				!errors.Is(err, identity.ErrPersonNotFound) {
				return err
			}
			continue
		}
		if err := tx.DeleteAddress(ctx, h.Person, address); err != nil {
			return err
		}
	}
	return nil
}

// belongings are what a deleted person had in other domains.
type belongings struct {
	mailbox        string // the last segment of its link; empty: none
	received, sent int    // transfers, at most mostCounted of each
}

// mostCounted is where the count of a deleted person's transfers stops, so that a large inbox does not prolong the
// transaction.
const mostCounted = 10_000

// erase deletes a person's data in this domain, revokes its tokens, and calls the hooks.
// Errors: identity.ErrPersonNotFound.
func (s *Service) erase(ctx context.Context, tx *postgres.Store, p id.Person, by audit.Actor, reason string) (lost belongings, err error) {
	epoch, err := tx.ErasePerson(ctx, p, s.now())
	if err != nil {
		return lost, err
	}
	if err := s.revocations.Publish(ctx, tx.Tx(), token.Revocation{Person: p, Epoch: epoch}); err != nil {
		return lost, err
	}
	if s.webhooks != nil {
		if err := s.webhooks.DeleteOfPerson(ctx, tx.Tx(), p); err != nil {
			return lost, err
		}
	}
	if s.hooks != nil {
		if lost.mailbox, lost.received, lost.sent, err = s.hooks.PersonDeleted(ctx, tx.Tx(), p, mostCounted); err != nil {
			return lost, err
		}
	}
	return lost, s.record(ctx, tx, audit.Entry{
		Actor: by, Action: "person.delete", Object: p.String(), Target: p, Details: map[string]string{"reason": reason},
	})
}

// Exists returns the issuer at which the person of an address logs in: this installation's or an external provider's.
// With CONSIGN_ENUMERATION=strict it returns this installation's issuer for every address.
// Errors: fault.ErrInvalid, identity.ErrPersonNotFound.
func (s *Service) Exists(ctx context.Context, c token.Client, address string) (issuer string, err error) {
	if address, err = identity.NormalizeAddress("address", address); err != nil {
		return "", err
	}
	if s.settings.StrictEnumeration {
		return s.issuer.URL(), nil
	}
	e, err := s.store.Existing(ctx, address)
	if err != nil {
		return "", err
	}
	if !e.KnownAt(c.Host) {
		return "", identity.ErrPersonNotFound
	}
	if e.Issuer != "" {
		return s.external.Configured(e.Issuer), nil
	}
	return s.issuer.URL(), nil
}
