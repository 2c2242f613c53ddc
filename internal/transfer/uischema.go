package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/consign-dev/consign/internal/text"
)

// CheckUISchema checks a mailbox's uiSchema: one entry per field, and ui:order. Its error is the end of a sentence for a
// detail.
func CheckUISchema(raw []byte) error {
	if len(raw) > text.MaxSchema {
		return fmt.Errorf("is longer than %d bytes", text.MaxSchema)
	}
	var members map[string]any
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return errors.New("is not an object")
	}
	order, listed := names(members["ui:order"])
	if !listed {
		return errors.New("needs ui:order, an array of field names")
	}
	if len(members) == 1 {
		return errors.New("needs an entry for a structured field")
	}
	for name, entry := range members {
		if name == "ui:order" {
			continue
		}
		if err := checkEntry(entry); err != nil {
			return fmt.Errorf("needs %w in %s", err, quote(name))
		}
	}
	for _, name := range order {
		if _, known := members[name]; !known && name != "*" {
			return fmt.Errorf("orders the field %s, for which it has no entry", quote(name))
		}
	}
	return nil
}

var widgets = []any{"text", "email", "select", "date", "time", "updown"}

// checkEntry returns what the entry of one field lacks. It compares exact member names, as the web pages do.
func checkEntry(entry any) error {
	members, _ := entry.(map[string]any)
	if !slices.Contains(widgets, members["ui:widget"]) {
		return errors.New("ui:widget, one of text, email, select, date, time and updown,")
	}
	if _, ok := members["ui:title"].(string); !ok {
		return errors.New("ui:title, a string,")
	}
	for _, name := range []string{"ui:description", "ui:placeholder"} {
		value, given := members[name]
		if _, ok := value.(string); given && !ok {
			return errors.New("a string as " + name)
		}
	}
	if _, ok := members["ui:options"].(map[string]any); !ok {
		return errors.New("ui:options, an object,")
	}
	return nil
}
