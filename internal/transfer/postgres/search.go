// SQL of search and filter among a person's transfers.

package postgres

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

const (
	// leastIndexed is how many characters the index of search texts needs (migrations/0006_transfer.sql).
	leastIndexed = 3
	// walked is how many of the newest received and sent transfers a search examines one by one before it asks the index. A frequent
	// word fills its page from these.
	walked = 100
)

// found tells whether the pattern matches the candidate c. It ignores case and the Unicode form of accents (macOS decomposes them in
// file names). A recipient's search does not see what a protection or the expiry (not after now) hides, and sees the own notes. Both are
// aggregates, because with EXISTS and thousands of candidates the planner reads all transfers.
func foundReceived(pattern, now string) string {
	return `(SELECT coalesce(bool_or(CASE WHEN t.expires_at > ` + now + ` AND t.protection <> 'password' AND ` + verified + `
			THEN t.search ELSE lower(normalize(concat_ws(' ', t.sender_name, t.sender_email))) END LIKE lower(normalize(` + pattern + `))
			OR lower(normalize(d.notes)) LIKE lower(normalize(` + pattern + `))), false)
		FROM transfer.transfers t JOIN transfer.deliveries d ON d.transfer = t.uid WHERE t.uid = c.uid AND d.person = $1 AND d.hidden_at IS NULL)`
}

func foundSent(pattern string) string {
	return `(SELECT coalesce(bool_or(t.search LIKE lower(normalize(` + pattern +
		`)) OR lower(normalize(concat_ws(' ', d.name, d.email))) LIKE lower(normalize(` + pattern + `))), false)
		FROM transfer.transfers t LEFT JOIN transfer.deliveries d ON d.transfer = t.uid WHERE t.uid = c.uid)`
}

// search returns a page of what matches the text and the filter. A page that the newest candidates do not fill comes from the index, or, of
// a filter alone, from more candidates. A text that is too short for the index is looked for among page.Candidates of each half: then a
// page may be empty and have a next one.
func (s *Store) search(ctx context.Context, p id.Person, page Page, sc Scope) ([]SeenTransfer, Position, error) {
	most := page.Candidates
	again := page.Search == "" || utf8.RuneCountInString(page.Search) >= leastIndexed
	if again {
		page.Candidates = min(most, walked)
	}
	seen, next, err := s.walk(ctx, p, page, sc)
	if err != nil || !again || len(seen) == page.Limit || next == (Position{}) {
		return seen, next, err
	}
	if page.Search == "" {
		page.Candidates = most
		return s.walk(ctx, p, page, sc)
	}
	l := newListing(p, page, sc)
	inbox, outbox := l.conditions(sc)
	hits := `hits AS MATERIALIZED (
			SELECT transfer AS uid FROM transfer.search_texts
			WHERE parties @> ARRAY[$1::uuid] AND transfer.trigrams(words) @> transfer.trigrams(lower(normalize(` + l.arg(page.Search) + `::text)))
		), `
	return s.page(ctx, "search transfers by index", page, l, hits,
		l.hitHalf(l.received(" JOIN hits ON hits.uid = d.transfer"), inbox), l.hitHalf(l.sent(" JOIN hits ON hits.uid = t.uid"), outbox))
}

// walk returns a page of what matches among page.Candidates of each half.
func (s *Store) walk(ctx context.Context, p id.Person, page Page, sc Scope) ([]SeenTransfer, Position, error) {
	l := newListing(p, page, sc)
	inbox, outbox := l.conditions(sc)
	candidates := l.arg(page.Candidates)
	return s.page(ctx, "search transfers", page, l, "", l.searchedHalf(l.received(""), inbox, candidates),
		l.searchedHalf(l.sent(""), outbox, candidates))
}

// conditions tell of the candidate c of each half whether the page shows it. They add only arguments that the statement uses.
func (l *listing) conditions(sc Scope) (inbox, outbox string) {
	now := ""
	if l.page.Search != "" && l.page.Received || l.page.Filter != transfer.FilterNone && l.page.Filter != transfer.FilterPinned {
		now = l.arg(sc.Now)
	}
	if inbox, outbox = l.filtered(now), l.filtered(now); l.page.Search != "" {
		like := l.arg(pattern(l.page.Search))
		inbox, outbox = inbox+` AND `+foundReceived(like, now), outbox+` AND `+foundSent(like)
	}
	return inbox, outbox
}

// filtered tells whether the filter lets the candidate c pass, as an aggregate like foundReceived.
func (l *listing) filtered(now string) string {
	condition := ""
	switch l.page.Filter {
	case transfer.FilterNew, transfer.FilterOpen:
		condition = `t.ended_at IS NULL AND t.expires_at > ` + now
	case transfer.FilterExpired:
		condition = `t.ended_at IS NOT NULL OR t.expires_at <= ` + now
	case transfer.FilterPinned:
		condition = `t.pinned_expiry IS NOT NULL AND t.ended_at IS NULL`
	default:
		return `true`
	}
	return `(SELECT coalesce(bool_or(` + condition + `), false) FROM transfer.transfers t WHERE t.uid = c.uid)`
}

// searchedHalf is a half of a page with a search: what matches among the newest candidates, and the last of these candidates,
// since nothing after it was examined.
func (l *listing) searchedHalf(all, found, candidates string) string {
	return `(SELECT * FROM (
			SELECT c.created_at, c.uid, ` + found + ` AS found, row_number() OVER (` + l.order + `) = ` + candidates + ` AS last
			FROM (` + all + l.order + ` LIMIT ` + candidates + `) c
		) c WHERE found OR last` + l.order + ` LIMIT $3)`
}

// hitHalf is a half of a page with a search by the index: what matches of all that the index names. It examines them from the newest
// until the page is full.
func (l *listing) hitHalf(all, found string) string {
	return `(SELECT c.created_at, c.uid, true AS found, false AS last FROM (` + all + l.order + ` OFFSET 0) c WHERE ` + found + l.order +
		` LIMIT $3)`
}

// page runs the statement of a page, of the halves that it shows.
func (s *Store) page(ctx context.Context, operation string, page Page, l *listing, with, inbox,
	outbox string) ([]SeenTransfer, Position, error) {
	halves := inbox + ` UNION ALL ` + outbox
	switch {
	case !page.Sent:
		halves = inbox
	case !page.Received:
		halves = outbox
	}
	list, err := database.All[candidate](ctx, s.q, operation, `
		WITH `+with+`page AS (SELECT created_at, uid, bool_or(found) AS found, bool_or(last) AS last FROM (`+halves+`) h GROUP BY created_at, uid)
		SELECT page.found, page.last, `+pageColumns+` FROM page JOIN transfer.transfers t ON t.uid = page.uid `+seenDelivery+` `+contentBytes+`
		`+strings.NewReplacer("created_at", "page.created_at", "uid", "page.uid").Replace(l.order)+` LIMIT $3`, l.args...)
	if err != nil {
		return nil, Position{}, err
	}
	seen, next := cut(list, page.Limit)
	return seen, next, nil
}
