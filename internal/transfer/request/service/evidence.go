// Evidence of deadlines: heartbeats in the transparency log, and the statement of the times without them.

package service

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/request"
	"github.com/consign-dev/consign/internal/translog"
)

// Timing of heartbeats.
const (
	beatPause = 50 * time.Second // least time between two, of whichever servers
	beatAfter = 15 * time.Minute // how long after its due time a request still runs
	leadTime  = 24 * time.Hour   // how long before the due time a statement of availability begins
	mostBeats = 3 * day          // what a statement of availability covers at most
)

// Beat appends a heartbeat to the transparency log while a request with a due time runs: one for all requests. With a witness, the log
// proves that the service answered before and after a deadline, or that it did not.
func (s *Service) Beat(ctx context.Context) error {
	return s.inTx(ctx, func(tx stores) error {
		now, err := s.clock(ctx, tx.Store)
		if err != nil {
			return err
		}
		wanted, err := tx.WantsHeartbeat(ctx, now, now.Add(-beatAfter), now.Add(-beatPause))
		if err != nil || !wanted {
			return err
		}
		salt := make([]byte, transfer.SaltBytes)
		_, _ = rand.Read(salt) // never fails
		h := request.Heartbeat{At: now, Body: request.FormatHeartbeat(s.Host, now, salt)}
		h.Entry = proof.Entry(h.Body)
		return tx.InsertHeartbeat(ctx, h)
	})
}

// Availability says when the service answered around a due time.
type Availability struct {
	From, Until time.Time
	Heartbeats  int
	Gaps        []ProvenGap
}

// ProvenGap is a gap with the heartbeats around it as files that `consign verify` reads; empty: there is none, or it waits for the log.
type ProvenGap struct {
	request.Gap
	BeforeFile, AfterFile []byte
}

// maxProven bounds the gaps of a statement that carry proofs.
const maxProven = 20

// Availability returns the statement of one request: from a day before its due time, or its creation, until 15 minutes after it, or now.
// Errors: transfer.ErrNotFound, also without a due time.
func (s *Service) Availability(ctx context.Context, caller token.Caller, uid id.Request) (a Availability, err error) {
	if _, err := s.owner(ctx, caller); err != nil {
		return a, err
	}
	r, err := s.Store.Request(ctx, caller.Person, uid)
	if err != nil {
		return a, err
	}
	if r.Due == nil {
		return a, transfer.ErrNotFound.With("the request has no due time")
	}
	now, err := s.clock(ctx, s.Store)
	if err != nil {
		return a, err
	}
	a.From, a.Until = r.Due.Add(-leadTime), r.Due.Add(beatAfter)
	if a.From.Before(r.CreatedAt) {
		a.From = r.CreatedAt.Truncate(time.Millisecond) // as heartbeats
	}
	if now.Before(a.Until) {
		a.Until = now
	}
	if a.From.After(a.Until) { // it has not begun
		a.From = a.Until
		return a, nil
	}
	beats, err := s.Store.Heartbeats(ctx, a.From, a.Until)
	if err != nil {
		return a, err
	}
	a.Heartbeats = len(beats)
	for i, g := range request.Gaps(a.From, a.Until, beats) {
		p := ProvenGap{Gap: g}
		if i < maxProven {
			if p.BeforeFile, err = s.proven(ctx, g.Before); err == nil {
				p.AfterFile, err = s.proven(ctx, g.After)
			}
			if err != nil {
				return a, err
			}
		}
		a.Gaps = append(a.Gaps, p)
	}
	return a, nil
}

// proven returns a heartbeat with its proof, nil for none and for one that waits for its place in the log.
func (s *Service) proven(ctx context.Context, h *request.Heartbeat) ([]byte, error) {
	if h == nil {
		return nil, nil
	}
	p, err := s.Proofs.Prove(ctx, h.Entry)
	if errors.Is(err, translog.ErrPending) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return append(append(append([]byte{}, h.Body...), '\n'), p.Format()...), nil
}
