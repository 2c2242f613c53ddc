// Package request holds the types of requests for documents (contract 4.29): who is asked for what by when, and the rules that need no
// database. What a party uploads is a reservation, and what it hands in a transfer: package transfer has their types.
package request

import (
	"io"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// Late says what becomes of files that are handed in after the due time.
type Late string

// The values of Late.
const (
	LateRefuse Late = "refuse"
	LateMark   Late = "mark"
)

// State is the state of a request.
type State string

// The states of a request. A closed one takes no files.
const (
	Open   State = "open"
	Closed State = "closed"
)

// ItemState is the state of an item of a party.
type ItemState string

// The states of an item. What a party has uploaded and not handed in changes no state.
const (
	ItemOpen     ItemState = "open"
	ItemUploaded ItemState = "uploaded" // handed in; the owner has not decided
	ItemAccepted ItemState = "accepted"
	ItemReturned ItemState = "returned" // to be handed in again
)

// Takes reports whether a party may add files to an item of that state.
func (s ItemState) Takes() bool { return s == ItemOpen || s == ItemReturned }

// Bounds of requests (contract 4.29).
const (
	MaxItems     = 100   // of a request
	MaxParties   = 500   // of a request
	MaxOpen      = 1_000 // open requests and templates of a person
	MaxItemFiles = 100   // files of an item of one party
	DefaultFiles = 10    // files of an item that says no number
	MaxReason    = 1_000 // bytes of the reason of a return
	DefaultPage  = 50    // requests in a list
	MaxPage      = 200

	// Lifetime is how long after the due time what was uploaded is kept without being handed in. Without a due time it counts from the
	// last opening of the link.
	Lifetime = 14 * 24 * time.Hour
	// TokenLifetime is how long a token for a party's reservation is valid. Opening the link again gives another one.
	TokenLifetime = 48 * time.Hour
	// JoinLifetime is how long a party that asked for a link at the public one is kept when it does not open it.
	JoinLifetime = 48 * time.Hour
)

// Request is a request as its owner has set it.
type Request struct {
	UID          id.Request
	Owner        id.Person
	Title        string
	Message      string
	Due          *time.Time // in whole milliseconds; nil: whenever
	TimeZone     string     // the due time is said in it
	Late         Late
	Locale       string
	FieldsSchema []byte // JSON, or nil
	UISchema     []byte // JSON, or nil
	Template     bool
	Public       bool // it has a public link
	Reminders    bool
	State        State
	Version      int64
	CreatedAt    time.Time
	ClosedAt     *time.Time
	CompletedAt  *time.Time
}

// Passed reports whether the due time has passed at a time.
func (r Request) Passed(now time.Time) bool { return r.Due != nil && now.After(*r.Due) }

// Expires returns when a reservation that is opened now ends.
func (r Request) Expires(now time.Time) time.Time {
	if r.Due != nil && r.Due.After(now) {
		return r.Due.Add(Lifetime)
	}
	return now.Add(Lifetime)
}

// Item is a document that a request asks for.
type Item struct {
	UID           id.Item
	Name          string
	Hint          string
	MIMETypes     transfer.MIMEFilter `db:"mime_types"`
	Required      bool
	MaxFiles      int32
	MaxFileSizeMB int64 `db:"max_file_size_mb"`
	Example       string
}

// Party is one person who is asked.
type Party struct {
	UID         id.Party
	Request     id.Request
	Email       string
	Name        string
	Locale      string
	TimeZone    string
	Joined      bool // by the public link
	KeyVersion  int32
	KeyHash     []byte
	OpenedAt    *time.Time
	HandedInAt  *time.Time // last
	Late        bool       // the last time
	CompletedAt *time.Time
	Reminders   bool
	RemindAt    *time.Time
	RemindedAt  *time.Time
	NotifyAt    *time.Time // when it is mailed what was returned
	Version     int64
	CreatedAt   time.Time
}

// Called returns what a party is called.
func (p Party) Called() string {
	if p.Name != "" {
		return p.Name
	}
	return p.Email
}

// PartyItem is an item of a party that was handed in.
type PartyItem struct {
	Party     id.Party
	Item      id.Item
	State     ItemState
	Reason    string
	Actor     id.Person // zero: the party
	ChangedAt time.Time
}

// Summary is what a list shows of a request.
type Summary struct {
	Request
	Parties  int // all
	Unopened int // parties that have not opened their link
	Complete int // parties whose required items are all accepted
	HandedIn int // parties that have handed in and are not complete
	Waiting  int // items that wait for the owner
	Items    int
}

// HandIn is what confirm stores of a hand-in.
type HandIn struct {
	Received time.Time // by the clock of Postgres, in whole milliseconds
	Due      time.Time // zero: none
}

// Archive is a zip with a folder for each party, opened for reading.
type Archive struct {
	Title   string
	Content io.ReadSeekCloser
	Size    int64
	Sum     []byte // changes with the content
}
