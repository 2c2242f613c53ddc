// Package service has the rules of the console (contract 9) for what belongs to no other domain. It asks mechanisms; it never reads the
// tables of another domain.
//
// # Locks
//
// examining is only tried, never waited for. sampling is held while counters are stored, by the one goroutine of RunSamples and in tests.
package service

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/floor"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/operator"
	"github.com/consign-dev/consign/internal/operator/postgres"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/ratelimit/redis"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/translog"
)

// Options holds what New needs. All but Shared and Volume are required.
type Options struct {
	DB          *database.DB
	Store       *postgres.Store
	Jobs        *jobs.Runner
	Mail        *mail.Mailer
	Receipts    *translog.Log
	Shared      *redis.Store  // nil: rate limits are in memory
	Volume      *floor.Volume // nil: without file storage
	Storage     func() error  // why the storage does not work
	Scanner     func(ctx context.Context) (operator.Scanner, error)
	Traffic     func() operator.Traffic
	Maintenance func() operator.Maintenance
	// SetMaintenance turns maintenance mode on or off on every replica.
	SetMaintenance func(ctx context.Context, m operator.Maintenance) error
	Settings       []operator.Setting
	Keys           *token.KeyRing
	Limiter        *ratelimit.Limiter
	Writable       func(ctx context.Context) error                       // why the database cannot be written
	Integrity      func(ctx context.Context) (blob.Integrity, error)     // of the stored files
	Audit          func(ctx context.Context) (operator.Audit, error)     // the stream of the audit
	Doctor         func(ctx context.Context) ([]operator.Finding, error) // runs the checks of consign doctor
	Counters       func() operator.Counters
	People         func(ctx context.Context) (int64, error) // how many there are
	Transfers      func(ctx context.Context) (int64, error) // how many have not ended
	Version        string
	Log            *slog.Logger
	Now            func() time.Time
}

// Service has the rules.
type Service struct {
	options   Options
	started   time.Time
	examining sync.Mutex // held by the run of Examine

	sampling    sync.Mutex        // guards what follows
	counted     operator.Counters // that are in samples
	inhabitants population
}

// New returns a Service and registers its job. Its start is taken as that of the replica.
func New(o Options) *Service {
	s := &Service{options: o, started: o.Now()}
	o.Jobs.Every("samples-clean", 24*time.Hour, s.CleanSamples)
	return s
}
