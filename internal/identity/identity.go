// Package identity is the vocabulary of the identity domain: persons, their addresses, sessions and organizations, and
// every failure that a client of the identity API can meet. It holds no SQL, no HTTP and no transactions; those are the
// layers below it: handler, service, postgres. Credentials have a package of their own, credential.
package identity

import (
	"time"

	"github.com/consign-dev/consign/internal/id"
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

// Roles lists every role, in the order of the specification.
func Roles() []string {
	return []string{RoleOrganizationAdmin, RoleContractAdmin, RoleContractRead, RoleTransferUse, RoleTransferArchive,
		RoleDriveCreateSpace, RoleAllUse, RoleSpacesUse}
}

// Person is a person profile as its owner sees it ("Person profile" of the specification).
type Person struct {
	UID          id.Person
	Name         string // empty: unset
	Locale       string
	TimeZone     string
	HasAvatar    bool
	CreatedAt    time.Time
	LastLoginAt  *time.Time // nil: never
	Emails       []Address  // primary first, then by age
	Organization *Organization
	Roles        []string // in Organization
}

// Address is an email address of a person.
type Address struct {
	Address  string // normalized: lower case, domain in ASCII form
	Primary  bool
	Verified bool
	RemoveAt *time.Time // when it is removed unless verified before; nil once verified
}

// Authenticator is a credential of a person ("Authenticator" of the specification), without its secret.
type Authenticator struct {
	UID          id.Authenticator
	Type         string // bcrypt, totp or recovery
	Name         string // empty: unset
	RegisteredAt time.Time
	UpdatedAt    time.Time // of the key; a new name leaves it
	Verified     bool
	Cardinality  int // recovery: codes that are left; else 1
}

// Organization is the summary that any member sees ("Organization summary" of the specification).
type Organization struct {
	UID              id.Organization
	Free             bool
	Name             string // empty: unset
	HasAvatar        bool
	Locale           string
	TimeZone         string
	Hostname         string // active; the free one's when it has none
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
	ExpiresAt time.Time
	UserAgent string
	IP        string
}

// AuthLevel of a session (contract 2.2).
const (
	LevelUnverified = 0 // the primary address is not verified
	LevelOne        = 1 // one factor
	LevelTwo        = 2 // two factors
)
