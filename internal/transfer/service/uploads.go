package service

import (
	"context"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// Upload writes one request's part of an object of an open reservation, for the holder of the reservation's token or its
// creator.
// Errors: those of content.Service.Upload; transfer.ErrNotFound for any other caller.
func (s *Service) Upload(ctx context.Context, caller token.Caller, uid id.Reservation, clientID string, in content.Part) (transfer.Object, error) {
	to := content.Target{Reservation: uid, ClientID: clientID, Scope: s.scope(caller), Authorize: func(creator id.Person) error { return mayManage(caller, uid, creator) }}
	return s.content.Upload(ctx, to, in)
}
