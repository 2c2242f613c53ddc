package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// CheckUISchema reads a mailbox's uiSchema: one entry a structured field and ui:order. Its error is a sentence fit for
// a detail.
func CheckUISchema(raw []byte) error {
	if len(raw) > MaxSchemaBytes {
		return fmt.Errorf("is longer than %d bytes", MaxSchemaBytes)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return errors.New("is not an object")
	}
	var order []string
	if err := json.Unmarshal(members["ui:order"], &order); err != nil || order == nil {
		return errors.New("needs ui:order, an array of field names")
	}
	widgets := []string{"text", "email", "select", "date", "time", "updown"}
	fields := 0
	for name, entry := range members {
		if name == "ui:order" {
			continue
		}
		fields++
		var e struct {
			Widget      string          `json:"ui:widget"`
			Title       *string         `json:"ui:title"`
			Description string          `json:"ui:description"`
			Placeholder string          `json:"ui:placeholder"`
			Options     json.RawMessage `json:"ui:options"`
		}
		if err := json.Unmarshal(entry, &e); err != nil {
			return fmt.Errorf("has an entry %q that is not an object with string members and ui:options", name)
		}
		switch {
		case !slices.Contains(widgets, e.Widget):
			return fmt.Errorf("needs ui:widget in %q, one of %s", name, strings.Join(widgets, ", "))
		case e.Title == nil:
			return fmt.Errorf("needs ui:title in %q", name)
		case !isObject(e.Options):
			return fmt.Errorf("needs ui:options in %q, an object", name)
		}
	}
	if fields == 0 {
		return errors.New("needs an entry for a structured field")
	}
	for _, name := range order {
		if _, known := members[name]; !known && name != "*" {
			return fmt.Errorf("orders the field %q, for which it has no entry", name)
		}
	}
	return nil
}

func isObject(raw json.RawMessage) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(raw, &m) == nil && m != nil
}
