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

	// Retention holds are made by rules of organizations (contract 4.32): one for each day on which they end. Only operators see and end them.
	Retention = "retention"
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

	Organization id.Organization // whose administrators hold it; zero: operators
	Notice       bool            // the people concerned see that it is kept
}

// Listed is a hold with how much it keeps of what was deleted since.
type Listed struct {
	Hold
	Email string // of the person, or of the mailbox's owner; empty when the account is deleted, or is no member of the organization any more
	Rows  int64
	Files int64
	Bytes int64 // that are charged to the organization
}

// MaxOfOrganization is how many holds the administrators of an organization can have at a time.
const MaxOfOrganization = 100

// errTooMany refuses a hold of administrators who have too many.
var errTooMany = fault.ErrConflict.With("there are 100 holds of the organization; end one first")

const columns = `h.uid, h.kind, h.subject, h.name, h.reason, h.until, h.created_at, h.notice,
	coalesce(h.organization, '00000000-0000-0000-0000-000000000000') AS organization`

// Add begins a hold, which covers what exists of its subject and what comes later. It waits for deletions that are under way.
// One of an organization covers only what belongs to it.
// Errors: fault.ErrInvalid, ErrNotFound; fault.ErrConflict when the organization has too many.
func Add(ctx context.Context, db *database.DB, by audit.Actor, h Hold, now time.Time, joined ...Join) (uuid.UUID, error) {
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
		for _, join := range joined {
			if err := join(ctx, tx); err != nil {
				return err
			}
		}
		if _, err := database.Exec(ctx, tx, "add hold", `
			INSERT INTO holds (uid, kind, subject, name, reason, until, created_at, organization, notice)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			h.UID, h.Kind, h.Subject, h.Name, h.Reason, h.Until, now, database.Null(h.Organization), h.Notice); err != nil {
			return err
		}
		if n, err := database.Scalar[int](ctx, tx, "count holds", nil, `
			SELECT count(*) FROM holds WHERE organization = $1 AND kind <> 'retention'`, database.Null(h.Organization)); err != nil {
			return err
		} else if n > MaxOfOrganization {
			return errTooMany
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

// Join is what a caller does in the transaction of a change, before it.
type Join func(context.Context, database.Tx) error

// List returns the holds, newest first: those of an organization, or with the zero uid all.
func List(ctx context.Context, db *database.DB, o id.Organization) ([]Listed, error) {
	return database.All[Listed](ctx, db.Pool, "list holds", `
		SELECT `+columns+`, coalesce(p.email, '') AS email, (SELECT count(*) FROM hold_rows r WHERE r.hold = h.uid) AS rows,
			c.files, c.bytes
		FROM holds h LEFT JOIN directory.persons p ON p.person = h.subject AND (h.organization IS NULL OR p.organization = h.organization)
		CROSS JOIN LATERAL (SELECT count(*) AS files, coalesce(sum(bytes), 0)::bigint AS bytes FROM hold_contents WHERE hold = h.uid) c
		WHERE $1::uuid IS NULL OR h.organization = $1 AND h.kind <> 'retention' ORDER BY h.created_at DESC, h.uid`, database.Null(o))
}

// End ends a hold, with an organization one of its own. What it alone kept is deleted: rows at once, stored bytes by the next purge.
// Errors: ErrNotFound.
func End(ctx context.Context, db *database.DB, by audit.Actor, o id.Organization, uid uuid.UUID, now time.Time, joined ...Join) error {
	return db.InTx(ctx, func(tx database.Tx) error {
		for _, join := range joined {
			if err := join(ctx, tx); err != nil {
				return err
			}
		}
		h, err := database.One[Hold](ctx, tx, "end hold", ErrNotFound, `
			DELETE FROM holds h WHERE uid = $1 AND ($2::uuid IS NULL OR organization = $2 AND kind <> 'retention')
			RETURNING `+columns, uid, database.Null(o))
		if err != nil {
			return err
		}
		return record(ctx, tx, by, h, "hold.end", now)
	})
}

// EndAll ends the holds of an organization that is deleted. Those of its rules stay.
func EndAll(ctx context.Context, tx database.Tx, o id.Organization, now time.Time) error {
	ended, err := database.All[Hold](ctx, tx, "end holds", `
		DELETE FROM holds h WHERE organization = $1 AND kind <> 'retention' RETURNING `+columns, o)
	if err != nil {
		return err
	}
	for _, h := range ended {
		if err := record(ctx, tx, audit.Actor{Kind: audit.Job}, h, "hold.end", now); err != nil {
			return err
		}
	}
	return nil
}

// Noticed reports whether a hold with a notice covers a person or a transfer.
func Noticed(ctx context.Context, q database.Querier, kind string, uid uuid.UUID) (bool, error) {
	return database.Scalar[bool](ctx, q, "look up notice of holds", nil, `
		SELECT EXISTS (SELECT FROM hold_scope s JOIN holds h ON h.uid = s.hold WHERE s.subject = $2 AND s.kind = $1 AND h.notice)`, kind, uid)
}

// Expire ends the holds whose time is over.
func Expire(ctx context.Context, db *database.DB, now time.Time) error {
	due, err := database.Scalars[uuid.UUID](ctx, db.Pool, "list holds that are over", `SELECT uid FROM holds WHERE until <= $1`, now)
	if err != nil {
		return err
	}
	for _, uid := range due {
		if err := End(ctx, db, audit.Actor{Kind: audit.Job}, id.Organization{}, uid, now); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// record appends an audit entry. The entry itself is covered by the hold.
func record(ctx context.Context, tx database.Tx, by audit.Actor, h Hold, action string, now time.Time) error {
	e := audit.Entry{Actor: by, Action: action, Object: h.UID.String(), Organization: h.Organization, Details: map[string]string{
		"case": h.Name, "kind": h.Kind, "subject": h.Subject.String()}}
	if h.Kind == Person || h.Kind == Mailbox {
		e.Target = id.Person{UUID: h.Subject}
	}
	return audit.Append(ctx, tx, now, e)
}
