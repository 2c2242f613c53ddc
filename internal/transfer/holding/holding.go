// Package holding lets administrators hold what belongs to their organization, and operators everything (contract 4.30). Package hold keeps
// it.
package holding

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/hold"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
)

// Options holds what New needs. All fields are required.
type Options struct {
	DB *database.DB
	// Overseen returns the organization that the caller administers, which has members only.
	Overseen func(ctx context.Context, caller token.Caller) (id.Organization, error)
	// PersonNamed returns the person with a uid or address; zero if nobody has the address.
	PersonNamed func(ctx context.Context, reference string) (id.Person, error)
	// StepUp and Change are those of the service's Organizations.
	StepUp func(ctx context.Context, caller token.Caller, p token.Proof) (use func(context.Context, database.Tx) error, err error)
	Change func(ctx context.Context, tx database.Tx, caller token.Caller, o id.Organization, c token.SensitiveChange) error
	Now    func() time.Time
}

// Service holds.
type Service struct{ o Options }

// New returns a Service.
func New(o Options) *Service { return &Service{o} }

// Subject is what is to be held: a uid of a transfer, or a uid or address of a person.
type Subject struct{ Kind, Reference string }

// resolve sets the subject of a hold.
// Errors: hold.ErrNotFound.
func (s *Service) resolve(ctx context.Context, h *hold.Hold, of Subject) error {
	h.Kind = of.Kind
	if of.Kind == hold.Transfer {
		t, err := id.Parse[id.Transfer](of.Reference)
		if err != nil {
			return hold.ErrNotFound
		}
		h.Subject = t.UUID
		return nil
	}
	p, err := s.o.PersonNamed(ctx, of.Reference)
	if err == nil && p.IsZero() {
		err = hold.ErrNotFound
	}
	h.Subject = p.UUID
	return err
}

// Add begins a hold of operators.
// Errors: fault.ErrInvalid, hold.ErrNotFound.
func (s *Service) Add(ctx context.Context, by audit.Actor, h hold.Hold, of Subject) (uuid.UUID, error) {
	if err := s.resolve(ctx, &h, of); err != nil {
		return uuid.Nil, err
	}
	return hold.Add(ctx, s.o.DB, by, h, s.o.Now())
}

// List returns all holds.
func (s *Service) List(ctx context.Context) ([]hold.Listed, error) {
	return hold.List(ctx, s.o.DB, id.Organization{})
}

// End ends a hold.
// Errors: hold.ErrNotFound.
func (s *Service) End(ctx context.Context, by audit.Actor, uid uuid.UUID) error {
	return hold.End(ctx, s.o.DB, by, id.Organization{}, uid, s.o.Now())
}

// Export calls write with what the console shows of each row that a hold has kept.
// Errors: hold.ErrNotFound, those of write.
func (s *Service) Export(ctx context.Context, by audit.Actor, uid uuid.UUID, write func(hold.Row) error) error {
	return s.export(ctx, by, id.Organization{}, uid, write)
}

func (s *Service) export(ctx context.Context, by audit.Actor, o id.Organization, uid uuid.UUID, write func(hold.Row) error) error {
	return hold.Export(ctx, s.o.DB, by, o, uid, s.o.Now(), func(r hold.Row) (err error) {
		if r.Data, err = hold.Shown(r, o); err != nil || r.Data == nil {
			return err
		}
		return write(r)
	})
}

// Noticed reports whether the people concerned may know that a transfer is held.
func (s *Service) Noticed(ctx context.Context, t id.Transfer) (bool, error) {
	return hold.Noticed(ctx, s.o.DB.Pool, hold.Transfer, t.UUID)
}

// AddOwn begins a hold of something that belongs to the caller's organization. It is a sensitive change.
// Errors: those of Overseen, StepUp and Change, fault.ErrInvalid, hold.ErrNotFound; fault.ErrConflict when there are too many.
func (s *Service) AddOwn(ctx context.Context, caller token.Caller, h hold.Hold, of Subject, p token.Proof) (uuid.UUID, error) {
	o, change, err := s.sensitive(ctx, caller, p, h.Name)
	if err != nil {
		return uuid.Nil, err
	}
	if err := s.resolve(ctx, &h, of); err != nil {
		return uuid.Nil, err
	}
	h.Organization = o
	return hold.Add(ctx, s.o.DB, administrator(caller, ""), h, s.o.Now(), change...)
}

// sensitive proves who the caller is, and returns what belongs to the transaction of the change.
func (s *Service) sensitive(ctx context.Context, caller token.Caller, p token.Proof, name string) (id.Organization, []hold.Join, error) {
	o, err := s.o.Overseen(ctx, caller)
	if err != nil {
		return o, nil, err
	}
	use, err := s.o.StepUp(ctx, caller, p)
	return o, []hold.Join{func(ctx context.Context, tx database.Tx) error {
		return s.o.Change(ctx, tx, caller, o, token.SensitiveChange{Kind: token.HoldChanged, Subject: name})
	}, use}, err
}

// ListOwn returns the holds of the caller's organization.
// Errors: those of Overseen.
func (s *Service) ListOwn(ctx context.Context, caller token.Caller) ([]hold.Listed, error) {
	o, err := s.o.Overseen(ctx, caller)
	if err != nil {
		return nil, err
	}
	return hold.List(ctx, s.o.DB, o)
}

// EndOwn ends a hold of the caller's organization. It is a sensitive change.
// Errors: those of Overseen, StepUp and Change, hold.ErrNotFound.
func (s *Service) EndOwn(ctx context.Context, caller token.Caller, uid uuid.UUID, reason string, p token.Proof) error {
	o, change, err := s.sensitive(ctx, caller, p, "")
	if err != nil {
		return err
	}
	return hold.End(ctx, s.o.DB, administrator(caller, reason), o, uid, s.o.Now(), change...)
}

// ExportOwn is Export of a hold of the caller's organization.
// Errors: those of Overseen, hold.ErrNotFound, those of write.
func (s *Service) ExportOwn(ctx context.Context, caller token.Caller, uid uuid.UUID, reason string, write func(hold.Row) error) error {
	o, err := s.o.Overseen(ctx, caller)
	if err != nil {
		return err
	}
	return s.export(ctx, administrator(caller, reason), o, uid, write)
}

// administrator returns the caller as an actor for the organization.
func administrator(caller token.Caller, reason string) audit.Actor {
	by := audit.Of(caller).As(audit.Administrator)
	by.Reason = reason
	return by
}
