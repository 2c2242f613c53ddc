//go:build bench

// The mailboxes that are looked up: made in the database, and served by the reference program.

package main

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// manyMailboxes is more than the microcache holds: requests for one after the other are all read from the database.
const manyMailboxes = 25_000

// makeMailboxes creates manyMailboxes persons without organization, each with a mailbox. The vanity links are box1, box2 and so on. Later
// calls do nothing.
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

// mailboxes runs the statements with which Consign looks up a mailbox and inserts a reservation, without its rules and limits.
type mailboxes struct {
	store *postgres.Store
	home  id.Organization // owner of mailboxHost
}

const mailboxHost = "localhost"

func newMailboxes(ctx context.Context, db *database.DB) (mailboxes, error) {
	store := postgres.New(db)
	home, err := store.HomeOrganization(ctx, mailboxHost)
	return mailboxes{store, home}, err
}

// find looks up the mailbox whose vanity link is the path.
func (m mailboxes) find(r *http.Request) (transfer.PublicMailbox, error) {
	return m.store.PublicMailbox(r.Context(), transfer.Key{Link: r.URL.Path[1:]},
		postgres.Scope{Host: mailboxHost, HostOrganization: m.home, Now: time.Now()})
}

// get answers with a mailbox.
func (m mailboxes) get(w http.ResponseWriter, r *http.Request) {
	box, err := m.find(r)
	answer(w, box, err)
}

// reserve looks up a mailbox and stores a reservation with the values of the body. With a key it also signs a token.
func (m mailboxes) reserve(key *ecdsa.PrivateKey) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		box, err := m.find(r)
		if err != nil {
			answer(w, nil, err)
			return
		}
		now := time.Now()
		out := struct {
			transfer.Reservation
			Token string
		}{Reservation: transfer.Reservation{
			UID: id.New[id.Reservation](), Owner: box.Person, LimitsOrganization: box.Owner.LimitsOrganization, Locale: "en_US", TTL: 7,
			Protection: box.Protection(), MaxFiles: box.FileLimit(), MaxFileSizeMB: box.FileSizeLimitMB(), MaxRecipients: 1,
			CreatedAt: now, ExpiresAt: now.Add(48 * time.Hour),
		}}
		if err = json.NewDecoder(r.Body).Decode(&out); err == nil {
			_, err = m.store.InsertMailboxReservation(r.Context(), out.Reservation, transfer.StrangerLimits{})
		}
		if err == nil && key != nil {
			out.Token, err = claims{RegisteredClaims: jwt.RegisteredClaims{ID: out.UID.String()}}.sign(key)
		}
		answer(w, out, err)
	})
}
