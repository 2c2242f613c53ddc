// Builds both domains with their settings, and mounts their routes and the pages. Fills the sources of metrics.

package app

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/httpserver"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity/agreement"
	identityhandler "github.com/consign-dev/consign/internal/identity/handler"
	"github.com/consign-dev/consign/internal/identity/oidc"
	identitypostgres "github.com/consign-dev/consign/internal/identity/postgres"
	identityservice "github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/imaging"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/metrics"
	"github.com/consign-dev/consign/internal/outbound"
	"github.com/consign-dev/consign/internal/outbound/target"
	"github.com/consign-dev/consign/internal/password"
	"github.com/consign-dev/consign/internal/pdf"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	transferhandler "github.com/consign-dev/consign/internal/transfer/handler"
	"github.com/consign-dev/consign/internal/transfer/holding"
	transferpostgres "github.com/consign-dev/consign/internal/transfer/postgres"
	requesthandler "github.com/consign-dev/consign/internal/transfer/request/handler"
	requestpostgres "github.com/consign-dev/consign/internal/transfer/request/postgres"
	requestservice "github.com/consign-dev/consign/internal/transfer/request/service"
	transferservice "github.com/consign-dev/consign/internal/transfer/service"
	"github.com/consign-dev/consign/internal/translog"
	"github.com/consign-dev/consign/internal/web"
	webhookhandler "github.com/consign-dev/consign/internal/webhook/handler"
	webhookpostgres "github.com/consign-dev/consign/internal/webhook/postgres"
	webhookservice "github.com/consign-dev/consign/internal/webhook/service"
)

// buildDomains creates both domains and mounts their routes and the pages.
func (a *App) buildDomains(ctx context.Context, sealer *seal.Sealer, catalog *i18n.Catalog) error {
	buckets, err := a.rateLimits(ctx)
	if err != nil {
		return err
	}
	limiter := ratelimit.NewLimiter(buckets, a.config.RateLimit, a.log)
	identityStore := identitypostgres.New(a.DB)
	a.hosts = hosts.New(func(ctx context.Context, name string) (hosts.Host, error) {
		return identityservice.ResolveHost(ctx, identityStore, name)
	}, a.config.PublicURL, config.HostsTTL, a.now)
	a.watchDirectory(identityStore)
	a.listener.Handle(webhookpostgres.Channel, func(string) { a.Webhooks.Wake() }, nil)
	if a.config.BcryptCost < config.SafeBcryptCost {
		a.log.Warn("CONSIGN_BCRYPT_COST is so low that stolen password hashes are easy to guess; use it for tests only", "cost",
			a.config.BcryptCost, "least", config.SafeBcryptCost)
	}
	hasher, err := password.New(a.config.BcryptCost, 0) // shared by both domains: it caps parallel hashing
	if err != nil {
		return err
	}
	documents := pdf.New(pdf.Options{}) // shared by both domains, too
	if err := a.buildTransfer(ctx, sealer, limiter, hasher, documents); err != nil {
		return err
	}
	if err := a.buildIdentity(sealer, catalog, identityStore, hasher, documents); err != nil {
		return err
	}
	if err := a.mount(sealer, catalog, limiter); err != nil {
		return err
	}
	a.metrics.Watch(metrics.Sources{
		API: a.API, DB: a.DB, Listener: a.listener, Jobs: a.Jobs, Mail: a.Mail, Receipts: a.Proofs, Limiter: limiter, Shared: a.SharedLimits,
		Volume: a.volume, Memory: a.options.Memory, SlowSearches: a.Transfer.SlowSearches, Integrity: a.integrity, Writable: a.writable,
		StorageTrouble: a.storageTrouble, Outdated: a.outdated, Certificate: a.certificate,
		Webhooks: a.webhookStats, Audit: a.stream.State, WaitingWebhooks: a.Webhooks.Waiting, Scans: a.scanStats, WaitingScans: a.waitingScans,
	})
	return nil
}

// scanStats counts the inspections of this process, by verdict.
func (a *App) scanStats() metrics.Scans {
	s := a.Transfer.ScanStats()
	verdicts := map[string]int64{"clean": 0, "infected": 0, "partly": 0, "failed": 0}
	for state, n := range s.Verdicts {
		verdicts[string(state)] = n
	}
	return metrics.Scans{Verdicts: verdicts, Bytes: s.Bytes, Seconds: s.Seconds}
}

// waitingScans returns how many files wait for an inspection, and for how long the first of them.
func (a *App) waitingScans(ctx context.Context) (int64, time.Duration, error) {
	q, err := a.Transfer.InspectionQueue(ctx)
	if err != nil || q.OldestDue == nil {
		return q.Waiting, 0, err
	}
	return q.Waiting, max(a.now().Sub(*q.OldestDue), 0), nil
}

// webhookStats counts the attempts of this process to deliver to webhooks, by outcome.
func (a *App) webhookStats() map[string]int64 {
	o := a.Webhooks.Outcomes()
	return map[string]int64{"delivered": o.Delivered, "failed": o.Failed, "dead": o.Dead}
}

// watchDirectory invalidates the caches of hosts and organizations when this or another process changes them.
func (a *App) watchDirectory(store *identitypostgres.Store) {
	forget := func() {
		a.hosts.Invalidate()
		a.Transfer.ForgetOrganizations()
	}
	store.OnDirectory(forget)
	for _, channel := range []string{identitypostgres.DirectoryChannel, transferpostgres.AdminunitChannel} {
		a.listener.Handle(channel, func(string) { forget() }, func(context.Context) error { forget(); return nil })
	}
}

func (a *App) buildTransfer(ctx context.Context, sealer *seal.Sealer, limiter *ratelimit.Limiter, hasher *password.Hasher,
	documents *pdf.Renderer) error {
	c := a.config
	store := transferpostgres.New(a.DB)
	objectKeys, err := a.objectKeys(ctx, sealer)
	if err != nil {
		return err
	}
	blobs, err := a.blobStore(ctx, store, objectKeys)
	if err != nil {
		return err
	}
	var availableTTL []int32
	for _, days := range c.AvailableTTL {
		availableTTL = append(availableTTL, int32(days))
	}
	unit := transfer.DefaultAdminunit(availableTTL, int32(c.DefaultTTL))
	if a.Proofs, err = a.transparencyLog(sealer); err != nil {
		return err
	}
	strangers := transfer.StrangerLimits{
		NetworkShare: c.StrangerShare, Reservations: c.StrangerReservations, OrganizationReservations: c.StrangerOrganizationReservations,
		MaxFiles: int32(c.StrangerMaxFiles), Mails: c.StrangerMailsDay,
	}
	a.pictures = imaging.New(imaging.Options{MaxPixels: c.AvatarMaxPixels})
	a.Content = content.New(content.Options{Store: store, Blobs: blobs, ObjectKeys: objectKeys, Thumbnails: sealer.Box("thumbnail"),
		Pictures: a.pictures, Jobs: a.Jobs, OrphanAge: c.OrphanAge,
		Now: a.now, Log: a.log, Limits: content.Limits{
			Window: int64(c.UploadWindowMB) * 1_000_000, MinimumRate: int64(c.UploadMinimumRate), RatePeriod: time.Minute,
			UnconfirmedBytes: int64(c.StrangerUnconfirmedGB) * 1_000_000_000, NetworkShare: c.StrangerShare,
			OrganizationBytes:  int64(c.StrangerOrganizationUnconfirmedGB) * 1_000_000_000,
			ReservationUploads: c.ReservationUploads, NetworkUploads: c.NetworkUploads, Uploads: c.Uploads,
		}})
	scanning, err := a.scanning()
	if err != nil {
		return err
	}
	defaults := transfer.Defaults{Adminunit: unit, UploadVolume: int64(c.UploadVolumeGB) * 1_000_000_000}
	recipients := transfer.RecipientLimits{PerDay: c.RecipientsDay, Young: c.YoungRecipientsDay, YoungAge: c.YoungAccount}
	a.Requests = a.buildRequests(store, sealer, defaults, recipients, strangers)
	a.Transfer = transferservice.New(transferservice.Options{
		Store: store, Content: a.Content, Issuer: a.issuer, Revocations: a.revocations, Mailer: a.Mail, Jobs: a.Jobs,
		Sealer: sealer, Limiter: limiter, Hosts: a.hosts, Hasher: hasher, Proofs: a.Proofs, Documents: documents, Look: a.brand,
		Imaging:             a.pictures,
		Requests:            a.Requests,
		Version:             a.options.Version,
		AuditAge:            c.AuditRetention,
		Defaults:            defaults,
		ReservationLifetime: c.ReservationLifetime, OpenObjects: c.OpenObjects,
		ExpiryWarning: c.ExpiryWarning, ExpiryGrace: c.ExpiryGrace, RecordAge: c.TransferRetention,
		ResumeLifetime:      c.DownloadResumeLifetime,
		DownloadBudget:      c.DownloadBudget,
		UploadConfirmations: c.UploadConfirmationsDay, SenderCodes: c.SenderCodesDay,
		Strangers:     strangers,
		Links:         transferservice.LinkRules{Quarantine: c.LinkQuarantine, Reserved: transfer.NewReservedLinks(c.ReservedLinks)},
		ForwardVolume: c.ForwardVolume, DirectDownloads: c.S3DirectDownloads,
		Scan:       scanning,
		Recipients: recipients,
		Now:        a.now, Log: a.log,
	})
	return nil
}

// brand returns the look of documents of the organization at a host: without an own name, or when it cannot be read, the product's.
func (a *App) brand(ctx context.Context, host string) (pdf.Brand, error) {
	name, colour, logo, err := a.Identity.MailLook(ctx, host)
	return pdf.Brand{
		Name: cmp.Or(name, a.config.ProductName), Colour: pdf.Colour(mail.Look{Colour: colour}.Accent()), Logo: logo,
	}, err
}

// holding returns the service of holds.
func (a *App) holding() *holding.Service {
	guard := identityservice.Elsewhere{Service: a.Identity}
	return holding.New(holding.Options{DB: a.DB, Overseen: a.Transfer.Overseen, PersonNamed: a.Transfer.PersonNamed, StepUp: guard.StepUp,
		Change: guard.ChangeOrganization, Now: a.now})
}

// buildRequests creates the service of requests. It confirms through the transfer service, which asks it in turn.
func (a *App) buildRequests(store *transferpostgres.Store, sealer *seal.Sealer, defaults transfer.Defaults,
	recipients transfer.RecipientLimits, strangers transfer.StrangerLimits) *requestservice.Service {
	c := a.config
	o := requestservice.Options{
		Store: requestpostgres.New(a.DB), Transfers: store, Content: a.Content, Issuer: a.issuer, Mailer: a.Mail, Jobs: a.Jobs, Sealer: sealer,
		Hosts: a.hosts, Proofs: a.Proofs, Host: c.PublicURL.Host, Defaults: defaults, Recipients: recipients, Strangers: strangers,
		Links: c.SenderCodesDay, RecordAge: c.TransferRetention, Now: a.now, Log: a.log,
		Confirm: func(ctx context.Context, caller token.Caller, uid id.Reservation) (transfer.Transfer, error) {
			t, _, err := a.Transfer.Confirm(ctx, caller, uid)
			return t, err
		},
	}
	if a.options.Now != nil { // a test moves the clock: move that of Postgres, too
		o.Skew = func() time.Duration { return time.Until(a.now()) }
	}
	return requestservice.New(o)
}

func (a *App) buildIdentity(sealer *seal.Sealer, catalog *i18n.Catalog, store *identitypostgres.Store, hasher *password.Hasher,
	documents *pdf.Renderer) error {
	c := a.config
	clients, err := oidc.Load(c.OIDCClients)
	if err != nil {
		return fmt.Errorf("CONSIGN_OIDC_CLIENTS: %w", err)
	}
	external, err := oidc.New(oidc.Options{Clients: clients, Now: a.now, Log: a.log})
	if err != nil {
		return fmt.Errorf("CONSIGN_OIDC_CLIENTS: %w", err)
	}
	lookupTXT := a.options.LookupTXT
	if lookupTXT == nil {
		lookupTXT = net.DefaultResolver.LookupTXT
	}
	webhooks := webhookpostgres.New(a.DB)
	a.Identity = identityservice.New(identityservice.Options{
		External: external, Imaging: a.pictures, LookupTXT: lookupTXT,
		Agreements: agreement.New(catalog), Documents: documents,
		Store: store, Issuer: a.issuer, Revocations: a.revocations, Mailer: a.Mail, Jobs: a.Jobs, Sealer: sealer, Hosts: a.hosts, Hasher: hasher,
		Hooks:    a.Transfer, // enqueues transfer's jobs in the transaction of the change
		Webhooks: webhooks,
		Room:     a.roomForRows,
		Settings: identityservice.Settings{
			NewTransfers: ratelimit.Limit{Capacity: c.NewTransferBucket.Capacity, PerSecond: c.NewTransferBucket.PerSecond},
			PublicURL:    c.PublicURL, RedirectOrigins: c.RedirectOrigins, ProductName: c.ProductName, StrictEnumeration: c.EnumerationStrict,
			VerificationKey: c.VerificationKeyLifetime, ResetKey: c.ResetKeyLifetime, UnverifiedEmail: c.UnverifiedEmailLifetime,
			SetPassword:     c.SetPasswordLifetime,
			PasswordMinimum: c.PasswordMinimum, SessionIdle: c.SessionIdle, Device: c.DeviceLifetime, YoungSession: c.YoungSession,
			RecentEmail: c.RecentEmail, ResetAddressAge: c.ResetAddressAge, Undo: c.UndoLifetime,
			Invitation: c.InvitationLifetime, UploadVolumeGB: c.UploadVolumeGB,
			BaseDomain: c.BaseDomain, Providers: external.Clients(), ProviderRedirect: a.providerRedirect(),
			Provider: agreement.Facts{ProductName: c.ProductName, ProviderName: c.ProviderName, ProviderURL: c.ProviderURL,
				SupportContact: c.SupportContact},
		},
		Now: a.now, Log: a.log,
	})
	a.Transfer.GuardBy(identityservice.Elsewhere{Service: a.Identity})
	guard := outbound.NewGuard(c.WebhookAllow, c.PublicURL.Hostname(), a.options.Resolver)
	sender := outbound.NewSender(guard, a.options.Version, a.now)
	if a.options.Demo {
		a.inspector = &inspector{secret: func() string { return a.demoFile().value(demoSecret) }, now: a.now}
		sender.Inside(a.page(inspectorPath), a.inspector)
	}
	a.Webhooks = webhookservice.New(webhookservice.Options{
		Store: webhooks, Accounts: a.Identity, Transfers: a.Transfer, Guard: guard, Sender: sender,
		Copier: target.New(guard, a.options.Version), Mailer: a.Mail, Jobs: a.Jobs, Sealer: sealer, Hosts: a.hosts, Now: a.now, Log: a.log,
	})
	return nil
}

// errNoPath is the answer at a path without a route.
var errNoPath = fault.ErrNotFound.With("there is nothing at this path; /api/ describes what there is")

// providerRedirect returns the redirect URI to register at external identity providers.
func (a *App) providerRedirect() string { return a.issuerURL() + "/oidc/auth/form" }

// errNoRoom refuses what would add rows for content.
var errNoRoom = fault.ErrUnavailable.With("the server has too little free space to store anything new").WithRetryAfter(30 * time.Second)

// roomForRows refuses rows for content before they fill the volume that the database may share with the files.
func (a *App) roomForRows() error {
	if a.volume == nil {
		return nil
	}
	if err := a.volume.RoomForRows(); err != nil {
		return errNoRoom.Because(err)
	}
	return nil
}

// mount creates the request pipeline and mounts all routes.
func (a *App) mount(sealer *seal.Sealer, catalog *i18n.Catalog, limiter *ratelimit.Limiter) error {
	c := a.config
	a.API = httpserver.New(httpserver.Options{
		Authenticate: a.verifier.Authenticate, Limiter: limiter, Hosts: a.hosts, Sealer: sealer,
		TrustedProxies: c.TrustedProxies, RequireHTTPS: c.RequireHTTPS, HSTSSubdomains: c.HSTSSubdomains, PublicURL: c.PublicURL,
		CORSOrigins:      c.CORSOrigins,
		UploadPaths:      []string{c.TransferBasePath + "/public/mailbox/", c.TransferBasePath + "/reservations/"},
		APIBucket:        ratelimit.Limit{Capacity: c.APITokenBucket.Capacity, PerSecond: c.APITokenBucket.PerSecond},
		AddressBucket:    ratelimit.Limit{Capacity: c.AddressBucket.Capacity, PerSecond: c.AddressBucket.PerSecond},
		AnonymousSession: c.AnonymousSessionLifetime, Settings: markedSettings(c, sealer), Classify: database.Classify,
		Memory: a.options.Memory, Idempotency: a.requests, Maintenance: a.inMaintenance,
		Console: a.console(), Room: a.roomForRows,
		Stopping: a.stopping.Load, Observe: a.metrics.Request, Now: a.now, Log: a.log,
	})
	a.verifier.AcceptAPITokens(a.Identity)
	a.verifier.AcceptOperators(a.Identity.OperatorRole, c.YoungSession)
	a.verifier.AcceptSessionCookie(identityhandler.SessionCookie(c.PublicURL))
	identityAPI := identityhandler.New(identityhandler.Options{
		Service: a.Identity, Keys: a.Keys, Verify: a.verifier.Verify, Buckets: httpapi.NewBuckets(limiter), Hosts: a.hosts,
		Events: a.feed.Handler(), Export: a.exportZip, Catalog: catalog, PublicURL: c.PublicURL, BasePath: c.IdentityBasePath,
		IssuerURL:   a.issuerURL(),
		AvatarBytes: c.AvatarMaxBytes, Sealer: sealer, Device: c.DeviceLifetime, NetworkShare: c.StrangerShare,
		Installation: identityhandler.Installation{
			ProductName: c.ProductName, ProductURL: c.ProductURL, ProviderName: c.ProviderName, ProviderURL: c.ProviderURL,
			SupportContact: c.SupportContact, TransferBasePath: c.TransferBasePath, DriveURL: c.BaseURLDrive, OnPremises: c.OnPremises,
			RedirectURL: a.providerRedirect(),
		},
	})
	transferAPI := transferhandler.New(transferhandler.Options{
		Service: a.Transfer, Holds: a.holding(), Hosts: a.hosts, Catalog: catalog, Buckets: httpapi.NewBuckets(limiter),
		BasePath: c.TransferBasePath, Secure: httpapi.SecureCookies(c.PublicURL), ResumeLifetime: c.DownloadResumeLifetime,
		PictureBytes:   c.AvatarMaxBytes,
		UploadBucket:   ratelimit.Limit{Capacity: c.UploadBucket.Capacity, PerSecond: c.UploadBucket.PerSecond},
		DownloadBucket: ratelimit.Limit{Capacity: c.DownloadBucket.Capacity, PerSecond: c.DownloadBucket.PerSecond},
	})
	webhookAPI := webhookhandler.New(a.Webhooks, httpapi.NewBuckets(limiter), a.hosts, c.IdentityBasePath)
	a.API.Mount(c.IdentityBasePath, httpapi.Identity, append(identityAPI.Routes(), webhookAPI.Routes()...))
	a.API.Mount("", httpapi.Identity, identityAPI.RootRoutes())
	if a.options.Demo {
		a.API.Mount("", httpapi.Identity, a.inspectorRoutes())
	}
	requestAPI := requesthandler.New(a.Requests, a.hosts, httpapi.NewBuckets(limiter), catalog, c.TransferBasePath)
	a.API.Mount(c.TransferBasePath, httpapi.Transfer, append(transferAPI.Routes(), requestAPI.Routes()...))
	a.mountConsole(limiter, identityAPI.OperatorRoutes(), transferAPI.OperatorRoutes(),
		transferhandler.NewStorage(a.Content, c.StorageEncryption).Routes())
	if c.LegacyAPI {
		a.mountLegacy(identityAPI, transferAPI)
	}
	for _, base := range []string{"/id/v1", "/id/v2", "/transfer/v1"} {
		a.API.Gone(base)
	}
	a.API.Handle(translog.Prefix+"/*", a.Proofs.Handler())
	a.API.Probe("/healthz", http.HandlerFunc(a.healthz))
	a.API.Probe("/readyz", http.HandlerFunc(a.readyz))
	pages, err := web.New(web.Options{
		PasswordMinimum: c.PasswordMinimum,
		ProductName:     c.ProductName, ProviderName: c.ProviderName, ProviderURL: c.ProviderURL, SupportContact: c.SupportContact,
		SecurityContact: c.SecurityContact, AccentColor: c.AccentColor,
		IdentityBasePath: c.IdentityBasePath, TransferBasePath: c.TransferBasePath, Catalog: catalog, Now: a.now, Log: a.log,
		Demo: a.options.Demo,
		Announced: func() (from, until time.Time) {
			if m := a.Maintenance(); m.On && !m.Begun(a.now()) {
				return m.From, m.Until
			}
			return time.Time{}, time.Time{}
		},
	})
	if err != nil {
		return err
	}
	for _, pattern := range pages.Patterns() {
		handle := a.API.Handle
		if web.OfConsole(pattern) {
			handle = a.API.HandleConsole
		} else if web.OfSignIn(pattern) {
			handle = a.API.HandleSignIn
		} else if web.OfFiles(pattern) {
			handle = a.API.HandleAlways
		}
		handle(pattern, pages)
	}
	a.API.HandleUnknown(func(w http.ResponseWriter, r *http.Request) {
		if !a.ofAPI(r) && web.PrefersHTML(r) {
			pages.NotFound(w, r)
			return
		}
		httpapi.WriteError(w, r, errNoPath)
	})
	a.API.HandleMaintenance(a.closedPage(pages))
	return nil
}

// ofAPI reports whether a path is below that of an API.
func (a *App) ofAPI(r *http.Request) bool {
	bases := []string{a.config.IdentityBasePath, a.config.TransferBasePath, httpapi.OperatorBase}
	return slices.ContainsFunc(bases, func(base string) bool { return strings.HasPrefix(r.URL.Path, base+"/") })
}
