package service

import (
	"context"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/operator"
)

// examinationTime bounds a run of the checks. It is less than the minute after which a connection without a byte is cut.
const examinationTime = 45 * time.Second

// ErrExamining says that the checks run already.
var ErrExamining = fault.ErrConflict.With("the checks run already on this server; wait until they have ended")

// severities are those of findings, the worst first.
var severities = []string{"error", "warning", "hint", "ok"}

// Examine runs the checks of consign doctor on this replica, whose machine they look at, once at a time. Checks that have not ended after
// 45 s are findings. The worst findings come first.
// Errors: ErrExamining.
func (s *Service) Examine(ctx context.Context) ([]operator.Finding, error) {
	if !s.examining.TryLock() {
		return nil, ErrExamining
	}
	defer s.examining.Unlock()
	limited, cancel := context.WithTimeout(ctx, examinationTime)
	defer cancel()
	findings, err := s.options.Doctor(limited)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // the findings would be about the shutdown
	}
	rank := func(f operator.Finding) int { return slices.Index(severities, f.Severity) }
	slices.SortStableFunc(findings, func(a, b operator.Finding) int { return rank(a) - rank(b) })
	return findings, err
}
