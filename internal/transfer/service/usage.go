package service

import (
	"context"

	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// Usage returns what the caller and the caller's organization have uploaded this month.
// Errors: transfer.ErrNotFound.
func (s *Service) Usage(ctx context.Context, caller token.Caller) (transfer.Usage, error) {
	sc := s.scope(caller)
	o, err := s.store.Owner(ctx, caller.Person, sc)
	if err != nil {
		return transfer.Usage{}, err
	}
	return transfer.Usage{
		Month: transfer.Month(sc.Now).Format("2006-01"), UploadBytes: o.UploadHeld, ReservedBytes: o.UploadReserved, UploadLimit: o.UploadLimit,
		InOrganization: !o.Organization.IsZero(), OrganizationBytes: o.OrganizationHeld, OrganizationLimit: o.OrganizationLimit,
		StoredBytes: o.StorageHeld, StorageLimit: o.StorageLimit,
	}, nil
}
