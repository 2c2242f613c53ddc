package service

import (
	"context"
	"errors"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/oidc"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/token"
)

// Environment is what a client needs before a login: the organization that the request's host selects, and its
// limitations ("Client environment" of the specification).
type Environment struct {
	Organization identity.OrganizationDetails
	Limits       identity.Limits
	Host         string        // for base URLs and links: the organization's active hostname
	LogoVersion  string        // changes with the logo; empty: no logo
	Providers    []oidc.Client // external providers for this host
}

// Environment returns the client environment of the request's host. It comes from the microcache, so it may be 500 ms
// old: the route has no rate limit and every client calls it.
// Errors: identity.ErrNoHost.
func (s *Service) Environment(ctx context.Context, c token.Client) (Environment, error) {
	if c.Host.Organization.IsZero() {
		return Environment{}, identity.ErrNoHost
	}
	e, err := s.environments.Get(c.Host.Organization, func() (Environment, error) { return s.loadEnvironment(ctx, c.Host.Organization) })
	e.Host = c.Host.Name
	return e, err
}

func (s *Service) loadEnvironment(ctx context.Context, o id.Organization) (e Environment, err error) {
	if e.Organization, err = s.store.Organization(ctx, o); err != nil {
		return e, err
	}
	if e.Limits, err = s.store.Limits(ctx, o); err != nil {
		return e, err
	}
	if e.LogoVersion, err = s.store.AvatarETag(ctx, postgres.AvatarOwner{Organization: o}); err != nil {
		return e, err
	}
	for _, p := range s.settings.Providers {
		if p.Organization.IsZero() || p.Organization == o {
			e.Providers = append(e.Providers, p)
		}
	}
	return e, nil
}

// mailLogo is the height in pixels of the logo in mails, which show it at half of that.
const mailLogo = 80

// MailLook returns the name, colour (#rrggbb or empty) and logo (JPEG or empty) of the organization that a host selects.
// Errors: identity.ErrNoHost.
func (s *Service) MailLook(ctx context.Context, host string) (name, colour string, logo []byte, err error) {
	h, err := s.store.Host(ctx, host)
	if err != nil {
		return "", "", nil, err
	}
	e, err := s.environments.Get(h.Organization, func() (Environment, error) { return s.loadEnvironment(ctx, h.Organization) })
	if err != nil {
		return "", "", nil, err
	}
	if e.LogoVersion != "" {
		avatar, err := s.store.Avatar(ctx, postgres.AvatarOwner{Organization: h.Organization}, mailLogo)
		if err != nil && !errors.Is(err, identity.ErrAvatarNotFound) { // removed in the meantime
			return "", "", nil, err
		}
		logo = avatar.Image
	}
	return e.Organization.Profile.Name, e.Organization.Theme.PrimaryColor, logo, nil
}

// Theme returns the theme of the organization that the request's host selects.
// Errors: identity.ErrNoHost, identity.ErrThemeNotFound.
func (s *Service) Theme(ctx context.Context, c token.Client) (identity.Theme, error) {
	e, err := s.Environment(ctx, c)
	if err == nil && e.Organization.Theme.IsZero() {
		return identity.Theme{}, identity.ErrThemeNotFound
	}
	return e.Organization.Theme, err
}
