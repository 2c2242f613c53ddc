// Contract documents of organizations: who may read which, and what the organization must have stated.

package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/agreement"
	"github.com/consign-dev/consign/internal/pdf"
	"github.com/consign-dev/consign/internal/token"
)

// DataProcessing is the only type of document: the data processing agreement.
const DataProcessing = "dataProcessing"

// Document returns a contractual document of an organization as a PDF file, in the organization's locale and with
// today's date in its time zone.
// Errors: fault.ErrInvalid, identity.ErrDocumentType, identity.ErrOrganizationNotFound, identity.ErrNotMember,
// identity.ErrRoleMissing, identity.ErrNoContract, identity.ErrNoSubscription, identity.ErrProfileIncomplete.
func (s *Service) Document(ctx context.Context, caller token.Caller, o id.Organization, kind, domain string) ([]byte, error) {
	if kind != DataProcessing {
		return nil, identity.ErrDocumentType
	}
	if !slices.Contains(identity.Domains(), domain) {
		return nil, fault.ErrInvalid.With("domain: is required for this document: " + strings.Join(identity.Domains(), " or "))
	}
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin, identity.RoleContractAdmin,
		identity.RoleContractRead); err != nil {
		return nil, err
	}
	details, err := s.store.Organization(ctx, o)
	if err != nil {
		return nil, err
	}
	limits, err := s.store.Limits(ctx, o)
	if err != nil {
		return nil, err
	}
	now := s.now()
	switch {
	case !limits.GDPRContract:
		return nil, identity.ErrNoContract
	case !slices.ContainsFunc(details.Subscriptions, func(b identity.Subscription) bool { return b.ActiveAt(domain, now) }):
		return nil, identity.ErrNoSubscription
	}
	if err := details.Profile.CheckContract(); err != nil {
		return nil, err
	}
	facts := s.settings.Provider
	facts.Domain, facts.Organization, facts.Date = domain, details.Profile, now.In(identity.Location(details.Profile.TimeZone))
	return s.render(ctx, facts)
}

func (s *Service) render(ctx context.Context, facts agreement.Facts) ([]byte, error) {
	file, err := s.documents.Render(ctx, s.agreements.Document(facts))
	var glyphs *pdf.GlyphError
	if errors.As(err, &glyphs) {
		return nil, identity.ErrProfileIncomplete.With("the organization's profile has characters that no document can show: " +
			string(glyphs.Runes)).Because(err)
	}
	if err != nil {
		return nil, fmt.Errorf("render document: %w", err)
	}
	return file, nil
}
