package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/token"
)

// Methods of operators' commands are in four files: `consign person …` here, `consign org …` in
// operators_organizations.go, limits and subscriptions of both in plans.go, the start in bootstrap.go. A person
// reference is a uid or an address.

// CreatePerson registers a person. With verified set the address counts as verified; otherwise a mail asks the person
// to verify it.
// Errors: fault.ErrInvalid, identity.ErrAddressInUse.
func (s *Service) CreatePerson(ctx context.Context, a NewAccount, verified bool) (identity.Person, error) {
	if err := a.check(s.settings.PasswordMinimum); err != nil {
		return identity.Person{}, err
	}
	if a.Locale == "" {
		a.Locale = i18n.Default
	}
	if a.TimeZone == "" {
		a.TimeZone = "UTC"
	}
	hash, err := s.hasher.Hash(ctx, a.Password)
	if err != nil {
		return identity.Person{}, err
	}
	var person id.Person
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		now := s.now()
		if err := tx.LockAddress(ctx, a.Address); err != nil {
			return err
		}
		holders, err := tx.Holders(ctx, a.Address)
		if err != nil {
			return err
		}
		for _, h := range holders {
			if h.Verified {
				return identity.ErrAddressInUse
			}
		}
		if err := s.evict(ctx, tx, a.Address, holders); err != nil {
			return err
		}
		if person, err = s.insertUnverified(ctx, tx, a, hash, now, !verified); err != nil {
			return err
		}
		if verified {
			if err := tx.MarkVerified(ctx, person, a.Address, now); err != nil {
				return err
			}
		}
		return s.record(ctx, tx, audit.Entry{Action: "person.create", Object: person.String(), Target: person})
	})
	if err != nil {
		return identity.Person{}, err
	}
	return s.store.Profile(ctx, person)
}

// ShowPerson returns a person's profile.
// Errors: identity.ErrPersonNotFound.
func (s *Service) ShowPerson(ctx context.Context, reference string) (identity.Person, error) {
	p, err := s.find(ctx, reference)
	if err != nil {
		return identity.Person{}, err
	}
	return s.store.Profile(ctx, p)
}

// VerifyPerson marks a person's primary address as verified, as if the person had confirmed the mail.
// Errors: identity.ErrPersonNotFound, identity.ErrAddressInUse.
func (s *Service) VerifyPerson(ctx context.Context, reference string) error {
	person, err := s.ShowPerson(ctx, reference)
	if err != nil {
		return err
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		for _, a := range person.Emails {
			if !a.Primary {
				continue
			}
			if _, err := s.verify(ctx, tx, person.UID, a.Address, func() (bool, error) {
				return true, tx.MarkVerified(ctx, person.UID, a.Address, s.now())
			}); err != nil {
				return err
			}
		}
		return s.record(ctx, tx, audit.Entry{Action: "person.verify", Object: person.UID.String(), Target: person.UID})
	})
	return err
}

// PersonSessions lists a person's usable ID tokens.
// Errors: identity.ErrPersonNotFound.
func (s *Service) PersonSessions(ctx context.Context, reference string) ([]identity.Session, error) {
	p, err := s.find(ctx, reference)
	if err != nil {
		return nil, err
	}
	return s.store.Sessions(ctx, p, s.now(), s.idleSince())
}

// EndPersonSessions ends every session of a person.
// Errors: identity.ErrPersonNotFound.
func (s *Service) EndPersonSessions(ctx context.Context, reference string) error {
	p, err := s.find(ctx, reference)
	if err != nil {
		return err
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error { return s.endAll(ctx, tx, p, token.Caller{}) })
	return err
}

// ResetFactors deletes the second factors of a person who has lost them, and ends the person's sessions.
// Errors: identity.ErrPersonNotFound.
func (s *Service) ResetFactors(ctx context.Context, reference string) error {
	p, err := s.find(ctx, reference)
	if err != nil {
		return err
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := s.endAll(ctx, tx, p, token.Caller{}); err != nil {
			return err
		}
		factors, err := tx.Factors(ctx, p)
		if err != nil {
			return err
		}
		if len(factors) > 0 { // one mail, about the strongest: passkeys, then totp
			if err := s.secure(ctx, tx, p, token.Client{}, factorNotice(mail.FactorRemoved, factors[0], "")); err != nil {
				return err
			}
		}
		if err := tx.DeleteFactors(ctx, p); err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Entry{Action: "factor.reset", Object: p.String(), Target: p})
	})
	return err
}

// DeletePerson deletes a person for good, like DeleteProfile.
// Errors: identity.ErrPersonNotFound, identity.ErrLastAdmin.
func (s *Service) DeletePerson(ctx context.Context, reference string) error {
	p, err := s.find(ctx, reference)
	if err != nil {
		return err
	}
	return s.deletePerson(ctx, p, token.Caller{}, "by operator", nil)
}

// PersonRecord is all data of a person in this domain except secrets.
type PersonRecord struct {
	identity.Person
	Authenticators []identity.Authenticator // only verified ones
	Sessions       []identity.Session
	KnownClients   []time.Time         // last logins of clients without cookies
	APITokens      []identity.APIToken // that act as the person, also those of the organization
	Webhooks       []identity.Webhook
	Avatar         []byte // the largest JPEG; nil: none
}

// ExportPerson returns a person's data, without PersonAudit.
// Errors: identity.ErrPersonNotFound.
func (s *Service) ExportPerson(ctx context.Context, reference string) (r PersonRecord, err error) {
	if r.Person, err = s.ShowPerson(ctx, reference); err != nil {
		return r, err
	}
	if r.Authenticators, err = s.store.Authenticators(ctx, r.UID); err != nil {
		return r, err
	}
	if r.Sessions, err = s.store.Sessions(ctx, r.UID, s.now(), s.idleSince()); err != nil {
		return r, err
	}
	if r.KnownClients, err = s.store.KnownClients(ctx, r.UID); err != nil {
		return r, err
	}
	if r.APITokens, err = s.store.PersonAPITokens(ctx, r.UID, s.now()); err != nil {
		return r, err
	}
	if r.Webhooks, err = s.store.Webhooks(ctx, r.UID, id.Organization{}); err != nil {
		return r, err
	}
	a, err := s.avatar(ctx, postgres.AvatarOwner{Person: r.UID}, 0)
	if err != nil && !errors.Is(err, identity.ErrAvatarNotFound) {
		return r, err
	}
	r.Avatar = a.Image
	return r, nil
}

// PersonAudit lists the audit entries by and about a person, newest first, for an export. The sequence reads them in
// pages.
func (s *Service) PersonAudit(ctx context.Context, p id.Person) iter.Seq2[audit.Record, error] {
	const page = 1000
	return func(yield func(audit.Record, error) bool) {
		for f := (audit.Filter{Person: p, Limit: page}); ; {
			list, err := audit.List(ctx, s.store.Querier(), f)
			if err != nil {
				yield(audit.Record{}, err)
				return
			}
			for _, r := range list {
				if !yield(r, nil) {
					return
				}
			}
			if len(list) < page {
				return
			}
			f.Before = list[len(list)-1].ID
		}
	}
}

// CountPersons returns the number of persons.
func (s *Service) CountPersons(ctx context.Context) (int64, error) { return s.store.CountPersons(ctx) }

// find returns the person of a reference. Addresses are compared without case.
// Errors: identity.ErrPersonNotFound.
func (s *Service) find(ctx context.Context, reference string) (id.Person, error) {
	return s.store.FindPerson(ctx, strings.ToLower(strings.TrimSpace(reference)))
}

// resealBatch is how many secrets one query returns.
const resealBatch = 500

// Reseal encrypts every TOTP secret, and every secret of a webhook, of the previous secret key with the current one. It returns how many
// it has changed.
func (s *Service) Reseal(ctx context.Context) (factors, webhooks int, err error) {
	if factors, err = s.resealFactors(ctx); err != nil {
		return factors, 0, err
	}
	webhooks, err = s.resealWebhooks(ctx)
	return factors, webhooks, err
}

func (s *Service) resealFactors(ctx context.Context) (resealed int, err error) {
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
