// Builds the checks of consign doctor and of the console from the settings. The command works without database and storage.

package app

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	netmail "net/mail"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/floor"
	"github.com/consign-dev/consign/internal/blob/s3"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/doctor"
	"github.com/consign-dev/consign/internal/doctor/probe"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/identity"
	identitypostgres "github.com/consign-dev/consign/internal/identity/postgres"
	identityservice "github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/kms"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/scan"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/translog"
)

const doctorConnections = 4 // to the database

// DoctorOptions replace parts of the world for tests. The zero value is the real world.
type DoctorOptions struct {
	Now       func() time.Time
	Space     func(dir string) (free, size int64, err error)
	Resolver  doctor.Resolver
	Roots     *x509.CertPool
	OpenFiles func() uint64
	Examine   func(context.Context) (database.Examination, error)
}

// Doctor runs the checks of consign doctor from inside this server: with its settings, its connections to the database and its clock.
func (a *App) Doctor(ctx context.Context) ([]doctor.Finding, error) {
	o := DoctorOptions{Now: a.now, Space: a.options.Space}
	if a.options.LookupTXT != nil {
		o.Resolver = textRecords(a.options.LookupTXT)
	}
	d, err := newDoctor(a.config, a.DB, a.database.URL, o)
	if err != nil {
		return nil, err
	}
	d.Serving = true
	return d.Run(ctx), nil
}

// textRecords is a DNS that has TXT records only.
type textRecords func(ctx context.Context, name string) ([]string, error)

// LookupTXT implements doctor.Resolver.
func (t textRecords) LookupTXT(ctx context.Context, name string) ([]string, error) {
	return t(ctx, name)
}

// LookupMX implements doctor.Resolver.
func (t textRecords) LookupMX(context.Context, string) ([]*net.MX, error) { return nil, nil }

// OpenDoctor returns the checks of an installation that may be broken: unlike New, it does not need a database or a storage. It creates
// neither a secret key nor a private cluster. Errors: settings that name no service.
func OpenDoctor(ctx context.Context, cfg config.Config, o DoctorOptions) (_ *doctor.Doctor, closeAll func() error, err error) {
	var db *database.DB
	opened, reached := Database{}, missingCluster(cfg)
	if reached == nil {
		opened, reached = OpenDatabase(ctx, cfg, slog.New(slog.DiscardHandler))
	}
	if reached == nil {
		db, reached = database.New(ctx, opened.URL, doctorConnections)
	}
	d, err := newDoctor(cfg, db, opened.URL, o)
	closeAll = func() error {
		if db != nil {
			db.Close()
		}
		return opened.Close()
	}
	if err != nil {
		return nil, nil, errors.Join(err, closeAll())
	}
	d.DatabaseError = reached
	return d, closeAll, nil
}

// missingCluster returns an error when no server has run in the data directory that would hold the private database.
func missingCluster(cfg config.Config) error {
	if cfg.DatabaseURL != "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(cfg.DataDir, ClusterDir)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("CONSIGN_DATABASE_URL is not set, and no server has run in %s", cfg.DataDir)
	}
	return nil
}

func newDoctor(c config.Config, db *database.DB, databaseURL string, o DoctorOptions) (*doctor.Doctor, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.OpenFiles == nil {
		o.OpenFiles = probe.OpenFiles
	}
	d := doctor.Options{
		PublicURL: c.PublicURL, RequireHTTPS: c.RequireHTTPS, OwnTLS: c.TLSCert != "", TrustedProxies: c.TrustedProxies,
		AdminListen: c.AdminListen, Uploads: c.Uploads, Fingerprint: c.Fingerprint(),
		PreviousKey: len(c.SecretKeyPrevious) > 0, Database: db, OwnDatabase: c.DatabaseURL == "", MaxConnections: c.DatabaseMaxConnections,
		Examine:   o.Examine,
		ListenURL: c.ListenDatabaseURL, DataDir: c.DataDir, KMS: kms.Parse(c.KMSCommand), RedisURL: c.RedisURL,
		Floor: floor.Options{Bytes: c.StorageFloor.Bytes, Percent: c.StorageFloor.Percent, Measure: o.Space},
		Now:   o.Now, Roots: o.Roots, Resolver: o.Resolver, OpenFiles: o.OpenFiles, Secrets: secretsOf(c),
	}
	_, d.OwnSettings = c.Marks(func(string, string) string { return "" })
	if d.ListenURL == "" {
		d.ListenURL = databaseURL
	}
	file := filepath.Join(c.DataDir, config.SecretFile)
	if _, err := os.Stat(file); err == nil || len(c.SecretKey) == 0 {
		d.SecretFile = file
	}
	if from, err := netmail.ParseAddress(c.MailFrom); err == nil {
		d.MailFrom = from.Address
	}
	if err := doctorKeys(c, db, &d); err != nil {
		return nil, err
	}
	if c.AuditStream != "" {
		var err error
		if d.Audit, err = auditStream(c, db, d.Now, slog.New(slog.DiscardHandler)); err != nil {
			return nil, err
		}
	}
	if err := doctorServices(c, &d); err != nil {
		return nil, err
	}
	return doctor.New(d), nil
}

// doctorKeys sets what needs the secret key or the database.
func doctorKeys(c config.Config, db *database.DB, d *doctor.Options) error {
	if db != nil {
		d.Mails = func(ctx context.Context) (mail.Waiting, error) { return mail.WaitingIn(ctx, db.Pool, d.Now()) }
		d.Integrity = func(ctx context.Context) (blob.Integrity, error) { return integrity(ctx, db) }
		d.FreeOrganization = func(ctx context.Context) (bool, error) {
			h, err := identityservice.ResolveHost(ctx, identitypostgres.New(db), hosts.Normalize(c.PublicURL.Host))
			if errors.Is(err, identity.ErrNoHost) {
				return false, nil
			}
			return h.Free && h.Own, err
		}
		d.Wrapped = func(ctx context.Context) (wrapped []byte, err error) {
			_, err = database.Setting(ctx, db.Pool, objectKeySetting, &wrapped)
			return wrapped, err
		}
	}
	if len(c.SecretKey) == 0 {
		return nil
	}
	sealer, err := seal.New(c.SecretKey, c.SecretKeyPrevious)
	if err != nil {
		return fmt.Errorf("CONSIGN_SECRET_KEY: %w", err)
	}
	d.Sealer, d.Settings = sealer, markedSettings(c, sealer)
	if db != nil && (len(c.LogWitnesses) > 0 || c.TSAURL != "") {
		witnesses, err := logWitnesses(c)
		if err != nil {
			return err
		}
		d.Attesters = translog.New(translog.Options{DB: db, Sealer: sealer, Now: d.Now, Log: slog.New(slog.DiscardHandler),
			Witnesses: witnesses, TSA: c.TSAURL}).TryAttesters
	}
	if db != nil {
		d.SealedKeys = token.NewKeyRing(db, sealer, token.KeyPolicy{}, d.Now, slog.New(slog.DiscardHandler)).Shut
	}
	return nil
}

// doctorServices sets mail server, scanner and storage. Errors: settings that name no such service.
func doctorServices(c config.Config, d *doctor.Options) (err error) {
	if c.SMTPURL != "" {
		if d.SMTP, err = mail.NewSMTP(c.SMTPURL); err != nil {
			return err
		}
	}
	if c.ScannerURL != "" {
		if d.Scanner, err = scan.New(c.ScannerURL, scan.Options{Limit: 1, Timeout: 10 * time.Second}); err != nil {
			return fmt.Errorf("CONSIGN_SCANNER_URL %w", err)
		}
	}
	if d.Place, err = doctorPlace("STORAGE_URL", c.StorageURL, filepath.Join(c.DataDir, "spool")); err != nil || c.StorageSecondURL == "" {
		return err
	}
	d.Second, err = doctorPlace("STORAGE_SECOND_URL", c.StorageSecondURL, filepath.Join(c.DataDir, "spool-second"))
	return err
}

// doctorPlace returns the place of a storage, the value of a setting.
func doctorPlace(setting, storage, spool string) (doctor.Place, error) {
	u, err := url.Parse(storage)
	if err != nil {
		return doctor.Place{}, fmt.Errorf("CONSIGN_%s is not a URL", setting) // err would contain the secret
	}
	if u.Scheme != "s3" {
		return doctor.Place{StorageDir: filepath.FromSlash(u.Path)}, nil
	}
	bucket, err := s3.Parse(storage)
	if err != nil {
		return doctor.Place{}, fmt.Errorf("CONSIGN_%s %w", setting, err)
	}
	bucket.SpoolDir = spool
	return doctor.Place{Bucket: &bucket}, nil
}

// markedSettings returns the marks of all settings, as in probe.Answer.
func markedSettings(c config.Config, sealer *seal.Sealer) map[string]string {
	marks, _ := c.Marks(func(name, value string) string { return probe.Mark(sealer, name, value) })
	return marks
}

// secretsOf returns the secrets in the settings, which no finding may contain.
func secretsOf(c config.Config) []string {
	var all []string
	for _, key := range [][]byte{c.SecretKey, c.SecretKeyPrevious} {
		all = append(all, base64.StdEncoding.EncodeToString(key))
	}
	for _, text := range []string{c.DatabaseURL, c.ListenDatabaseURL, c.RedisURL, c.SMTPURL, c.StorageURL, c.StorageSecondURL, c.TSAURL} {
		u, err := url.Parse(text)
		if err != nil {
			continue
		}
		if password, ok := u.User.Password(); ok {
			all = append(all, password, url.QueryEscape(password))
		}
		if password := u.Query().Get("password"); password != "" {
			all = append(all, password)
		}
	}
	return all
}
