// Package transfer holds the types of the transfer domain: mailboxes, reservations, objects and transfers, the errors that
// a client can see, the limits, and parsers and rules that need neither database nor network.
//
// SQL is in transfer/postgres, the bytes of objects in transfer/content, rules in transfer/service, HTTP in transfer/handler.
// Persons and organizations belong to the identity domain; here they are identifiers.
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

// Kind is how a transfer was created.
type Kind string

// The values of the specification's Reservation.type.
const (
	KindP2P     Kind = "p2p"     // a member sends to recipients
	KindDrop    Kind = "drop"    // a member creates a link for anybody who gets it
	KindMailbox Kind = "mailbox" // a stranger uploads to a mailbox
)

// Protection is what a recipient needs to see the content.
type Protection string

// The levels of protection, from weak to strong.
const (
	ProtectNone     Protection = "none"
	ProtectPassword Protection = "password"
	ProtectIdentity Protection = "recipientAuthentication"
)

// State is the state of a transfer.
type State string

// The states of contract 4.9. Revoked is final: the content is erased. So is Expired, as a stored state. A transfer whose expiry
// has passed is Expired for everybody from then on, and stored as such when its grace has ended (contract 4.22).
const (
	Delivered State = "delivered"
	Accessed  State = "accessed"
	Expired   State = "expired"
	Revoked   State = "revoked"
)

// Ended reports whether the content is erased.
func (s State) Ended() bool { return s == Expired || s == Revoked }

// Filter selects transfers of a list.
type Filter string

// The filters of a list. New ones are received, open and not read.
const (
	FilterNone    Filter = ""
	FilterNew     Filter = "new"
	FilterOpen    Filter = "open"    // neither expired nor revoked
	FilterExpired Filter = "expired" // or revoked
	FilterPinned  Filter = "pinned"
)

// Destination is how a recipient is addressed.
type Destination string

// The values of Recipient.destinationType, and ToLink for the delivery of a link without a recipient.
const (
	To     Destination = "to"
	Cc     Destination = "cc"
	Bcc    Destination = "bcc"
	ToLink Destination = "link"
)

// Adminunit holds the transfer settings of an organization. AvailableTTL and DefaultTTL are days.
type Adminunit struct {
	AvailableTTL    []int32
	DefaultTTL      int32
	PriorityEnabled bool
	PinningEnabled  bool // owners of mailboxes may keep transfers from expiring
	ProtectionLevel Protection
	MaxFiles        int32
	MaxFileSizeMB   int64
	MaxRecipients   int32
	Inspection      Inspection // with empty members: defaults
	Retention       Retention
}

// Sender is the sender of a transfer. Person is zero without an account.
type Sender struct {
	Name   string
	Email  string
	Person id.Person

	Verified bool // the address was checked
}

// Transfer is a confirmed reservation. Once it has ended, subject, message, fields and names are empty.
type Transfer struct {
	UID         id.Transfer
	Reservation id.Reservation
	Kind        Kind
	State       State
	Owner       id.Person // whose volume it used
	Subject     string
	Message     string
	Sender      Sender
	Recipients  []Delivery `db:"-"` // bcc recipients: for the sender only
	Priority    int32      // 0: none
	Protection  Protection
	Unmailed    bool     // the owner of the mailbox was not mailed: too many mails on that day
	Fields      []byte   // JSON object of strings, or nil
	Answers     []Answer `db:"-"` // Fields with the questions of the mailbox; left out of lists
	ObjectCount int32
	TotalBytes  int64
	Archives    int64 // downloads of the archive; the objects do not count them
	CreatedAt   time.Time
	ExpiresAt   time.Time
	EraseBy     time.Time // by the rules of its organization; zero: no rule
	AccessedAt  time.Time // zero: not yet
	Forwarding  bool      // recipients may forward it
	Pinned      bool      // the owner of the mailbox keeps it from expiring

	Limits
	Gate
	MalwareStatus ScanState // the worst state of its objects; empty: unscanned

	RemindBefore    int32     // days before the expiry at which who has downloaded nothing is reminded; 0: never
	ExtendableUntil time.Time `db:"-"` // of an expired one, for its sender: until when it can be extended; zero: it cannot

	Link string `db:"-"` // for the sender of a p2p or drop transfer that has not ended
}

// Limits are how often recipients may download each object. An archive is a download of each of its objects. 0: no limit.
type Limits struct {
	MaxDownloads        int32 // by each recipient
	MaxTotalDownloads   int32 // by all recipients together
	DeleteAfterDownload bool  // the transfer ends when a recipient has downloaded everything
}

// MaxLimit is the largest number of a limit.
const MaxLimit = 1_000_000

// Limited reports whether there is a limit.
func (l Limits) Limited() bool { return l != Limits{} }

// ListedTransfer is what a list for operators shows of a transfer: nothing of its contents.
type ListedTransfer struct {
	UID           id.Transfer
	Kind          Kind
	State         State // Expired from the expiry on
	Sender        Sender
	Recipient     string // address of the first one; empty: only the link
	Recipients    int
	Downloads     int64
	ObjectCount   int32
	TotalBytes    int64
	Protection    Protection
	MalwareStatus ScanState
	CreatedAt     time.Time
	ExpiresAt     *time.Time // nil: its recipient keeps it from expiring
}

// Delivery is a transfer's way to one recipient, or to the holders of its link.
type Delivery struct {
	UID         id.Delivery
	Person      id.Person // zero: no known account
	Name        string
	Email       string // empty for ToLink
	Destination Destination
	Undelivered bool // the mail to this address failed for good

	AccessedAt   time.Time // first download, or view of a transfer without objects; zero: not yet
	Downloads    int32
	DownloadedAt time.Time // last; zero: not yet
	RemindedAt   time.Time // when the sender last had the recipient reminded; zero: never
}

// ObjectName is the name of an object; empty once its transfer has ended.
type ObjectName struct {
	UID  id.Object
	Name string
}

// Key identifies a public mailbox or group in a URL, by uid or by vanity link. Exactly one of the two is set.
type Key struct {
	UID  string // UUID in lower case
	Link string
}

// Defaults apply where an organization or the directory has no value.
type Defaults struct {
	Adminunit    Adminunit
	UploadVolume int64 // bytes a month, for a person without organization
}

// KeptUntil returns until when a transfer that has expired can be extended.
func (t Transfer) KeptUntil(grace time.Duration) time.Time {
	until := t.ExpiresAt.Add(grace)
	if !t.EraseBy.IsZero() && t.EraseBy.Before(until) {
		return t.EraseBy
	}
	return until
}
