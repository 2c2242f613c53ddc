package service

import (
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/text"
)

// checkLine and checkBlock add a problem for a member that is no text of one line, or of lines, of at most limit bytes.
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

// checkEmail adds a problem for an invalid address, and returns the address normalized.
func checkEmail(p *fault.Problems, member, value string) string {
	address, err := text.Email(value)
	if err != nil {
		p.Add(member, err.Error())
	}
	return address
}
