package service

import (
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/text"
)

// Lengths of contract 1.14, in bytes.
const (
	maxName     = 255
	maxSlogan   = 500
	maxMessage  = 20_000
	maxPassword = 72 // what bcrypt looks at
	maxFilters  = 100
)

// checkLine and checkBlock note a member that is not a line, or a text of lines, of so many bytes.
func checkLine(p *fault.Problems, member, value string, limit int) {
	if value == "" {
		return
	}
	if err := text.Line(value, limit); err != nil {
		p.Add(member, err.Error())
	}
}

func checkBlock(p *fault.Problems, member, value string, limit int) {
	if value == "" {
		return
	}
	if err := text.Block(value, limit); err != nil {
		p.Add(member, err.Error())
	}
}

// checkEmail notes a member that is not an address, and returns the address in the form it is compared in.
func checkEmail(p *fault.Problems, member, value string) string {
	address, err := text.Email(value)
	if err != nil {
		p.Add(member, err.Error())
	}
	return address
}
