package service

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/operator"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/translog"
)

// Settings lists the settings of this replica, secrets masked.
func (s *Service) Settings() []operator.Setting { return s.options.Settings }

// Maintenance returns the maintenance that this replica knows of, and whether requests are refused.
func (s *Service) Maintenance() (m operator.Maintenance, begun bool) {
	m = s.options.Maintenance()
	return m, m.Begun(s.options.Now())
}

// SetMaintenance turns maintenance mode on or off on every replica, or announces it.
func (s *Service) SetMaintenance(ctx context.Context, m operator.Maintenance) error {
	return s.options.SetMaintenance(ctx, m)
}

// Refusals lists the buckets that were full in this replica since its start, the one that refused most first.
func (s *Service) Refusals() []operator.Refusals {
	var all []operator.Refusals
	for bucket, n := range s.options.Limiter.Refusals() {
		all = append(all, operator.Refusals{Bucket: bucket, Count: n})
	}
	slices.SortFunc(all, func(a, b operator.Refusals) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Bucket, b.Bucket))
	})
	return all
}

// SigningKeys lists the keys that sign tokens.
func (s *Service) SigningKeys(ctx context.Context) ([]token.Key, error) {
	return s.options.Keys.List(ctx)
}

// RotateSigningKey publishes a new key, which signs after the lead.
func (s *Service) RotateSigningKey(ctx context.Context) (token.Key, error) {
	return s.options.Keys.Rotate(ctx)
}

// RevokeSigningKey voids a key and all tokens that it signed.
// Errors: token.ErrUnknownKey.
func (s *Service) RevokeSigningKey(ctx context.Context, kid string) error {
	return s.options.Keys.Revoke(ctx, kid)
}

// LogKeys lists the keys of the transparency log, newest first.
func (s *Service) LogKeys(ctx context.Context) ([]translog.Key, error) {
	return s.options.Receipts.Keys(ctx)
}

// RotateLogKey replaces the key of the transparency log. The old one signs beside the new one for 30 days; with revoke it ends at once.
func (s *Service) RotateLogKey(ctx context.Context, revoke bool) (translog.Key, error) {
	if err := s.options.Receipts.Begin(ctx); err != nil {
		return translog.Key{}, err
	}
	return s.options.Receipts.Rotate(ctx, revoke)
}

// Now returns the time that states of keys are told at.
func (s *Service) Now() time.Time { return s.options.Now() }
