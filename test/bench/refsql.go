//go:build bench

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// referenceTables are copies of Consign's tables with the same columns, indexes and rows, for the references' statements.
const referenceTables = `
	DROP SCHEMA IF EXISTS bench CASCADE;
	CREATE SCHEMA bench;
	CREATE TABLE bench.mailboxes (LIKE transfer.mailboxes INCLUDING ALL);
	CREATE TABLE bench.reservations (LIKE transfer.reservations INCLUDING ALL);
	CREATE TABLE bench.persons (LIKE identity.persons INCLUDING ALL);
	CREATE TABLE bench.id_tokens (LIKE identity.id_tokens INCLUDING ALL);
	INSERT INTO bench.mailboxes SELECT * FROM transfer.mailboxes;
	INSERT INTO bench.persons SELECT * FROM identity.persons;`

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
	err = c.QueryRow(ctx, `SELECT person FROM bench.mailboxes LIMIT 1`).Scan(&p)
	return p.String(), err
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

// selectMailbox answers with the row that the path names: one statement.
func selectMailbox(pool *pgxpool.Pool) http.Handler {
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
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m mailbox
		err := pool.QueryRow(r.Context(), `
			SELECT person, secure, name, email, slogan, absent, absence_message, fields_schema, ui_schema, mime_type_filter, max_files, max_file_size_mb
			FROM bench.mailboxes WHERE person = $1`, r.URL.Path[1:]).Scan(&m.UID, &m.Secure, &m.Name, &m.Email, &m.Slogan, &m.Absent,
			&m.AbsenceMessage, &m.FieldsSchema, &m.UISchema, &m.MIMETypeFilter, &m.MaxFiles, &m.MaxFileSizeMB)
		answer(w, m, err)
	})
}

// insertReservation stores what the body says: one statement.
func insertReservation(pool *pgxpool.Pool) http.Handler {
	type reservation struct {
		UID        uuid.UUID `json:"uid"`
		Subject    string    `json:"subject"`
		Message    string    `json:"message"`
		AnonSender string    `json:"anonSender"`
		AnonEmail  string    `json:"anonEmail"`
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
		answer(w, in, err)
	})
}
