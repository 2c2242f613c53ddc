// Package operator has the types of the console (contract 9): what operators see and change of the installation as a whole. People and
// organizations belong to package identity, mailboxes and transfers to package transfer; their parts of the console's API are there.
package operator

import (
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
)

// State is how well a part of the installation works.
type State string

// The states. A part that the settings leave out is off.
const (
	OK      State = "ok"
	Warning State = "warning"
	Failed  State = "failed"
	Off     State = "off"
)

// Maintenance is a time in which every replica refuses requests. Announced, it begins by itself.
type Maintenance struct {
	On    bool      `json:"on"`
	From  time.Time `json:"from,omitzero"`  // zero: at once
	Until time.Time `json:"until,omitzero"` // as people are told; an operator ends it. Zero: unknown
}

// Problem says what is wrong with a maintenance that is to be set; empty: nothing.
func (m Maintenance) Problem(now time.Time) string {
	const most = 30 * 24 * time.Hour
	switch {
	case m.From.After(now.Add(most)):
		return "from: must be within 30 days"
	case !m.Until.IsZero() && (!m.Until.After(now) || !m.Until.After(m.From)):
		return "until: must be in the future and after from"
	case m.Until.After(now.Add(2 * most)):
		return "until: must be within 60 days"
	}
	return ""
}

// Begun reports whether requests are refused.
func (m Maintenance) Begun(now time.Time) bool { return m.On && !now.Before(m.From) }

// Overview is the state of the installation as the replica that was asked sees it. Counts of mails, jobs and files are those of all
// replicas; Traffic, Started and the outcomes are those of this one.
type Overview struct {
	Version     string
	Started     time.Time
	At          time.Time
	Maintenance bool
	Database    Database
	Storage     Storage
	Mail        Mail
	Redis       Redis
	Scanner     Scanner
	Jobs        Jobs
	Receipts    Receipts
	Audit       Audit
	Traffic     Traffic
}

// Database is the connection to Postgres.
type Database struct {
	State       State
	Latency     time.Duration // of one round trip
	Connections int32         // in use
	Maximum     int32
}

// Storage is the volume of the stored files, or of the spool with a bucket.
type Storage struct {
	State             State
	Free, Size, Floor int64 // bytes; all 0 while unknown
	Damaged           int64 // files that are lost or damaged
	Problems          int64 // that the last check of all files found
}

// Mail is the mail queue.
type Mail struct {
	State     State
	Queued    int64
	OldestDue time.Duration
	Refused   int64 // queued, and the last attempt failed
	Sent      int64 // within a day
	Failed    int64 // given up within a day
}

// Redis shares the rate limits.
type Redis struct {
	State    State
	Failures int64
}

// Scanner is the malware scanner.
type Scanner struct {
	State     State
	Engine    string
	Waiting   int64
	OldestDue time.Duration
}

// Queue is one queue of background jobs.
type Queue struct {
	Name                    string
	Due, Scheduled, Running int64
	OldestDue               time.Duration
}

// Jobs are the background jobs.
type Jobs struct {
	State    State
	Queues   []Queue
	Failures int64 // runs of this replica that failed
}

// Receipts is the transparency log.
type Receipts struct {
	State   State
	Waiting int64 // receipts that are not signed yet
}

// Audit is the stream of the audit.
type Audit struct {
	State     State
	Waiting   int64 // entries that are not sent yet
	OldestDue time.Duration
	Trouble   string // why the last try failed
}

// Traffic is what moves through this replica now, and what it has moved since its start.
type Traffic struct {
	Uploads, Downloads, Streams int64
	BytesIn, BytesOut           int64
}

// Counters are what a replica has counted since its start, and what a sample has of it: requests, those that failed by the server's fault,
// requests that carried bytes of files, and bytes of all bodies.
type Counters struct {
	Requests, Errors, Uploads, Downloads int64
	BytesIn, BytesOut                    int64
}

// Minus returns what was counted after b.
func (c Counters) Minus(b Counters) Counters {
	return Counters{c.Requests - b.Requests, c.Errors - b.Errors, c.Uploads - b.Uploads, c.Downloads - b.Downloads, c.BytesIn - b.BytesIn,
		c.BytesOut - b.BytesOut}
}

// Levels are what the installation has at a time. Nil: not known.
type Levels struct {
	Mails     *int64 // waiting
	Jobs      *int64 // due
	Database  *int64 // bytes
	People    *int64
	Transfers *int64 // that have not ended
}

// Sample is a period of the charts. Counters and Logins and Deliveries are of all replicas. Levels are the highest of the period, Free is
// the lowest.
type Sample struct {
	At time.Time // its beginning
	Counters
	Levels
	Free       *int64 // bytes on the volume of the replica that had least
	Logins     *int64
	Deliveries *int64 // transfers that were confirmed
}

// Finding is one thing that a check of consign doctor found. Its texts are English.
type Finding struct {
	ID       string // stable: check.cause, such as tls.expired
	Severity string // ok, hint, warning or error
	Sentence string
	Advice   string // what to do; may be empty
}

// Person is a person whom an audit entry names.
type Person struct {
	UID   id.Person
	Name  string
	Email string
}

// Entry is an audit entry with the people whom it names, as far as they still exist.
type Entry struct {
	audit.Record
	ActorPerson, TargetPerson Person
}

// Setting is a setting of the installation with its value, secrets masked.
type Setting struct {
	Group, Name, Value, Default, Description string
	Given                                    bool // the environment has it
}

// Refusals are how many requests this replica has refused because a bucket was full.
type Refusals struct {
	Bucket string
	Count  int64
}
