package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/operator"
)

// AddCounters adds what a replica has counted to the sample that begins at a time. free is the free space on its volume; nil: not known.
// It reports whether the sample still lacks its levels.
func (s *Store) AddCounters(ctx context.Context, at time.Time, c operator.Counters, free *int64) (lacks bool, err error) {
	return database.Scalar[bool](ctx, s.db.Pool, "add to sample", nil, `
		INSERT INTO samples AS s (at, requests, errors, uploads, downloads, bytes_in, bytes_out, free) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (at) DO UPDATE SET requests = s.requests + excluded.requests, errors = s.errors + excluded.errors,
			uploads = s.uploads + excluded.uploads,
			downloads = s.downloads + excluded.downloads, bytes_in = s.bytes_in + excluded.bytes_in, bytes_out = s.bytes_out + excluded.bytes_out,
			free = least(s.free, excluded.free)
		RETURNING mails IS NULL`, at, c.Requests, c.Errors, c.Uploads, c.Downloads, c.BytesIn, c.BytesOut, free)
}

// SetLevels stores the levels of a sample.
func (s *Store) SetLevels(ctx context.Context, at time.Time, l operator.Levels) error {
	_, err := database.Exec(ctx, s.db.Pool, "set levels of sample", `
		UPDATE samples SET mails = $2, jobs = $3, people = $4, transfers = $5, database = pg_database_size(current_database()) WHERE at = $1`,
		at, l.Mails, l.Jobs, l.People, l.Transfers)
	return err
}

// CountEnded counts in the audit what happened in the samples that have ended, step long each, and were not counted yet: those of the day
// before now.
func (s *Store) CountEnded(ctx context.Context, now time.Time, step time.Duration) error {
	_, err := database.Exec(ctx, s.db.Pool, "count events of samples", `
		UPDATE samples s SET (logins, deliveries) = (
			SELECT count(*) FILTER (WHERE action = 'session.login'), count(*) FILTER (WHERE action = 'transfer.deliver')
			FROM audit a WHERE a.at >= s.at AND a.at < s.at + $2::interval)
		WHERE s.logins IS NULL AND s.at <= $1::timestamptz - $2::interval AND s.at > $1::timestamptz - interval '1 day'`, now, step)
	return err
}

// Samples returns the samples of [from, until), joined to steps, oldest first. Steps without samples are missing.
func (s *Store) Samples(ctx context.Context, from, until time.Time, step time.Duration) ([]operator.Sample, error) {
	return database.All[operator.Sample](ctx, s.db.Pool, "list samples", `
		SELECT date_bin($3, at, 'epoch') AS at, sum(requests)::bigint AS requests, sum(errors)::bigint AS errors, sum(uploads)::bigint AS uploads,
			sum(downloads)::bigint AS downloads, sum(bytes_in)::bigint AS bytes_in, sum(bytes_out)::bigint AS bytes_out, min(free) AS free,
			sum(logins)::bigint AS logins, sum(deliveries)::bigint AS deliveries, max(mails) AS mails, max(jobs) AS jobs, max(database) AS database,
			max(people) AS people, max(transfers) AS transfers
		FROM samples WHERE at >= $1 AND at < $2 GROUP BY 1 ORDER BY 1`, from, until, step)
}

// DeleteSamples deletes the samples before a time.
func (s *Store) DeleteSamples(ctx context.Context, before time.Time) error {
	_, err := database.Exec(ctx, s.db.Pool, "delete samples", `DELETE FROM samples WHERE at < $1`, before)
	return err
}
