package service

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

const (
	maxListed    = 20_000          // objects that all answers which list many hold in memory; they may have names of a kilobyte
	fewListed    = 200             // objects that an answer holds without being counted
	listPatience = 5 * time.Second // how long an answer waits for others to be sent
	listRetry    = 2 * time.Second // after which a client that was sent away may come again
)

// listed bounds the objects in the memory of answers: whoever has a link to ten thousand files could otherwise ask for the list of them
// as often at once as it takes to fill the machine.
type listed struct{ objects *semaphore.Weighted }

func newListed() listed { return listed{semaphore.NewWeighted(maxListed)} }

// makeRoom waits until the request of ctx may hold n objects, which are given back when it is over. fault.ErrUnavailable.
func (l listed) makeRoom(ctx context.Context, n int32) error {
	if n <= fewListed {
		return nil
	}
	weight := min(int64(n), maxListed)
	wait, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	if err := l.objects.Acquire(wait, weight); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fault.ErrUnavailable.WithRetryAfter(listRetry).With("too many long lists are being sent").Because(errors.New("wait to list objects: nobody was done in time"))
	}
	context.AfterFunc(ctx, func() { l.objects.Release(weight) })
	return nil
}

// listObjects returns a reservation's objects, of which there are count, for the answer to a request. fault.ErrUnavailable.
func (s *Service) listObjects(ctx context.Context, r id.Reservation, count int32) ([]transfer.Object, error) {
	if err := s.listed.makeRoom(ctx, count); err != nil {
		return nil, err
	}
	return s.Store.Objects(ctx, r)
}
