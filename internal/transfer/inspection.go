package transfer

import (
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/fault"
)

// ScanState is what is known about the bytes of an object. It is empty when nothing asked for an inspection: the object is unscanned.
type ScanState string

// The states of contract 4.26. Failed: the scanner gave no verdict; it is asked again.
const (
	Scanning ScanState = "scanning"
	Clean    ScanState = "clean"
	Infected ScanState = "infected"
	Partly   ScanState = "partly"
	Failed   ScanState = "failed"
)

// Scan is the inspection of an object.
type Scan struct {
	State      ScanState
	Engine     string
	Signatures string // version
	Finding    string
	Rules      []string // kinds of content, as scan.Rule
	At         time.Time
	Removed    bool // the bytes were deleted because of the finding
}

// InspectionPolicy says what becomes of files that are not known to be clean.
type InspectionPolicy string

// The policies, from lenient to strict. Empty: the default, or the organization's.
const (
	PolicyOff  InspectionPolicy = "off"  // no inspection
	PolicyMark InspectionPolicy = "mark" // given with a warning
	PolicyHold InspectionPolicy = "hold" // given to nobody until clean
)

func (p InspectionPolicy) rank() int {
	return slices.Index([]InspectionPolicy{PolicyOff, PolicyMark, PolicyHold}, p)
}

// Valid reports whether p is one of the policies.
func (p InspectionPolicy) Valid() bool { return p.rank() >= 0 }

// ContentRules are the kinds of content that an organization can hold (scan.Rules).
var ContentRules = []string{"encrypted", "nested", "bomb", "macros", "executable"}

// Inspection is the policy of an organization.
type Inspection struct {
	Strangers      InspectionPolicy `json:"strangers"` // files to its mailboxes
	Members        InspectionPolicy `json:"members"`   // files that its members send
	Partly         InspectionPolicy `json:"partly"`    // what hold does with files that the scanner has read in part: hold or mark
	Failed         InspectionPolicy `json:"failed"`    // what hold does when the scanner gives no verdict: hold or mark
	Rules          []string         `json:"rules"`     // kinds of content that are held
	DownloadAnyway bool             `json:"downloadAnyway"`
}

// DefaultInspection is the policy of an organization that has stored none.
var DefaultInspection = Inspection{Strangers: PolicyHold, Members: PolicyMark, Partly: PolicyHold, Failed: PolicyHold, Rules: []string{}}

// Effective returns the policy with defaults for what is empty.
func (i Inspection) Effective() Inspection {
	d := DefaultInspection
	for _, m := range []struct {
		to   *InspectionPolicy
		from InspectionPolicy
	}{{&d.Strangers, i.Strangers}, {&d.Members, i.Members}, {&d.Partly, i.Partly}, {&d.Failed, i.Failed}} {
		if m.from != "" {
			*m.to = m.from
		}
	}
	if i.Rules != nil {
		d.Rules = i.Rules
	}
	d.DownloadAnyway = i.DownloadAnyway
	return d
}

// check adds what is wrong with the policy.
func (i Inspection) check(problems *fault.Problems) {
	for name, p := range map[string]InspectionPolicy{"strangers": i.Strangers, "members": i.Members} {
		if p != "" && !p.Valid() {
			problems.Add("inspection."+name, "must be hold, mark or off")
		}
	}
	for name, p := range map[string]InspectionPolicy{"partly": i.Partly, "failed": i.Failed} {
		if p != "" && p != PolicyHold && p != PolicyMark {
			problems.Add("inspection."+name, "must be hold or mark")
		}
	}
	for n, rule := range i.Rules {
		if !slices.Contains(ContentRules, rule) || slices.Contains(i.Rules[:n], rule) {
			problems.Add("inspection.rules", "must be of encrypted, nested, bomb, macros and executable, each once")
			return
		}
	}
}

// Gate says which objects of a transfer are not given. The zero Gate holds nothing.
type Gate struct {
	HeldStates []string
	HeldRules  []string
	HeldAnyway bool // the owner of the transfer may take them
}

// Gate returns what the policy holds of a transfer of a kind. mailbox is the policy of the mailbox; it can only be stricter. inspected is
// false when nothing is inspected.
func (i Inspection) Gate(kind Kind, mailbox InspectionPolicy) (g Gate, inspected bool) {
	i = i.Effective()
	policy := i.Members
	if kind == KindMailbox {
		policy = i.Strangers
		if mailbox.rank() > policy.rank() {
			policy = mailbox
		}
	}
	if policy == PolicyOff {
		return Gate{}, false
	}
	g = Gate{HeldStates: []string{string(Infected)}, HeldRules: i.Rules, HeldAnyway: i.DownloadAnyway}
	if policy == PolicyHold {
		g.HeldStates = append(g.HeldStates, string(Scanning))
		if i.Partly == PolicyHold {
			g.HeldStates = append(g.HeldStates, string(Partly))
		}
		if i.Failed == PolicyHold {
			g.HeldStates = append(g.HeldStates, string(Failed))
		}
	}
	return g, true
}

// Check returns nil when the bytes of an object with this inspection may be given.
// Errors: ErrBeingChecked, ErrHeld, ErrRemoved.
func (g Gate) Check(s *Scan) error {
	switch {
	case s == nil:
		return nil
	case s.Removed:
		return ErrRemoved
	case !slices.Contains(g.HeldStates, string(s.State)) &&
		!slices.ContainsFunc(s.Rules, func(r string) bool { return slices.Contains(g.HeldRules, r) }):
		return nil
	case s.State == Scanning:
		return ErrBeingChecked
	}
	return ErrHeld
}

// Mark sets Withheld of an object when the gate does not give its bytes out.
func (g Gate) Mark(o *Object) { o.Withheld = g.Check(o.Scan) != nil }

// Empty reports whether nothing can be held.
func (g Gate) Empty() bool { return len(g.HeldStates) == 0 && len(g.HeldRules) == 0 }
