// Package webhook has the types of webhooks and export targets: addresses to which the events of a person, or of the members of an
// organization, are sent (contract 3.26, 3.28). HTTP, transactions and SQL are in its subpackages; what sends is package outbound.
package webhook

import (
	"time"

	"github.com/consign-dev/consign/internal/id"
)

// Webhook is an address to which the events of a person, or of the members of an organization, are sent (contract 3.26).
type Webhook struct {
	UID            id.Webhook
	Person         id.Person       // zero: of an organization
	Organization   id.Organization // zero: of a person
	Kind           string          // KindURL or the kind of an export target
	URL            string          // of an export target with its kind in front: s3+https://…
	Username       string          // of an export target
	Events         []string        // kinds
	PreviousUntil  *time.Time
	Active         bool
	DisabledReason string // empty: not made inactive by the server
	CreatedAt      time.Time
	FailingSince   *time.Time
}

// KindURL is the kind of a webhook that gets messages. Those of the other kinds, of package target, are export targets: they get copies
// of transfers.
const KindURL = "url"

// Exports reports whether a webhook is an export target.
func (w Webhook) Exports() bool { return w.Kind != KindURL }

// The reasons why the server makes a webhook inactive.
const (
	DisabledFailing = "FAILING" // no success for FailingTime
	DisabledGone    = "GONE"    // the receiver answered 410

	// DisabledSecurity: an export target whose maker's sessions were all ended, because somebody else may have made it.
	DisabledSecurity = "SECURITY"
	// DisabledMaker: an export target of an organization whose maker is no longer an administrator.
	DisabledMaker = "MAKER"
)

// Delivery is an event for a webhook, with its last attempt.
type Delivery struct {
	UID           id.Message
	Event         id.Event
	Kind          string
	Subject       string
	State         string
	Attempts      int
	CreatedAt     time.Time
	NextAttemptAt time.Time
	LastAttemptAt *time.Time
	Status        *int
	DurationMs    *int
	Answer        *string
	Reason        *string
}

// The states of a Delivery.
const (
	DeliveryPending   = "pending"   // waits for its first or next attempt
	DeliveryDelivered = "delivered" // the receiver answered with 2xx
	DeliveryDead      = "dead"      // given up; it can be sent again
)

// The reasons of dead deliveries, besides those of package outbound.
const (
	ReasonTooMany  = "TOO_MANY" // more than MaxPendingDeliveries waited
	ReasonDisabled = "DISABLED" // the webhook was made inactive

	// Of export targets:
	ReasonEnded     = "ENDED"     // the transfer ended before it was copied
	ReasonProtected = "PROTECTED" // a password, an address or limits protect the transfer
	ReasonPersonal  = "PERSONAL"  // not sent to a mailbox; such deliveries are deleted
)

// Ping is the kind of a test, which no feed has.
const Ping = "PING"

// Limits of webhooks (contract 3.26).
const (
	MaxOfPerson          = 10   // of a person
	MaxOfOrganization    = 20   // of an organization
	MaxPendingDeliveries = 1000 // of a webhook; the oldest beyond become dead
	LoggedDeliveries     = 100  // of a webhook that are kept: delivered ones, and as many dead ones
	FailingTime          = 72 * time.Hour
	MaxPendingPings      = 10             // tests of one webhook
	SecretOverlap        = 24 * time.Hour // how long a replaced secret signs too
	MaxTargetLogin       = 500            // bytes of the user and of the password of an export target
)
