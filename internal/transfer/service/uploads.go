package service

import (
	"context"
	"errors"
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
// go on at the bytes held (contract 4.12). Of a partial upload that a final one has used it returns that it is complete.
// Errors: transfer.ErrNotFound.
func (s *Service) SettledObject(ctx context.Context, caller token.Caller, uid id.Reservation, clientID string) (transfer.Object, error) {
	o, err := s.Object(ctx, caller, uid, clientID)
	switch {
	case errors.Is(err, transfer.ErrNotFound):
		return s.usedPartial(ctx, caller, uid, clientID)
	case err == nil && !o.Concatenated && s.content.Settle(ctx, o.UID): // the copy of partial uploads goes on
		return s.Object(ctx, caller, uid, clientID)
	}
	return o, err
}

// Upload writes one request's part of an object of an open reservation, for the holder of the reservation's token or its
// creator.
// Errors: those of content.Service.Upload; transfer.ErrNotFound for any other caller.
func (s *Service) Upload(ctx context.Context, caller token.Caller, uid id.Reservation, clientID string, in content.Part) (transfer.Object, error) {
	return s.content.Upload(ctx, s.target(caller, uid, clientID), in)
}

func (s *Service) target(caller token.Caller, uid id.Reservation, clientID string) content.Target {
	return content.Target{Reservation: uid, ClientID: clientID, Scope: s.scope(caller), Authorize: func(creator id.Person) error { return mayManage(caller, uid, creator) }}
}

// PlanParts makes an object one that is uploaded in parts, and reports whether it was none. A partSize of 0 lets the server choose. An
// object that has a plan keeps it.
// Errors: those of content.Service.PlanParts.
func (s *Service) PlanParts(ctx context.Context, caller token.Caller, uid id.Reservation, clientID string, partSize int64) (p transfer.Plan, made bool, err error) {
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
// While the parts are all held and not joined, each call joins some.
// Errors: transfer.ErrNotFound, also for an object in one stream; transfer.ErrMIMEType.
func (s *Service) Parts(ctx context.Context, caller token.Caller, uid id.Reservation, clientID string) (p transfer.Plan, err error) {
	o, err := s.Object(ctx, caller, uid, clientID)
	if err != nil {
		return p, err
	}
	if o.PartSize == 0 {
		return p, transfer.ErrNotFound
	}
	held, err := s.store.Parts(ctx, o.UID)
	if err != nil {
		return p, err
	}
	if len(held) == o.PartCount() {
		if err := s.content.JoinSome(ctx, uid, clientID); err != nil {
			return p, err
		}
	}
	if o, err = s.Object(ctx, caller, uid, clientID); err != nil { // after its parts, whose rows go when it is complete
		return p, err
	}
	return planOf(o, held), nil
}

// planOf returns the plan of an object and the parts of it that have begun.
func planOf(o transfer.Object, held []postgres.HeldPart) transfer.Plan {
	p := transfer.Plan{PartSize: o.PartSize, Count: o.PartCount(), Size: o.IntendedSize, Joined: o.Held, SHA256: o.SHA256}
	add := func(number int, bytes int64) {
		p.Parts = append(p.Parts, transfer.Part{Number: number, Offset: int64(number-1) * o.PartSize, Size: o.PartLength(number), Held: bytes})
	}
	if o.Complete() {
		for number := 1; number <= p.Count; number++ {
			add(number, o.PartLength(number))
		}
		return p
	}
	for _, h := range held {
		add(h.Number, h.Held)
	}
	return p
}
