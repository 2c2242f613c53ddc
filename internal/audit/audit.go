// Package audit stores the audit trail (contract 3.20): who did what, to whom and from where. Append stores an entry in the transaction
// of the change, so both commit or neither does. Entries are facts for operators. They hold no passwords, keys, codes or tokens.
package audit

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

// Entry is one recorded change.
type Entry struct {
	Actor
	Action       string            // "resource.verb": session.login, password.change, transfer.confirm
	Object       string            // uid or other name of the changed resource, never a key; may be empty
	Target       id.Person         // affected person; zero: none but the actor
	Organization id.Organization   // for which the actor acted; zero: none
	Details      map[string]string // further facts, by name; values that look like secrets are withheld
}

// Facts returns the details in one line, by name.
func (e Entry) Facts() string {
	facts := make([]string, 0, len(e.Details))
	for _, name := range slices.Sorted(maps.Keys(e.Details)) {
		facts = append(facts, name+"="+e.Details[name])
	}
	return strings.Join(facts, "; ")
}

// Record is an entry as stored.
type Record struct {
	Entry
	ID int64     // rises with each entry
	At time.Time // UTC
}

// Sequence returns the ID: the position of the record in the audit.
func (r Record) Sequence() int64 { return r.ID }

// Append stores e in the transaction of q, in one statement. While the audit is streamed, it queues the entry for package stream.
func Append(ctx context.Context, q database.Querier, now time.Time, e Entry) error {
	_, err := database.Exec(ctx, q, "audit "+e.Action, `
		WITH entry AS (
			INSERT INTO audit (at, kind, actor, action, object, target, organization, address, user_agent, details)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id, at
		)
		INSERT INTO audit_pending (id, at) SELECT id, at FROM entry WHERE EXISTS (SELECT FROM audit_stream WHERE active)`,
		now, e.Kind, database.Null(e.Person), e.Action, plain(e.Object), database.Null(e.Target), database.Null(e.Organization),
		database.Null(e.Client.Address.Unmap().WithZone("")), plain(e.Client.UserAgent), safe(e.completed(e.Details)))
	return err
}

// columns are the columns of a Record.
const columns = `id, at, kind, actor AS person, action, object, target, organization, json_build_object('Address', host(address), 'UserAgent', user_agent) AS client, details`

// Filter selects entries; its zero value selects the newest 100.
type Filter struct {
	Person       id.Person       // actor or target; zero: all
	Organization id.Organization // for which the actor acted; zero: all
	Action       string          // one action, or with a trailing dot all actions of a resource ("session."); empty: all
	Since        time.Time       // earliest time; zero: all
	After        int64           // only entries with a smaller ID; 0: from the newest
	AsPerson     bool            // as Person may see them: without holds, of which only operators learn (contract 4.30)
	Limit        int             // 1 to MaxLimit; 0: 100
}

// MaxLimit is the largest Filter.Limit. List lowers larger ones.
const MaxLimit = 1000

const defaultLimit = 100

// List returns the entries that filter selects, newest first.
func List(ctx context.Context, q database.Querier, filter Filter) ([]Record, error) {
	limit := filter.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	args := []any{filter.Action, database.Null(filter.Since), cmp.Or(filter.After, math.MaxInt64), min(limit, MaxLimit)}
	sql := newest("true")
	switch {
	case !filter.Organization.IsZero():
		args = append(args, filter.Organization, database.Null(filter.Person))
		sql = newest("organization = $5 AND ($6::uuid IS NULL OR actor = $6 OR target = $6)")
	case !filter.Person.IsZero():
		args = append(args, filter.Person, filter.AsPerson)
		// Each half scans its own index from the newest entry and stops at the limit.
		byOthers := newest("target = $5 AND actor IS DISTINCT FROM $5 AND NOT ($6 AND starts_with(action, 'hold.'))")
		sql = `(` + newest("actor = $5") + `) UNION ALL (` + byOthers + `) ORDER BY id DESC LIMIT $4`
	}
	records, err := database.All[Record](ctx, q, "list audit", sql, args...)
	for i := range records {
		records[i].At = records[i].At.UTC()
	}
	return records, err
}

// Pages streams the entries that filter selects, as read returns them with more facts: up to filter.Limit of them; 0: all, page by page.
func Pages[E interface{ Sequence() int64 }](filter Filter, read func(Filter) ([]E, error)) iter.Seq2[E, error] {
	all := filter.Limit == 0
	if all {
		filter.Limit = MaxLimit
	}
	return func(yield func(E, error) bool) {
		for f := filter; ; {
			page, err := read(f)
			if err != nil {
				var none E
				yield(none, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if !all || len(page) < f.Limit {
				return
			}
			f.After = page[len(page)-1].Sequence()
		}
	}
}

// newest returns the statement for the newest entries that meet the condition.
func newest(condition string) string {
	return `SELECT ` + columns + `
		FROM audit
		WHERE ` + condition + `
			AND ($1 = '' OR action = $1 OR ($1 LIKE '%.' AND starts_with(action, $1)))
			AND ($2::timestamptz IS NULL OR at >= $2)
			AND id < $3
		ORDER BY id DESC LIMIT $4`
}
