package identity

import (
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/id"
)

// OrganizationDetails is all of an organization that its members see ("Organization (full, authenticated)" of the
// specification).
type OrganizationDetails struct {
	UID           id.Organization
	Free          bool
	ExternalUID   string // empty: none
	HasAvatar     bool
	MFARequired   bool
	Theme         Theme
	Profile       OrganizationProfile
	Subscriptions []Subscription
}

// OrganizationProfile is the part of an organization that its administrators can change ("Organization profile" of the
// specification). Empty strings are unset.
type OrganizationProfile struct {
	Name              string
	AddressLine1      string
	AddressLine2      string
	PostCode          string
	City              string
	State             string
	Country           string
	PhoneNumber       string
	GlobalSignature   string
	LegalNoticeURL    string
	PrivacyPolicyURL  string
	Locale            string
	TimeZone          string
	Hostname          string   // the active one; empty: its members are at home on the free organization's host
	InactiveHostnames []string // they also select the organization; in alphabetical order
}

// Theme has the colors of an organization's pages, as #rrggbb. Empty strings are unset.
type Theme struct {
	PrimaryColor    string
	BackgroundColor string
}

// IsZero reports whether there is no theme.
func (t Theme) IsZero() bool { return t == Theme{} }

// HostClaim is a hostname that an organization gets once a TXT record shows that the organization controls it (contract 3.11).
type HostClaim struct {
	Organization id.Organization
	Host         string
	Key          string // the value of the TXT record; not secret
}

// Record returns the DNS name of the TXT record.
func (c HostClaim) Record() string { return "_consign." + c.Host }

// The product domains.
const (
	DomainSpaces   = "spaces"
	DomainTransfer = "skp"
)

// Domains returns the product domains.
func Domains() []string { return []string{DomainSpaces, DomainTransfer} }

// StatusActive is the status of a subscription that is in force.
const StatusActive = "active"

// SubscriptionStatuses returns every status of a subscription.
func SubscriptionStatuses() []string {
	return []string{StatusActive, "cancelled", "incomplete", "past_due", "incomplete_expired", "trialing", "unpaid"}
}

// Subscription is a subscription of an organization. Without a product, ProductID and DisplayName are empty, and the API shows
// neither Domain nor Status.
type Subscription struct {
	Organization id.Organization
	Domain       string
	ProductID    string
	DisplayName  string
	Status       string
	CreatedAt    time.Time
	UpdatedAt    time.Time
	ExpiresAt    *time.Time // when cancelled; nil: not cancelled
}

// ActiveAt reports whether this is a subscription of domain that is in force at now.
func (s Subscription) ActiveAt(domain string, now time.Time) bool {
	return s.Domain == domain && s.Status == StatusActive && (s.ExpiresAt == nil || now.Before(*s.ExpiresAt))
}

// The values of the limitation changeHostname (contract 3.11).
const (
	HostnameFixed  = "noChange" // no own hostname
	HostnameLabel  = "pro"      // one label below the base domain
	HostnameLabels = "teambeam" // one or two labels below the base domain
	HostnameCustom = "custom"   // any hostname
)

// Member is a person in an organization ("Member entry" of the specification).
type Member struct {
	UID         id.Person
	Name        string // empty: unset
	Email       string // primary address
	Roles       []string
	Reference   string // the organization's note about the member; empty: none
	ExternalUID string // empty: none
	Issuer      string // of the external identity provider; empty: a local account
}

// ListedOrganization is what a list for operators shows of an organization.
type ListedOrganization struct {
	UID            id.Organization
	Name           string
	Free           bool
	Hostname       string // the active one; empty: none
	Members        int    // no more than MaxCountedMembers are counted
	MFARequired    bool
	ServiceEnabled bool
	CreatedAt      time.Time
}

// JoinedMember is a member with the time at which the membership began.
type JoinedMember struct {
	Member
	Since time.Time
}

// Invitation grants the person who accepts it membership of an organization.
type Invitation struct {
	Key          string
	Address      string     // empty: shared; anybody can accept it, any number of times
	Inviter      *id.Person // nil: an operator, or a deleted person
	Roles        []string
	ExpiresAt    *time.Time // nil for shared ones: never
	Organization Organization
}

// Shared reports whether anybody who has the key can accept the invitation.
func (i Invitation) Shared() bool { return i.Address == "" }

// PublicInvitation is what the holder of an invitation's key sees without an account (contract 3.10).
type PublicInvitation struct {
	Invitation
	InviterName    string // empty: unset, or there is no inviter
	InviterAddress string // primary address; empty: there is no inviter
}

// From returns who invites: the name, else for a personalized invitation the address. It is empty when nobody can be named.
func (p PublicInvitation) From() string {
	if p.InviterName == "" && !p.Shared() {
		return p.InviterAddress
	}
	return p.InviterName
}

// SortRoles returns the known roles in the order of Roles without duplicates, and the unknown ones.
func SortRoles(roles []string) (sorted, unknown []string) {
	known := Roles()
	for _, r := range roles {
		if !slices.Contains(known, r) {
			unknown = append(unknown, r)
		}
	}
	sorted = make([]string, 0, len(roles))
	for _, r := range known {
		if slices.Contains(roles, r) {
			sorted = append(sorted, r)
		}
	}
	return sorted, unknown
}
