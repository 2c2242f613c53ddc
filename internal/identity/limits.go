package identity

import "time"

// Limits of the domain that no setting changes.
const (
	// MaxAddresses is how many addresses a person may have (contract 3.6).
	MaxAddresses = 10
	// MaxPasskeys is how many passkeys a person may have (contract 3.27).
	MaxPasskeys = 10
	// MaxRelatedHosts is how many hostnames /.well-known/webauthn lists. Browsers read five domains.
	MaxRelatedHosts = 50
	// MaxCountedMembers is how many members of each organization a list for operators counts.
	MaxCountedMembers = 10_000
	// MaxUploadOrigins is how many upload origins an organization may list (contract 1.10).
	MaxUploadOrigins = 20
	// MaxStewards is how many administrators of an organization, the longest in office, are mailed about its changes (contract 3.29).
	MaxStewards = 1000
	// MaxKnownClients is how many clients without cookies a person is known in (contract 3.23).
	MaxKnownClients = 20
	// MaxDevices is how many persons a device cookie remembers (contract 3.22).
	MaxDevices = 5
	// MaxUserAgent is how many bytes of a User-Agent header a session keeps.
	MaxUserAgent = 255
	// MaxState is how many characters the state of a parked token may have.
	MaxState = 128
	// MaxExternalSID is how many bytes an external provider's session identifier may have.
	MaxExternalSID = 255
	// MaxIssuer is how many bytes the iss of a front-channel logout may have.
	MaxIssuer = 1000

	// ImplicitTokenAge is the greatest age of an external ID token that a client brings (contract 3.14).
	ImplicitTokenAge = 10 * time.Minute
	// ExternalClaimTime is how long an external login can be picked up after the form post, or after the person has confirmed it.
	ExternalClaimTime = 5 * time.Minute
	// HostClaimLifetime is how long the TXT record of a claimed hostname is looked for after the last request for it.
	HostClaimLifetime = 30 * 24 * time.Hour
	// PasskeyChallenge is how long a browser's answer to a challenge is accepted.
	PasskeyChallenge = 5 * time.Minute
	// ClonedMailInterval is the time in which a person gets one mail about a passkey whose counter went back.
	ClonedMailInterval = 24 * time.Hour
	// SecurityMailInterval is the time in which an account gets one mail about changes of one kind (contract 3.23).
	SecurityMailInterval = time.Minute
	// SeniorAdministrator is how long an administrator has to be one to be protected from those who are it for less (contract 3.29).
	SeniorAdministrator = 7 * 24 * time.Hour
	// DeletedPersonRetention is how long the empty row of a deleted person is kept. Access tokens live far shorter.
	DeletedPersonRetention = 30 * 24 * time.Hour
)

// FactorDelays are the delays after the first, second, third … wrong second factor in a row. The last one repeats
// (contract 3.2).
var FactorDelays = []time.Duration{
	0, 0, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute,
	32 * time.Minute, time.Hour,
}

// FactorWarning is after how many wrong second factors in a row the person gets a mail, and then after as many again.
const FactorWarning = 10

// FactorRetention is how long wrong second factors are counted after the last one.
const FactorRetention = 7 * 24 * time.Hour

// Gigabyte is the unit of volumes, in bytes.
const Gigabyte = 1_000_000_000

// NewOrganizationUsers is the limitation users of every other new organization.
const NewOrganizationUsers = 100

// A person makes at most MadeOrganizations organizations in MadeWithin.
const (
	MadeOrganizations = 3
	MadeWithin        = 30 * 24 * time.Hour
)
