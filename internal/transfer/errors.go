package transfer

import (
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
)

// Every failure of this domain that a client can see. Missing or foreign things are ErrNotFound (contract 7).
var (
	ErrKeyInvalid    = fault.New(fault.Invalid, 10, "key: is neither a uid nor a vanity link (3 to 64 of a-z, 0-9, dot, hyphen and underscore, beginning and ending with a letter or digit)")
	ErrUnconfirmable = fault.New(fault.Invalid, 11)
	ErrBodyLength    = fault.New(fault.Invalid, 12)
	ErrDigest        = fault.New(fault.Invalid, 13, "the bytes do not have the SHA-256 that the request states; nothing of this request was kept")

	ErrPassword = fault.New(fault.Unauthenticated, 10, "password: is missing or wrong")
	ErrCode     = fault.New(fault.Unauthenticated, 11, "code: is missing, wrong, used or expired; POST …/code mails another one")

	ErrTTL                = fault.New(fault.Forbidden, 2, "ttl: not acceptable")
	ErrAbsent             = fault.New(fault.Forbidden, 30, "the owner of the mailbox is absent and takes no transfers")
	ErrPersonalVolume     = fault.New(fault.Forbidden, 31, "the owner's monthly upload volume is used up")
	ErrSubscriptionVolume = fault.New(fault.Forbidden, 32, "the monthly transfer volume of the owner's subscription is used up")
	ErrServiceDisabled    = fault.New(fault.Forbidden, 33, "the transfer service is not enabled for this person")
	ErrStorageVolume      = fault.New(fault.Forbidden, 34, "the storage volume of the owner's subscription is used up")
	ErrTooManyFiles       = fault.New(fault.Forbidden, 35)
	ErrFileTooLarge       = fault.New(fault.Forbidden, 36)
	ErrTooManyRecipients  = fault.New(fault.Forbidden, 37)
	ErrGroupLimit         = fault.New(fault.Forbidden, 38)
	ErrMIMEType           = fault.New(fault.Forbidden, 40)
	ErrFixedMember        = fault.New(fault.Forbidden, 41)
	ErrAddressNotOwn      = fault.New(fault.Forbidden, 42, "email: is not one of your verified addresses")
	ErrLimitRaised        = fault.New(fault.Forbidden, 43)
	ErrFilterUnavailable  = fault.New(fault.Forbidden, 44, "mimeTypeFilter: is not part of the subscription")
	ErrRoleMissing        = fault.New(fault.Forbidden, 45, "this needs the role Service.Transfer.Use or Service.All.Use")
	ErrLocked             = fault.New(fault.Forbidden, 46, "the transfer is protected by a password; open it with the link in the mail")
	ErrNoCode             = fault.New(fault.Forbidden, 47)
	ErrPriority           = fault.New(fault.Forbidden, 50, "priority: is not enabled")
	ErrProtection         = fault.New(fault.Forbidden, 51)
	ErrAdminRole          = fault.New(fault.Forbidden, 52, "this needs the role Organization.Admin")

	ErrNotFound   = fault.ErrNotFound
	ErrOneTimeKey = fault.New(fault.NotFound, 10, "otk: was used, has expired or is for another download; ask for a new one")

	ErrConfirmed  = fault.New(fault.Conflict, 10)
	ErrClientID   = fault.New(fault.Conflict, 11, "clientId: is taken by an object of another name or size")
	ErrOvertaken  = fault.New(fault.Conflict, 12, "a newer request writes this object; ask for the offset with HEAD before going on")
	ErrVanityLink = fault.New(fault.Conflict, 13, "vanityLink: is taken")

	ErrRange = fault.ErrBadRange

	ErrNewTransfers = fault.New(fault.RateLimited, 3, "too many new transfers for this owner; try again later")
	ErrTooManyCodes = fault.New(fault.RateLimited, 4, "ten codes were mailed for this link today; try again tomorrow")

	ErrStorageFull = fault.New(fault.Unavailable, 10, "the server has no room for more bytes; what was acknowledged is kept").WithRetryAfter(30 * time.Second)
	ErrStopping    = fault.New(fault.Unavailable, 11, "the server is stopping; what was acknowledged is kept, go on from the offset that HEAD tells").WithRetryAfter(5 * time.Second)
)

// Confirmed is ErrConfirmed with the uid of the transfer that the reservation became.
func Confirmed(uid id.Transfer) error {
	return ErrConfirmed.With("the reservation is confirmed; its transfer is " + uid.String())
}

// RangeError is ErrRange together with what the answer's Content-Range header says.
type RangeError struct {
	Held   int64  // bytes held of the object
	Reason string // what would be right
}

// Error implements error.
func (e *RangeError) Error() string { return fmt.Sprintf("%s (%d bytes held)", e.Reason, e.Held) }

// Unwrap makes it the declared error, with the reason as its detail.
func (e *RangeError) Unwrap() error { return ErrRange.With(e.Reason) }
