package service

import (
	"context"

	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// Environment is the answer to GET /environment.
type Environment struct {
	ServerVersion string
	Adminunit     transfer.Adminunit
}

// Environment returns the settings of the adminunit that serves the caller's host. They come from a microcache: every client
// asks for them and no rate limit applies.
func (s *Service) Environment(ctx context.Context, c token.Caller) (Environment, error) {
	unit, err := s.store.RecentAdminunit(ctx, c.Client.Host.Organization, s.defaults.Adminunit)
	if err != nil {
		return Environment{}, err
	}
	return Environment{ServerVersion: s.version, Adminunit: unit}, nil
}
