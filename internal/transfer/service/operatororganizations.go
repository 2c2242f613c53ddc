package service

import (
	"context"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// OrganizationUsage returns what an organization uses of its limitations, for an operator.
// Errors: transfer.ErrNotFound.
func (s *Service) OrganizationUsage(ctx context.Context, o id.Organization) (transfer.OrganizationUsage, error) {
	return s.store.OrganizationUsage(ctx, o, transfer.Month(s.now()))
}
