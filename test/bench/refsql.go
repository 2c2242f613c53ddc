//go:build bench

package main

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// referenceTables are copies of Consign's tables with the same columns, indexes and rows, for what the references write. They read
// where Consign does.
const referenceTables = `
	DROP SCHEMA IF EXISTS bench CASCADE;
	CREATE SCHEMA bench;
	CREATE TABLE bench.reservations (LIKE transfer.reservations INCLUDING ALL);
	CREATE TABLE bench.id_tokens (LIKE identity.id_tokens INCLUDING ALL);`

// makeReferenceTables makes them, and gives the person whose mailbox the references look at.
func makeReferenceTables(ctx context.Context, url string) (person string, err error) {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close(ctx) }()
	if _, err := c.Exec(ctx, referenceTables); err != nil {
		return "", err
	}
	var p uuid.UUID
	err = c.QueryRow(ctx, `SELECT person FROM transfer.mailboxes LIMIT 1`).Scan(&p)
	return p.String(), err
}

// manyMailboxes are more than Consign keeps copies of: who asks for one after the other has each read from the database.
const manyMailboxes = 25_000

// makeMailboxes gives as many persons of no organization a mailbox with the vanity link of its number, once in a run.
func (b *bench) makeMailboxes(ctx context.Context) error {
	if b.mailboxesMade {
		return nil
	}
	c, err := pgx.Connect(ctx, b.database)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	if _, err := c.Exec(ctx, `
		WITH p AS (
			INSERT INTO identity.persons (uid, name, locale, time_zone, created_at)
			SELECT gen_random_uuid(), 'Owner ' || n, 'en_US', 'UTC', now() FROM generate_series(1, $1::int) n RETURNING uid, name
		), a AS (
			INSERT INTO identity.addresses (person, address, is_primary, verified_at, created_at)
			SELECT uid, 'owner' || substr(name, 7) || '@example.com', true, now(), now() FROM p
		), m AS (
			INSERT INTO transfer.mailboxes (person, created_at, updated_at) SELECT uid, now(), now() FROM p
		)
		INSERT INTO transfer.vanity_links (host_organization, link, mailbox)
		SELECT (SELECT uid FROM identity.organizations WHERE free), 'box' || substr(name, 7), uid FROM p`, manyMailboxes); err != nil {
		return err
	}
	_, err = c.Exec(ctx, `ANALYZE`)
	b.mailboxesMade = err == nil
	return err
}

// answer writes v, or a 500.
func answer(w http.ResponseWriter, v any, err error) {
	var raw []byte
	if err == nil {
		raw, err = json.Marshal(v)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(raw)
}

// mailbox is what both ways to read one answer with.
type mailbox struct {
	UID            uuid.UUID       `json:"uid"`
	Secure         bool            `json:"secure"`
	Name           *string         `json:"name"`
	Email          *string         `json:"email"`
	Slogan         *string         `json:"slogan"`
	Absent         bool            `json:"absent"`
	AbsenceMessage *string         `json:"absenceMessage"`
	FieldsSchema   json.RawMessage `json:"fieldsSchema"`
	UISchema       json.RawMessage `json:"uiSchema"`
	MIMETypeFilter []string        `json:"mimeTypeFilter"`
	MaxFiles       *int32          `json:"maxFiles"`
	MaxFileSizeMB  *int64          `json:"maxFileSizeMb"`
	VanityLink     *string         `json:"vanityLink,omitempty"`
	Exceeded       bool            `json:"volumeLimitExceeded"`
}

// selectRow answers with the one row that the path names.
func selectRow(pool *pgxpool.Pool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m mailbox
		err := pool.QueryRow(r.Context(), `
			SELECT person, secure, name, email, slogan, absent, absence_message, fields_schema, ui_schema, mime_type_filter, max_files, max_file_size_mb
			FROM transfer.mailboxes WHERE person = $1`, r.URL.Path[1:]).Scan(&m.UID, &m.Secure, &m.Name, &m.Email, &m.Slogan, &m.Absent,
			&m.AbsenceMessage, &m.FieldsSchema, &m.UISchema, &m.MIMETypeFilter, &m.MaxFiles, &m.MaxFileSizeMB)
		answer(w, m, err)
	})
}

// selectMailbox answers with what Consign's answer says of the mailbox whose vanity link the path is, in the smallest statement that
// tells it: the mailbox, its owner's name and address, the limits of the organization, and what of the volume is used.
func selectMailbox(pool *pgxpool.Pool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m mailbox
		err := pool.QueryRow(r.Context(), `
			SELECT m.person, m.secure, coalesce(m.name, p.name), coalesce(m.email, a.address), m.slogan, m.absent, m.absence_message, m.fields_schema,
			       m.ui_schema, m.mime_type_filter, least(m.max_files, u.max_files), least(m.max_file_size_mb, u.max_file_size_mb), $1::text,
			       coalesce(pv.held >= p.upload_volume_bytes OR ov.held >= l.transfer_volume_bytes, false)
			FROM transfer.mailboxes m
			JOIN identity.persons p ON p.uid = m.person AND p.deleted_at IS NULL
			LEFT JOIN identity.addresses a ON a.person = p.uid AND a.is_primary
			LEFT JOIN identity.memberships o ON o.person = p.uid
			LEFT JOIN identity.limits l ON l.organization = o.organization
			LEFT JOIN transfer.adminunits u ON u.organization = o.organization
			LEFT JOIN transfer.volumes pv ON pv.subject = p.uid AND pv.month = $2
			LEFT JOIN transfer.volumes ov ON ov.subject = o.organization AND ov.month = $2
			WHERE m.person = (SELECT v.mailbox FROM transfer.vanity_links v
			                  WHERE v.link = $1 AND v.host_organization = (SELECT uid FROM identity.organizations WHERE free))`, r.URL.Path[1:], time.Now()).Scan(&m.UID, &m.Secure, &m.Name, &m.Email, &m.Slogan, &m.Absent,
			&m.AbsenceMessage, &m.FieldsSchema, &m.UISchema, &m.MIMETypeFilter, &m.MaxFiles, &m.MaxFileSizeMB, &m.VanityLink, &m.Exceeded)
		answer(w, m, err)
	})
}

// insertReservation stores what the body says: one statement. With a key it signs a token for it too.
func insertReservation(pool *pgxpool.Pool, key *ecdsa.PrivateKey) http.Handler {
	type reservation struct {
		UID        uuid.UUID `json:"uid"`
		Subject    string    `json:"subject"`
		Message    string    `json:"message"`
		AnonSender string    `json:"anonSender"`
		AnonEmail  string    `json:"anonEmail"`
		Token      string    `json:"token,omitempty"`
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in reservation
		err := json.NewDecoder(r.Body).Decode(&in)
		if err == nil {
			in.UID = uuid.Must(uuid.NewV7())
			now := time.Now()
			_, err = pool.Exec(r.Context(), `
				INSERT INTO bench.reservations (uid, type, owner, limits_organization, subject, message, anon_sender, anon_email, locale, ttl, protection,
					max_files, max_file_size_mb, max_recipients, created_at, expires_at)
				VALUES ($1, 'mailbox', $2, $2, $3, $4, $5, $6, 'en_US', 7, 'none', 10000, 50000, 1, $7, $8)`,
				in.UID, r.URL.Path[1:], in.Subject, in.Message, in.AnonSender, in.AnonEmail, now, now.Add(48*time.Hour))
		}
		if err == nil && key != nil {
			in.Token, err = tokens{key: key}.sign(subject{}, in.UID.String())
		}
		answer(w, in, err)
	})
}
