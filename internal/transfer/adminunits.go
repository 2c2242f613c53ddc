package transfer

import (
	"fmt"
	"slices"

	"github.com/consign-dev/consign/internal/fault"
)

// DefaultAdminunit returns the settings of an organization that has stored none (contract 4.2). The TTLs are days.
func DefaultAdminunit(availableTTL []int32, defaultTTL int32) Adminunit {
	return Adminunit{
		AvailableTTL: availableTTL, DefaultTTL: defaultTTL, PriorityEnabled: true, PinningEnabled: true, ProtectionLevel: ProtectNone,
		MaxFiles: 10_000, MaxFileSizeMB: 50_000, MaxRecipients: 100,
	}
}

// Rank returns the position of the level by strength, -1 for an unknown one.
func (p Protection) Rank() int {
	return slices.Index([]Protection{ProtectNone, ProtectPassword, ProtectIdentity}, p)
}

// Sensitive reports whether settings protect less than u (a lower protection, or an inspection that lets more through), or keep things
// longer or shorter.
func (u Adminunit) Sensitive(after Adminunit) bool {
	a, b := u.Inspection.Effective(), after.Inspection.Effective()
	return after.Retention != u.Retention || after.ProtectionLevel.Rank() < u.ProtectionLevel.Rank() ||
		b.Strangers.rank() < a.Strangers.rank() ||
		b.Members.rank() < a.Members.rank() || b.Partly.rank() < a.Partly.rank() || b.Failed.rank() < a.Failed.rank() ||
		b.DownloadAnyway && !a.DownloadAnyway ||
		slices.ContainsFunc(a.Rules, func(rule string) bool { return !slices.Contains(b.Rules, rule) })
}

// Check checks the settings.
// Errors: fault.ErrInvalid with one detail per problem.
func (u Adminunit) Check() error {
	var problems fault.Problems
	within := func(member string, value, most int64) {
		if value < 1 || value > most {
			problems.Add(member, fmt.Sprintf("must be from 1 to %d", most))
		}
	}
	if len(u.AvailableTTL) == 0 || len(u.AvailableTTL) > maxTTLs {
		problems.Add("availableTtl", fmt.Sprintf("must have 1 to %d entries", maxTTLs))
	}
	for i, days := range u.AvailableTTL {
		if days < 1 || days > maxTTL {
			problems.Add("availableTtl", fmt.Sprintf("must hold days from 1 to %d", maxTTL))
			break
		}
		if slices.Contains(u.AvailableTTL[:i], days) {
			problems.Add("availableTtl", fmt.Sprintf("holds %d twice", days))
			break
		}
	}
	if !slices.Contains(u.AvailableTTL, u.DefaultTTL) {
		problems.Add("defaultTtl", "must be one of availableTtl")
	}
	if u.ProtectionLevel.Rank() < 0 {
		problems.Add("protectionLevel", "must be none, password or recipientAuthentication")
	}
	within("maxFiles", int64(u.MaxFiles), maxUnitFiles)
	within("maxFileSizeMb", u.MaxFileSizeMB, maxUnitFileMB)
	within("maxRecipients", int64(u.MaxRecipients), maxUnitRecipients)
	u.Inspection.check(&problems)
	u.Retention.check(&problems, u.AvailableTTL)
	return problems.Err()
}
