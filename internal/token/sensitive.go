package token

// Sensitive is a kind of change of what an organization depends on. It needs a step-up, is refused to API tokens, and is mailed to all
// administrators (contract 3.29). The route tables declare which route makes which.
type Sensitive string

// The sensitive changes.
const (
	AdministratorInvited Sensitive = "administrator.invited"
	AdministratorAdded   Sensitive = "administrator.added"
	AdministratorRemoved Sensitive = "administrator.removed"
	HostnameChanged      Sensitive = "hostname.changed"
	FactorWaived         Sensitive = "factor.waived"
	OriginsChanged       Sensitive = "origins.changed"
	TargetChanged        Sensitive = "target.changed"
	RulesLowered         Sensitive = "rules.lowered" // inspection, protectionLevel or retention
	HoldChanged          Sensitive = "hold.changed"  // added or ended
	OrganizationDeleted  Sensitive = "organization.deleted"
)

// ErrSensitive refuses a sensitive change to API tokens.
var ErrSensitive = ErrNoScope.With("Authorization: API tokens cannot make sensitive changes of an organization; sign in for this one")

// SensitiveChange is a sensitive change that was made.
type SensitiveChange struct {
	Kind    Sensitive
	Object  string // what was changed, such as the uid of a member; empty: there is one only
	Subject string // what mails show of it: a name, an address or a host; may be empty
	Before  any    // what restores the state before it, as JSON; nil: it cannot be undone
}
