// Checks of the database, migrations, LISTEN, secret key, free organization, stored files and clocks.

package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/consign-dev/consign/internal/database"
)

const (
	leastVersion = 15 // the oldest release of Postgres that is tested
	slowTrip     = 5 * time.Millisecond
	clockWarning = 5 * time.Second
	clockError   = 60 * time.Second
	oldBackup    = 48 * time.Hour // as the alert ConsignBackupOld
)

// examine looks at the database once for all checks.
func (r *run) examine(ctx context.Context) (database.Examination, error) {
	ctx, cancel := context.WithTimeout(ctx, 9*time.Second)
	defer cancel()
	switch {
	case r.Examine != nil:
		return r.Examine(ctx)
	case r.Database == nil:
		return database.Examination{}, r.DatabaseError
	}
	return r.Database.Examine(ctx, r.Now)
}

// database: reached, of the right version and encoding, near, durable, with connections left.
func (r *run) database(context.Context) []Finding {
	e, err := r.examined()
	if err != nil {
		return found("database.unreachable", Error, "Start Postgres, and compare CONSIGN_DATABASE_URL: host, name, role, password, pg_hba.conf.",
			"The database is not reached: %s.", short(err))
	}
	var all []Finding
	add := func(f []Finding) { all = append(all, f...) }
	if e.Version < leastVersion*10000 {
		add(found("database.version", Error, "Move to a newer Postgres (15, 17 and 18 are tested).", "Postgres %s is older than %d.", e.Release,
			leastVersion))
	}
	if e.Encoding != "UTF8" {
		add(found("database.encoding", Error, "Make it with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0, and restore a dump into it.",
			"The database is encoded in %s: names and subjects in UTF-8 are not stored.", e.Encoding))
	}
	if e.ReadOnly {
		add(found("database.read-only", Error,
			"Point CONSIGN_DATABASE_URL at the primary, with target_session_attrs=read-write, or promote this one.",
			"The database cannot be written: it is a standby, or was switched to reading."))
	}
	if !e.Durable {
		add(found("database.durable", Warning, "Turn fsync and full_page_writes on, and restart Postgres.",
			"Postgres runs without fsync or full_page_writes: a power failure destroys the database."))
	}
	if e.Superuser && !r.OwnDatabase {
		add(found("database.superuser", Hint, "Give Consign a role that owns its database and is no superuser.",
			"Consign's role is a superuser of Postgres."))
	}
	if need := r.MaxConnections + 1 - e.Own; e.Free < need {
		severity := Warning
		if e.Free < 3 {
			severity = Error
		}
		add(found("database.connections", severity, "Raise max_connections of Postgres, or lower CONSIGN_DATABASE_MAX_CONNECTIONS.",
			"%d connections to Postgres are free, and this server may need %d more.", e.Free, need))
	}
	if e.Latency > slowTrip {
		add(found("database.latency", Warning, "Bring server and database closer together: a request makes several round trips.",
			"A round trip to the database takes %s.", inWords(e.Latency)))
	}
	if len(all) == 0 || Worst(all) == Hint {
		add(fine("database", "Postgres %s answers within %s; %d connections are free.", e.Release, inWords(e.Latency), e.Free))
	}
	return all
}

// migrations: the database is as new as the program. A server does not start with an older one.
func (r *run) migrations(ctx context.Context) []Finding {
	if _, err := r.examined(); err != nil || r.Database == nil {
		return skipped("migrations")
	}
	if newer, err := r.Database.Newer(ctx); err == nil && newer {
		return found("migrations.newer", Warning,
			"Install the newer version here, too. During an upgrade this ends with the restart of the last replica.",
			"A newer version of Consign has migrated the database: this program is an old one.")
	}
	if r.Serving {
		return nil
	}
	pending, err := r.Database.Pending(ctx)
	switch {
	case errors.Is(err, database.ErrFormer):
		return found("migrations.former", Error, "Use an empty database.", "The database belongs to a version of Consign before 1.0.0.")
	case err != nil:
		return found("migrations.unknown", Error, "Give Consign's role the right to read its tables.",
			"Which migrations are applied is not known: %s.", short(err))
	case pending:
		return found("migrations.pending", Error, "Back the database up, then run consign migrate up.",
			"The database is older than this program.")
	}
	return fine("migrations", "All migrations are applied.")
}

// listen: notifications between replicas arrive.
func (r *run) listen(ctx context.Context) []Finding {
	if _, err := r.examined(); err != nil || r.Database == nil {
		return skipped("listen")
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := r.Database.TryListen(ctx, r.ListenURL); err != nil {
		return found("listen.deaf", Error, "Point CONSIGN_LISTEN_DATABASE_URL at the same database, without a pooler.",
			"Notifications of the database do not arrive: %s.", short(err))
	}
	return fine("listen", "Notifications of the database arrive.")
}

// secretKey: the key opens what is sealed in the database; its file is for nobody else.
func (r *run) secretKey(ctx context.Context) []Finding {
	var all []Finding
	if r.SecretFile != "" {
		info, err := os.Stat(r.SecretFile)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			all = found("secret-key.none", Hint, "The first start makes one.", "There is no secret key yet.")
		case err != nil:
			all = found("secret-key.unread", Error, "Run this as the user of the server.", "The file of the secret key is not read: %s.", short(err))
		case info.Mode().Perm()&0o077 != 0:
			all = found("secret-key.open", Error, "chmod 600 "+r.SecretFile, "The file of the secret key, %s, can be read by other users (%s).",
				r.SecretFile, info.Mode().Perm())
		}
	}
	if r.PreviousKey {
		all = append(all, found("secret-key.previous", Hint, "Run consign keys reseal, and remove it once the longest transfer has expired.",
			"CONSIGN_SECRET_KEY_PREVIOUS is set.")...)
	}
	if _, err := r.examined(); err != nil || r.SealedKeys == nil {
		return append(all, skipped("secret-key")...)
	}
	n, shut, err := r.SealedKeys(ctx)
	switch {
	case err != nil:
		return append(all, found("secret-key.unknown", Hint, "See the checks database and migrations.",
			"Whether the secret key opens what is sealed is not known: %s.", short(err))...)
	case len(shut) > 0:
		return append(all, found("secret-key.wrong", Error,
			"Set the key of this database again, or as CONSIGN_SECRET_KEY_PREVIOUS if you changed it.",
			"The secret key does not open %d of %d signing keys in the database.", len(shut), n)...)
	}
	return append(all, found("secret-key.backup", Hint,
		"Keep a copy apart from the backups. To check a copy, run consign doctor with CONSIGN_SECRET_KEY set to it.",
		"The secret key opens what is sealed in the database (%d keys). Nobody can see from here whether you have a copy, and without it the "+
			"database is useless.", n)...)
}

// organization: the public host is the free organization's.
func (r *run) organization(ctx context.Context) []Finding {
	if _, err := r.examined(); err != nil || r.FreeOrganization == nil {
		return skipped("organization")
	}
	is, err := r.FreeOrganization(ctx)
	switch {
	case err != nil:
		return found("organization.unknown", Error, "See the checks database and migrations.", "The free organization is not found: %s.",
			short(err))
	case !is:
		return found("organization.none", Error,
			"Start the server with this CONSIGN_PUBLIC_URL: it makes the organization, or gives it that host.",
			"No free organization has the host %s of the public URL: nobody can sign up there.", r.PublicURL.Hostname())
	}
	return fine("organization", "The free organization has the host %s.", r.PublicURL.Hostname())
}

// integrity: the stored files are those that were sent, and a backup has them.
func (r *run) integrity(ctx context.Context) []Finding {
	if _, err := r.examined(); err != nil || r.Integrity == nil {
		return skipped("integrity")
	}
	i, err := r.Integrity(ctx)
	if err != nil {
		return found("integrity.unknown", Hint, "See the checks database and migrations.", "Whether files are damaged is not known: %s.",
			short(err))
	}
	var all []Finding
	if i.Damaged > 0 {
		all = append(all, found("integrity.damaged", Error,
			"The page Storage of the console names their transfers. Restore the files from a backup: within an hour they are given out again.",
			"Lost or damaged files: %d. Nobody gets them.", i.Damaged)...)
	}
	if i.Problems > 0 {
		all = append(all, found("integrity.problems", Warning, "The page Storage of the console lists them, as consign fsck does.",
			"The last check of all files found problems: %d.", i.Problems)...)
	}
	switch age := r.Now().Sub(i.BackedUp); {
	case i.BackedUp.IsZero():
		all = append(all, found("integrity.no-backup", Hint, "End your backup script with consign backup record.",
			"No backup was ever recorded.")...)
	case age > oldBackup:
		all = append(all, found("integrity.old-backup", Warning, "See why the backup script does not reach consign backup record.",
			"The last backup was recorded %s ago.", inWords(age))...)
	}
	if len(all) == 0 || Worst(all) == Hint {
		all = append(all, fine("integrity", "No stored file is known to be lost or damaged.")...)
	}
	return all
}

// clock: this machine, the database and the server at the public URL agree.
func (r *run) clock(context.Context) []Finding {
	var all []Finding
	judge := func(id, whose string, ahead time.Duration) {
		if ahead.Abs() < clockWarning {
			return
		}
		severity, direction := Warning, "ahead of"
		if ahead.Abs() >= clockError {
			severity = Error
		}
		if ahead < 0 {
			direction = "behind"
		}
		all = append(all, found(id, severity,
			"Let both set their clocks by NTP (timedatectl). Codes of authenticator apps, tokens and signed requests depend on it.",
			"The clock of %s is %s %s this machine's.", whose, inWords(ahead.Abs()), direction)...)
	}
	known := 0
	if e, err := r.examined(); err == nil {
		judge("clock.database", "the database", e.Ahead)
		known++
	}
	if a := r.asked(); a.err == nil && a.known {
		judge("clock.server", "the server at the public URL", a.answer.Time.Sub(a.at))
		known++
	}
	if a := r.asked(); a.err == nil && !a.date.IsZero() {
		judge("clock.public", "the public URL (header Date)", a.date.Sub(a.at.Truncate(time.Second)))
		known++
	}
	switch {
	case known == 0:
		return found("clock.skipped", Hint, "See the checks database and public-url.",
			"Not checked, because neither the database nor the public URL answers.")
	case len(all) == 0:
		return fine("clock", "All clocks agree within %s.", clockWarning)
	}
	return all
}
