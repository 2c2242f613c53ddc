package postgres

import (
	"context"
	"unicode/utf8"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

const (
	// leastIndexed is how many characters the index of search texts needs (migration 0032).
	leastIndexed = 3
	// walked is how many of the newest received and sent transfers a search examines one by one before it asks the index. A frequent
	// word fills its page from these.
	walked = 100
)

// found tells whether the pattern matches the candidate c. It ignores case and the Unicode form of accents (macOS decomposes them in
// file names). A recipient's search does not see what a protection or the expiry (not after now) hides. Both are aggregates, because with EXISTS and
// thousands of candidates the planner reads all transfers.
func foundReceived(pattern, now string) string {
	return `(SELECT coalesce(bool_or(CASE WHEN t.expires_at > ` + now + ` AND t.protection <> 'password' AND ` + verified + `
			THEN t.search ELSE lower(normalize(concat_ws(' ', t.sender_name, t.sender_email))) END LIKE lower(normalize(` + pattern + `))), false)
		FROM transfer.transfers t JOIN transfer.deliveries d ON d.transfer = t.uid WHERE t.uid = c.uid AND d.person = $1 AND d.hidden_at IS NULL)`
}

func foundSent(pattern string) string {
	return `(SELECT coalesce(bool_or(t.search LIKE lower(normalize(` + pattern + `)) OR lower(normalize(concat_ws(' ', d.name, d.email))) LIKE lower(normalize(` + pattern + `))), false)
		FROM transfer.transfers t LEFT JOIN transfer.deliveries d ON d.transfer = t.uid WHERE t.uid = c.uid)`
}

// search returns a page of what matches. A page that the newest candidates do not fill comes from the index. A text that is too short
// for the index is looked for among page.Candidates of each half: then a page may be empty and have a next one.
func (s *Store) search(ctx context.Context, p id.Person, page Page, sc Scope) ([]SeenTransfer, Position, error) {
	indexed := utf8.RuneCountInString(page.Search) >= leastIndexed
	if indexed {
		page.Candidates = min(page.Candidates, walked)
	}
	l := newListing(p, page, sc)
	like, candidates := l.arg(pattern(page.Search)), l.arg(page.Candidates)
	seen, next, err := s.page(ctx, "search transfers", page, l, "",
		searchedHalf(l.received(""), foundReceived(like, l.now(page, sc)), candidates), searchedHalf(l.sent(""), foundSent(like), candidates))
	if err != nil || !indexed || len(seen) == page.Limit || next == (Position{}) {
		return seen, next, err
	}
	l = newListing(p, page, sc)
	like = l.arg(pattern(page.Search))
	hits := `hits AS MATERIALIZED (
			SELECT transfer AS uid FROM transfer.search_texts
			WHERE parties @> ARRAY[$1::uuid] AND transfer.trigrams(words) @> transfer.trigrams(lower(normalize(` + l.arg(page.Search) + `::text)))
		), `
	return s.page(ctx, "search transfers by index", page, l, hits,
		hitHalf(l.received(" JOIN hits ON hits.uid = d.transfer"), foundReceived(like, l.now(page, sc))), hitHalf(l.sent(" JOIN hits ON hits.uid = t.uid"), foundSent(like)))
}

// now adds the time as an argument if the page has received transfers: a statement must use all its arguments.
func (l *listing) now(page Page, sc Scope) string {
	if !page.Received {
		return ""
	}
	return l.arg(sc.Now)
}

// searchedHalf is a half of a page with a search: what matches among the newest candidates, and the last of these candidates,
// since nothing after it was examined.
func searchedHalf(all, found, candidates string) string {
	return `(SELECT * FROM (
			SELECT c.created_at, c.uid, ` + found + ` AS found, row_number() OVER (ORDER BY c.created_at DESC, c.uid DESC) = ` + candidates + ` AS last
			FROM (` + all + newest + ` LIMIT ` + candidates + `) c
		) c WHERE found OR last` + newest + ` LIMIT $3)`
}

// hitHalf is a half of a page with a search by the index: what matches of all that the index names. It examines them from the newest
// until the page is full.
func hitHalf(all, found string) string {
	return `(SELECT c.created_at, c.uid, true AS found, false AS last FROM (` + all + newest + ` OFFSET 0) c WHERE ` + found + newest + ` LIMIT $3)`
}

// page runs the statement of a page, of the halves that it shows.
func (s *Store) page(ctx context.Context, operation string, page Page, l *listing, with, inbox, outbox string) ([]SeenTransfer, Position, error) {
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
		ORDER BY page.created_at DESC, page.uid DESC LIMIT $3`, l.args...)
	if err != nil {
		return nil, Position{}, err
	}
	seen, next := cut(list, page.Limit)
	return seen, next, nil
}
