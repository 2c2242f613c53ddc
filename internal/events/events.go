// Package events stores and serves the feed of each person (contract 3.15). Append stores an event in the transaction of the change it
// reports. Feed serves GET /events as server-sent events. The domain that appends an event names its receivers.
//
// # Cursors
//
// A cursor is the number of an event in its receiver's feed. Each feed has one counter row (event_feeds), which Append raises in the
// caller's transaction. The row stays locked until that transaction ends, so the events of one person become visible in the order of
// their numbers: a reader that has seen n never finds a smaller number later. "Everything after my cursor" therefore loses and repeats
// nothing. Only transactions that append to the same person's feed wait for one another. Reading below a snapshot horizon would wait
// for unrelated transactions, and one sequence for all feeds would need a lock that all writers share.
//
// A number is the greater of "last + 1" and the microseconds of the clock. So Clean may delete the counter row of a feed without recent
// events, and a database restored from an older backup continues above every cursor that clients hold.
//
// # Locks
//
// Append locks feeds in the order of the receivers' uids. Call it last in a transaction, after all other row locks.
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

// The kinds of events ("Events" of the identity specification; the TRANSFER kinds are contract 3.15, those of requests 4.29).
const (
	ProfileAvatarUpdated       = "PROFILE_AVATAR_UPDATED"       // subject: person; a person's avatar changed
	OrganizationAvatarUpdated  = "ORGANIZATION_AVATAR_UPDATED"  // subject: organization; its avatar changed
	OrganizationProfileUpdated = "ORGANIZATION_PROFILE_UPDATED" // subject: organization; its profile changed
	PrivilegesUpdated          = "PRIVILEGES_UPDATED"           // subject: person; membership or roles changed
	TransferReceived           = "TRANSFER_RECEIVED"            // subject: transfer; delivered to the receiver
	TransferAccessed           = "TRANSFER_ACCESSED"            // subject: transfer; a recipient opened it
	TransferUpdated            = "TRANSFER_UPDATED"             // subject: transfer; the sender changed it
	TransferInspected          = "TRANSFER_INSPECTED"           // subject: transfer; the state of its check for malware changed
	TransferExtensionAsked     = "TRANSFER_EXTENSION_ASKED"     // subject: transfer; a recipient asks to make it available again
	TransferRevoked            = "TRANSFER_REVOKED"             // subject: transfer; the sender took it back
	RequestOpened              = "REQUEST_OPENED"               // subject: request; a party opened its link for the first time
	RequestItem                = "REQUEST_ITEM"                 // subject: request; the owner accepted an item of a party
	RequestHandedIn            = "REQUEST_HANDED_IN"            // subject: request; a party handed in
	RequestReturned            = "REQUEST_RETURNED"             // subject: request; the owner returned an item of a party
	RequestCompleted           = "REQUEST_COMPLETED"            // subject: request; every required item of every party is accepted
	RequestOverdue             = "REQUEST_OVERDUE"              // subject: request; its due time has passed, and required items are missing
)

// Kinds are all kinds.
var Kinds = []string{
	ProfileAvatarUpdated, OrganizationAvatarUpdated, OrganizationProfileUpdated, PrivilegesUpdated,
	TransferReceived, TransferAccessed, TransferUpdated, TransferInspected, TransferExtensionAsked, TransferRevoked,
	RequestOpened, RequestItem, RequestHandedIn, RequestReturned, RequestCompleted, RequestOverdue,
}

// channel is the LISTEN/NOTIFY channel from Append to the Feed of every replica.
const channel = "events"

// everyone is the payload that wakes all streams. It replaces lists of receivers that are too long for a notification.
const everyone = "*"

// payloadReceivers bounds the receivers in one payload. Each takes 37 bytes; Postgres limits the payload to 7,999 bytes.
const payloadReceivers = 200

// Event is a change that concerns its receivers.
type Event struct {
	Kind      string      // one of the constants above
	Subject   string      // uid of the changed entity, never a key
	Receivers []id.Person // duplicates count once; none: Append does nothing
}

// numbered gives each person of the CTE receivers the next number of their feed. $2 is the time in microseconds, $3 the time.
const numbered = `, numbered AS (
	INSERT INTO event_feeds AS f (person, last_id, used_at)
	SELECT person, $2::bigint, $3::timestamptz FROM receivers ORDER BY person
	ON CONFLICT ON CONSTRAINT event_feeds_pkey DO UPDATE
	SET last_id = greatest(f.last_id + 1, excluded.last_id), used_at = greatest(f.used_at, excluded.used_at)
	RETURNING f.person, f.last_id
)`

// appendSQL numbers the event in every receiver's feed, stores it there, and notifies. It locks feeds in the order of the receivers'
// uids, so that parallel appends do not deadlock.
const appendSQL = `
WITH receivers AS (
	SELECT DISTINCT r.person FROM unnest($1::uuid[]) AS r (person)
)` + numbered + `, stored AS (
	INSERT INTO events (person, id, uid, kind, subject, created_at)
	SELECT person, last_id, $4::uuid, $5::text, $6::text, $3::timestamptz FROM numbered
)
SELECT pg_notify($7::text, $8::text)`

// receiversBatch bounds the receivers of one appendSQL. A statement for an organization of 50,000 would reach the timeout of statements.
const receiversBatch = 2000

// Append stores e in the feed of each receiver, and wakes their streams when the transaction of q commits. It runs one statement for
// each 2,000 receivers.
func Append(ctx context.Context, q database.Querier, now time.Time, e Event) error {
	uid, receivers := id.New[id.Event](), e.Receivers
	if len(receivers) > receiversBatch { // sort all: batches keep the lock order, and no receiver is in two of them
		receivers = slices.Compact(slices.SortedFunc(slices.Values(receivers),
			func(a, b id.Person) int { return bytes.Compare(a.UUID[:], b.UUID[:]) }))
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

// appendOwnSQL is appendSQL for one event for each receiver, whose subject is the receiver.
const appendOwnSQL = `
WITH receivers AS (
	SELECT r.person, r.uid FROM unnest($1::uuid[], $4::uuid[]) AS r (person, uid)
)` + numbered + `, stored AS (
	INSERT INTO events (person, id, uid, kind, subject, created_at)
	SELECT n.person, n.last_id, t.uid, $5::text, n.person::text, $3::timestamptz FROM numbered n JOIN receivers t ON t.person = n.person
)
SELECT pg_notify($6::text, $7::text)`

// ownBatch bounds the receivers of one appendOwnSQL. The planner does not know their number and may choose a nested-loop join.
const ownBatch = payloadReceivers

// AppendOwn stores an event in the feed of each person, whose subject is that person. The persons must be distinct and sorted by uid,
// the order in which feeds are locked. It runs one statement for each 200 persons.
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

// payload returns the receivers as the payload of a notification, or everyone when they are too many.
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

// receivers parses a payload. all is true for everyone, and for a payload that it cannot parse.
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
