package service

import (
	"context"
	"iter"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/operator"
)

// Audit returns the entries that a filter selects, newest first, up to filter.Limit of them; 0: all, read in pages.
func (s *Service) Audit(ctx context.Context, filter audit.Filter) iter.Seq2[operator.Entry, error] {
	return audit.Pages(filter, func(f audit.Filter) ([]operator.Entry, error) { return s.entries(ctx, f) })
}

// AuditPage returns one page of entries, and whether there are more.
func (s *Service) AuditPage(ctx context.Context, filter audit.Filter) ([]operator.Entry, bool, error) {
	limit := filter.Limit
	filter.Limit++
	entries, err := s.entries(ctx, filter)
	if len(entries) > limit {
		return entries[:limit], true, err
	}
	return entries, false, err
}

// entries returns one page of entries with the people whom they name.
func (s *Service) entries(ctx context.Context, f audit.Filter) ([]operator.Entry, error) {
	records, err := audit.List(ctx, s.options.Store.Querier(), f)
	if err != nil {
		return nil, err
	}
	var persons []id.Person
	for _, r := range records {
		persons = append(persons, r.Person, r.Target)
	}
	people, err := s.options.Store.People(ctx, persons)
	if err != nil {
		return nil, err
	}
	known := make(map[id.Person]operator.Person, len(people))
	for _, p := range people {
		known[p.UID] = p
	}
	entries := make([]operator.Entry, len(records))
	for i, r := range records {
		entries[i] = operator.Entry{Record: r, ActorPerson: known[r.Person], TargetPerson: known[r.Target]}
	}
	return entries, nil
}
