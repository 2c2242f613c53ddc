// Package content stores, serves and maintains the bytes of objects: uploads, downloads and archives, the purge of bytes
// whose object has ended, the sweep of orphans and the check of the whole store (fsck).
//
// It works below the rules: the caller (transfer/service) has decided who may read or write. Every write goes to the blob
// store first and to the row second. So the row never claims more bytes than the store holds durably, and jobs remove
// what a crash leaves in the store.
//
// # Locks
//
// An upload takes the lease of its segment (leases, and the epoch in the segment's row) and holds no database transaction while bytes
// arrive. Transactions lock rows in the order of package service: reservation, object, segment, volumes. layouts.mu, slots.mu and leases.mu
// are leaf locks: nothing else is locked while they are held.
package content

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/imaging"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/microcache"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Options are the dependencies and settings of a Service. All are required.
type Options struct {
	Store      *postgres.Store
	Blobs      blob.Store
	ObjectKeys seal.Box // for Reseal
	Thumbnails seal.Box
	Pictures   *imaging.Processor
	Jobs       *jobs.Runner
	OrphanAge  time.Duration // minimum age of bytes without a row before they are swept
	Limits     Limits

	Now func() time.Time
	Log *slog.Logger
}

// Service handles the bytes of objects. It is safe for concurrent use.
type Service struct {
	store     *postgres.Store
	blobs     blob.Store
	keys      seal.Box
	jobs      *jobs.Runner
	orphanAge time.Duration
	limits    Limits

	now func() time.Time
	log *slog.Logger

	leases     leases
	slots      slots
	purges     purges
	layouts    *layouts
	seals      seals
	checks     checks
	pictures   *imaging.Processor
	thumbnails seal.Box
	size       *microcache.Cache[struct{}, transfer.StorageSize]
}

// The names of the periodic jobs. jobs.Runner.RunOnce runs one of them on demand.
const (
	PurgeBytesJob     = "transfer-remove-bytes"
	ReleaseVolumesJob = "transfer-release-volumes"
	SweepOrphansJob   = "transfer-sweep-orphans"
)

// New returns a Service and registers its jobs.
func New(o Options) *Service {
	s := &Service{
		store: o.Store, blobs: o.Blobs, keys: o.ObjectKeys, jobs: o.Jobs, orphanAge: o.OrphanAge, limits: o.Limits, now: o.Now, log: o.Log,
		pictures: o.Pictures, thumbnails: o.Thumbnails,
		layouts: newLayouts(), seals: seals{slots: semaphore.NewWeighted(sealsAtOnce)},
		size: microcache.NewSized[struct{}, transfer.StorageSize](time.Minute, 1, time.Now),
	}
	s.jobs.Every(PurgeBytesJob, time.Minute, s.PurgeBytes)
	s.jobs.Every(ReleaseVolumesJob, time.Minute, s.ReleaseVolumes)
	s.jobs.Every(SweepOrphansJob, 24*time.Hour, s.SweepOrphans)
	jobs.Register(s.jobs, s.workPurge)
	jobs.Register(s.jobs, s.workSeal)
	s.registerChecks()
	s.registerThumbnails()
	return s
}

// bufferSize is that of buffers for bytes in transit. Larger ones save no more time.
const bufferSize = 256 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, bufferSize); return &b }}

// storageRetry is the Retry-After of a request that found the blob store unavailable.
const storageRetry = 5 * time.Second

// storageError wraps an error of the blob store. A full or unavailable store becomes an error that the client sees.
// Errors: transfer.ErrStorageFull, fault.ErrUnavailable, any other wrapped.
func storageError(operation string, err error) error {
	switch {
	case errors.Is(err, blob.ErrFull):
		return transfer.ErrStorageFull.Because(err)
	case errors.Is(err, blob.ErrAway):
		return fault.ErrUnavailable.WithRetryAfter(storageRetry).Because(fmt.Errorf("%s: %w", operation, err))
	}
	return fmt.Errorf("%s: %w", operation, err)
}
