package transfer

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/id"
)

// Reservation is a transfer before its confirm.
type Reservation struct {
	UID                  id.Reservation
	Kind                 Kind
	Owner                id.Person // whose limits and volume apply
	Creator              id.Person // who manages it with an access token; zero: a stranger
	Organization         id.Organization
	LimitsOrganization   id.Organization
	Sender               id.Person // the uploader; zero: unknown
	Client               string    // client network of a stranger; empty once confirmed or when unknown
	Subject              string
	Message              string
	AnonSender           string
	AnonEmail            string
	SenderByUID          bool        `db:"-"` // a uid token names Sender, which checks no address; only stored
	ProvenAddresses      []string    // addresses that a stranger's uploader has verified; only read, not stored
	Locale               string      // of the uploader
	Recipients           []Recipient `db:"-"`
	DeliveryNotification bool
	TTL                  int32 // days
	Priority             int32 // 0: none
	Protection           Protection
	PasswordHash         string
	Fields               []byte // JSON object of strings, or nil
	MaxFiles             int32
	MaxFileSizeMB        int64
	MaxRecipients        int32
	VolumeLimitExceeded  bool        `db:"-"`
	Transfer             id.Transfer // set once confirmed
	Request              id.Request  // that the party uploads for; zero: none
	Party                id.Party
	CreatedAt            time.Time
	ExpiresAt            time.Time
}

// Open reports whether the reservation is not confirmed yet.
func (r Reservation) Open() bool { return r.Transfer.IsZero() }

// SenderVerified reports whether the sender's address is checked. An account's always is.
func (r Reservation) SenderVerified() bool {
	return r.Kind != KindMailbox || slices.Contains(r.ProvenAddresses, r.AnonEmail)
}

// Answers returns the values of the fields, by name of the field, as one text.
func (r Reservation) Answers() string {
	var fields map[string]string
	if json.Unmarshal(r.Fields, &fields) != nil { // none
		return ""
	}
	values := make([]string, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		values = append(values, fields[name])
	}
	return strings.Join(values, " ")
}

// HasText reports whether the message or a value of the fields is more than white space.
func (r Reservation) HasText() bool {
	if strings.TrimSpace(r.Message) != "" {
		return true
	}
	var fields map[string]string
	if json.Unmarshal(r.Fields, &fields) != nil { // none
		return false
	}
	for _, value := range fields {
		if strings.TrimSpace(value) != "" {
			return true
		}
	}
	return false
}

// MetadataBytes returns how much volume the texts count (contract 4.8): subject, message, fields, and the recipients of a sender.
// anonSender and anonEmail count nothing, because a confirm requires them.
func (r Reservation) MetadataBytes() int64 {
	n := len(r.Subject) + len(r.Message) + len(r.Fields)
	if r.Kind != KindMailbox {
		for _, to := range r.Recipients {
			n += len(to.Name) + len(to.Email)
		}
	}
	return int64(n)
}

// Recipient is a recipient of a reservation.
type Recipient struct {
	Person      id.Person // zero: no known account
	Name        string
	Email       string
	Destination Destination
}

// Object is one file. Held counts durable bytes; the file is complete when Held equals IntendedSize, which is known unless Deferred.
type Object struct {
	UID            id.Object
	Content        id.Object // whose segments it has: its own, or those of a forwarded object
	ClientID       string
	Name           string  // as the client named it; empty once erased
	Item           id.Item // of the request that the file is for; zero: of none
	IntendedSize   int64   // while Deferred: the maximum
	Deferred       bool    `db:"size_deferred"` // the uploader will say the size later
	PartSize       int64   // of an object that is uploaded in parts: bytes of all parts but the last one; 0: in one stream
	Held           int64   // bytes from the first one on whose sums are known; those of a stream are as they come
	SHA256         []byte  // nil while incomplete
	CRC32          uint32  // of the held bytes, for archives
	MIMEType       string
	Downloads      int64
	ExpiresAt      time.Time `db:"-"` // of its reservation; set where an upload answers
	UploadMetadata string    // as the tus client sent it
	Damaged        bool      // a read or a check has found its stored bytes lost or damaged
	Segmented      bool      // false: it has one segment at most, whose uid is that of Content
	Partial        bool      // a partial upload of tus (contract 4.25): in no list, never delivered
	Final          id.Object // of a partial upload: the object that has its segment; zero: none yet
	Concatenated   bool      // a final upload of tus: it is made of partial ones
	UploadConcat   string    `db:"-"` // of a final upload, as the client sent it; set where an upload begins or answers
	Scan           *Scan     // nil: unscanned
	Withheld       bool      `db:"-"` // the transfer does not give its bytes
}

// ObjectCost is the least volume that the row of an object counts.
const ObjectCost = 4000

// MetadataBytes returns how much volume the object counts beside its bytes (contract 4.8).
func (o Object) MetadataBytes() int64 {
	return max(ObjectCost, int64(len(o.Name)+len(o.ClientID)+len(o.UploadMetadata)+len(o.UploadConcat)))
}

// PartCount returns how many parts the object has; 0: it is uploaded in one stream.
func (o Object) PartCount() int {
	if o.PartSize == 0 {
		return 0
	}
	return int((o.IntendedSize + o.PartSize - 1) / o.PartSize)
}

// PartLength returns the length of the part of a number from 1 on.
func (o Object) PartLength(number int) int64 {
	return min(o.PartSize, o.IntendedSize-int64(number-1)*o.PartSize)
}

// Complete reports whether all bytes are held.
func (o Object) Complete() bool { return o.Held == o.IntendedSize && !o.Deferred }

// Segment returns the uid of an object's segment of a number from 1 on. Segments that were partial uploads keep those that they had.
func (o Object) Segment(number int) id.Segment {
	if number == 1 {
		return id.Segment(o.UID)
	}
	return id.Segment{UUID: uuid.NewSHA1(o.UID.UUID, []byte(strconv.Itoa(number)))}
}
