package service

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/postgres"
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
func (s *Service) BeginUpload(ctx context.Context, caller token.Caller, uid id.Reservation,
	file Attachment) (o transfer.Object, created bool, err error) {
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
	if err == nil && !o.Segmented && s.content.Settle(ctx, o) {
		return s.Object(ctx, caller, uid, clientID)
	}
	return o, err
}

// Upload writes what one request brings of an object of an open reservation, for the holder of the reservation's token or its
// creator.
// Errors: those of content.Service.Write; transfer.ErrNotFound for any other caller.
func (s *Service) Upload(ctx context.Context, caller token.Caller, uid id.Reservation, clientID string,
	in content.Write) (content.State, error) {
	return s.content.Write(ctx, s.target(caller, uid, clientID), in)
}

func (s *Service) target(caller token.Caller, uid id.Reservation, clientID string) content.Target {
	return content.Target{Reservation: uid, ClientID: clientID, Scope: s.scope(caller), Watch: s.revocations.WatchDownload,
		Authorize: func(creator id.Person) error { return mayManage(caller, uid, creator) }}
}

// PlanParts plans an object in parts. A partSize of 0 lets the server choose. made is false when a plan exists, which stays.
// Errors: those of content.Service.PlanParts.
func (s *Service) PlanParts(ctx context.Context, caller token.Caller, uid id.Reservation, clientID string,
	partSize int64) (p transfer.Plan, made bool, err error) {
	o, err := s.Object(ctx, caller, uid, clientID)
	if err != nil {
		return p, false, err
	}
	if partSize, err = transfer.PartSize(partSize, o.IntendedSize); err != nil {
		return p, false, err
	}
	if made, err = s.content.PlanParts(ctx, s.target(caller, uid, clientID), partSize); err != nil {
		return p, false, err
	}
	p, err = s.Parts(ctx, caller, uid, clientID)
	return p, made, err
}

// Parts returns the plan of an object that is uploaded in parts, with the parts that have begun.
// While the parts are all held and not sealed, each call seals some.
// Errors: transfer.ErrNotFound, also for an object in one stream; transfer.ErrMIMEType.
func (s *Service) Parts(ctx context.Context, caller token.Caller, uid id.Reservation, clientID string) (p transfer.Plan, err error) {
	o, err := s.Object(ctx, caller, uid, clientID)
	if err != nil {
		return p, err
	}
	if o.PartSize == 0 {
		return p, transfer.ErrNotFound
	}
	segments, err := s.store.Segments(ctx, o.UID)
	if err != nil {
		return p, err
	}
	held := int64(0)
	for _, g := range segments {
		held += g.Held
	}
	if !o.Complete() && held == o.IntendedSize {
		if err := s.content.SealSome(ctx, o.UID); err != nil {
			return p, err
		}
		if o, err = s.Object(ctx, caller, uid, clientID); err != nil {
			return p, err
		}
	}
	return planOf(o, segments), nil
}

// planOf returns the plan of an object and the parts of it that have begun.
func planOf(o transfer.Object, segments []postgres.Segment) transfer.Plan {
	p := transfer.Plan{PartSize: o.PartSize, Count: o.PartCount(), Size: o.IntendedSize, Joined: o.Held, SHA256: o.SHA256}
	for _, g := range segments {
		if g.Held > 0 {
			p.Parts = append(p.Parts, transfer.Part{Number: g.Number, Offset: int64(g.Number-1) * o.PartSize, Size: g.Size, Held: g.Held})
		}
	}
	return p
}
