// Backups: the dump of the database, the list of the stored files that belong to it, and what must be equal at a restore.

package app

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/doctor/probe"
	"github.com/consign-dev/consign/internal/localpg"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/transfer"
	transferpostgres "github.com/consign-dev/consign/internal/transfer/postgres"
)

const backupSetting = "backup"

// The files of a backup.
const (
	dumpFile   = "consign.dump" // of pg_dump, in its custom format
	listFile   = "objects.txt"  // a line for each complete file: uid, size, SHA-256
	backupFile = "backup.json"  // written last: a directory without it is no backup
)

// Backup is what backup.json says.
type Backup struct {
	Version  string            `json:"version"`
	At       time.Time         `json:"at"`
	Settings map[string]string `json:"settings"` // marks of all settings, which do not show the values
	Key      []byte            `json:"key"`      // opens with the secret key only
	Objects  int64             `json:"objects"`
	Bytes    int64             `json:"bytes"`
	Dump     string            `json:"dump"` // SHA-256
	List     string            `json:"list"`
}

// backupBinding is what Backup.Key is sealed for.
var backupBinding = []byte("consign backup")

// RecordBackup records that a backup was completed now. Metrics and doctor report its age.
func (a *App) RecordBackup(ctx context.Context) error {
	return database.PutSetting(ctx, a.DB.Pool, a.now(), backupSetting, a.now())
}

// integrity returns what the database says about the stored files and their backup.
func integrity(ctx context.Context, db *database.DB) (i blob.Integrity, err error) {
	store := transferpostgres.New(db)
	if i.Damaged, err = store.CountDamaged(ctx); err != nil {
		return i, err
	}
	last, err := store.LastCheck(ctx)
	switch {
	case err == nil:
		i.Problems, i.Checked = last.Findings, *last.FinishedAt
	case !errors.Is(err, transfer.ErrNoCheck):
		return i, err
	}
	_, err = database.Setting(ctx, db.Pool, backupSetting, &i.BackedUp)
	return i, err
}

// integrity is the same of this installation.
func (a *App) integrity(ctx context.Context) (blob.Integrity, error) { return integrity(ctx, a.DB) }

// Backup writes the database, and the list of the stored files that its rows name, into dir, which must be empty or missing. Both are of
// the same moment. A copy of the files that begins after it has each of them, but for those that end meanwhile.
func (a *App) Backup(ctx context.Context, dir string) (b Backup, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return b, fmt.Errorf("make the directory of the backup: %w", err)
	}
	if found, err := os.ReadDir(dir); err != nil || len(found) > 0 {
		return b, errors.Join(err, fmt.Errorf("%s is not empty: each backup needs a directory of its own", dir))
	}
	sealer, err := seal.New(a.config.SecretKey, nil)
	if err != nil {
		return b, err
	}
	b = Backup{Version: a.options.Version, At: a.now().UTC(), Key: sealer.Box("backup").Seal(backupBinding, backupBinding),
		Settings: markedSettings(a.config, sealer)}
	err = a.DB.InTx(ctx, func(tx database.Tx) error {
		if _, err := database.Exec(ctx, tx, "begin snapshot", `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`); err != nil {
			return err
		}
		snapshot, err := database.Scalar[string](ctx, tx, "export snapshot", nil, `SELECT pg_export_snapshot()`)
		if err != nil {
			return err
		}
		if err := a.dump(ctx, filepath.Join(dir, dumpFile), snapshot); err != nil {
			return err
		}
		b.Objects, b.Bytes, err = listObjects(ctx, transferpostgres.New(a.DB).Within(tx), filepath.Join(dir, listFile))
		return err
	})
	if err != nil {
		return b, err
	}
	if b.Dump, err = sumOf(filepath.Join(dir, dumpFile)); err == nil {
		b.List, err = sumOf(filepath.Join(dir, listFile))
	}
	if err != nil {
		return b, err
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return b, fmt.Errorf("write %s: %w", backupFile, err)
	}
	return b, writeDurably(filepath.Join(dir, backupFile), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// dump writes the database as it is in a snapshot.
func (a *App) dump(ctx context.Context, file, snapshot string) error {
	major, err := serverMajor(ctx, a.DB)
	if err != nil {
		return err
	}
	// A pooler does not lead to the snapshot for sure.
	direct := a.database.URL
	if a.config.ListenDatabaseURL != "" {
		direct = a.config.ListenDatabaseURL
	}
	return writeDurably(file, func(w io.Writer) error {
		return postgresProgram(ctx, major, direct, w, "pg_dump", "--format=custom", "--no-owner", "--snapshot="+snapshot)
	})
}

func serverMajor(ctx context.Context, db *database.DB) (int, error) {
	number, err := database.Scalar[string](ctx, db.Pool, "read version", nil, `SELECT current_setting('server_version_num')`)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(number)
	return n / 10_000, err
}

// postgresProgram runs a client program of Postgres on a database. Its password is not on the command line, where others could read it.
func postgresProgram(ctx context.Context, major int, databaseURL string, stdout io.Writer, name string, args ...string) error {
	path, err := localpg.Client(name, major)
	if err != nil {
		return err
	}
	u, err := url.Parse(databaseURL)
	if err != nil {
		return errors.New("CONSIGN_DATABASE_URL is not a URL") // err would contain the password
	}
	q := u.Query()
	password := q.Get("password")
	if p, ok := u.User.Password(); ok {
		password = p
		u.User = url.User(u.User.Username())
	}
	for p := range q { // of the pool, which libpq does not know
		if p == "password" || strings.HasPrefix(p, "pool_") || p == "default_query_exec_mode" || p == "statement_cache_capacity" {
			q.Del(p)
		}
	}
	u.RawQuery = q.Encode()
	cmd := exec.CommandContext(ctx, path, append(args, "--dbname="+u.String())...)
	cmd.Env = os.Environ()
	if password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+password)
	}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = stdout, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(said.String()))
	}
	return nil
}

// listObjects writes a line for each complete file of a transaction's snapshot.
func listObjects(ctx context.Context, store *transferpostgres.Store, file string) (objects, bytes int64, err error) {
	const batch = 1000
	err = writeDurably(file, func(w io.Writer) error {
		var last transferpostgres.StoredObject
		for {
			rows, err := store.StoredObjects(ctx, last.UID, batch)
			if err != nil {
				return err
			}
			for _, last = range rows {
				if last.Held < last.IntendedSize || len(last.SHA256) == 0 {
					continue // its sender sends it again
				}
				if _, err := fmt.Fprintf(w, "%s %d %x\n", last.Content, last.IntendedSize, last.SHA256); err != nil {
					return fmt.Errorf("write %s: %w", listFile, err)
				}
				objects++
				bytes += last.IntendedSize
			}
			if len(rows) < batch {
				return nil
			}
		}
	})
	return objects, bytes, err
}

// writeDurably makes a file that only its owner can read.
func writeDurably(file string, write func(io.Writer) error) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	buffered := bufio.NewWriter(f)
	err = write(buffered)
	if err == nil {
		err = errors.Join(buffered.Flush(), f.Sync())
	}
	return errors.Join(err, f.Close())
}

func sumOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read the backup: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read the backup: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// ReadBackup reads backup.json, and compares the sums of the other files and the secret key.
func ReadBackup(cfg config.Config, dir string) (b Backup, err error) {
	text, err := os.ReadFile(filepath.Join(dir, backupFile))
	if err != nil {
		return b, fmt.Errorf("%s is no complete backup: %w", dir, err)
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return b, fmt.Errorf("read %s: %w", backupFile, err)
	}
	for _, f := range [][2]string{{dumpFile, b.Dump}, {listFile, b.List}} {
		got, err := sumOf(filepath.Join(dir, f[0]))
		if err != nil {
			return b, err
		}
		if got != f[1] {
			return b, fmt.Errorf("%s in %s is damaged: its SHA-256 is not that of %s", f[0], dir, backupFile)
		}
	}
	sealer, err := seal.New(cfg.SecretKey, cfg.SecretKeyPrevious)
	if err != nil {
		return b, err
	}
	if _, err := sealer.Box("backup").Open(b.Key, backupBinding); err != nil {
		return b, errors.New("CONSIGN_SECRET_KEY is not that of the backup: nothing in it could be opened")
	}
	return b, nil
}

// Differing returns the names of the settings, but for those in which replicas may differ, that were others at the backup.
func (b Backup) Differing(cfg config.Config) (names []string, err error) {
	sealer, err := seal.New(cfg.SecretKey, cfg.SecretKeyPrevious)
	if err != nil {
		return nil, err
	}
	marks, own := cfg.Marks(func(name, value string) string { return probe.Mark(sealer, name, value) })
	for _, s := range config.Reference() {
		if before, ok := b.Settings[s.Name]; ok && !own[s.Name] && before != marks[s.Name] {
			names = append(names, s.Name)
		}
	}
	return names, nil
}
