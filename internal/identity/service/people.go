// What the console shows of people.

package service

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// Methods of the console's pages that no command has. What the pages change is in operators.go and operators_organizations.go.

// operatorPage is how many items a list of the console has.
const operatorPage = 50

// errNotNext is what is wrong with a position that was no answer's next.
const errNotNext = "must be next of an earlier answer"

// PeopleQuery selects people whose address or name begins with Search.
type PeopleQuery struct {
	ByName bool
	Search string // without case
	After  string // next of the page before; empty: the first page
}

// People lists people by address or by name. next is empty on the last page.
// Errors: fault.ErrInvalid.
func (s *Service) People(ctx context.Context, q PeopleQuery) (list []identity.ListedPerson, next string, err error) {
	after, key, ok := id.ParsePosition[id.Person](q.After)
	var problems fault.Problems
	if err := text.Line(q.Search, text.MaxName); err != nil {
		problems.Add("search", err.Error())
	}
	if !ok {
		problems.Add("after", errNotNext)
	}
	if err := problems.Err(); err != nil {
		return nil, "", err
	}
	search := strings.ToLower(strings.TrimSpace(q.Search))
	found, err := s.store.People(ctx, postgres.PeoplePage{ByName: q.ByName, Prefix: search, AfterKey: key, After: after, Limit: operatorPage + 1})
	if err != nil {
		return nil, "", err
	}
	if len(found) > operatorPage {
		found = found[:operatorPage]
		last := found[operatorPage-1]
		next = id.Position(last.UID, last.Key)
	}
	for _, p := range found {
		list = append(list, p.ListedPerson)
	}
	return list, next, nil
}

// CreateByOperator registers a person with a verified address, like `consign person create`, and mails a key that sets the password.
// Errors: fault.ErrInvalid, identity.ErrAddressInUse.
func (s *Service) CreateByOperator(ctx context.Context, c token.Client, a NewAccount) (id.Person, error) {
	a.Password = rand.Text()
	p, err := s.CreatePerson(ctx, a, true)
	if err != nil {
		return id.Person{}, err
	}
	return p.UID, s.reset(ctx, c, p.Emails[0].Address)
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
	if r.Operator, err = s.store.IsOperator(ctx, p); err != nil {
		return r, err
	}
	r.UploadVolume, err = s.store.UploadVolume(ctx, p)
	return r, err
}

// SetPersonVolume sets a person's own monthly volume in gigabytes like `consign person limits`; nil restores the server's default.
// Errors: fault.ErrInvalid, identity.ErrPersonNotFound.
func (s *Service) SetPersonVolume(ctx context.Context, p id.Person, gigabytes *float64) error {
	value := planDefault
	if gigabytes != nil {
		value = strconv.FormatFloat(*gigabytes, 'f', -1, 64)
	}
	return s.SetPersonLimits(ctx, p.String(), []string{"uploadVolumeGb=" + value})
}

// ExportByOperator is ExportPerson with an entry in the audit.
// Errors: identity.ErrPersonNotFound.
func (s *Service) ExportByOperator(ctx context.Context, p id.Person) (r PersonRecord, err error) {
	if r, err = s.ExportPerson(ctx, p.String()); err != nil {
		return r, err
	}
	return r, s.store.InTx(ctx, func(tx *postgres.Store) error {
		return s.record(ctx, tx, audit.Entry{Action: "person.export", Object: p.String(), Target: p})
	})
}
