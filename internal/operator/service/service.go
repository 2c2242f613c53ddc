// Package service has the rules of the console (contract 9) for what belongs to no other domain. It asks mechanisms; it never reads the
// tables of another domain.
//
// # Locks
//
// examining is only tried, never waited for. It takes no others.
package service

import (
	"context"
	"sync"
	"time"

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
	Scanner     func(ctx context.Context) (operator.Scanner, error)
	Traffic     func() operator.Traffic
	Maintenance func() bool
	// SetMaintenance turns maintenance mode on or off on every replica.
	SetMaintenance func(ctx context.Context, on bool) error
	Settings       []operator.Setting
	Keys           *token.KeyRing
	Limiter        *ratelimit.Limiter
	Doctor         func(ctx context.Context) ([]operator.Finding, error) // runs the checks of consign doctor
	Version        string
	Now            func() time.Time
}

// Service has the rules.
type Service struct {
	options   Options
	started   time.Time
	examining sync.Mutex // held by the run of Examine
}

// New returns a Service. Its start is taken as that of the replica.
func New(o Options) *Service { return &Service{options: o, started: o.Now()} }
