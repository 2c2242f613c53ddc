package transfer

import "github.com/consign-dev/consign/internal/id"

// RoleOrganizationAdmin may keep an organization's mailbox groups and its adminunit.
const RoleOrganizationAdmin = "Organization.Admin"

// MailboxGroup is a list of mailboxes of one organization that strangers find under one name. Those of members that have
// left are not in it.
type MailboxGroup struct {
	UID          id.Group
	Organization id.Organization
	Name         string
	Description  string
	VanityLink   string // lower case, or empty
	Members      []GroupMember
}

// GroupMember is a mailbox of a group.
type GroupMember struct {
	Mailbox id.Person
	Bytes   int // of what the mailbox says of itself, which is read apart
}

// Usage is what a person and the person's organization have uploaded in a calendar month (UTC). Limits are negative where
// there is none.
type Usage struct {
	Month             string // YYYY-MM
	UploadBytes       int64
	UploadLimit       int64
	InOrganization    bool // the organization's figures mean something
	OrganizationBytes int64
	OrganizationLimit int64
}

// Avatar is one stored size of a person's picture.
type Avatar struct {
	Image []byte // image/jpeg
	ETag  string
}
