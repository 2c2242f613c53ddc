package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// worst is the worst state of the objects of a reservation, as SQL of the reservation's uid.
func worst(reservation string) string {
	return `(SELECT i.state FROM transfer.objects o JOIN transfer.inspections i ON i.content = coalesce(o.content, o.uid)
		WHERE o.reservation = ` + reservation + ` ORDER BY array_position('{infected,scanning,failed,partly,clean}', i.state) LIMIT 1)`
}

// InsertInspections gives a new transfer its gate, and queues those of its objects that nobody has inspected. It reports whether anything
// was queued.
func (s *Store) InsertInspections(ctx context.Context, t id.Transfer, g transfer.Gate, now time.Time) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "queue inspections", nil, `
		WITH new AS (
			INSERT INTO transfer.inspections (content, transfer, bytes, created_at, due_at)
			SELECT DISTINCT coalesce(o.content, o.uid), t.uid, o.held, $4::timestamptz, $4::timestamptz
			FROM transfer.transfers t JOIN transfer.objects o ON o.reservation = t.reservation WHERE t.uid = $1 AND o.held > 0
			ON CONFLICT ON CONSTRAINT inspections_pkey DO NOTHING RETURNING content
		)
		UPDATE transfer.transfers t SET held_states = $2, held_rules = $3, held_anyway = $5,
			malware_status = CASE WHEN EXISTS (SELECT FROM new) THEN 'scanning' ELSE `+worst("t.reservation")+` END
		WHERE t.uid = $1 RETURNING EXISTS (SELECT FROM new)`, t, g.HeldStates, g.HeldRules, now, g.HeldAnyway)
}

// DueInspection is an inspection that a server has taken.
type DueInspection struct {
	Content   id.Object
	Bytes     int64
	Attempts  int32 // with this one
	CreatedAt time.Time
}

// TakeInspection takes the inspection that is due longest, until a time: then another server may take it. found is false when none is due.
func (s *Store) TakeInspection(ctx context.Context, now, until time.Time) (d DueInspection, found bool, err error) {
	d, err = database.One[DueInspection](ctx, s.q, "take inspection", nil, `
		WITH due AS (
			SELECT content FROM transfer.inspections WHERE due_at <= $1 ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
		)
		UPDATE transfer.inspections i SET due_at = $2, attempts = attempts + 1 FROM due WHERE i.content = due.content
		RETURNING i.content, i.bytes, i.attempts, i.created_at`, now, until)
	return d, !d.Content.IsZero(), err
}

// RenewInspections keeps inspections that this server has taken.
func (s *Store) RenewInspections(ctx context.Context, contents []id.Object, until time.Time) error {
	_, err := database.Exec(ctx, s.q, "renew inspections", `
		UPDATE transfer.inspections SET due_at = $2 WHERE content = ANY ($1) AND due_at IS NOT NULL`, contents, until)
	return err
}

// SaveInspection stores a verdict, and when the next attempt is due; the zero time: never. It reports the state before.
func (s *Store) SaveInspection(ctx context.Context, content id.Object, v transfer.Scan,
	due time.Time) (before transfer.ScanState, err error) {
	rules := v.Rules
	if rules == nil {
		rules = []string{}
	}
	return database.Scalar[transfer.ScanState](ctx, s.q, "save inspection", nil, `
		WITH old AS (SELECT content, state FROM transfer.inspections WHERE content = $1 FOR UPDATE)
		UPDATE transfer.inspections i SET state = $2, engine = $3, signatures = $4, finding = $5, rules = $6, scanned_at = $7, due_at = $8,
			attempts = CASE WHEN $8::timestamptz IS NULL THEN 0 ELSE attempts END
		FROM old WHERE i.content = old.content RETURNING old.state`,
		content, v.State, database.Null(v.Engine), database.Null(v.Signatures), database.Null(v.Finding), rules, v.At, database.Null(due))
}

// PostponeInspection puts off an inspection that got no verdict. What is known stays; an inspection that has no verdict yet becomes
// failed, if failed is set. It reports whether that changed it.
func (s *Store) PostponeInspection(ctx context.Context, content id.Object, due time.Time, failed bool) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "postpone inspection", nil, `
		WITH old AS (SELECT content, state FROM transfer.inspections WHERE content = $1 FOR UPDATE)
		UPDATE transfer.inspections i SET due_at = $2, state = CASE WHEN $3 AND i.state = 'scanning' THEN 'failed' ELSE i.state END
		FROM old WHERE i.content = old.content RETURNING i.state <> old.state`, content, due, failed)
}

// WaitingInspections returns up to limit contents that have waited for a verdict since before a time.
func (s *Store) WaitingInspections(ctx context.Context, before time.Time, limit int) ([]id.Object, error) {
	return database.Scalars[id.Object](ctx, s.q, "list waiting inspections", `
		SELECT content FROM transfer.inspections WHERE state = 'scanning' AND created_at < $1 LIMIT $2`, before, limit)
}

// FailInspections makes inspections failed that have no verdict yet. They stay due. It returns their number.
func (s *Store) FailInspections(ctx context.Context, contents []id.Object) (int, error) {
	return database.Exec(ctx, s.q, "fail inspections", `
		UPDATE transfer.inspections SET state = 'failed' WHERE content = ANY ($1) AND state = 'scanning'`, contents)
}

// Inspected is a transfer whose state of inspection has changed.
type Inspected struct {
	UID    id.Transfer
	Before transfer.ScanState
	After  transfer.ScanState
}

// LockInspected locks the living transfers that have these contents and inspect them, in the order of their uids. Verdicts about one
// transfer wait for one another: the last one sees all.
func (s *Store) LockInspected(ctx context.Context, contents []id.Object) ([]id.Transfer, error) {
	return database.Scalars[id.Transfer](ctx, s.q, "lock inspected transfers", `
		SELECT t.uid FROM transfer.transfers t
		WHERE t.reservation IN (SELECT o.reservation FROM transfer.objects o WHERE o.uid = ANY ($1) OR o.content = ANY ($1))
			AND t.ended_at IS NULL AND t.held_states IS NOT NULL
		ORDER BY t.uid FOR NO KEY UPDATE`, contents)
}

// SettleInspections brings the states of locked transfers up to date, and returns those that have changed. A transfer that waits for
// other verdicts stays as it is, unless urgent is set.
func (s *Store) SettleInspections(ctx context.Context, uids []id.Transfer, urgent bool) ([]Inspected, error) {
	return database.All[Inspected](ctx, s.q, "settle inspections", `
		WITH now AS (
			SELECT t.uid, t.malware_status AS before, `+worst("t.reservation")+` AS after FROM transfer.transfers t
			WHERE t.uid = ANY ($1) AND ($2 OR NOT EXISTS (SELECT FROM transfer.inspections i WHERE i.transfer = t.uid AND i.state = 'scanning'))
		)
		UPDATE transfer.transfers t SET malware_status = n.after FROM now n WHERE t.uid = n.uid AND n.after IS DISTINCT FROM n.before
		RETURNING t.uid, coalesce(n.before, '') AS before, coalesce(n.after, '') AS after`, uids, urgent)
}

// FirstHeld returns the inspection of an object of an archive that a gate holds, nil when all may be given. only: none means all objects.
func (s *Store) FirstHeld(ctx context.Context, r id.Reservation, only []id.Object, g transfer.Gate) (*transfer.Scan, error) {
	type row struct{ Scan *transfer.Scan }
	found, err := database.One[row](ctx, s.q, "find held object", nil, `
		SELECT `+scanColumn+` FROM transfer.objects o JOIN transfer.inspections h ON h.content = coalesce(o.content, o.uid)
		WHERE o.reservation = $1 AND (cardinality($2::uuid[]) = 0 OR o.uid = ANY ($2)) AND (h.removed_at IS NOT NULL OR h.state = ANY ($3)
			OR h.rules && $4)
		ORDER BY h.state = 'scanning', o.position LIMIT 1`, r, append([]id.Object{}, only...), g.HeldStates, g.HeldRules)
	return found.Scan, err
}

// Rescan makes up to limit inspections due whose verdict is of other signatures, of files that were delivered after a time.
func (s *Store) Rescan(ctx context.Context, engine, signatures string, since, now time.Time, limit int) (int, error) {
	return database.Exec(ctx, s.q, "rescan", `
		UPDATE transfer.inspections SET due_at = $4 WHERE content IN (
			SELECT content FROM transfer.inspections
			WHERE due_at IS NULL AND created_at > $3 AND state IN ('clean', 'partly') AND (engine, signatures) IS DISTINCT FROM ($1::text, $2::text)
			ORDER BY created_at LIMIT $5 FOR UPDATE SKIP LOCKED)`, engine, database.Null(signatures), since, now, limit)
}

// RemoveInfected discards the bytes of up to limit contents that were found infected before a time. It returns their number.
func (s *Store) RemoveInfected(ctx context.Context, before, now time.Time, limit int) (int, error) {
	return database.Exec(ctx, s.q, "discard infected bytes", `
		WITH gone AS (
			UPDATE transfer.inspections SET removed_at = $2, due_at = NULL WHERE content IN (
				SELECT content FROM transfer.inspections WHERE state = 'infected' AND removed_at IS NULL AND scanned_at < $1
				ORDER BY scanned_at LIMIT $3 FOR UPDATE SKIP LOCKED)
			RETURNING content
		)
		INSERT INTO transfer.discarded_objects (object, discarded_at, unshared) SELECT content, $2, true FROM gone
		ON CONFLICT ON CONSTRAINT discarded_objects_pkey DO UPDATE SET discarded_at = excluded.discarded_at,
			busy_until = NULL`, before, now, limit)
}

// InspectAgain makes the contents of a transfer, or of one object, due now. It returns how many.
func (s *Store) InspectAgain(ctx context.Context, t id.Transfer, o id.Object, now time.Time) (int, error) {
	return database.Exec(ctx, s.q, "inspect again", `
		UPDATE transfer.inspections SET due_at = $3, attempts = 0 WHERE removed_at IS NULL AND content IN (
			SELECT coalesce(o.content, o.uid) FROM transfer.objects o LEFT JOIN transfer.transfers t ON t.reservation = o.reservation
			WHERE t.uid = $1 OR o.uid = $2)`, t, o, now)
}

// InspectionCounts says how many inspections there are in each state, how many wait, and since when the oldest is due.
type InspectionCounts struct {
	Waiting   int64
	OldestDue *time.Time
	Failed    int64
}

// InspectionQueue returns what waits for a verdict.
func (s *Store) InspectionQueue(ctx context.Context) (InspectionCounts, error) {
	return database.One[InspectionCounts](ctx, s.q, "count inspections", nil, `
		SELECT count(*) AS waiting, min(created_at) FILTER (WHERE state = 'scanning') AS oldest_due,
			count(*) FILTER (WHERE state = 'failed') AS failed
		FROM transfer.inspections WHERE due_at IS NOT NULL`)
}

// InfectedFile is the name of an infected file and what was found in it.
type InfectedFile struct{ Name, Finding string }

// InfectedFile returns the first infected file of a reservation.
func (s *Store) InfectedFile(ctx context.Context, r id.Reservation) (InfectedFile, error) {
	return database.One[InfectedFile](ctx, s.q, "find infected file", nil, `
		SELECT coalesce(o.name, '') AS name, coalesce(i.finding, '') AS finding
		FROM transfer.objects o JOIN transfer.inspections i ON i.content = coalesce(o.content, o.uid)
		WHERE o.reservation = $1 AND i.state = 'infected' ORDER BY o.position LIMIT 1`, r)
}
