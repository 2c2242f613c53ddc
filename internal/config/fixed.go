// The values that no setting changes: constants of the program, and those that tests change.

package config

import "time"

// Values that no setting changes. They are here so that every default is in this package.
const (
	// HostsTTL is how long a replica caches which organization a hostname selects. A change invalidates the copy at once.
	HostsTTL = time.Minute

	// SafeBcryptCost is the cost below which the start warns (ASVS 2.4.4).
	SafeBcryptCost = 10

	// JobWorkers is how many jobs of the default queue run at once.
	JobWorkers = 8
	// JobPollInterval is how often the job queue is read without a notification.
	JobPollInterval = 5 * time.Second
	// JobPollOnlyInterval replaces JobPollInterval where a pooler does not forward notifications.
	JobPollOnlyInterval = time.Second
	// JobTimeout bounds one run of a job.
	JobTimeout = 2 * time.Minute
	// JobStopWithin is how long running jobs may continue after the stop signal.
	JobStopWithin = 10 * time.Second
)

// Constants are values of Config that no setting changes: the specifications name them, or nobody who runs a server can judge them.
// Parse sets them. Tests change them afterwards (testkit.Constants).
type Constants struct {
	IdentityBasePath string // of the identity API
	TransferBasePath string // of the transfer API

	SignupTokenLifetime     time.Duration // of the ID token of a signup whose address is not verified
	MFATokenLifetime        time.Duration // time for the second factor
	PreflightTokenLifetime  time.Duration // time for a federated login
	PickupTokenLifetime     time.Duration // time to pick up a parked session
	VerificationKeyLifetime time.Duration // of a link that verifies an address
	SetPasswordLifetime     time.Duration // time to set the new password after a reset
	DeviceLifetime          time.Duration // after its last sign-in, for which a browser is known
	RecentEmail             time.Duration // maximum age of the primary address's verification for registering authenticators
	ResetAddressAge         time.Duration // for which a secondary address must have been verified before it can reset the password
	// UndoLifetime is the time for which a link in a security mail undoes the change. Only an address that had been verified for this
	// time before the change gets such a link.
	UndoLifetime time.Duration

	WatchInterval time.Duration // at which a replica tries its storage without a request

	ReservationLifetime    time.Duration // of a reservation and its token
	DownloadTokenLifetime  time.Duration // of the download token of a transfer link
	DownloadResumeLifetime time.Duration // time to continue a download started with a one-time key
	DownloadBudget         int           // how many times the size of its download a one-time key sends in all
	LinkQuarantine         time.Duration // for which only its former owner may take a released vanity link
	YoungAccount           time.Duration // age below which an account has fewer recipients a day
	UploadConfirmationsDay int           // mails for each address and day that confirm an upload
	SenderCodesDay         int           // codes for each address and day that verify the sender of a transfer to a mailbox
	OpenObjects            int           // files of a person's reservations that are not confirmed yet
	StrangerMaxFiles       int           // files of a stranger's reservation; a smaller limit of the mailbox or the organization wins

	UploadWindowMB           int           // volume that an upload reserves ahead of what has arrived, in MB
	UploadMinimumRate        int           // bytes a second that an upload must bring, averaged over a minute
	OrphanAge                time.Duration // minimum age of stored bytes without a row before they are swept
	AvatarMaxBytes           int           // size of an uploaded picture
	AvatarMaxPixels          int
	AnonymousSessionLifetime time.Duration // of the cookie that distinguishes callers without a token for rate limits
	APITokenBucket           Bucket        // calls with an API token, per token, instead of the general bucket
	UploadBucket             Bucket        // upload calls, per reservation
	DownloadBucket           Bucket        // downloads, per session or delivery

	ScannerPoolMB   int           // MB of the files that a replica sends to the scanner at a time
	ScannerPatience time.Duration // after which a file without a verdict is failed when the scanner does not answer; it is tried again
	RescanPeriod    time.Duration // after the delivery, for which files are inspected again when the scanner has new signatures
	TSAInterval     time.Duration // at least, between two time stamps; receipts get the next one
}

var constants = Constants{
	IdentityBasePath: "/id/v3",
	TransferBasePath: "/transfer/v2",

	SignupTokenLifetime:     time.Hour,
	MFATokenLifetime:        5 * time.Minute,
	PreflightTokenLifetime:  10 * time.Minute,
	PickupTokenLifetime:     time.Minute,
	VerificationKeyLifetime: day,
	SetPasswordLifetime:     15 * time.Minute,
	DeviceLifetime:          365 * day,
	RecentEmail:             180 * day,
	ResetAddressAge:         7 * day,
	UndoLifetime:            7 * day,

	WatchInterval: 15 * time.Second,

	ReservationLifetime:    2 * day,
	DownloadTokenLifetime:  time.Hour,
	DownloadResumeLifetime: time.Hour,
	DownloadBudget:         2,
	LinkQuarantine:         90 * day,
	YoungAccount:           7 * day,
	UploadConfirmationsDay: 10,
	SenderCodesDay:         12,
	OpenObjects:            10_000,
	StrangerMaxFiles:       1000,

	UploadWindowMB:           64,
	UploadMinimumRate:        1024,
	OrphanAge:                7 * day,
	AvatarMaxBytes:           10 << 20,
	AvatarMaxPixels:          50_000_000,
	AnonymousSessionLifetime: day,
	APITokenBucket:           Bucket{Capacity: 600, PerSecond: 10},
	UploadBucket:             Bucket{Capacity: 1000, PerSecond: 50},
	DownloadBucket:           Bucket{Capacity: 200, PerSecond: 10},

	ScannerPoolMB:   400,
	ScannerPatience: 10 * time.Minute,
	RescanPeriod:    3 * day,
	TSAInterval:     time.Minute,
}
