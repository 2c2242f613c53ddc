package transfer

import (
	"time"

	"github.com/consign-dev/consign/internal/id"
)

// Reservation is a transfer being put together.
type Reservation struct {
	UID                  id.Reservation
	Kind                 Kind
	Owner                id.Person // whose limits and volume it uses
	Creator              id.Person // who manages it with an access token; zero: a stranger's
	Organization         id.Organization
	LimitsOrganization   id.Organization
	Sender               id.Person // the uploader, where known; zero: not
	Subject              string
	Message              string
	AnonSender           string
	AnonEmail            string
	Locale               string // the uploader's
	Recipients           []Recipient
	DeliveryNotification bool
	TTL                  int32 // days
	Priority             int32 // 0: none
	Protection           Protection
	PasswordHash         string
	Fields               []byte // JSON object of strings, or nil
	MaxFiles             int32
	MaxFileSizeMB        int64
	MaxRecipients        int32
	VolumeLimitExceeded  bool
	Transfer             id.Transfer // set once confirmed
	CreatedAt            time.Time
	ExpiresAt            time.Time
}

// Open reports whether the reservation still takes changes.
func (r Reservation) Open() bool { return r.Transfer.IsZero() }

// Recipient is somebody a reservation will be delivered to.
type Recipient struct {
	Person      id.Person // zero: no account known
	Name        string
	Email       string
	Destination Destination
}

// Object is one file. Held counts the bytes that are durable; the file is complete once Held equals IntendedSize.
type Object struct {
	UID          id.Object
	ClientID     string
	Name         string // as given by the client; empty once erased
	IntendedSize int64
	Held         int64
	SHA256       []byte // nil while incomplete
	CRC32        uint32 // of the bytes held, for archives
	MIMEType     string
	Downloads    int64
}

// Complete reports whether all bytes are held.
func (o Object) Complete() bool { return o.Held == o.IntendedSize }
