// The errors of the transfer API. Package fault declares the general ones, package token those of tokens (from 901).

package transfer

import (
	"errors"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
)

// A code is the status times 1000 plus a number and never changes its meaning. An error without a detail here gets its details where it is
// returned.
var (
	// ErrKeyInvalid: the key of a public path is neither a uid nor a vanity link.
	ErrKeyInvalid = fault.New(400010, "key: is neither a uid nor a vanity link (3 to 64 of a-z, 0-9, dot, hyphen and underscore, beginning and ending with a letter or digit)")
	// ErrUnconfirmable: the reservation lacks something that a transfer needs.
	ErrUnconfirmable = fault.New(400011)
	// ErrBodyLength: the body is shorter or longer than the range or the intended size.
	ErrBodyLength = fault.New(400012)
	// ErrDigest: the SHA-256 of the bytes differs from the one in the request.
	ErrDigest = fault.New(400013, "the SHA-256 of the bytes differs from the one in the request; nothing of this request was kept")

	// ErrPassword: the password of the transfer is missing or wrong.
	ErrPassword = fault.New(401010, "password: is missing or wrong")
	// ErrCode: the mailed code is missing, wrong, used or expired.
	ErrCode = fault.New(401011, "code: is missing, wrong, used or expired; POST …/code mails another one")

	// ErrTTL: the time to live is not one of the available ones.
	ErrTTL = fault.New(403002, "ttl: not acceptable")
	// ErrAbsent: the owner of the mailbox is absent.
	ErrAbsent = fault.New(403030, "the owner of the mailbox is absent and accepts no transfers")
	// ErrPersonalVolume: the owner's monthly upload volume is used up.
	ErrPersonalVolume = fault.New(403031, "the owner's monthly upload volume is used up")
	// ErrSubscriptionVolume: the organization's monthly transfer volume is used up.
	ErrSubscriptionVolume = fault.New(403032, "the monthly transfer volume of the owner's subscription is used up")
	// ErrServiceDisabled: the owner may not use the transfer service.
	ErrServiceDisabled = fault.New(403033, "the transfer service is not enabled for this person")
	// ErrStorageVolume: the organization's storage volume is used up.
	ErrStorageVolume = fault.New(403034, "the storage volume of the owner's subscription is used up")
	// ErrTooManyFiles: the reservation has as many objects as it may have.
	ErrTooManyFiles = fault.New(403035)
	// ErrFileTooLarge: the intended size is over the reservation's limit.
	ErrFileTooLarge = fault.New(403036)
	// ErrTooManyRecipients: the reservation has more recipients than it may have.
	ErrTooManyRecipients = fault.New(403037)
	// ErrGroupLimit: the organization has as many mailbox groups as its subscription includes.
	ErrGroupLimit = fault.New(403038)
	// ErrMIMEType: the mailbox does not accept the type of the object.
	ErrMIMEType = fault.New(403040)
	// ErrFixedMember: a member that cannot change in this kind of reservation would change.
	ErrFixedMember = fault.New(403041)
	// ErrAddressNotOwn: the email is not one of the caller's verified addresses.
	ErrAddressNotOwn = fault.New(403042, "email: is not one of your verified addresses")
	// ErrLimitRaised: a limit of a mailbox would exceed the adminunit's.
	ErrLimitRaised = fault.New(403043)
	// ErrFilterUnavailable: the subscription does not include the MIME type filter.
	ErrFilterUnavailable = fault.New(403044, "mimeTypeFilter: is not part of the subscription")
	// ErrRoleMissing: the member has no role to use the transfer service.
	ErrRoleMissing = fault.New(403045, "this needs the role Service.Transfer.Use or Service.All.Use")
	// ErrLocked: the transfer needs its password.
	ErrLocked = fault.New(403046, "the transfer is protected by a password; open it with the link in the mail")
	// ErrNoCode: no code can be mailed for this link.
	ErrNoCode = fault.New(403047)
	// ErrLinkReserved: the operator does not give the vanity link to anybody.
	ErrLinkReserved = fault.New(403048, "vanityLink: is reserved; choose another one")
	// ErrPriority: the adminunit does not enable priorities.
	ErrPriority = fault.New(403050, "priority: is not enabled")
	// ErrProtection: the protection is lower than the adminunit's level.
	ErrProtection = fault.New(403051)
	// ErrAdminRole: the caller is not an Organization.Admin.
	ErrAdminRole = fault.New(403052, "this needs the role Organization.Admin")

	// ErrMailboxUnconfirmed: strangers hold as many unconfirmed bytes at the mailbox as they may.
	ErrMailboxUnconfirmed = fault.New(403071, "unfinished transfers to this mailbox hold as many bytes as they may; what arrived is kept, go on when others are confirmed or have expired")
	// ErrClientUnconfirmed: the client network holds as many unconfirmed bytes at the mailbox as it may.
	ErrClientUnconfirmed = fault.New(403072, "unfinished transfers of your network to this mailbox hold as many bytes as they may; what arrived is kept, confirm or cancel one, then go on")

	// ErrSenderCode: the code for the sender's address is wrong, used or expired.
	ErrSenderCode = fault.New(403074, "code: is wrong, used, expired or for another address; POST …/code mails another one")
	// ErrSenderCodesUsed: as many codes were mailed for the reservation as there may be.
	ErrSenderCodesUsed = fault.New(403075, "three codes were mailed for this transfer; begin a new one")
	// ErrMessageToMany: a transfer without objects, or with empty ones only, has more than one recipient.
	ErrMessageToMany = fault.New(403073, "recipients: a message or fields without a file go to one recipient only; attach a file, or leave one recipient")

	// ErrSenderOnly: only the sender may change a transfer.
	ErrSenderOnly = fault.New(403080, "only the sender of a transfer may change it")

	// ErrNoForwarding: the sender has forbidden to forward the transfer.
	ErrNoForwarding = fault.New(403085, "the sender does not allow this transfer to be forwarded")

	// ErrDownloadLimit: an object of the download was downloaded as often as the sender allows.
	ErrDownloadLimit = fault.New(403086, "this was downloaded as often as its sender allows")
	// ErrPinning: the transfer cannot be kept from expiring.
	ErrPinning = fault.New(403088)
	// ErrRecipientOnly: only a recipient has notes about a transfer.
	ErrRecipientOnly = fault.New(403087, "read, pinned and notes are for recipients of a transfer")

	// ErrBeingChecked: the object is being checked for malware and not given yet.
	ErrBeingChecked = fault.New(403090, "the file is being checked for malware; try again later").WithRetryAfter(5 * time.Second)
	// ErrHeld: the object is not given because of what its check has found.
	ErrHeld = fault.New(403091, "the file is not given because of what its check for malware has found")
	// ErrRemoved: the bytes of an infected object were deleted.
	ErrRemoved = fault.New(403092, "the file was deleted because of what its check for malware has found")
	// ErrDamaged: the stored bytes are not those that were sent, or are gone.
	ErrDamaged = fault.New(503012, "the stored bytes of the file are damaged; nothing of it is given until a check finds them in order").
			WithRetryAfter(time.Hour)
	// ErrNoDownloadAnyway: only the owner of the transfer may download a held object, where the organization allows it.
	ErrNoDownloadAnyway = fault.New(403093, "anyway: only the owner may download a held file, and only where the organization allows it")

	// ErrConcatenated: the upload is a final one of tus, or a partial one that a final one is made of.
	ErrConcatenated = fault.New(403094, "a final upload and the partial ones it is made of cannot be changed; delete the final one to start over")

	// ErrRequestClosed: the request takes no more files.
	ErrRequestClosed = fault.New(403100, "the request is closed")
	// ErrLate: the due time of the request has passed, and it takes nothing later.
	ErrLate = fault.New(403101, "the due time has passed, and the request takes nothing later")
	// ErrRequests: the person has as many open requests, or the request as many parties, as there may be.
	ErrRequests = fault.New(403102)
	// ErrTemplate: a template asks nobody.
	ErrTemplate = fault.New(403103, "the request is a template; make a request of it first")

	// ErrNotFound: the resource does not exist or is not visible to the caller (contract 7).
	ErrNotFound = fault.ErrNotFound
	// ErrOneTimeKey: the one-time key is used, expired or for another download.
	ErrOneTimeKey = fault.New(404010, "otk: was used, has expired or is for another download; request a new one")

	// ErrConfirmed: the reservation was already confirmed. See Confirmed.
	ErrConfirmed = fault.New(409010)
	// ErrClientID: another object of the reservation has the clientId, with another name or size.
	ErrClientID = fault.New(409011, "clientId: belongs to an object of another name or size")
	// ErrOvertaken: another request took the writer lease of the object.
	ErrOvertaken = fault.New(409012, "a newer request writes this object; read the offset with HEAD before you continue")
	// ErrVanityLink: another mailbox or group has the vanity link.
	ErrVanityLink = fault.New(409013, "vanityLink: is taken")

	// ErrLinkQuarantined: somebody else has released the vanity link not long ago.
	ErrLinkQuarantined = fault.New(409014, "vanityLink: belonged to somebody else until recently and is not free yet")

	// ErrEnded: the transfer was revoked, or has expired and its grace has ended.
	ErrEnded = fault.New(409020, "the transfer has ended and its content is erased; it cannot be changed or revived")

	// ErrRecipientTaken: the transfer has a recipient with this address.
	ErrRecipientTaken = fault.New(409021)

	// ErrJoining: all parts of an object are held, and are being joined.
	ErrJoining = fault.New(409022).WithRetryAfter(time.Second)
	// ErrOtherWay: the object is uploaded in parts and the request is one stream, or the reverse.
	ErrOtherWay = fault.New(409023)
	// ErrPartial: a final upload names a partial one that lacks bytes, or that another final one has used.
	ErrPartial = fault.New(409024)

	// ErrItemTaken: the item takes no files, because it was handed in.
	ErrItemTaken = fault.New(409030)
	// ErrItemState: the item has no files that could be accepted or returned.
	ErrItemState = fault.New(409031, "state: the item was not handed in, or is in this state already; read again")
	// ErrItemUsed: files were handed in for an item that would be removed.
	ErrItemUsed = fault.New(409032, "items: files were handed in for an item that is missing here")

	// ErrRange: the range is outside the object. See OffsetError.
	ErrRange = fault.ErrBadRange

	// ErrNewTransfers: the bucket of new transfers to the owner is full.
	ErrNewTransfers = fault.New(429003, "too many new transfers for this owner; try again later")
	// ErrMailboxBusy: strangers have as many open reservations at the mailbox as they may have.
	ErrMailboxBusy = fault.New(429011, "this mailbox has as many unfinished transfers as it takes; try again later").WithRetryAfter(time.Minute)
	// ErrClientTransfers: the client network has begun as many new transfers at the mailbox as it may.
	ErrClientTransfers = fault.New(429030, "too many new transfers from your network to this mailbox; try again later")
	// ErrClientBusy: the client network has as many open reservations at the mailbox as it may have.
	ErrClientBusy = fault.New(429012, "your network has as many unfinished transfers to this mailbox as it may have; confirm or cancel one, then try again").WithRetryAfter(time.Minute)
	// ErrReservationUploads: the reservation has as many parallel uploads as it may have.
	ErrReservationUploads = fault.New(429013, "too many parallel uploads to this reservation; wait for one of them, then send this part again").WithRetryAfter(5 * time.Second)
	// ErrClientUploads: the client network has as many parallel uploads as it may have.
	ErrClientUploads = fault.New(429014, "too many parallel uploads from your network; wait for one of them, then send this part again").WithRetryAfter(5 * time.Second)
	// ErrTooManyRecipientsToday: the account's transfers have as many recipients today as they may have.
	ErrTooManyRecipientsToday = fault.New(429015)
	// ErrAsked: the sender was asked to extend the transfer less than a day ago.
	ErrAsked = fault.New(429021, "the sender was asked to extend this transfer less than a day ago").WithRetryAfter(24 * time.Hour)
	// ErrResent: the link was mailed to the recipient less than a minute ago.
	ErrResent = fault.New(429020, "the link was mailed to this recipient less than a minute ago").WithRetryAfter(time.Minute)
	// ErrReminded: the party was mailed less than a day ago.
	ErrReminded = fault.New(429022, "this party was reminded less than a day ago")
	// ErrTooManyLinks: the daily number of links for the address is used up.
	ErrTooManyLinks = fault.New(429023, "email: too many links were mailed to this address today; try again tomorrow")
	// ErrTooManySenderCodes: the daily number of codes for the sender's address is used up.
	ErrTooManySenderCodes = fault.New(429016, "anonEmail: too many codes were mailed to this address today; try again tomorrow")
	// ErrTooManyCodes: the daily number of codes for the link is used up.
	ErrTooManyCodes = fault.New(429004, "ten codes were mailed for this link today; try again tomorrow")

	// ErrStorageFull: the storage has no room.
	ErrStorageFull = fault.New(503010, "the server has no room for more bytes; acknowledged bytes are kept").WithRetryAfter(30 * time.Second)
	// ErrUploads: the server has as many parallel uploads as it takes.
	ErrUploads = fault.New(503021, "the server takes no more parallel uploads at the moment; send this part again").WithRetryAfter(5 * time.Second)
	// ErrStopping: the server shuts down.
	ErrStopping = fault.New(503011, "the server is stopping; acknowledged bytes are kept, continue from the offset that HEAD returns").WithRetryAfter(5 * time.Second)
)

// VolumeRefused reports whether err says that a volume has no room.
func VolumeRefused(err error) bool {
	for _, refusal := range []error{ErrPersonalVolume, ErrSubscriptionVolume, ErrStorageVolume, ErrMailboxUnconfirmed, ErrClientUnconfirmed} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

// Confirmed returns ErrConfirmed with the uid of the transfer that the reservation became.
func Confirmed(uid id.Transfer) error {
	err := ErrConfirmed.With("the reservation is already confirmed; its transfer is " + uid.String())
	err.Transfer = uid.String()
	return err
}

// OffsetProblem says what is wrong with the place of an upload's bytes in their object.
type OffsetProblem int

// The problems of an OffsetError.
const (
	OffsetMismatch OffsetProblem = iota // the bytes do not begin where those held end
	OffsetLost                          // the store lost bytes that were held: the object starts over at 0
	SizeMismatch                        // the request states another size than the object has
	SizeExceeded                        // the bytes would end beyond the size of the object
)

// OffsetError says that the bytes of an upload do not fit the object. The adapter of each protocol answers it in the words of the
// protocol. Without that it is ErrRange.
type OffsetError struct {
	Problem  OffsetProblem
	Held     int64 // bytes held of the object
	Size     int64 // of the object; while Deferred its maximum
	Deferred bool
}

// Error implements error.
func (e *OffsetError) Error() string {
	return fmt.Sprintf("bytes do not fit the object: problem %d, %d of %d bytes held", e.Problem, e.Held, e.Size)
}

// Unwrap returns ErrRange.
func (e *OffsetError) Unwrap() error { return ErrRange }
