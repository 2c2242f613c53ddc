// People as operators see and change them, with the console or a command.

package service

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// Commands and the console call the same methods of the files operator….go. A reference of a person is a uid or an address.

// operatorPage is how many items a list of the console has.
const operatorPage = 50

// comparedAddresses is how many addresses a page compares with a part of one.
const comparedAddresses = 20_000

// PeopleQuery selects people whose address contains Search, or whose name begins with it.
type PeopleQuery struct {
	ByName bool
	Search string // without case
	After  string // next of the page before; empty: the first page
}

// People lists people by address or by name. next is empty on the last page. A page by a part of the address may be empty and have a next
// one.
// Errors: fault.ErrInvalid.
func (s *Service) People(ctx context.Context, q PeopleQuery) (list []identity.ListedPerson, next string, err error) {
	after, key, ok := id.ParsePosition[id.Person](q.After)
	var problems fault.Problems
	if err := text.Line(q.Search, text.MaxName); err != nil {
		problems.Add("search", err.Error())
	}
	if !ok {
		problems.Add("after", id.NotNext)
	}
	if err := problems.Err(); err != nil {
		return nil, "", err
	}
	search := strings.ToLower(strings.TrimSpace(q.Search))
	page := postgres.PeoplePage{ByName: q.ByName, Part: search, AfterKey: key, After: after, Candidates: comparedAddresses,
		Limit: operatorPage + 1}
	if q.ByName {
		page.Prefix, page.Part = search, ""
	}
	rows, err := s.store.People(ctx, page)
	if err != nil {
		return nil, "", err
	}
	var last string // position of the last one in the list
	for _, p := range rows {
		if p.Found && len(list) == operatorPage {
			return list, last, nil
		}
		if p.Found {
			list, last = append(list, p.ListedPerson), id.Position(p.UID, p.Key)
		}
		if p.Last {
			next = id.Position(p.UID, p.Key)
		}
	}
	return list, next, nil
}

// CreatePerson registers a person. With verified set the address counts as verified; otherwise a mail asks the person
// to verify it.
// Errors: fault.ErrInvalid, identity.ErrAddressInUse.
func (s *Service) CreatePerson(ctx context.Context, by audit.Actor, a NewAccount, verified bool) (identity.Person, error) {
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
		return s.record(ctx, tx, audit.Entry{Actor: by, Action: "person.create", Object: person.String(), Target: person})
	})
	if err != nil {
		return identity.Person{}, err
	}
	return s.store.Profile(ctx, person)
}

// InvitePerson registers a person with a verified address, like CreatePerson, and mails a key that sets the password.
// Errors: fault.ErrInvalid, identity.ErrAddressInUse.
func (s *Service) InvitePerson(ctx context.Context, by audit.Actor, a NewAccount) (id.Person, error) {
	a.Password = rand.Text()
	p, err := s.CreatePerson(ctx, by, a, true)
	if err != nil {
		return id.Person{}, err
	}
	return p.UID, s.reset(ctx, by, p.Emails[0].Address, false)
}

// CreateWithLink registers a person with a verified address, like CreatePerson, and returns a link that sets the password.
// Errors: fault.ErrInvalid, identity.ErrAddressInUse.
func (s *Service) CreateWithLink(ctx context.Context, by audit.Actor, a NewAccount) (p identity.Person, link string, err error) {
	a.Password = rand.Text()
	if p, err = s.CreatePerson(ctx, by, a, true); err != nil {
		return p, "", err
	}
	address := p.Emails[0].Address
	to, err := s.store.Resettable(ctx, address, s.now())
	if err != nil {
		return p, "", err
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, p.UID); err != nil {
			return err
		}
		link, _, err = s.resetLink(ctx, tx, by, to, address)
		return err
	})
	return p, link, err
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
func (s *Service) VerifyPerson(ctx context.Context, by audit.Actor, reference string) error {
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
		return s.record(ctx, tx, audit.Entry{Actor: by, Action: "person.verify", Object: person.UID.String(), Target: person.UID})
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
	return s.store.Sessions(ctx, p, s.now(), s.IdleSince())
}

// mayHelp refuses the help desk of the console what would touch the sign-in of people with a role there: only operators do that.
// Errors: identity.ErrPersonNotFound, token.ErrOperatorRole.
func mayHelp(ctx context.Context, tx *postgres.Store, by audit.Actor, p id.Person) error {
	if by.Kind != audit.Operator {
		return nil
	}
	own, err := tx.OperatorRole(ctx, by.Person)
	if err != nil || own != token.RoleHelpDesk {
		return err
	}
	if err := tx.LockPerson(ctx, p); err != nil { // who gives or takes a role does, too
		return err
	}
	role, err := tx.OperatorRole(ctx, p)
	if err == nil && role != "" {
		return token.ErrOperatorRole.With("the person has a role in the console; only operators change how such people sign in")
	}
	return err
}

// EndPersonSessions ends every session of a person.
// Errors: identity.ErrPersonNotFound, token.ErrOperatorRole.
func (s *Service) EndPersonSessions(ctx context.Context, by audit.Actor, reference string) error {
	p, err := s.find(ctx, reference)
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := mayHelp(ctx, tx, by, p); err != nil {
			return err
		}
		return s.endAll(ctx, tx, p, by, id.Organization{})
	})
}

// ResetFactors deletes the second factors of a person who has lost them, and ends the person's sessions.
// Errors: identity.ErrPersonNotFound, token.ErrOperatorRole.
func (s *Service) ResetFactors(ctx context.Context, by audit.Actor, reference string) error {
	p, err := s.find(ctx, reference)
	if err != nil {
		return err
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := mayHelp(ctx, tx, by, p); err != nil {
			return err
		}
		if err := s.endAll(ctx, tx, p, by, id.Organization{}); err != nil {
			return err
		}
		factors, err := tx.Factors(ctx, p)
		if err != nil {
			return err
		}
		if len(factors) > 0 { // one mail, about the strongest: passkeys, then totp
			if err := s.notices.Secure(ctx, tx, p, token.Client{}, factorNotice(mail.FactorRemoved, factors[0], "")); err != nil {
				return err
			}
		}
		if err := tx.DeleteFactors(ctx, p); err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Entry{Actor: by, Action: "factor.reset", Object: p.String(), Target: p})
	})
	return err
}

// DeletePerson deletes a person for good, like DeleteProfile.
// Errors: identity.ErrPersonNotFound, identity.ErrLastAdmin.
func (s *Service) DeletePerson(ctx context.Context, by audit.Actor, reference string) error {
	p, err := s.find(ctx, reference)
	if err != nil {
		return err
	}
	return s.deletePerson(ctx, p, by, "by operator", nil)
}

// SetUploadVolume sets a person's own volume of uploads in gigabytes a month; nil restores the server's default.
// Errors: fault.ErrInvalid, identity.ErrPersonNotFound.
func (s *Service) SetUploadVolume(ctx context.Context, by audit.Actor, reference string, gigabytes *float64) error {
	p, err := s.find(ctx, reference)
	if err != nil {
		return err
	}
	var volume *int64
	details := map[string]string{"uploadVolumeGb": "default"}
	if gigabytes != nil {
		bytes, problem := identity.VolumeBytes(*gigabytes)
		if problem != "" {
			return fault.ErrInvalid.With("uploadVolumeGb: " + problem)
		}
		volume, details["uploadVolumeGb"] = &bytes, fmt.Sprint(*gigabytes)
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.SetUploadVolume(ctx, p, volume); err != nil {
			return err
		}
		if err := tx.NotifyDirectory(ctx); err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Entry{Actor: by, Action: "person.limits", Object: p.String(), Target: p, Details: details})
	})
}

// CountPersons returns the number of persons.
func (s *Service) CountPersons(ctx context.Context) (int64, error) { return s.store.CountPersons(ctx) }

// find returns the person of a reference. Addresses are compared without case.
// Errors: identity.ErrPersonNotFound.
func (s *Service) find(ctx context.Context, reference string) (id.Person, error) {
	return s.store.FindPerson(ctx, strings.ToLower(strings.TrimSpace(reference)))
}

// PersonReport is what an operator sees of a person.
type PersonReport struct {
	identity.Person
	Operator       bool
	Authenticators []identity.Authenticator // only verified ones
	Sessions       []identity.Session
	UploadVolume   *int64 // bytes a month; nil: the server's default
}

// ReportPerson returns what an operator sees of a person.
// Errors: identity.ErrPersonNotFound.
func (s *Service) ReportPerson(ctx context.Context, p id.Person) (r PersonReport, err error) {
	if r.Person, err = s.ShowPerson(ctx, p.String()); err != nil {
		return r, err
	}
	if r.Sessions, err = s.PersonSessions(ctx, p.String()); err != nil {
		return r, err
	}
	if r.Authenticators, err = s.store.Authenticators(ctx, p); err != nil {
		return r, err
	}
	role, err := s.store.OperatorRole(ctx, p)
	if r.Operator = role != ""; err != nil {
		return r, err
	}
	r.UploadVolume, err = s.store.UploadVolume(ctx, p)
	return r, err
}
