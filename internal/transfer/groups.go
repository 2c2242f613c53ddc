package transfer

import (
	"time"

	"github.com/consign-dev/consign/internal/id"
)

// RoleOrganizationAdmin may manage an organization's mailbox groups and its adminunit.
const RoleOrganizationAdmin = "Organization.Admin"

// MailboxGroup is a named list of mailboxes of one organization, for strangers. Mailboxes of former members are not in it.
type MailboxGroup struct {
	UID          id.Group
	Organization id.Organization
	Name         string
	Description  string
	VanityLink   string        // lower case, or empty
	Members      []GroupMember `db:"-"`
}

// GroupMember is a mailbox of a group.
type GroupMember struct {
	Mailbox id.Person
	Bytes   int // size of the mailbox's texts, which are read separately
}

// Usage is the upload volume of a person and of the person's organization in a calendar month (UTC). A negative limit means
// no limit.
type Usage struct {
	Month             string // YYYY-MM
	UploadBytes       int64
	ReservedBytes     int64 // reserved for uploads under way, not in UploadBytes
	UploadLimit       int64
	InOrganization    bool // false: the organization's figures are zero
	OrganizationBytes int64
	OrganizationLimit int64
	StoredBytes       int64 // of the organization, at present
	StorageLimit      int64
}

// OrganizationUsage is what an organization uses of its limitations.
type OrganizationUsage struct {
	Month         time.Time
	TransferBytes int64 // of the month, also reserved ones
	StoredBytes   int64 // also reserved ones
	Mailboxes     int   // of the first MaxCountedMembers members
	MailboxGroups int
}

// MaxCountedMembers is of how many members of an organization an operator sees the mailboxes counted.
const MaxCountedMembers = 10_000

// Avatar is one stored size of a person's picture.
type Avatar struct {
	Image []byte // image/jpeg
	ETag  string
}
