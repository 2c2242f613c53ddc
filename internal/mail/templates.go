// The names of all mail templates, and the keys of their data.

package mail

// Message.Data holds the keys listed with each; a key in brackets may be missing. Times are time.Time (or
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

	// AddressAdded reports that an address was added to the account and waits for its verification: address.
	AddressAdded = "address-added"
	// AddressVerified reports that an address of the account was verified: address.
	AddressVerified = "address-verified"
	// AddressRemoved reports that a verified address was removed from the account: address.
	AddressRemoved = "address-removed"
	// PrimaryChanged reports that another address is the primary one: address.
	PrimaryChanged = "primary-changed"
	// PasswordChanged reports that the password was changed.
	PasswordChanged = "password-changed"
	// PasswordReset reports that the link of a reset mail was used.
	PasswordReset = "password-reset"
	// FactorAdded reports that an authenticator was added: type (totp, webauthn or recovery), [name].
	FactorAdded = "factor-added"
	// FactorRemoved reports that an authenticator was removed: type (totp, webauthn or recovery), [name].
	FactorRemoved = "factor-removed"
	// NewDevice reports a sign-in from a device that was not used before: device (its browser and system).
	NewDevice = "new-device"

	// APITokenCreated reports that an API token was created: name, scopes, validUntil.
	APITokenCreated = "api-token-created"

	// ExportTarget reports that an export target was created or changed: host.
	ExportTarget = "export-target"
	// APITokenExpiring warns before an API token expires: name, expiresAt; link to the page that makes a new one.
	APITokenExpiring = "api-token-expiring"
	// WebhookDisabled reports that a webhook was made inactive: host, gone (true: the receiver wants no more messages); link to the page.
	WebhookDisabled = "webhook-disabled"
	// DataExported reports that somebody downloaded all data of the account. Its data is that of the mails about changes.
	DataExported = "data-exported"

	// ChangeUndone reports that the link of a mail about a change was used: at, [clientAddress], [password] (any text: the
	// password no longer works).
	ChangeUndone = "change-undone"
	// SessionsEnded reports that the link of a mail about a change ended all sessions and did nothing else: at, [clientAddress].
	SessionsEnded = "sessions-ended"
	// AccountDeleted reports that the account was deleted, with the number of its transfers: at, [clientAddress], [mailbox] (its link),
	// received and sent (transfers), mostCounted (where their count stops), [organization]; [secret link] to the certificate of erasure.
	AccountDeleted = "account-deleted"
	// MemberRemoved reports to a person the removal from an organization: [organization], at.
	MemberRemoved = "member-removed"
	// MemberLeft reports to a person the leaving of an organization: [organization], at, [clientAddress].
	MemberLeft = "member-left"
	// OrganizationDeleted reports to a member that the organization was deleted: [organization], at.
	OrganizationDeleted = "organization-deleted"
	// OrganizationChanged reports a sensitive change to an administrator: change (a token.Sensitive), at, expiresAt, [organization],
	// [subject], actor or operator (true) with [reason]; [secret link].
	OrganizationChanged = "organization-changed"
	// TargetsPaused asks an administrator about the export targets of a former one: hosts, subject (the former one); link to the page.
	TargetsPaused = "targets-paused"
	// FactorRequired reports to a member that the organization requires a second factor: [organization]; link to the account page.
	FactorRequired = "factor-required"
	// FactorGuesses reports that ten wrong codes of a second factor were entered: at, [clientAddress].
	FactorGuesses = "factor-guesses"
	// PasskeyCloned reports that a passkey was refused because its counter went back: at, [name], [clientAddress].
	PasskeyCloned = "passkey-cloned"
	// Invitation invites an address to an organization: [organization], [inviter], expiresAt; secret link.
	Invitation = "invitation"
	// TransferDelivered brings a transfer to a recipient or mailbox owner: sender, senderEmail, [senderUnverified]
	// (true: the sender's address was not checked), [subject], [message],
	// [answers] ([]Answer), [files] ([]File, MaxNamed of them at most), fileCount, totalBytes, expiresAt,
	// protection (none, password, recipientAuthentication), [checking] (true: files are given when they are checked), [lastOfDay] (true: there
	// may be no mail about further deliveries of the day), [inbox] (address of the page, of people with an account); secret link. Subject,
	// message, answers, files and figures are left out unless protection is none.
	TransferDelivered = "transfer-delivered"
	// UploadConfirmation confirms to an uploader what a mailbox received: mailbox (the owner's address, or name), at,
	// [answers] ([]Answer), [files] ([]File, MaxFiles of them at most), fileCount, totalBytes, [attach: carries the signed receipt],
	// [verify] (address of the page that checks it); [secret link] to the receipt. Without files it contains no text of the uploader,
	// whose address was not checked, and its link checks it. It has no subject or message (contract 4.10).
	UploadConfirmation = "upload-confirmation"
	// TransferInfected reports a file in which malware was found. To the owner: sender, senderEmail, [senderUnverified], [subject], file,
	// finding, at, [inbox]. To the sender of a transfer to a mailbox: mailbox, at; nothing of the transfer, because the address was not
	// checked.
	TransferInfected = "transfer-infected"
	// UploadUnfinished reminds an uploader, once, of files that reached a mailbox's page but were not delivered: mailbox, fileCount,
	// totalBytes (that have arrived), expiresAt, link to that page. It contains no text of the uploader, whose address was not checked.
	UploadUnfinished = "upload-unfinished"
	// TransferAccessed reports the first access to the sender: [recipient] (missing: opened by the link alone), [subject], at, [inbox].
	TransferAccessed = "transfer-accessed"
	// TransferExpiring warns before a transfer expires: role (sender or recipient), sender,
	// [senderUnverified], [subject], fileCount,
	// totalBytes, expiresAt, protection, [inbox]; [secret link]. Hides what TransferDelivered hides.
	TransferExpiring = "transfer-expiring"
	// TransferReminder reminds a recipient of a transfer who has downloaded nothing. Its data is that of TransferExpiring.
	TransferReminder = "transfer-reminder"
	// ExtensionAsked asks the sender to extend an expired transfer: [recipient] (missing: the link alone), [subject], [message], expiredAt,
	// until (when it is erased), link to the page that extends it.
	ExtensionAsked = "extension-asked"
	// TransferExtended tells a recipient who has asked for it that a transfer is available again. Its data is that of TransferExpiring.
	TransferExtended = "transfer-extended"
	// AccessCode carries the code that opens a protected transfer: sender, [senderUnverified], expiresAt; secret code.
	AccessCode = "access-code"
	// SenderCode carries the code that verifies the address of a mailbox's uploader: mailbox (its address: who has not
	// asked for a mail gets no names), expiresAt; secret code.
	SenderCode = "sender-code"
	// DeliveryFailed reports to the sender that a recipient could not be reached: recipient, [subject], at, [answer], [inbox].
	DeliveryFailed = "delivery-failed"
	// RequestInvitation asks a party for documents: owner, title, [message], items ([]string), [due], [refuses] (true: nothing is taken after
	// the due time); secret link.
	RequestInvitation = "request-invitation"
	// RequestReminder reminds a party of what is missing. Its data is that of RequestInvitation, and [keptUntil] (when what is not handed in
	// is deleted).
	RequestReminder = "request-reminder"
	// RequestReturned names items that were returned: owner, title, answers ([]Answer: item and reason), [due], [refuses]; secret link.
	RequestReturned = "request-returned"
	// RequestComplete tells a party, or with ofOwner the owner, that everything is accepted: owner, party, title, [ofOwner], [attach: carries
	// the signed receipt], [verify]; secret link, for the owner inbox.
	RequestComplete = "request-complete"
	// RequestLink brings the own link to somebody who asked for it at a public one: owner (an address), [due], [refuses]; secret link.
	RequestLink = "request-link"
	// VanityLinkCleared reports to the owner that the mailbox lost its vanity link on a change of host: vanityLink, host;
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

// Answer is one entry of Data["answers"]: a question of a mailbox with what the sender answered.
type Answer struct {
	Title  string `json:"title"`
	Value  string `json:"value"`
	Format string `json:"format"` // date: Value is a day like 2026-11-20
}

// File is one entry of Data["files"].
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`   // bytes
	SHA256 string `json:"sha256"` // lower-case hex
}
