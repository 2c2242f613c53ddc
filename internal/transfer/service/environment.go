package service

import (
	"context"

	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// Environment is what GET /environment tells.
type Environment struct {
	ServerVersion string
	Adminunit     transfer.Adminunit
}

// Environment returns the configuration of the adminunit that serves the caller's host, as it is or was a moment ago: everybody asks
// for it, and nothing limits how often.
func (s *Service) Environment(ctx context.Context, c token.Caller) (Environment, error) {
	unit, err := s.store.RecentAdminunit(ctx, c.Client.Host.Organization, s.defaults.Adminunit)
	if err != nil {
		return Environment{}, err
	}
	return Environment{ServerVersion: s.version, Adminunit: unit}, nil
}
