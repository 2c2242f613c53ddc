package mail

// The templates. Message.Data holds the keys listed with each; a key in brackets may be missing. Times are time.Time (or
// RFC 3339 text), counts and sizes are integers, everything else is a string. Values marked secret belong in
// Message.Secret, never in Data: they are sealed in the row and erased when the mail is finished.
//
// No template fails because of a missing key.
const (
	// VerifyEmail asks to confirm an address: address, expiresAt; secret link.
	VerifyEmail = "verify-email"
	// ResetPassword carries the link that resets a password: expiresAt, [clientAddress]; secret link.
	ResetPassword = "reset-password"

	// The mails about changes of an account have besides: power (PowerUndo or PowerEnd), at, expiresAt, [clientAddress];
	// secret link.

	// AddressAdded tells that an address was added to the account and waits for its verification: address.
	AddressAdded = "address-added"
	// AddressVerified tells that an address of the account was verified: address.
	AddressVerified = "address-verified"
	// AddressRemoved tells that a verified address was removed from the account: address.
	AddressRemoved = "address-removed"
	// PrimaryChanged tells that another address is the primary one: address.
	PrimaryChanged = "primary-changed"
	// PasswordChanged tells that the password was changed.
	PasswordChanged = "password-changed"
	// PasswordReset tells that the link of a reset mail was used.
	PasswordReset = "password-reset"
	// FactorAdded tells that an authenticator was added: type (totp or recovery), [name].
	FactorAdded = "factor-added"
	// FactorRemoved tells that an authenticator was removed: type (totp or recovery), [name].
	FactorRemoved = "factor-removed"
	// NewDevice tells of a sign-in from a device that was not used before: device (its browser and system).
	NewDevice = "new-device"

	// DataExported tells that somebody downloaded all data of the account. It has what the mails about changes have.
	DataExported = "data-exported"

	// ChangeUndone tells that the link of a mail about a change was used: at, [clientAddress], [password] (any text: the
	// password no longer works).
	ChangeUndone = "change-undone"
	// AccountDeleted tells that the account was deleted, and what with it: at, [clientAddress], [mailbox] (its link), received and
	// sent (transfers), mostCounted (where their count stops), [organization].
	AccountDeleted = "account-deleted"
	// MemberRemoved tells a person of the removal from an organization: [organization], at.
	MemberRemoved = "member-removed"
	// OrganizationDeleted tells a member that the organization was deleted: [organization], at.
	OrganizationDeleted = "organization-deleted"
	// FactorRequired tells a member that the organization requires a second factor: [organization]; link to the account page.
	FactorRequired = "factor-required"
	// FactorGuesses tells that ten wrong codes of a second factor were entered: at, [clientAddress].
	FactorGuesses = "factor-guesses"
	// Invitation invites an address to an organization: [organization], [inviter], expiresAt; secret link.
	Invitation = "invitation"
	// TransferDelivered brings a transfer to a recipient or mailbox owner: sender, senderEmail, [senderUnverified]
	// (true: the sender's address was not checked), [subject], [message],
	// fileCount, totalBytes, expiresAt, protection (none, password, recipientAuthentication); secret link. Subject,
	// message and figures are left out unless protection is none.
	TransferDelivered = "transfer-delivered"
	// UploadConfirmation tells an uploader what a mailbox received: mailbox (the owner's name or address), at,
	// [files] ([]File, MaxFiles of them at most), fileCount, totalBytes. Without files it has no word of the uploader, whose
	// address was not checked. It never has a link, a subject or a message (contract 4.10).
	UploadConfirmation = "upload-confirmation"
	// TransferAccessed tells a sender of the first access: [recipient] (missing: opened by the link alone), [subject], at.
	TransferAccessed = "transfer-accessed"
	// TransferExpiring warns before a transfer expires: role (sender or recipient), sender,
	// [senderUnverified], [subject], fileCount,
	// totalBytes, expiresAt, protection; [secret link]. Hides what TransferDelivered hides.
	TransferExpiring = "transfer-expiring"
	// AccessCode carries the code that opens a protected transfer: sender, [senderUnverified], expiresAt; secret code.
	AccessCode = "access-code"
	// SenderCode carries the code that verifies the address of a mailbox's uploader: mailbox, expiresAt; secret code.
	SenderCode = "sender-code"
	// DeliveryFailed tells a sender that a recipient could not be reached: recipient, [subject], at, [answer].
	DeliveryFailed = "delivery-failed"
	// VanityLinkCleared tells an owner that the mailbox lost its vanity link on a change of host: vanityLink, host;
	// [link] to the mailbox page.
	VanityLinkCleared = "vanity-link-cleared"
	// TestMail is sent by `consign mail test`: at.
	TestMail = "test"
)

// What the link of a mail about a change does (Data["power"]).
const (
	PowerUndo = "undo" // ends all sessions and undoes the change
	PowerEnd  = "end"  // ends all sessions
)

// File is one entry of Data["files"].
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`   // bytes
	SHA256 string `json:"sha256"` // lower-case hex
}
