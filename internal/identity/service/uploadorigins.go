package service

import (
	"context"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/token"
)

// UploadOrigins returns the origins of other sites whose pages may upload at an organization's hosts (contract 1.10), in
// alphabetical order.
// Errors: identity.ErrOrganizationNotFound, identity.ErrNotMember, identity.ErrRoleMissing.
func (s *Service) UploadOrigins(ctx context.Context, caller token.Caller, o id.Organization) ([]string, error) {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return nil, err
	}
	return s.store.UploadOrigins(ctx, o)
}

// PutUploadOrigins replaces an organization's upload origins and returns them as stored: normalized, sorted, each once.
// Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound, identity.ErrNotMember, identity.ErrRoleMissing, those of guard.
func (s *Service) PutUploadOrigins(ctx context.Context, caller token.Caller, o id.Organization, origins []string,
	proof token.Proof) ([]string, error) {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return nil, err
	}
	origins, err := identity.CheckUploadOrigins(origins)
	if err != nil {
		return nil, err
	}
	use, err := s.guard(ctx, caller, true, proof)
	if err != nil {
		return nil, err
	}
	err = s.administer(ctx, caller, o, func(tx *postgres.Store) error {
		before, err := tx.UploadOrigins(ctx, o)
		if err != nil || slices.Equal(before, origins) {
			return err
		}
		if err := tx.SetUploadOrigins(ctx, o, origins, s.now()); err != nil {
			return err
		}
		if err := tx.NotifyDirectory(ctx); err != nil { // hosts are cached with their origins
			return err
		}
		if err := use(ctx, tx); err != nil {
			return err
		}
		if err := s.notices.Change(ctx, tx, administrator(caller), o, token.SensitiveChange{
			Kind: token.OriginsChanged, Subject: strings.Join(origins, " "), Before: before}); err != nil {
			return err
		}
		return s.recordOf(ctx, tx, administrator(caller), o, "organization.uploadorigins",
			map[string]string{"origins": strings.Join(origins, " ")})
	})
	return origins, err
}
