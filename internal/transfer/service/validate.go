package service

import (
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/text"
)

// checkLine adds a problem when value is not one line of at most limit bytes. An empty value is valid.
func checkLine(problems *fault.Problems, member, value string, limit int) {
	if value == "" {
		return
	}
	if err := text.Line(value, limit); err != nil {
		problems.Add(member, err.Error())
	}
}

// checkBlock adds a problem when value is not a text of at most limit bytes, which may have several lines. An empty value is
// valid.
func checkBlock(problems *fault.Problems, member, value string, limit int) {
	if value == "" {
		return
	}
	if err := text.Block(value, limit); err != nil {
		problems.Add(member, err.Error())
	}
}

// checkEmail adds a problem for an invalid address, and returns the address normalized.
func checkEmail(problems *fault.Problems, member, value string) string {
	address, err := text.Email(value)
	if err != nil {
		problems.Add(member, err.Error())
	}
	return address
}
