package identity

import (
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/id"
)

// OrganizationDetails is an organization as its members see it ("Organization (full, authenticated)").
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

// OrganizationProfile is what administrators of an organization may change ("Organization profile"). Empty strings are
// unset.
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
	Hostname          string   // the active one; empty: the free organization's hosts serve this one's members
	InactiveHostnames []string // still select the organization; in alphabetical order
}

// Theme is the colors of an organization's pages, as #rrggbb; empty strings are unset.
type Theme struct {
	PrimaryColor    string
	BackgroundColor string
}

// IsZero reports whether there is no theme.
func (t Theme) IsZero() bool { return t == Theme{} }

// HostClaim is a hostname that becomes an organization's once a TXT record proves that it is (contract 3.11).
type HostClaim struct {
	Organization id.Organization
	Host         string
	Key          string // what the TXT record has to hold; no secret
}

// Record is the DNS name of the TXT record.
func (c HostClaim) Record() string { return "_consign." + c.Host }

// The product domains.
const (
	DomainSpaces   = "spaces"
	DomainTransfer = "skp"
)

// Domains lists the product domains.
func Domains() []string { return []string{DomainSpaces, DomainTransfer} }

// StatusActive is the status of a subscription that counts.
const StatusActive = "active"

// SubscriptionStatuses lists every status of a subscription.
func SubscriptionStatuses() []string {
	return []string{StatusActive, "cancelled", "incomplete", "past_due", "incomplete_expired", "trialing", "unpaid"}
}

// Subscription is what an organization has subscribed to. Domain, ProductID, DisplayName and Status are empty together
// while it references no product.
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

// ActiveAt reports whether the subscription of a domain counts at a time.
func (s Subscription) ActiveAt(domain string, now time.Time) bool {
	return s.Domain == domain && s.Status == StatusActive && (s.ExpiresAt == nil || now.Before(*s.ExpiresAt))
}

// What changeHostname may be: no hostname of one's own, a label below the base domain, up to two labels, or any name
// (contract 3.11).
const (
	HostnameFixed  = "noChange"
	HostnameLabel  = "pro"
	HostnameLabels = "teambeam"
	HostnameCustom = "custom"
)

// Limits are the limitations of an organization ("Organization limitations"). Volumes are in bytes.
type Limits struct {
	Organization              id.Organization
	ServiceEnabled            bool
	Users                     int
	TransferVolumeBytes       int64
	StorageVolumeBytes        int64
	GDPRContract              bool
	SecureSpaces              bool
	MimeTypeFilter            bool
	NewTransferLimit          int
	NewTransferDrainRate      float64 // drops a second
	NewTransferReceiversLimit int
	AdminPortal               bool
	MailboxGroups             int
	ChangeHostname            string
}

// Member is a person in an organization ("Member entry").
type Member struct {
	UID         id.Person
	Name        string // empty: unset
	Email       string // primary address
	Roles       []string
	Reference   string // the organization's own words about the member; empty: none
	ExternalUID string // empty: none
	Issuer      string // of the external identity provider; empty: a local account
}

// Invitation grants membership of an organization to whoever accepts it.
type Invitation struct {
	Key          string
	Address      string     // empty: shared, can be accepted by anybody and often
	Inviter      *id.Person // nil: an operator, or removed
	Roles        []string
	ExpiresAt    *time.Time // nil: never, of shared ones
	Organization Organization
}

// Shared reports whether the invitation is for everybody who has its key.
func (i Invitation) Shared() bool { return i.Address == "" }

// SortRoles returns roles in the order of Roles, each once. Unknown ones are returned as unknown.
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
