package transfer

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/id"
)

// Mailbox is a person's public mailbox as its owner has set it. A zero limit, empty name or empty address stands for the one
// of the adminunit or profile.
type Mailbox struct {
	Person         id.Person
	Secure         bool
	Name           string
	Email          string
	VanityLink     string // lower case, or empty
	Slogan         string
	Absent         bool
	AbsenceMessage string
	FieldsSchema   []byte // JSON, or nil
	UISchema       []byte // JSON, or nil
	MIMETypeFilter []string
	MaxFiles       int32
	MaxFileSizeMB  int64
	VerifySender   bool             // a stranger verifies the stated address with a code
	PrefillLocked  bool             // the page shows values from its link locked; the server cannot know them
	Inspection     InspectionPolicy // empty: the organization's
	OwnNetworks    []netip.Prefix   // of the owner's house: see IsHouse
	HasPicture     bool             // the page shows a picture behind its panel
	HasAvatar      bool             // of its owner
	Suspended      bool             // by an operator; that of its owner is in Account
}

// IsHouse reports whether a client network is one of the owner's house. Strangers there share none of the bounds of one client network at
// the mailbox, only those of all strangers.
func IsHouse(own []netip.Prefix, client netip.Prefix) bool {
	return client.IsValid() && slices.ContainsFunc(own, func(p netip.Prefix) bool { return p.Contains(client.Addr()) })
}

// ParseOwnNetworks parses networks of the owner's house: at most MaxOwnNetworks, IPv4 of /16 to /32 and IPv6 of /32 to /64. An address
// stands for its client network. problem is empty for valid ones.
func ParseOwnNetworks(list []string) (own []netip.Prefix, problem string) {
	if len(list) > MaxOwnNetworks {
		return nil, fmt.Sprintf("has more than %d entries", MaxOwnNetworks)
	}
	for _, text := range list {
		p, err := netip.ParsePrefix(text)
		widest, narrowest := 16, 32
		if strings.Contains(text, ":") {
			widest, narrowest = 32, 64
		}
		if address, addressErr := netip.ParseAddr(text); addressErr == nil && address.Zone() == "" {
			p, err = netip.PrefixFrom(address, narrowest), nil
		}
		if err != nil || p.Addr().Is4In6() || p.Bits() < widest || p.Bits() > narrowest {
			return nil, "must hold addresses, or networks such as 198.51.100.0/24: of IPv4 /16 to /32, of IPv6 /32 to /64"
		}
		if p = p.Masked(); !slices.Contains(own, p) {
			own = append(own, p)
		}
	}
	return own, ""
}

// ListedMailbox is what a list for operators shows of a mailbox or a group.
type ListedMailbox struct {
	Person           id.Person // zero: a group
	MailboxGroup     id.Group  // zero: a mailbox
	Link             string
	Name             string
	Email            string // of the owner
	Absent, Secure   bool
	Organization     id.Organization // zero: none
	OrganizationName string
	Members          int   // of a group
	Reservations     int   // open ones of strangers
	Bytes            int64 // in them
}

// UsedMailbox is what an administrator of the organization sees of a member's mailbox.
type UsedMailbox struct {
	PublicMailbox
	MailboxUse
}

// CountedTransfers is how many transfers of an owner, from the newest, MailboxUse counts.
const CountedTransfers = 500

// MailboxUse says how much a mailbox is used. It counts what was sent to it while its owner was in the present organization.
type MailboxUse struct {
	ReceivedAt       *time.Time // the newest transfer; nil: none is counted
	Transfers        int        // that have not ended
	Bytes            int64      // in them
	Partly           bool       // there may be more: CountedTransfers were examined
	Reservations     int        // open ones of strangers
	ReservationBytes int64
}

// Owner holds what the rules need about the owner of a mailbox or a transfer.
type Owner struct {
	Account
	Terms
}

// Account is a person's own part of an Owner: what the directory says, and the volume used this month.
type Account struct {
	Name         string          `db:"owner_name"`
	Email        string          `db:"owner_email"` // the primary address
	Locale       string          `db:"owner_locale"`
	TimeZone     string          `db:"owner_time_zone"`
	Roles        []string        `db:"owner_roles"`
	Organization id.Organization `db:"owner_organization"` // zero: none
	CreatedAt    time.Time       `db:"owner_created_at"`
	Suspended    bool            `db:"owner_suspended"`

	UploadLimit      int64 // bytes a month; negative: none
	UploadHeld       int64
	UploadReserved   int64 // for uploads under way
	OrganizationHeld int64
}

// Terms are the part of an Owner that all persons of an organization share, and all persons without one.
type Terms struct {
	LimitsOrganization id.Organization // the organization, or the free one
	Host               string          // home host
	ServiceEnabled     bool
	FilterAllowed      bool // the subscription includes MIME filtering
	ReceiversLimit     int32
	TransferLimit      int     // new-transfer bucket: capacity
	TransferDrain      float64 // new-transfer bucket: drain rate in tokens a second
	OrganizationLimit  int64   // bytes a month; negative: none
	StorageLimit       int64   // bytes stored at a time; negative: none
	StorageHeld        int64
	Adminunit
}

// The roles that may keep a mailbox and send (contract 4, PUT /mailbox).
const (
	RoleTransferUse = "Service.Transfer.Use"
	RoleAllUse      = "Service.All.Use"
)

// MayTransfer reports whether the owner may keep a mailbox and send. A person without an organization needs no role: only an
// organization can grant one.
func (o Owner) MayTransfer() bool {
	if o.Organization.IsZero() {
		return true
	}
	for _, r := range o.Roles {
		if r == RoleTransferUse || r == RoleAllUse {
			return true
		}
	}
	return false
}

// MayKeep checks that the owner may keep a mailbox, send and request.
// Errors: ErrServiceDisabled, ErrRoleMissing.
func (o Owner) MayKeep() error {
	if !o.ServiceEnabled {
		return ErrServiceDisabled
	}
	if !o.MayTransfer() {
		return ErrRoleMissing
	}
	return nil
}

// PersonalVolumeExceeded reports whether the owner's own monthly upload volume is used up.
func (o Owner) PersonalVolumeExceeded() bool {
	return o.UploadLimit >= 0 && o.UploadHeld >= o.UploadLimit
}

// SubscriptionVolumeExceeded reports whether the organization's monthly transfer volume is used up.
func (o Owner) SubscriptionVolumeExceeded() bool {
	return o.OrganizationLimit >= 0 && o.OrganizationHeld >= o.OrganizationLimit
}

// StorageExceeded reports whether the organization's storage volume is used up.
func (o Owner) StorageExceeded() bool {
	return o.StorageLimit >= 0 && o.StorageHeld >= o.StorageLimit
}

// VolumeExceeded reports whether one of the volumes is used up.
func (o Owner) VolumeExceeded() bool {
	return o.PersonalVolumeExceeded() || o.SubscriptionVolumeExceeded() || o.StorageExceeded()
}

// RoomFor refuses texts that do not fit one of the volumes at the moment. The charge decides (contract 4.8).
// Errors: ErrPersonalVolume, ErrSubscriptionVolume, ErrStorageVolume.
func (o Owner) RoomFor(bytes int64) error {
	over := func(limit, held int64) bool { return limit >= 0 && bytes > 0 && held+bytes > limit }
	switch {
	case over(o.StorageLimit, o.StorageHeld):
		return ErrStorageVolume
	case over(o.UploadLimit, o.UploadHeld):
		return ErrPersonalVolume
	case over(o.OrganizationLimit, o.OrganizationHeld):
		return ErrSubscriptionVolume
	}
	return nil
}

// PublicMailbox is a mailbox with its owner.
type PublicMailbox struct {
	Mailbox
	Owner Owner
}

// DisplayName returns the mailbox's own name, or the profile's.
func (m PublicMailbox) DisplayName() string {
	if m.Name != "" {
		return m.Name
	}
	return m.Owner.Name
}

// Address returns the mailbox's own address, or the primary one.
func (m PublicMailbox) Address() string {
	if m.Email != "" {
		return m.Email
	}
	return m.Owner.Email
}

// FileLimit returns how many files a reservation for this mailbox may have.
func (m PublicMailbox) FileLimit() int32 {
	if m.MaxFiles > 0 {
		return min(m.MaxFiles, m.Owner.MaxFiles)
	}
	return m.Owner.MaxFiles
}

// FileSizeLimitMB returns the maximum size of a file in MB.
func (m PublicMailbox) FileSizeLimitMB() int64 {
	if m.MaxFileSizeMB > 0 {
		return min(m.MaxFileSizeMB, m.Owner.MaxFileSizeMB)
	}
	return m.Owner.MaxFileSizeMB
}

// Filtered reports whether the MIME filter applies: the owner has set one and the subscription includes it.
func (m PublicMailbox) Filtered() bool { return len(m.MIMETypeFilter) > 0 && m.Owner.FilterAllowed }

// Protection returns the protection of transfers to this mailbox (contract 4.6).
func (m PublicMailbox) Protection() Protection {
	if m.Secure || m.Owner.ProtectionLevel != ProtectNone {
		return ProtectIdentity
	}
	return ProtectNone
}

// Unavailable is why a mailbox accepts no new reservations; empty: it accepts them (contract 4.2).
type Unavailable string

// The values of Unavailable.
const (
	NotAvailable    Unavailable = "notAvailable" // it or its owner is suspended
	ServiceDisabled Unavailable = "serviceDisabled"
	RoleMissing     Unavailable = "roleMissing"
	OwnerAbsent     Unavailable = "absent"
	VolumeUsedUp    Unavailable = "volume"  // of this month
	StorageUsedUp   Unavailable = "storage" // of what is stored at a time
)

// Unavailable returns why the mailbox accepts no new reservation, apart from its owner's rate limit, and the error that
// refuses one.
// Errors: ErrServiceDisabled, ErrAbsent, ErrPersonalVolume, ErrSubscriptionVolume, ErrStorageVolume.
func (m PublicMailbox) Unavailable() (Unavailable, error) {
	switch {
	case m.Suspended, m.Owner.Suspended:
		return NotAvailable, ErrServiceDisabled
	case !m.Owner.ServiceEnabled:
		return ServiceDisabled, ErrServiceDisabled
	case !m.Owner.MayTransfer():
		return RoleMissing, ErrServiceDisabled
	case m.Absent:
		return OwnerAbsent, ErrAbsent
	case m.Owner.PersonalVolumeExceeded():
		return VolumeUsedUp, ErrPersonalVolume
	case m.Owner.SubscriptionVolumeExceeded():
		return VolumeUsedUp, ErrSubscriptionVolume
	case m.Owner.StorageExceeded():
		return StorageUsedUp, ErrStorageVolume
	}
	return "", nil
}

// Month returns the first day of t's calendar month (UTC), the unit of volumes.
func Month(t time.Time) time.Time {
	y, m, _ := t.UTC().Date()
	return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
}
