package service

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/notice"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/identity/session"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
)

// RequestPasswordReset queues a mail with a key that resets the password, to the primary address or one that has been
// verified for long enough (contract 3.5). With
// CONSIGN_ENUMERATION=strict the answer is the same for every address: a job looks up the address later. With unlessMailed it mails
// nothing while a key that was mailed before is valid.
// Errors: identity.ErrResetRefused.
func (s *Service) RequestPasswordReset(ctx context.Context, c token.Client, address string, unlessMailed bool) error {
	if s.settings.StrictEnumeration {
		return s.store.InTx(ctx, func(tx *postgres.Store) error {
			return s.jobs.Enqueue(ctx, tx.Tx(), resetJob{
				Address: address, Organization: c.Host.Organization, Free: c.Host.Free, Client: c.Address, UserAgent: session.UserAgent(c),
				UnlessMailed: unlessMailed,
			})
		})
	}
	return s.reset(ctx, audit.By(id.Person{}, c), address, unlessMailed)
}

// resetJob is the job that handles a request for a reset.
type resetJob struct {
	Address      string          `json:"address"`
	Organization id.Organization `json:"organization"` // of the request host
	Free         bool            `json:"free"`         // it is the free organization
	Client       netip.Addr      `json:"client"`
	UserAgent    string          `json:"userAgent"`
	UnlessMailed bool            `json:"unlessMailed"`
}

// Kind implements river.JobArgs.
func (resetJob) Kind() string { return "identity-reset" }

// workReset queues the mail of a reset. A request for an unknown address is done without a mail.
func (s *Service) workReset(ctx context.Context, a resetJob) error {
	c := token.Client{Address: a.Client, UserAgent: a.UserAgent, Host: hosts.Host{Organization: a.Organization, Free: a.Free}}
	if err := s.reset(ctx, audit.By(id.Person{}, c), a.Address, a.UnlessMailed); err != nil && !errors.Is(err, identity.ErrResetRefused) {
		return err
	}
	return nil
}

func (s *Service) reset(ctx context.Context, by audit.Actor, address string, unlessMailed bool) error {
	to, err := s.store.Resettable(ctx, address, s.now().Add(-s.settings.ResetAddressAge))
	if err != nil {
		return err
	}
	if !to.KnownAt(by.Client.Host) {
		return identity.ErrResetRefused
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, to.Person); errors.Is(err, identity.ErrPersonNotFound) {
			return identity.ErrResetRefused
		} else if err != nil {
			return err
		}
		if unlessMailed {
			if valid, err := tx.HasResetKey(ctx, to.Person, address, s.now()); err != nil || valid {
				return err
			}
		}
		return s.mailReset(ctx, tx, by, to, address)
	})
}

// mailReset queues a mail with a new reset key to a verified address. The person is locked.
// Errors: identity.ErrResetRefused when the person no longer has the address.
func (s *Service) mailReset(ctx context.Context, tx *postgres.Store, by audit.Actor, to postgres.Resettable, address string) error {
	link, expires, err := s.resetLink(ctx, tx, by, to, address)
	if err != nil {
		return err
	}
	data := map[string]any{"expiresAt": expires}
	if c := by.Client; c.Address.IsValid() {
		data["clientAddress"] = c.Address.String()
	}
	_, err = s.mailer.Queue(ctx, tx.Tx(), mail.Message{
		To: address, ToName: to.Name, Locale: to.Locale, TimeZone: to.TimeZone, Template: mail.ResetPassword,
		Reference: to.Person.String(), Data: data, GiveUpAt: expires, Secret: map[string]string{"link": link},
	})
	return err
}

// resetLink returns a link with a new reset key of a verified address, and when it expires. The person is locked.
// Errors: identity.ErrResetRefused when the person no longer has the address.
func (s *Service) resetLink(ctx context.Context, tx *postgres.Store, by audit.Actor, to postgres.Resettable,
	address string) (link string, expires time.Time, err error) {
	key, expires := seal.NewKey(), s.now().Add(s.settings.ResetKey)
	if err := tx.InsertResetKey(ctx, to.Person, address, seal.Hash(key), expires); err != nil {
		return "", expires, err
	}
	return s.notices.Link(to.Host, "/reset/"+key), expires, s.record(ctx, tx, audit.Entry{
		Actor: by, Action: "password.reset-request", Object: to.Person.String(), Target: to.Person,
	})
}

// ResetPassword consumes a reset key. It ends every session of the person and returns the ID token of a new one, in
// which the password can be set without the old one. A person with TOTP or a passkey gets an mfa token instead (contract 3.5).
// Errors: identity.ErrKeyNotFound.
func (s *Service) ResetPassword(ctx context.Context, c token.Client, key string) (session.SignedIn, error) {
	var begun *session.Begun
	var raw string
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		raw, begun = "", nil
		hash, now := seal.Hash(key), s.now()
		person, err := tx.PersonOfResetKey(ctx, hash, now)
		if err != nil {
			return err
		}
		if err := tx.LockPerson(ctx, person); err != nil {
			return err
		}
		if err := tx.TakeResetKey(ctx, person, hash, now); err != nil {
			return err
		}
		if err := s.notices.Secure(ctx, tx, person, c, notice.Notice{Template: mail.PasswordReset}); err != nil {
			return err
		}
		by := audit.By(person, c)
		if err := s.endAll(ctx, tx, person, by, id.Organization{}); err != nil {
			return err
		}
		if err := s.record(ctx, tx, audit.Entry{Actor: by, Action: "password.reset", Object: person.String(), Target: person}); err != nil {
			return err
		}
		epoch, err := tx.Epoch(ctx, person)
		if err != nil {
			return err
		}
		factors, err := tx.Factors(ctx, person)
		if err != nil {
			return err
		}
		if credential.Needed(factors) {
			raw, err = s.MFAToken(ctx, tx, person, epoch, factors, true)
			return err
		}
		b, err := s.BeginSession(ctx, tx, c, session.NewSession{
			Person: person, Epoch: epoch, Level: identity.LevelOne, Login: true, SetPasswordUntil: s.now().Add(s.settings.SetPassword),
		})
		begun = &b
		return err
	})
	if errors.Is(err, identity.ErrPersonNotFound) {
		return session.SignedIn{}, identity.ErrKeyNotFound
	}
	if err != nil || begun == nil {
		return session.SignedIn{Token: raw, Kind: token.KindMFA}, err
	}
	return s.SignIn(ctx, *begun)
}
