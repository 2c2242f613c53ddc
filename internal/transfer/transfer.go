// Package transfer is the vocabulary of the transfer service: mailboxes, reservations, objects and delivered
// transfers, the errors a client can see, and the small parsers that belong to no layer.
//
// It owns meanings and rules that need neither database nor network. SQL is in transfer/postgres, rules that span
// several things in transfer/service, HTTP in transfer/handler. Persons and organizations belong to identity; here they
// are identifiers.
package transfer

import (
	"time"

	"github.com/consign-dev/consign/internal/id"
)

// Units of the specification (contract 1.12).
const (
	MB int64 = 1_000_000
	GB int64 = 1_000_000_000
)

// Kind says how a transfer came about.
type Kind string

// The kinds of the specification's Reservation.type.
const (
	KindP2P     Kind = "p2p"     // a member sends to recipients
	KindDrop    Kind = "drop"    // a member makes a link for whoever gets it
	KindMailbox Kind = "mailbox" // somebody hands files to a mailbox's owner
)

// Protection says what a recipient shows before the content.
type Protection string

// The levels, from weak to strong.
const (
	ProtectNone     Protection = "none"
	ProtectPassword Protection = "password"
	ProtectIdentity Protection = "recipientAuthentication"
)

// State is where a delivered transfer is in its life.
type State string

// The states of contract 4.9. Expired and Revoked are final: the content is erased.
const (
	Delivered State = "delivered"
	Accessed  State = "accessed"
	Expired   State = "expired"
	Revoked   State = "revoked"
)

// Ended reports whether the content is gone.
func (s State) Ended() bool { return s == Expired || s == Revoked }

// Destination says how a recipient is addressed.
type Destination string

// The values of Recipient.destinationType, and ToLink for a delivery that is nobody's in particular.
const (
	To     Destination = "to"
	Cc     Destination = "cc"
	Bcc    Destination = "bcc"
	ToLink Destination = "link"
)

// Adminunit is what an organization decides about its transfers. AvailableTTL and DefaultTTL are days.
type Adminunit struct {
	AvailableTTL    []int32
	DefaultTTL      int32
	PriorityEnabled bool
	ProtectionLevel Protection
	MaxFiles        int32
	MaxFileSizeMB   int64
	MaxRecipients   int32
}

// Sender is who a transfer comes from. Person is zero for somebody without an account.
type Sender struct {
	Name   string
	Email  string
	Person id.Person
}

// Transfer is what a confirmed reservation became. Once it has ended, subject, message, fields and names are empty.
type Transfer struct {
	UID         id.Transfer
	Reservation id.Reservation
	Kind        Kind
	State       State
	Owner       id.Person // whose volume it used
	Subject     string
	Message     string
	Sender      Sender
	Recipients  []Delivery // bcc recipients only for the sender
	Priority    int32      // 0: none
	Protection  Protection
	Fields      []byte // JSON object of strings, or nil
	ObjectCount int32
	TotalBytes  int64
	Archives    int64 // downloads of all objects at once, which the objects' own do not count
	CreatedAt   time.Time
	ExpiresAt   time.Time
	AccessedAt  time.Time // zero: not yet
	Link        string    // for the sender of a p2p or drop transfer that has not ended
}

// Delivery is a transfer's way to one addressee.
type Delivery struct {
	UID         id.Delivery
	Person      id.Person // zero: no account known
	Name        string
	Email       string // empty: whoever holds the link
	Destination Destination
	Undelivered bool // the mail to this address failed for good
}

// Key is the name under which a public mailbox or group is asked for: its uid, or a vanity link in lower case.
// Exactly one of the two is set.
type Key struct {
	UID  string // UUID text form, lower case
	Link string
}

// Defaults hold where an organization or the directory says nothing.
type Defaults struct {
	Adminunit    Adminunit
	UploadVolume int64 // bytes a month, of a person without organization
}
