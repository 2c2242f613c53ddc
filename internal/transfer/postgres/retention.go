package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// keepLeast keeps what is about to be erased and an organization keeps for longer, as a hold does. kind is transfers, or receipts of them.
func (s *Store) keepLeast(ctx context.Context, kind string, uids []id.Transfer, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "keep by rules of retention", `SELECT transfer.keep($1, $2, $3)`, kind, uids, now)
	return err
}

// Place is where a walk over the transfers of an organization is.
type Place struct {
	CreatedAt time.Time   `json:"createdAt"`
	UID       id.Transfer `json:"uid"`
}

// Retain applies the rules of an organization to up to limit of its transfers that have not ended, from a place on, and returns the next
// place; nil after the last one.
func (s *Store) Retain(ctx context.Context, o id.Organization, after Place, limit int) (*Place, error) {
	found, err := database.All[Place](ctx, s.q, "list transfers", `
		SELECT created_at, uid FROM transfer.transfers
		WHERE limits_organization = $1 AND ended_at IS NULL AND (created_at, uid) > ($2, $3)
		ORDER BY created_at, uid LIMIT $4`, o, after.CreatedAt, after.UID, limit)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if _, err := database.Exec(ctx, s.q, "apply rules of retention", `
		WITH locked AS (SELECT uid FROM transfer.transfers WHERE uid = ANY ($1) AND ended_at IS NULL ORDER BY uid FOR UPDATE)
		UPDATE transfer.transfers t SET expires_at = t.expires_at FROM locked WHERE t.uid = locked.uid`,
		column(found, func(p Place) id.Transfer { return p.UID })); err != nil {
		return nil, err
	}
	if len(found) < limit {
		return nil, nil
	}
	return &found[len(found)-1], nil
}

// due is when the most of a rule of adminunit a is over. What was there before a change of the rules stays a while.
func due(kind string) string {
	return `($1::timestamptz - transfer.rule(a.retention, '` + kind + `', 'most')) AS before FROM transfer.adminunits a
		WHERE transfer.rule(a.retention, '` + kind + `', 'most') IS NOT NULL AND a.retention_at <= $1 - $2::interval`
}

// EraseOldReceipts erases up to limit receipts that their organization keeps no longer, with all statements about the same transfers. It
// skips locked ones.
func (s *Store) EraseOldReceipts(ctx context.Context, now time.Time, limit int) (int, error) {
	found, err := database.Scalars[id.Transfer](ctx, s.q, "list old receipts", `
		SELECT x.transfer FROM (SELECT a.organization, `+due("receipts")+`) o CROSS JOIN LATERAL (
			SELECT r.transfer FROM transfer.receipts r
			WHERE r.organization = o.organization AND r.kind = 'delivered' AND r.body IS NOT NULL AND r.created_at <= o.before
			ORDER BY r.created_at LIMIT $3 FOR UPDATE SKIP LOCKED) x
		LIMIT $3`, now, transfer.RetentionPause, limit)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return s.EraseReceipts(ctx, found, id.Person{}, now)
}

// Overdue is an organization with the time before which things of a kind are due.
type Overdue struct {
	Organization id.Organization
	Before       time.Time
}

// OverdueMails returns the organizations that have a most for rows of mails.
func (s *Store) OverdueMails(ctx context.Context, now time.Time) ([]Overdue, error) {
	return database.All[Overdue](ctx, s.q, "list rules", `SELECT a.organization, `+due("mails"), now, transfer.RetentionPause)
}

// OverdueAudit is OverdueMails for entries of the audit.
func (s *Store) OverdueAudit(ctx context.Context, now time.Time) ([]Overdue, error) {
	return database.All[Overdue](ctx, s.q, "list rules", `SELECT a.organization, `+due("audit"), now, transfer.RetentionPause)
}
