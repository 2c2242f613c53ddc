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

// Environment returns the settings of the caller's adminunit: those that reservations of the person have, whatever the
// request host (contract 4.6). Without a person they are those of the host's organization. They come from a microcache:
// every client asks for them and no rate limit applies.
func (s *Service) Environment(ctx context.Context, caller token.Caller) (Environment, error) {
	organization := caller.Client.Host.Organization
	if caller.IsPerson() {
		organization = caller.Organization // zero: that of the free organization
	}
	unit, err := s.store.RecentAdminunit(ctx, organization, s.defaults.Adminunit)
	if err != nil {
		return Environment{}, err
	}
	return Environment{ServerVersion: s.version, Adminunit: unit}, nil
}
