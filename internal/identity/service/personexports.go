package service

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
)

// PersonRecord is all data of a person in this domain except secrets.
type PersonRecord struct {
	identity.Person
	Authenticators []identity.Authenticator // only verified ones
	Sessions       []identity.Session
	KnownClients   []time.Time         // last logins of clients without cookies
	APITokens      []identity.APIToken // that act as the person, also those of the organization
	Avatar         []byte              // the largest JPEG; nil: none
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
	if r.Sessions, err = s.store.Sessions(ctx, r.UID, s.now(), s.IdleSince()); err != nil {
		return r, err
	}
	if r.KnownClients, err = s.store.KnownClients(ctx, r.UID); err != nil {
		return r, err
	}
	if r.APITokens, err = s.store.PersonAPITokens(ctx, r.UID, s.now()); err != nil {
		return r, err
	}
	a, err := s.avatar(ctx, postgres.AvatarOwner{Person: r.UID}, 0)
	if err != nil && !errors.Is(err, identity.ErrAvatarNotFound) {
		return r, err
	}
	r.Avatar = a.Image
	return r, nil
}

// RecordExport appends the audit entry of an export of a person's data.
func (s *Service) RecordExport(ctx context.Context, by audit.Actor, p id.Person) error {
	return s.record(ctx, s.store, audit.Entry{Actor: by, Action: "person.export", Object: p.String(), Target: p})
}

// PersonAudit lists the audit entries by and about a person that a filter selects, newest first, as the person may see them.
func (s *Service) PersonAudit(ctx context.Context, p id.Person, f audit.Filter) iter.Seq2[audit.Record, error] {
	f.Person, f.AsPerson = p, true
	return audit.Pages(f, func(f audit.Filter) ([]audit.Record, error) { return audit.List(ctx, s.store.Querier(), f) })
}
