package hold

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

// Row is what was deleted or erased while a hold kept it, as it was before.
type Row struct {
	ID     int64
	Source string // the table
	At     time.Time
	Data   []byte // JSON
}

const exportBatch = 500

// Export calls write with each kept row, in the order in which they were deleted, and records that it was asked to. With an organization it
// exports one of its own holds.
// Errors: ErrNotFound, those of write.
func Export(ctx context.Context, db *database.DB, by audit.Actor, o id.Organization, uid uuid.UUID, now time.Time,
	write func(Row) error) error {
	err := db.InTx(ctx, func(tx database.Tx) error {
		h, err := database.One[Hold](ctx, tx, "find hold", ErrNotFound,
			`SELECT `+columns+` FROM holds h WHERE uid = $1 AND ($2::uuid IS NULL OR organization = $2)`, uid, database.Null(o))
		if err != nil {
			return err
		}
		return record(ctx, tx, by, h, "hold.export", now)
	})
	if err != nil {
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

// shown are the columns of kept rows, by the table without its schema, that consoles show: who, when and how much, never contents
// (contract 4.28, 9.1). Other tables have none.
var shown = map[string]string{
	"persons":          "uid name locale time_zone created_at deleted_at",
	"addresses":        "person address is_primary verified_at created_at",
	"memberships":      "person organization roles created_at admin_since",
	"avatars":          "person",
	"mailboxes":        "person name email absent created_at updated_at",
	"mailbox_pictures": "mailbox updated_at",
	"vanity_links":     "link mailbox",
	"reservations": `uid type state owner creator limits_organization sender anon_sender anon_email ttl protection object_count
		transfer request party created_at expires_at`,
	"reservation_recipients": "reservation person name email destination_type",
	"objects":                "uid reservation intended_size held mime_type content downloads created_at",
	"transfers": `uid reservation type state owner sender sender_managed sender_verified limits_organization sender_name sender_email
		protection object_count total_bytes malware_status created_at expires_at accessed_at ended_at`,
	"deliveries": `uid transfer destination_type person name email undelivered_at mailed_at accessed_at downloads downloaded_at
		created_at`,
	"downloads":       "transfer item delivery day size downloads sent began_at last_at completed_at",
	"receipts":        "transfer kind created_at",
	"receipt_parts":   "transfer part",
	"requests":        "uid owner due time_zone late state created_at updated_at closed_at completed_at",
	"request_items":   "uid request position required max_files max_file_size_mb",
	"request_parties": "uid request email name joined opened_at handed_in_at late completed_at created_at",
	"party_items":     "party item state actor changed_at",
	"mails":           "uid created_at template reference recipient state attempts last_attempt_at",
	"audit":           "id at kind actor action object target organization",
}

// Shown returns what a console shows of a row, as JSON. Administrators of an organization do not see blind copies, which are for the sender
// and the recipient, memberships elsewhere, and what their organization's audit does not have: then it is nil.
func Shown(r Row, o id.Organization) ([]byte, error) {
	var row map[string]json.RawMessage
	if err := json.Unmarshal(r.Data, &row); err != nil {
		return nil, fmt.Errorf("decode kept row: %w", err)
	}
	_, table, _ := strings.Cut(r.Source, ".")
	if !o.IsZero() {
		mine := string(row["organization"]) == `"`+o.String()+`"`
		switch table {
		case "deliveries", "reservation_recipients":
			if string(row["destination_type"]) == `"bcc"` {
				return nil, nil
			}
		case "memberships", "audit":
			if !mine {
				return nil, nil
			}
		}
	}
	out := map[string]json.RawMessage{}
	for name := range strings.FieldsSeq(shown[table]) {
		if value, ok := row[name]; ok {
			out[name] = value
		}
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode kept row: %w", err)
	}
	return data, nil
}
