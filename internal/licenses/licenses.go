// Package licenses has the licence of Consign and those of everything that its binaries contain: Go modules, scripts and fonts.
package licenses

import (
	_ "embed" // for the texts
	"strings"
)

// thirdParty starts each entry with a line "@@ name version (SPDX identifiers)". TestThirdPartyIsCurrent compares it with the
// modules that the commands import, and writes it with -update.
//
//go:embed third-party.txt
var thirdParty string

// ThirdParty returns the licence texts of all components.
func ThirdParty() string { return thirdParty }

// Component is something that a binary contains and that others wrote.
type Component struct {
	Name, Version string
	Licence       string // SPDX expression
}

// Components returns all components in the order of ThirdParty.
func Components() []Component {
	var all []Component
	for line := range strings.Lines(thirdParty) {
		heading, ok := strings.CutPrefix(line, "@@ ")
		if !ok {
			continue
		}
		name, licence, _ := strings.Cut(strings.TrimSpace(heading), " (")
		i := strings.LastIndexByte(name, ' ')
		all = append(all, Component{Name: name[:i], Version: name[i+1:], Licence: strings.TrimSuffix(licence, ")")})
	}
	return all
}
