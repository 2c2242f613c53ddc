// Package audit owns the record of who did what, to whom and from where (contract 3.20). An entry is appended in the
// transaction of the change it records, so there is never one without the other. It records facts for an operator; it
// is no feed (package events) and no log, and it holds no passwords, keys, codes or tokens.
package audit

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
)

// Entry is one recorded change.
type Entry struct {
	Actor        id.Person         // who; zero: nobody known (a stranger, an operator's command, a job)
	Action       string            // what, as "resource.verb": session.login, password.change, transfer.confirm
	Object       string            // uid of the changed thing, or another name of it that is no key; may be empty
	Target       id.Person         // to whom; zero: nobody else
	Organization id.Organization   // in whose name; zero: none
	Client       token.Client      // from where: address and user agent are recorded
	Details      map[string]string // further facts, by name; what looks like a secret is withheld
}

// Record is an entry as stored.
type Record struct {
	Entry
	ID int64     // order of writing
	At time.Time // when, UTC
}

// Append records e in q's transaction. One statement.
func Append(ctx context.Context, q database.Querier, now time.Time, e Entry) error {
	_, err := database.Exec(ctx, q, "audit "+e.Action, `
		INSERT INTO audit (at, actor, action, object, target, organization, address, user_agent, details)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		now, database.Null(e.Actor), e.Action, plain(e.Object), database.Null(e.Target), database.Null(e.Organization),
		database.Null(e.Client.Address.Unmap().WithZone("")), plain(e.Client.UserAgent), safe(e.Details))
	return err
}

// Filter selects entries; its zero value selects the newest 100.
type Filter struct {
	Person id.Person // as actor or as target; zero: anybody
	Action string    // this action, or with a trailing dot every action of a resource ("session."); empty: all
	Since  time.Time // at or after; zero: all that is kept
	Before int64     // only entries with a smaller ID, to page on; 0: from the newest
	Limit  int       // at most so many, 1 to MaxLimit; 0: 100
}

// MaxLimit is how many entries one List gives at most.
const MaxLimit = 1000

const (
	defaultLimit = 100
	cleanBatch   = 5000 // rows a statement of Clean deletes, so that it never locks for long
)

// List returns the entries that filter selects, newest first.
func List(ctx context.Context, q database.Querier, filter Filter) ([]Record, error) {
	limit := filter.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	args := []any{filter.Action, database.Null(filter.Since), cmp.Or(filter.Before, math.MaxInt64), min(limit, MaxLimit)}
	sql := newest("true")
	if !filter.Person.IsZero() {
		args = append(args, filter.Person)
		// Each half walks an index of its own from the newest entry and stops at the limit.
		sql = `(` + newest("actor = $5") + `) UNION ALL (` + newest("target = $5 AND actor IS DISTINCT FROM $5") + `) ORDER BY id DESC LIMIT $4`
	}
	records, err := database.All[Record](ctx, q, "list audit", sql, args...)
	for i := range records {
		records[i].At = records[i].At.UTC()
	}
	return records, err
}

// newest is the statement for the newest entries of which the condition holds.
func newest(condition string) string {
	return `SELECT id, at, actor, action, object, target, organization,
			json_build_object('Address', host(address), 'UserAgent', user_agent) AS client, details
		FROM audit
		WHERE ` + condition + `
			AND ($1 = '' OR action = $1 OR ($1 LIKE '%.' AND starts_with(action, $1)))
			AND ($2::timestamptz IS NULL OR at >= $2)
			AND id < $3
		ORDER BY id DESC LIMIT $4`
}

// Clean deletes the entries made before the given time and returns their number.
func Clean(ctx context.Context, q database.Querier, before time.Time) (int, error) {
	total := 0
	for {
		n, err := database.Exec(ctx, q, "clean audit", `
			DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < $1 ORDER BY at LIMIT $2)`, before, cleanBatch)
		total += n
		if err != nil || n < cleanBatch {
			return total, err
		}
	}
}
