// Brings the database of a backup back, and checks its list of files.

package app

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// restoredSetting has the SHA-256 of the dump that a database was restored from.
const restoredSetting = "restored"

// Restore brings the dump of a backup into the database of cfg, which must be empty, all of it or nothing, and migrates it. It does nothing
// when it has done so before.
func Restore(ctx context.Context, cfg config.Config, dir string, b Backup, log *slog.Logger) (err error) {
	where, err := OpenDatabase(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	db, err := database.New(ctx, where.URL, 2)
	if err != nil {
		return err
	}
	defer db.Close()
	empty, err := database.Scalar[bool](ctx, db.Pool, "look for tables", nil, `SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p') AND n.nspname !~ '^(pg_|information_schema)')`)
	if err != nil {
		return err
	}
	if !empty {
		return alreadyRestored(ctx, db, b)
	}
	major, err := serverMajor(ctx, db)
	if err != nil {
		return err
	}
	if err := postgresProgram(ctx, major, where.URL, os.Stderr, "pg_restore", "--no-owner", "--exit-on-error", "--single-transaction",
		filepath.Join(dir, dumpFile)); err != nil {
		return err
	}
	if err := database.PutSetting(ctx, db.Pool, time.Now(), restoredSetting, b.Dump); err != nil {
		return err
	}
	return database.Migrate(ctx, where.URL, log)
}

// alreadyRestored returns an error unless the database was restored from this backup.
func alreadyRestored(ctx context.Context, db *database.DB, b Backup) error {
	var from string
	if _, err := database.Setting(ctx, db.Pool, restoredSetting, &from); err == nil && from == b.Dump {
		return nil
	}
	return errors.New("the database is not empty: a backup is restored into an empty one")
}

// VerifyRestored compares each file of a backup's list with the database and with the storage. It passes what is missing to report.
func (a *App) VerifyRestored(ctx context.Context, dir string, b Backup, report func(content.Finding) error,
	progress func(content.Progress)) (checked, missing int, err error) {
	f, err := os.Open(filepath.Join(dir, listFile))
	if err != nil {
		return 0, 0, fmt.Errorf("read the backup: %w", err)
	}
	defer f.Close()
	at := content.Progress{TotalObjects: b.Objects, TotalBytes: b.Bytes}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		object, size, sum, err := parseListed(lines.Text())
		if err != nil {
			return checked, missing, err
		}
		finding, err := a.Content.CheckListed(ctx, object, size, sum)
		if err != nil {
			return checked, missing, err
		}
		checked++
		if finding != nil {
			missing++
			if err := report(*finding); err != nil {
				return checked, missing, err
			}
		}
		at.Objects++
		at.Bytes += size
		progress(at)
	}
	return checked, missing, lines.Err()
}

// parseListed parses a line of listObjects.
func parseListed(line string) (object id.Object, size int64, sum []byte, err error) {
	words := strings.Fields(line)
	if len(words) == 3 {
		object, err = id.Parse[id.Object](words[0])
		if err == nil {
			size, err = strconv.ParseInt(words[1], 10, 64)
		}
		if err == nil {
			sum, err = hex.DecodeString(words[2])
		}
	}
	if len(words) != 3 || err != nil {
		return object, 0, nil, fmt.Errorf("%s has a line that is none of a file: %q", listFile, line)
	}
	return object, size, sum, nil
}
