// Package identity has the types of the identity domain (persons, addresses, sessions, organizations), its limits, and
// every error of the identity API. HTTP, transactions and SQL are in its subpackages handler, service and postgres; the
// arithmetic of credentials is in credential.
package identity

import (
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
)

// The roles of the specification's role enumeration.
const (
	RoleOrganizationAdmin = "Organization.Admin"
	RoleContractAdmin     = "Contract.Admin"
	RoleContractRead      = "Contract.Read"
	RoleTransferUse       = "Service.Transfer.Use"
	RoleTransferArchive   = "Service.Transfer.Archive.CreateRoot"
	RoleDriveCreateSpace  = "Service.Drive.CreateSpace"
	RoleAllUse            = "Service.All.Use"
	RoleSpacesUse         = "Service.Spaces.Use"
)

// Roles returns every role, in the order of the specification.
func Roles() []string {
	return []string{RoleOrganizationAdmin, RoleContractAdmin, RoleContractRead, RoleTransferUse, RoleTransferArchive,
		RoleDriveCreateSpace, RoleAllUse, RoleSpacesUse}
}

// Person is a person as the person sees it ("Person profile" of the specification).
type Person struct {
	UID          id.Person
	Name         string // empty: unset
	Locale       string
	TimeZone     string
	HasAvatar    bool
	CreatedAt    time.Time
	LastLoginAt  *time.Time // nil: never
	SuspendedAt  *time.Time // nil: not suspended
	Emails       []Address  // primary first, then by age
	Organization *Organization
	Roles        []string // in Organization
}

// Address is an email address of a person.
type Address struct {
	Address  string // normalized: lower case, domain in ASCII form
	Primary  bool
	Verified bool
	RemoveAt *time.Time // when it is deleted unless verified before; nil once verified
}

// Authenticator is a credential of a person ("Authenticator" of the specification), without its secret.
type Authenticator struct {
	UID          id.Authenticator
	Type         string // bcrypt, totp, webauthn or recovery
	Name         string // empty: unset
	RegisteredAt time.Time
	UpdatedAt    time.Time // of the key; a new name does not change it
	Verified     bool
	Cardinality  int // recovery: number of unused codes; else 1

	// Of a verified passkey:
	UsedAt   *time.Time // nil: never
	BackedUp bool       // it is in the person's cloud or on several devices
	Host     string     // where it works
}

// Organization is the summary of an organization for its members ("Organization summary" of the specification).
type Organization struct {
	UID              id.Organization
	Free             bool
	Name             string // empty: unset
	HasAvatar        bool
	Locale           string
	TimeZone         string
	Hostname         string // the active one; without one the free organization's
	GlobalSignature  string
	LegalNoticeURL   string
	PrivacyPolicyURL string
	MFARequired      bool
}

// Session is one usable ID token ("Token entry" of the specification).
type Session struct {
	JTI       id.Token
	SID       id.Session
	IssuedAt  time.Time
	UsedAt    time.Time // the last use, at most five minutes older than the true one
	ExpiresAt time.Time
	UserAgent string
	IP        string
}

// The authLevel of a session (contract 2.2).
const (
	LevelUnverified = 0 // the primary address is not verified
	LevelOne        = 1 // one factor
	LevelTwo        = 2 // two factors
)

// Operator is a person who operates the installation (contract 9.1).
type Operator struct {
	Person    id.Person
	Name      string
	Address   string
	Role      token.OperatorRole
	AddedAt   time.Time
	HasFactor bool // the person has a second factor; without one the console refuses
}

// SeenMember is a member as an administrator of the organization sees one in a list.
type SeenMember struct {
	Member
	Since     time.Time // the beginning of the membership
	Verified  bool      // the primary address is
	HasFactor bool      // a second one
	Sessions  int
	UsedAt    *time.Time // the last sign-in, or the last use of a session; nil: never
}

// ListedPerson is a person as operators see one in a list.
type ListedPerson struct {
	UID              id.Person
	Name             string // empty: unset
	Email            string // primary address
	Verified         bool   // Email is
	HasFactor        bool   // a second one
	Operator         bool
	Organization     id.Organization // zero: none
	OrganizationName string
	CreatedAt        time.Time
	LastLoginAt      *time.Time // nil: never
}
