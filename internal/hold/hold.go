// Package hold keeps what a case needs although the service deletes it (contract 4.30). It owns the tables hold_… and holds, which triggers
// fill: the statements that delete know nothing of it.
package hold

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/text"
)

// The kinds of what is held.
const (
	Transfer = "transfer"
	Person   = "person"  // with everything that the person sent, received or asked for
	Mailbox  = "mailbox" // with everything that was sent to it
)

// ErrNotFound says that there is no such hold, transfer, person or mailbox.
var ErrNotFound = fault.ErrNotFound

// Hold keeps a transfer, a person or a mailbox for a case.
type Hold struct {
	UID       uuid.UUID
	Kind      string
	Subject   uuid.UUID // a transfer, or a person
	Name      string    // of the case
	Reason    string
	Until     *time.Time // nil: until it is ended
	CreatedAt time.Time
}

// Listed is a hold with how much it keeps of what was deleted since.
type Listed struct {
	Hold
	Rows  int64
	Files int64
}

// Add begins a hold, which covers what exists of its subject and what comes later. It waits for deletions that are under way.
// Errors: fault.ErrInvalid, ErrNotFound.
func Add(ctx context.Context, db *database.DB, by audit.Actor, h Hold, now time.Time) (uuid.UUID, error) {
	var problems fault.Problems
	if h.Kind != Transfer && h.Kind != Person && h.Kind != Mailbox {
		problems.Add("kind", "must be transfer, person or mailbox")
	}
	for name, value := range map[string]string{"name": h.Name, "reason": h.Reason} {
		if strings.TrimSpace(value) == "" {
			problems.Add(name, "is required")
		} else if err := text.Line(value, text.MaxName); err != nil {
			problems.Add(name, err.Error())
		}
	}
	if h.Until != nil && !h.Until.After(now) {
		problems.Add("until", "must be in the future")
	}
	if err := problems.Err(); err != nil {
		return uuid.Nil, err
	}
	h.UID = uuid.New()
	by.Reason = h.Reason
	err := db.InTx(ctx, func(tx database.Tx) error {
		if _, err := database.Exec(ctx, tx, "add hold", `
			INSERT INTO holds (uid, kind, subject, name, reason, until, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			h.UID, h.Kind, h.Subject, h.Name, h.Reason, h.Until, now); err != nil {
			return err
		}
		found, err := database.Scalar[bool](ctx, tx, "begin hold", nil, `SELECT hold_begin($1)`, h.UID)
		if err != nil {
			return err
		}
		if !found {
			return ErrNotFound
		}
		return record(ctx, tx, by, h, "hold.add", now)
	})
	return h.UID, err
}

// List returns the holds, newest first.
func List(ctx context.Context, db *database.DB) ([]Listed, error) {
	return database.All[Listed](ctx, db.Pool, "list holds", `
		SELECT h.uid, h.kind, h.subject, h.name, h.reason, h.until, h.created_at,
			(SELECT count(*) FROM hold_rows r WHERE r.hold = h.uid) AS rows, (SELECT count(*) FROM hold_contents c WHERE c.hold = h.uid) AS files
		FROM holds h ORDER BY h.created_at DESC, h.uid`)
}

// End ends a hold. What it alone kept is deleted: rows at once, stored bytes by the next purge.
// Errors: ErrNotFound.
func End(ctx context.Context, db *database.DB, by audit.Actor, uid uuid.UUID, now time.Time) error {
	return db.InTx(ctx, func(tx database.Tx) error {
		h, err := database.One[Hold](ctx, tx, "end hold", ErrNotFound, `
			DELETE FROM holds WHERE uid = $1 RETURNING uid, kind, subject, name, reason, until, created_at`, uid)
		if err != nil {
			return err
		}
		return record(ctx, tx, by, h, "hold.end", now)
	})
}

// Expire ends the holds whose time is over.
func Expire(ctx context.Context, db *database.DB, now time.Time) error {
	due, err := database.Scalars[uuid.UUID](ctx, db.Pool, "list holds that are over", `SELECT uid FROM holds WHERE until <= $1`, now)
	if err != nil {
		return err
	}
	for _, uid := range due {
		if err := End(ctx, db, audit.Actor{Kind: audit.Job}, uid, now); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// Row is what was deleted or erased while a hold kept it, as it was before.
type Row struct {
	ID     int64
	Source string // the table
	At     time.Time
	Data   []byte // JSON
}

const exportBatch = 500

// Export calls write with each kept row, in the order in which they were deleted.
// Errors: ErrNotFound, those of write.
func Export(ctx context.Context, db *database.DB, uid uuid.UUID, write func(Row) error) error {
	if _, err := database.Scalar[uuid.UUID](ctx, db.Pool, "find hold", ErrNotFound, `SELECT uid FROM holds WHERE uid = $1`, uid); err != nil {
		return err
	}
	for after := int64(0); ; {
		rows, err := database.All[Row](ctx, db.Pool, "export hold", `
			SELECT id, source, at, data FROM hold_rows WHERE hold = $1 AND id > $2 ORDER BY id LIMIT $3`, uid, after, exportBatch)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			if err := write(r); err != nil {
				return err
			}
			after = r.ID
		}
	}
}

// record appends an audit entry. The entry itself is covered by the hold.
func record(ctx context.Context, tx database.Tx, by audit.Actor, h Hold, action string, now time.Time) error {
	e := audit.Entry{Actor: by, Action: action, Object: h.UID.String(), Details: map[string]string{
		"case": h.Name, "kind": h.Kind, "subject": h.Subject.String()}}
	if h.Kind != Transfer {
		e.Target = id.Person{UUID: h.Subject}
	}
	return audit.Append(ctx, tx, now, e)
}
