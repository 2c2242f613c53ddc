package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/imaging"
	"github.com/consign-dev/consign/internal/token"
)

// OrganizationAvatar returns an organization's avatar to one of its members, in the stored size closest to height
// (pixels; 0: the largest).
// Errors: identity.ErrOrganizationNotFound, identity.ErrNotMember, identity.ErrAvatarNotFound.
func (s *Service) OrganizationAvatar(ctx context.Context, caller token.Caller, o id.Organization, height int) (identity.Avatar, error) {
	if err := s.authorize(ctx, s.store, caller, o); err != nil {
		return identity.Avatar{}, err
	}
	return s.avatar(ctx, postgres.AvatarOwner{Organization: o}, height)
}

// Logo returns the avatar of the organization that the request's host selects. Everybody may read it.
// Errors: identity.ErrNoHost, identity.ErrAvatarNotFound.
func (s *Service) Logo(ctx context.Context, c token.Client, height int) (identity.Avatar, error) {
	if c.Host.Organization.IsZero() {
		return identity.Avatar{}, identity.ErrNoHost
	}
	return s.avatar(ctx, postgres.AvatarOwner{Organization: c.Host.Organization}, height)
}

// PutOrganizationAvatar stores a picture as an organization's avatar and returns its largest size. It reads the picture
// from the start.
// Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound, identity.ErrNotMember, identity.ErrRoleMissing.
func (s *Service) PutOrganizationAvatar(ctx context.Context, caller token.Caller, o id.Organization,
	picture io.ReadSeeker) (identity.Avatar, error) {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return identity.Avatar{}, err
	}
	sizes, err := s.avatarSizes(ctx, picture)
	if err != nil {
		return identity.Avatar{}, err
	}
	err = s.administer(ctx, caller, o, func(tx *postgres.Store) error {
		if err := tx.PutAvatar(ctx, postgres.AvatarOwner{Organization: o}, sizes, s.now()); err != nil {
			return err
		}
		return s.avatarChanged(ctx, tx, caller, o)
	})
	return sizes[0], err
}

// DeleteOrganizationAvatar deletes an organization's avatar.
// Errors: identity.ErrOrganizationNotFound, identity.ErrNotMember, identity.ErrRoleMissing, identity.ErrAvatarNotFound.
func (s *Service) DeleteOrganizationAvatar(ctx context.Context, caller token.Caller, o id.Organization) error {
	return s.administer(ctx, caller, o, func(tx *postgres.Store) error {
		existed, err := tx.DeleteAvatar(ctx, postgres.AvatarOwner{Organization: o})
		if err != nil {
			return err
		}
		if !existed {
			return identity.ErrAvatarNotFound
		}
		return s.avatarChanged(ctx, tx, caller, o)
	})
}

func (s *Service) avatarChanged(ctx context.Context, tx *postgres.Store, caller token.Caller, o id.Organization) error {
	if err := s.recordOf(ctx, tx, administrator(caller), o, "organization.avatar", nil); err != nil {
		return err
	}
	return s.announceToMembers(ctx, tx, o, avatarUpdated)
}

// avatar returns the stored size closest to height, or the largest for 0.
// Errors: identity.ErrAvatarNotFound.
func (s *Service) avatar(ctx context.Context, owner postgres.AvatarOwner, height int) (identity.Avatar, error) {
	if height == 0 {
		height = imaging.Heights()[0]
	}
	return s.store.Avatar(ctx, owner, imaging.Closest(height))
}

// avatarSizes returns the sizes of an uploaded picture that are stored, largest first. It is slow, so call it outside
// of transactions.
// Errors: fault.ErrInvalid when the picture is refused.
func (s *Service) avatarSizes(ctx context.Context, picture io.ReadSeeker) ([]identity.Avatar, error) {
	made, err := s.imaging.Avatar(ctx, picture)
	var refusal *imaging.Refusal
	if errors.As(err, &refusal) {
		return nil, fault.ErrInvalid.With("body: " + refusal.Sentence).Because(err)
	}
	if err != nil {
		return nil, fmt.Errorf("make avatar: %w", err)
	}
	sizes := make([]identity.Avatar, len(made))
	for i, a := range made {
		sum := sha256.Sum256(a.JPEG)
		sizes[i] = identity.Avatar{Height: int16(a.Height), Image: a.JPEG, ETag: `"` + hex.EncodeToString(sum[:16]) + `"`}
	}
	return sizes, nil
}
