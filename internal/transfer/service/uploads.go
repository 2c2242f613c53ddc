package service

import (
	"context"
	"time"

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

// BeginUpload attaches one file, and reports whether it is new. The object says when its reservation expires.
// Errors: those of Attach.
func (s *Service) BeginUpload(ctx context.Context, caller token.Caller, uid id.Reservation, file Attachment) (o transfer.Object, created bool, err error) {
	list, expires, created, err := s.attach(ctx, caller, uid, []Attachment{file})
	if err != nil {
		return o, false, err
	}
	o = list[0]
	o.ExpiresAt = expires
	return o, created, nil
}

// LifeLeft returns how long an object's reservation is open.
func (s *Service) LifeLeft(o transfer.Object) time.Duration { return max(0, o.ExpiresAt.Sub(s.now())) }

// SettledObject returns one object of a reservation, after it has ended a request of this process that writes it. So the next request can
// go on at the bytes held (contract 4.12).
// Errors: transfer.ErrNotFound.
func (s *Service) SettledObject(ctx context.Context, caller token.Caller, uid id.Reservation, clientID string) (transfer.Object, error) {
	o, err := s.Object(ctx, caller, uid, clientID)
	if err == nil && s.content.Settle(ctx, o.UID) {
		return s.Object(ctx, caller, uid, clientID)
	}
	return o, err
}

// Upload writes one request's part of an object of an open reservation, for the holder of the reservation's token or its
// creator.
// Errors: those of content.Service.Upload; transfer.ErrNotFound for any other caller.
func (s *Service) Upload(ctx context.Context, caller token.Caller, uid id.Reservation, clientID string, in content.Part) (transfer.Object, error) {
	to := content.Target{Reservation: uid, ClientID: clientID, Scope: s.scope(caller), Authorize: func(creator id.Person) error { return mayManage(caller, uid, creator) }}
	return s.content.Upload(ctx, to, in)
}
