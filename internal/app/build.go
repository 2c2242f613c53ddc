// Builds the mechanisms: tokens, jobs, mail and rate limits. Registers the periodic jobs of mechanisms.

package app

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/hold"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/ratelimit/redis"
	"github.com/consign-dev/consign/internal/scan"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	transferservice "github.com/consign-dev/consign/internal/transfer/service"
	"github.com/consign-dev/consign/internal/translog"
)

// buildTokens creates the key ring, the issuer, the revocations and the verifier.
func (a *App) buildTokens(sealer *seal.Sealer) {
	c := a.config
	lifetimes := token.Lifetimes{
		ID: c.IDTokenLifetime, Signup: c.SignupTokenLifetime, MFA: c.MFATokenLifetime, Access: c.AccessTokenLifetime,
		Pickup: c.PickupTokenLifetime, Preflight: c.PreflightTokenLifetime, Reservation: c.ReservationLifetime, Download: c.DownloadTokenLifetime,
	}
	a.Keys = token.NewKeyRing(a.DB, sealer, token.KeyPolicy{
		Lead: c.SigningKeyLead, Lifetime: c.SigningKeyLifetime, LongestToken: lifetimes.Longest(),
	}, a.now, a.quiet)
	a.Keys.Listen(a.listener)
	a.revocations = token.NewRevocations(a.DB, a.listener,
		max(c.AccessTokenLifetime, c.DownloadTokenLifetime, c.DownloadResumeLifetime+time.Minute), a.now, a.quiet)
	a.revocations.OnKnown(a.metrics.RevocationKnown)
	a.issuer = token.NewIssuer(a.Keys, a.issuerURL(), c.ClaimNamespace, lifetimes, a.now)
	a.verifier = token.NewVerifier(a.Keys, a.issuerURL(), c.ClaimNamespace, a.revocations, a.now)
	a.issuer.Preload(a.verifier)
}

// buildMail creates the job runner and the mailer, which sends by SMTP or, without an SMTP server, writes files.
func (a *App) buildMail(sealer *seal.Sealer, catalog *i18n.Catalog) error {
	// A separate LISTEN URL means that the pool goes through a pooler, which does not forward notifications.
	o := jobs.Options{
		Log: a.log, NoPeriodic: a.options.NoPeriodic, PollOnly: a.config.ListenDatabaseURL != a.config.DatabaseURL,
		Workers: config.JobWorkers, PollInterval: config.JobPollInterval, JobTimeout: config.JobTimeout, StopWithin: config.JobStopWithin,
	}
	if o.PollOnly {
		o.PollInterval = config.JobPollOnlyInterval
	}
	a.Jobs = jobs.New(a.DB, o)
	transport, err := a.mailTransport()
	if err != nil {
		return err
	}
	a.Mail, err = mail.New(a.DB, a.Jobs, sealer, catalog, transport, mail.Options{
		From: a.config.MailFrom, ProductName: a.config.ProductName, ProductURL: a.config.ProductURL, SupportContact: a.config.SupportContact,
		OnFailed: func(ctx context.Context, tx database.Tx, m mail.Mail) error { return a.Transfer.MailFailed(ctx, tx, m) },
		Attach: func(ctx context.Context, reference string) (*mail.Attachment, error) {
			if a.Transfer == nil { // in a command that needs no domain
				return nil, nil
			}
			return a.Transfer.MailedReceipt(ctx, reference)
		},
		Look: func(ctx context.Context, host string) (mail.Look, error) {
			if a.Identity == nil { // in a command that needs no domain
				return mail.Look{}, nil
			}
			name, colour, logo, err := a.Identity.MailLook(ctx, host)
			return mail.Look{Name: name, Colour: colour, Logo: logo}, err
		},
	}, a.now, a.log)
	return err
}

func (a *App) mailTransport() (mail.Transport, error) {
	if a.config.SMTPURL != "" {
		return mail.NewSMTP(a.config.SMTPURL)
	}
	directory, err := mail.NewDirectory(filepath.Join(a.config.DataDir, "mail"), a.log)
	if err != nil {
		return nil, fmt.Errorf("CONSIGN_DATA_DIR: %w", err)
	}
	return directory, nil
}

// scanning returns how files are inspected.
func (a *App) scanning() (transferservice.ScanOptions, error) {
	c := a.config
	o := transferservice.ScanOptions{
		Limit: int64(c.ScannerLimitMB) * 1_000_000, Streams: c.ScannerStreams, Pool: int64(c.ScannerPoolMB) * 1_000_000,
		Patience: c.ScannerPatience, Rescan: c.RescanPeriod, Infected: c.InfectedRetention,
	}
	if c.ScannerURL == "" {
		return o, nil
	}
	var err error
	if o.Scanner, err = scan.New(c.ScannerURL, scan.Options{Limit: o.Limit, Timeout: c.ScannerTimeout}); err != nil {
		return o, fmt.Errorf("CONSIGN_SCANNER_URL %w", err)
	}
	return o, nil
}

// transparencyLog builds the log of receipts. Its origin is the host of CONSIGN_PUBLIC_URL at the first start.
func (a *App) transparencyLog(sealer *seal.Sealer) (*translog.Log, error) {
	witnesses, err := logWitnesses(a.config)
	if err != nil {
		return nil, err
	}
	return translog.New(translog.Options{
		DB: a.DB, Sealer: sealer, Origin: a.config.PublicURL.Hostname(), Marks: a.marks, Listener: a.listener, Now: a.now, Log: a.quiet,
		Witnesses: witnesses, TSA: a.config.TSAURL, StampEvery: a.config.TSAInterval,
	}), nil
}

// logWitnesses returns the witnesses of the log of receipts.
func logWitnesses(c config.Config) (all []*translog.Witness, err error) {
	for _, text := range c.LogWitnesses {
		w, err := translog.ParseWitness(text)
		if err != nil {
			return nil, fmt.Errorf("CONSIGN_LOG_WITNESSES %w", err)
		}
		all = append(all, w)
	}
	return all, nil
}

// rateLimits opens the store of CONSIGN_REDIS_URL, or one in memory. Buckets in Redis use its clock, except in tests with
// Options.Now.
func (a *App) rateLimits(ctx context.Context) (ratelimit.Store, error) {
	if a.config.RedisURL == "" {
		return ratelimit.NewMemory(a.now), nil
	}
	shared, err := redis.New(ctx, a.config.RedisURL, redis.Options{Now: a.options.Now, Log: a.log})
	if err != nil {
		return nil, fmt.Errorf("CONSIGN_REDIS_URL %w", err)
	}
	a.SharedLimits = shared
	return shared, nil
}

// registerJobs registers the periodic jobs of the mechanisms. The domains register their own.
func (a *App) registerJobs() {
	a.Jobs.Every("signing-keys", max(a.config.SigningKeyLead/8, time.Minute), a.Keys.Ensure)
	a.Jobs.Every("revocations-clean", 10*time.Minute, a.revocations.Clean)
	a.Jobs.Every("idempotency-clean", time.Hour, a.requests.Clean)
	a.Jobs.Every("events-clean", 24*time.Hour, a.feed.Clean)
	a.Jobs.Every("audit-clean", 24*time.Hour, func(ctx context.Context) error {
		_, err := audit.Clean(ctx, a.DB, a.now(), a.now().Add(-a.config.AuditRetention))
		return err
	})
	a.Jobs.Every("audit-stream-end", 24*time.Hour, a.stream.End)
	a.Jobs.Every("holds-expire", time.Minute, func(ctx context.Context) error { return hold.Expire(ctx, a.DB, a.now()) })
}
