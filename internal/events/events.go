// Package events owns the feed of each person (contract 3.15): Append writes an event in the transaction of the
// change it tells of, Feed serves GET /events as server-sent events. It does not decide who is interested; the domain
// that emits an event names the receivers.
//
// # Cursors
//
// A cursor is the number of an event in its receiver's own feed. Each feed has one counter row (event_feeds), which
// Append raises in the caller's transaction. The row stays locked until that transaction ends, so the events of one
// person become visible in the order of their numbers: a reader that has seen n can never find a smaller number
// later. "Everything after my cursor" therefore loses nothing and repeats nothing, without waiting for unrelated
// transactions (as reading below a snapshot horizon would) and without a lock that all writers share (as one sequence
// for everybody would need). Only changes to the same person's feed wait for one another.
//
// A number is the greater of "last + 1" and the microseconds of the clock. So a counter row may be dropped once its
// feed has been quiet for long, and a database restored from an older backup goes on above every cursor that clients
// still hold.
//
// Append locks feeds, in the order of the receivers. Call it after the change's own row locks, last in a transaction.
package events

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

// The kinds of events ("Events" of the identity specification; the TRANSFER kinds are contract 3.15).
const (
	ProfileAvatarUpdated       = "PROFILE_AVATAR_UPDATED"       // subject: person; a person's avatar changed
	OrganizationAvatarUpdated  = "ORGANIZATION_AVATAR_UPDATED"  // subject: organization; its avatar changed
	OrganizationProfileUpdated = "ORGANIZATION_PROFILE_UPDATED" // subject: organization; its profile changed
	PrivilegesUpdated          = "PRIVILEGES_UPDATED"           // subject: person; membership or roles changed
	TransferReceived           = "TRANSFER_RECEIVED"            // subject: transfer; delivered to the receiver
	TransferAccessed           = "TRANSFER_ACCESSED"            // subject: transfer; a recipient opened it
	TransferRevoked            = "TRANSFER_REVOKED"             // subject: transfer; the sender took it back
)

// channel is where Append notifies and every replica's Feed listens.
const channel = "events"

// everyone is the payload that wakes all streams, when the receivers' names would not fit into a notification.
const everyone = "*"

// payloadReceivers bounds the receivers named in one payload: 37 bytes each, while Postgres takes 7,999.
const payloadReceivers = 200

// Event tells the receivers that something they are interested in has changed.
type Event struct {
	Kind      string      // one of the constants above
	Subject   string      // uid of the changed entity, never a key
	Receivers []id.Person // duplicates count once; none: nothing happens
}

// appendSQL numbers the event in every receiver's feed, stores it there, and notifies. It takes the receivers in
// order, so that two appends which share some lock their feeds in the same order.
const appendSQL = `
WITH receivers AS (
	SELECT DISTINCT r.person FROM unnest($1::uuid[]) AS r (person)
), numbered AS (
	INSERT INTO event_feeds AS f (person, last_id, used_at)
	SELECT person, $2::bigint, $3::timestamptz FROM receivers ORDER BY person
	ON CONFLICT ON CONSTRAINT event_feeds_pkey DO UPDATE
	SET last_id = greatest(f.last_id + 1, excluded.last_id), used_at = greatest(f.used_at, excluded.used_at)
	RETURNING f.person, f.last_id
), stored AS (
	INSERT INTO events (person, id, uid, kind, subject, created_at)
	SELECT person, last_id, $4::uuid, $5::text, $6::text, $3::timestamptz FROM numbered
)
SELECT pg_notify($7::text, $8::text)`

// receiversBatch bounds the receivers of one appendSQL: that of an organization of fifty thousand would take as long as a statement may.
const receiversBatch = 2000

// Append stores e in the feed of each receiver and wakes their streams when q's transaction commits. One statement, unless there are
// thousands.
func Append(ctx context.Context, q database.Querier, now time.Time, e Event) error {
	uid, receivers := id.New[id.Event](), e.Receivers
	if len(receivers) > receiversBatch { // so that neither the order of locks depends on the batches nor whether somebody is in two
		receivers = slices.Compact(slices.SortedFunc(slices.Values(receivers), func(a, b id.Person) int { return bytes.Compare(a.UUID[:], b.UUID[:]) }))
	}
	for batch := range slices.Chunk(receivers, receiversBatch) {
		_, err := database.Exec(ctx, q, "append event "+e.Kind, appendSQL,
			batch, now.UnixMicro(), now, uid, e.Kind, e.Subject, channel, payload(batch))
		if err != nil {
			return err
		}
	}
	return nil
}

// appendOwnSQL is appendSQL for an event of each receiver's own, whose subject is the receiver.
const appendOwnSQL = `
WITH told AS (
	SELECT r.person, r.uid FROM unnest($1::uuid[], $4::uuid[]) AS r (person, uid)
), numbered AS (
	INSERT INTO event_feeds AS f (person, last_id, used_at)
	SELECT person, $2::bigint, $3::timestamptz FROM told ORDER BY person
	ON CONFLICT ON CONSTRAINT event_feeds_pkey DO UPDATE
	SET last_id = greatest(f.last_id + 1, excluded.last_id), used_at = greatest(f.used_at, excluded.used_at)
	RETURNING f.person, f.last_id
), stored AS (
	INSERT INTO events (person, id, uid, kind, subject, created_at)
	SELECT n.person, n.last_id, t.uid, $5::text, n.person::text, $3::timestamptz FROM numbered n JOIN told t ON t.person = n.person
)
SELECT pg_notify($6::text, $7::text)`

// ownBatch bounds the receivers of one appendOwnSQL: the planner does not see how many there are, and may join them one with each.
const ownBatch = payloadReceivers

// AppendOwn tells each of several persons, all different, of an event whose subject is that person. For more than one they are given
// in the order of their uids, in which feeds are locked. A statement for each two hundred of them.
func AppendOwn(ctx context.Context, q database.Querier, now time.Time, kind string, persons []id.Person) error {
	for batch := range slices.Chunk(persons, ownBatch) {
		own := make([]id.Event, len(batch))
		for i := range own {
			own[i] = id.New[id.Event]()
		}
		_, err := database.Exec(ctx, q, "append events "+kind, appendOwnSQL,
			batch, now.UnixMicro(), now, own, kind, channel, payload(batch))
		if err != nil {
			return err
		}
	}
	return nil
}

// payload names the receivers, or everyone when they are too many for a notification.
func payload(receivers []id.Person) string {
	if len(receivers) > payloadReceivers {
		return everyone
	}
	names := make([]string, len(receivers))
	for i, r := range receivers {
		names[i] = r.String()
	}
	return strings.Join(names, ",")
}

// receivers is the reverse of payload; all reports that everyone is meant, also by a payload it cannot read.
func receivers(payload string) (persons []id.Person, all bool) {
	if payload == everyone {
		return nil, true
	}
	for name := range strings.SplitSeq(payload, ",") {
		person, err := id.Parse[id.Person](name)
		if err != nil {
			return nil, true
		}
		persons = append(persons, person)
	}
	return persons, false
}
