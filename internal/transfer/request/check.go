// What a request, its items and its parties may be, and tables of parties.

package request

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/transfer"
)

// Check checks a request and normalizes it. New due times are in the future.
// Errors: fault.ErrInvalid.
func (r *Request) Check() error {
	var problems fault.Problems
	required(&problems, "title", r.Title, text.MaxName)
	transfer.CheckBlock(&problems, "message", r.Message, text.MaxMessage)
	if zone, err := time.LoadLocation(r.TimeZone); err != nil || zone == time.Local {
		problems.Add("timeZone", "must be the name of a time zone such as Europe/Berlin")
	}
	if r.Due != nil {
		due := r.Due.UTC().Truncate(time.Millisecond)
		r.Due = &due
		if due.Year() < 2000 || due.Year() > 9000 {
			problems.Add("due", "must be a time from 2000 to 9000")
		}
	}
	if r.Late != LateRefuse && r.Late != LateMark {
		problems.Add("late", "must be refuse or mark")
	}
	if r.FieldsSchema != nil {
		if err := transfer.CheckFieldsSchema(r.FieldsSchema); err != nil {
			problems.Add("fieldsSchema", err.Error())
		}
	}
	if r.UISchema != nil {
		if err := transfer.CheckUISchema(r.UISchema); err != nil {
			problems.Add("uiSchema", err.Error())
		}
	}
	return problems.Err()
}

// required adds a problem when value is not one line of 1 to limit bytes.
func required(problems *fault.Problems, member, value string, limit int) {
	if err := text.Required(value, limit); err != nil {
		problems.Add(member, err.Error())
	} else if err := text.Direction(value); err != nil {
		problems.Add(member, err.Error())
	}
}

// CheckItems checks items against the largest file that the owner takes, and gives those without limits the defaults.
// Errors: fault.ErrInvalid.
func CheckItems(items []Item, maxMB int64) error {
	var problems fault.Problems
	if len(items) == 0 || len(items) > MaxItems {
		problems.Add("items", fmt.Sprintf("must have 1 to %d entries", MaxItems))
		return problems.Err()
	}
	for i := range items {
		it, at := &items[i], fmt.Sprintf("items[%d].", i)
		required(&problems, at+"name", it.Name, text.MaxName)
		transfer.CheckBlock(&problems, at+"hint", it.Hint, text.MaxField)
		transfer.CheckBlock(&problems, at+"example", it.Example, text.MaxField)
		if len(it.MIMETypes) > transfer.MaxFilterEntries {
			problems.Add(at+"mimeTypes", fmt.Sprintf("has more than %d entries", transfer.MaxFilterEntries))
		}
		for j, f := range it.MIMETypes {
			if it.MIMETypes[j] = strings.ToLower(f); !transfer.ValidMIMERange(it.MIMETypes[j]) {
				problems.Add(at+"mimeTypes", "must be types such as application/pdf, or wildcards such as image/*")
				break
			}
		}
		if it.MaxFiles == 0 {
			it.MaxFiles = DefaultFiles
		}
		if it.MaxFileSizeMB == 0 {
			it.MaxFileSizeMB = maxMB
		}
		if it.MaxFiles < 1 || it.MaxFiles > MaxItemFiles {
			problems.Add(at+"maxFiles", fmt.Sprintf("must be from 1 to %d", MaxItemFiles))
		}
		if it.MaxFileSizeMB < 1 || it.MaxFileSizeMB > maxMB {
			problems.Add(at+"maxFileSizeMb", fmt.Sprintf("must be from 1 to %d", maxMB))
		}
		if len(problems) >= fault.MaxProblems {
			break
		}
	}
	return problems.Err()
}

// CheckParties checks parties, normalizes their addresses, and drops repeated ones.
// Errors: fault.ErrInvalid.
func CheckParties(parties []Party) ([]Party, error) {
	var problems fault.Problems
	if len(parties) == 0 || len(parties) > MaxParties {
		problems.Add("parties", fmt.Sprintf("must have 1 to %d entries", MaxParties))
		return nil, problems.Err()
	}
	var out []Party
	for i, p := range parties {
		at := fmt.Sprintf("parties[%d].", i)
		p.Email = transfer.CheckEmail(&problems, at+"email", p.Email)
		CheckName(&problems, at+"name", p.Name)
		if !slices.ContainsFunc(out, func(o Party) bool { return o.Email == p.Email }) {
			out = append(out, p)
		}
		if len(problems) >= fault.MaxProblems {
			break
		}
	}
	return out, problems.Err()
}

// CheckName adds a problem when a party's name is not a line that can be shown.
func CheckName(problems *fault.Problems, member, name string) {
	transfer.CheckLine(problems, member, name, text.MaxName)
	if err := text.Direction(name); err != nil {
		problems.Add(member, err.Error())
	}
}

// ReadParties reads a table of parties: a row each, with the address in the first cell that has an @ and the name in the other ones. Cells
// are separated by commas, semicolons or tabs. A first row without an address is a heading.
// Errors: fault.ErrInvalid.
func ReadParties(table string) ([]Party, error) {
	r := csv.NewReader(bytes.NewReader([]byte(strings.TrimPrefix(table, "\ufeff"))))
	r.FieldsPerRecord, r.LazyQuotes, r.TrimLeadingSpace = -1, true, true
	line, _, _ := strings.Cut(table, "\n")
	for _, comma := range []rune{';', '\t'} {
		if strings.ContainsRune(line, comma) {
			r.Comma = comma
		}
	}
	var list []Party
	for row := 1; ; row++ {
		cells, err := r.Read()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, fault.ErrInvalid.With(fmt.Sprintf("csv: row %d cannot be read", row))
		}
		p := Party{}
		for _, c := range cells {
			switch c = strings.TrimSpace(c); {
			case p.Email == "" && strings.Contains(c, "@"):
				p.Email = c
			case c != "":
				p.Name = strings.TrimSpace(p.Name + " " + c)
			}
		}
		switch {
		case p.Email != "":
			list = append(list, p)
		case p.Name != "" && row > 1:
			return nil, fault.ErrInvalid.With(fmt.Sprintf("csv: row %d has no address", row))
		}
		if len(list) > MaxParties {
			return nil, fault.ErrInvalid.With(fmt.Sprintf("csv: has more than %d rows", MaxParties))
		}
	}
}
