package app

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/httpserver"
	"github.com/consign-dev/consign/internal/i18n"
	identityservice "github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/metrics"
	"github.com/consign-dev/consign/internal/ratelimit/redis"
	"github.com/consign-dev/consign/internal/requestid"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer/content"
	transferservice "github.com/consign-dev/consign/internal/transfer/service"
)

// Options are what differs between the program and a test of it. The zero value is the program on its real clock.
type Options struct {
	Now      func() time.Time // nil: time.Now
	Log      *slog.Logger     // nil: nothing is logged
	Version  string
	Listener net.Listener // where to serve; nil: Config.Listen
	Admin    net.Listener // where to serve administration; nil: Config.AdminListen
	Migrate  bool         // apply pending migrations to an external database too
	Demo     bool         // seed the demo mailbox once
	// Serve says that Run follows: what only that needs is begun early.
	Serve bool
	// NoStorage says that no file is touched: what needs none works while the storage is away.
	NoStorage bool
	// NoPeriodic leaves recurring jobs to the caller's Jobs.RunOnce.
	NoPeriodic bool
	LookupTXT  func(ctx context.Context, name string) ([]string, error) // the DNS; nil: the system's resolver
	BlobFS     disk.FS                                                  // the file layer below a disk store; nil: the operating system's
	Greet      io.Writer                                                // where Run says that it is ready and what there is; nil: nowhere
}

// App is every object of Consign, wired. Commands use its exported members, Run serves.
type App struct {
	DB       *database.DB
	Keys     *token.KeyRing
	Mail     *mail.Mailer
	Jobs     *jobs.Runner
	Identity *identityservice.Service
	Transfer *transferservice.Service
	Content  *content.Service // bytes of transfer's objects
	API      *httpserver.Server
	// SharedLimits are the rate limits in Redis; nil without one.
	SharedLimits *redis.Store

	config      config.Config
	options     Options
	log         *slog.Logger
	now         func() time.Time
	listener    *database.Listener
	issuer      *token.Issuer
	verifier    *token.Verifier
	revocations *token.Revocations
	feed        *events.Feed
	hosts       *hosts.Directory
	metrics     *metrics.Metrics
	maintenance atomic.Bool
	stopping    atomic.Bool
	ready       atomic.Bool
	database    Database
}

const hostsTTL = time.Minute

// New builds everything: it starts or joins the embedded Postgres where no database is configured, migrates that one
// (an external one only with Options.Migrate), and prepares to serve. It serves nothing and runs no job until Run.
func New(ctx context.Context, cfg config.Config, o Options) (_ *App, err error) {
	a := &App{config: cfg, options: o, log: o.Log, now: o.Now}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.log = requestid.Logger(a.log)
	a.metrics = metrics.New(o.Version, a.log)
	if a.now == nil {
		a.now = time.Now
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if err := a.openDatabase(ctx); err != nil {
		return nil, err
	}
	proved := make(chan error, 1)
	go func() { proved <- a.proveDatabase(ctx) }() // it takes as long as all the rest, which only needs the pool
	built := a.build(ctx)
	if err := cmp.Or(<-proved, built); err != nil {
		return nil, err
	}
	return a, nil
}

// openDatabase makes the pool on a database that was migrated, where that is asked for.
func (a *App) openDatabase(ctx context.Context) (err error) {
	if a.database, err = OpenDatabase(ctx, a.config, a.log); err != nil {
		return err
	}
	if a.config.DatabaseURL == "" || a.options.Migrate {
		if err := database.Migrate(ctx, a.database.URL, a.log); err != nil {
			return err
		}
	}
	a.DB, err = database.New(ctx, a.database.URL, a.config.DatabaseMaxConnections)
	return err
}

// proveDatabase makes the first connection and looks whether the database is of this version.
func (a *App) proveDatabase(ctx context.Context) error {
	pending, err := a.DB.Pending(ctx)
	if pending {
		err = errors.New("the database is older than this program: run consign migrate up, or serve with --migrate")
	}
	return err
}

// build makes everything on top of the pool, without using it but where a storage on disk is missing.
func (a *App) build(ctx context.Context) error {
	sealer, err := seal.New(a.config.SecretKey, a.config.SecretKeyPrevious)
	if err != nil {
		return err
	}
	catalog, err := i18n.New()
	if err != nil {
		return err
	}
	a.listener = database.NewListener(cmp.Or(a.config.ListenDatabaseURL, a.database.URL), a.log, time.Now)
	a.listener.Prove(a.DB.Pool)
	if a.options.Serve {
		a.listener.Connect(ctx)
	}
	a.buildTokens(sealer)
	if err := a.buildMail(sealer, catalog); err != nil {
		return err
	}
	a.feed = events.NewFeed(a.DB, a.listener, a.revocations, a.config.EventRetention, a.now, a.log)
	if err := a.buildDomains(ctx, sealer, catalog); err != nil {
		return err
	}
	a.recurring()
	a.watchSettings()
	return nil
}

func (a *App) issuerURL() string {
	return strings.TrimSuffix(a.config.PublicURL.String(), "/") + a.config.IdentityBasePath
}
