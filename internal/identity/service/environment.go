package service

import (
	"context"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/oidc"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/token"
)

// Environment is what a client needs to know before anybody has signed in: the organization that the request's host
// selects, and its limitations ("Client environment").
type Environment struct {
	Organization identity.OrganizationDetails
	Limits       identity.Limits
	Host         string        // for base URLs and links: the organization's active hostname
	LogoVersion  string        // changes with the logo; empty: no logo
	Providers    []oidc.Client // where people of this host may sign in besides
}

// Environment returns the client environment of the host that was asked. Errors: identity.ErrNoHost.
func (s *Service) Environment(ctx context.Context, c token.Client) (Environment, error) {
	if c.Host.Organization.IsZero() {
		return Environment{}, identity.ErrNoHost
	}
	e, err := s.environments.get(c.Host.Organization, func() (Environment, error) { return s.loadEnvironment(ctx, c.Host.Organization) })
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

// Theme returns the theme of the organization that the request's host selects.
// Errors: identity.ErrNoHost, identity.ErrThemeNotFound.
func (s *Service) Theme(ctx context.Context, c token.Client) (identity.Theme, error) {
	e, err := s.Environment(ctx, c)
	if err == nil && e.Organization.Theme.IsZero() {
		return identity.Theme{}, identity.ErrThemeNotFound
	}
	return e.Organization.Theme, err
}

// environments remembers for a moment what everybody asks for and nothing limits. The moment is short enough for changes
// to hold everywhere within a second.
type environments struct {
	mu   sync.Mutex
	list map[id.Organization]remembered
}

type remembered struct {
	environment Environment
	until       time.Time
}

const (
	environmentLife = 900 * time.Millisecond
	maxEnvironments = 10_000
)

func (c *environments) get(o id.Organization, load func() (Environment, error)) (Environment, error) {
	now := time.Now() // the age of a copy is real time, whatever clock the service has
	c.mu.Lock()
	r, ok := c.list[o]
	c.mu.Unlock()
	if ok && now.Before(r.until) {
		return r.environment, nil
	}
	e, err := load()
	if err != nil {
		return e, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil || len(c.list) >= maxEnvironments {
		c.list = map[id.Organization]remembered{}
	}
	c.list[o] = remembered{environment: e, until: now.Add(environmentLife)}
	return e, nil
}
