package service

import (
	"context"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// WatchUpload returns a context that is cancelled within a second after the end of the API token that sends an upload, or that made its
// reservation (contract 2.10). An upload of a session goes on when the session ends. The caller calls cancel.
func (s *Service) WatchUpload(ctx context.Context, caller token.Caller) (context.Context, context.CancelFunc) {
	if !caller.ByAPIToken() {
		return ctx, func() {}
	}
	return s.revocations.WatchContext(ctx, caller)
}

// Upload writes one request's part of an object of an open reservation, for the holder of the reservation's token or its
// creator.
// Errors: those of content.Service.Upload; transfer.ErrNotFound for any other caller.
func (s *Service) Upload(ctx context.Context, caller token.Caller, uid id.Reservation, clientID string, in content.Part) (transfer.Object, error) {
	to := content.Target{Reservation: uid, ClientID: clientID, Scope: s.scope(caller), Authorize: func(creator id.Person) error { return mayManage(caller, uid, creator) }}
	return s.content.Upload(ctx, to, in)
}
