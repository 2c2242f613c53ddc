// Builds all objects once, in the order of their dependencies, and opens the database.

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

	"github.com/consign-dev/consign/internal/audit/stream"
	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/blob/floor"
	"github.com/consign-dev/consign/internal/blob/pair"
	"github.com/consign-dev/consign/internal/blob/sealed"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/doctor/probe"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/httpserver"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/idempotency"
	identityservice "github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/imaging"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/metrics"
	"github.com/consign-dev/consign/internal/operator"
	operatorservice "github.com/consign-dev/consign/internal/operator/service"
	"github.com/consign-dev/consign/internal/ratelimit/redis"
	"github.com/consign-dev/consign/internal/repeats"
	"github.com/consign-dev/consign/internal/requestid"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer/content"
	requestservice "github.com/consign-dev/consign/internal/transfer/request/service"
	transferservice "github.com/consign-dev/consign/internal/transfer/service"
	"github.com/consign-dev/consign/internal/translog"
	webhookservice "github.com/consign-dev/consign/internal/webhook/service"
)

// Options are the inputs of New besides the configuration. Most are for tests; the zero value serves with the real clock.
type Options struct {
	Now      func() time.Time // nil: time.Now
	Log      *slog.Logger     // nil: nothing is logged
	Version  string
	Listener net.Listener // where to serve; nil: Config.Listen
	Admin    net.Listener // where to serve administration; nil: Config.AdminListen
	Migrate  bool         // apply pending migrations to an external database too
	Demo     bool         // seed the demo mailbox and examples once, and show webhooks at /demo/webhooks
	// DemoReset ends Run after that time. ServeDemo then empties the demo and runs it again.
	DemoReset time.Duration
	// Serve states that Run follows, so New starts connecting what only Run needs.
	Serve bool
	// NoStorage opens no file storage, for commands that need none.
	NoStorage bool
	// NoPeriodic disables periodic jobs; the caller runs them with Jobs.RunOnce.
	NoPeriodic bool
	LookupTXT  func(ctx context.Context, name string) ([]string, error) // the DNS; nil: the system's resolver
	Resolver   *net.Resolver                                            // of the receivers of webhooks; nil: the system's
	// Space measures the volume of the stored files; nil: the operating system does.
	Space  func(dir string) (free, size int64, err error)
	Memory func() (used, limit int64) // of this process; nil: probe.Memory
	BlobFS disk.FS                    // file system of the disk store; nil: the operating system's
	Greet  io.Writer                  // where Run prints the addresses when it is ready; nil: nowhere
}

// App holds every object of Consign. Commands use its exported members; Run serves.
type App struct {
	DB       *database.DB
	Keys     *token.KeyRing
	Mail     *mail.Mailer
	Jobs     *jobs.Runner
	Identity *identityservice.Service
	Transfer *transferservice.Service
	Requests *requestservice.Service
	Webhooks *webhookservice.Service
	pictures *imaging.Processor
	Content  *content.Service // bytes of transfer's objects
	Proofs   *translog.Log    // the transparency log
	Operator *operatorservice.Service
	API      *httpserver.Server
	// SharedLimits are the rate limits in Redis; nil without Redis.
	SharedLimits *redis.Store

	config      config.Config
	options     Options
	log         *slog.Logger
	quiet       *slog.Logger // for what repeats by itself while something is away: a line a minute
	now         func() time.Time
	listener    *database.Listener
	issuer      *token.Issuer
	verifier    *token.Verifier
	revocations *token.Revocations
	feed        *events.Feed
	requests    *idempotency.Store
	hosts       *hosts.Directory
	stream      *stream.Stream // of the audit
	metrics     *metrics.Metrics
	inspector   *inspector // nil without Options.Demo
	maintenance atomic.Pointer[operator.Maintenance]
	stopping    atomic.Bool
	ready       atomic.Bool
	written     written
	watched     watched
	database    Database
	volume      *floor.Volume // nil with Options.NoStorage
	sealed      *sealed.Store // the storage above which the floor is
	places      *pair.Store   // between which files are moved; nil without CONSIGN_STORAGE_SECOND_URL
	marks       blob.Store    // the storage without its floor, for the marks of the transparency log; nil with Options.NoStorage
}

// New builds all objects. Without a configured database it starts or joins the embedded Postgres and migrates it; an external
// database is migrated only with Options.Migrate. It serves no request and runs no job: Run does.
func New(ctx context.Context, cfg config.Config, o Options) (_ *App, err error) {
	if o.Memory == nil {
		o.Memory = probe.Memory
	}
	a := &App{config: cfg, options: o, log: o.Log, now: o.Now}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.log = requestid.Logger(a.log)
	a.quiet = repeats.Logger(a.log, time.Minute, time.Now)
	a.metrics = metrics.New(o.Version, a.quiet)
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
	checked := make(chan error, 1)
	go func() { checked <- a.checkDatabase(ctx) }() // in parallel with build, which needs only the pool, to start faster
	built := a.build(ctx)
	if err := cmp.Or(<-checked, built); err != nil {
		return nil, err
	}
	return a, nil
}

// openDatabase opens the database, migrates it where asked for, and creates the pool.
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

// checkDatabase connects and checks that no migration is pending.
func (a *App) checkDatabase(ctx context.Context) error {
	pending, err := a.DB.Pending(ctx)
	if pending && err == nil {
		err = errors.New("the database is older than this program: run consign migrate up, or serve with --migrate")
	}
	return err
}

// build creates all objects above the pool. It queries the database only when the storage is found empty.
func (a *App) build(ctx context.Context) error {
	sealer, err := seal.New(a.config.SecretKey, a.config.SecretKeyPrevious)
	if err != nil {
		return err
	}
	catalog, err := i18n.New()
	if err != nil {
		return err
	}
	a.listener = database.NewListener(cmp.Or(a.config.ListenDatabaseURL, a.database.URL), a.quiet, time.Now)
	a.listener.SelfTest(a.DB.Pool)
	if a.options.Serve {
		a.listener.Connect(ctx)
	}
	a.buildTokens(sealer)
	if err := a.buildMail(sealer, catalog); err != nil {
		return err
	}
	a.requests = idempotency.New(a.DB, sealer, a.now)
	a.feed = events.NewFeed(a.DB, a.listener, a.revocations, a.config.EventRetention, a.now, a.log)
	if a.stream, err = auditStream(a.config, a.DB, a.now, a.quiet); err != nil {
		return err
	}
	if err := a.buildDomains(ctx, sealer, catalog); err != nil {
		return err
	}
	a.registerJobs()
	a.watchSettings()
	return nil
}

func (a *App) issuerURL() string {
	return strings.TrimSuffix(a.config.PublicURL.String(), "/") + a.config.IdentityBasePath
}
