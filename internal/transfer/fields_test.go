package transfer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/transfer"
)

// withProperties is a fieldsSchema of those properties and further members.
func withProperties(properties, more string) []byte {
	return []byte(`{"type":"object","title":"T","required":[],"properties":` + properties + more + `}`)
}

// TestSchemasEnd checks that no schema keeps the server busy when it is saved.
func TestSchemasEnd(t *testing.T) {
	t.Parallel()
	hidden := `{"a":{"$ref":"#/%24defs/b"}}`
	var doubled strings.Builder
	doubled.WriteString(`,"$defs":{"b0":{"type":"string"}`)
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&doubled, `,"b%d":{"allOf":[{"$ref":"#/%%24defs/b%d"},{"$ref":"#/$defs/b%d"}]}`, i, i-1, i-1)
	}
	doubled.WriteString("}")
	for name, schema := range map[string][]byte{
		"circle behind escapes": withProperties(hidden, `,"$defs":{"b":{"$ref":"#/%24defs/b"}}`),
		"laughs behind escapes": withProperties(`{"a":{"$ref":"#/%24defs/b39"}}`, doubled.String()),
		"circle through a list": withProperties(`{"a":{"anyOf":[{"$ref":"#/properties/a/anyOf/0"}]}}`, ""),
		"outside a list":        withProperties(`{"a":{"anyOf":[{"$ref":"#/properties/a/anyOf/7"}]}}`, ""),
		"huge repetition":       withProperties(`{"a":{"pattern":"^(a{900}b{900}c{900}){2}$"}}`, ""),
		"nested repetition":     withProperties(`{"a":{"pattern":"((a{30}){30}){30}"}}`, ""),
		"long pattern":          withProperties(`{"a":{"pattern":"`+strings.Repeat("a|", 1000)+`b"}}`, ""),
		"many patterns":         withProperties(`{"a":{"patternProperties":{`+manyPatterns(100)+`}}}`, ""),
	} {
		began := time.Now()
		if err := transfer.CheckFieldsSchema(schema); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: refusing took %v", name, took)
		}
	}
	if err := transfer.CheckFieldsSchema(withProperties(`{"a":{"$ref":"#/%24defs/b"},"c":{"anyOf":[{"type":"string"}]},"d":{"$ref":"#/properties/c/anyOf/0"}}`, `,"$defs":{"b":{"type":"string"}}`)); err != nil {
		t.Errorf("references that end: %v", err)
	}
}

func manyPatterns(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(`"x%d{900}":{}`, i)
	}
	return strings.Join(parts, ",")
}

// TestValidationEnds checks that no fields keep the server busy when a transfer is confirmed.
func TestValidationEnds(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range 1_000 {
		many[fmt.Sprint("f", i)] = strings.Repeat("a", 900)
	}
	values, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	all.WriteString(`,"allOf":[{}`)
	for range 1_300 {
		all.WriteString(`,{"additionalProperties":{"minLength":5000}}`)
	}
	all.WriteString("]")
	for name, schema := range map[string][]byte{
		"a slow pattern for each": withProperties(`{}`, `,"additionalProperties":{"pattern":"(a?){500}(a?){500}b$"}`),
		"many checks for each":    withProperties(`{}`, all.String()),
		"all wrong":               withProperties(`{}`, `,"additionalProperties":{"maxLength":1}`),
	} {
		if err := transfer.CheckFieldsSchema(schema); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		began := time.Now()
		details := transfer.ValidateFields(schema, values)
		if len(details) == 0 || len(details) > 20 {
			t.Errorf("%s: %d details", name, len(details))
		}
		if took := time.Since(began); took > time.Minute { // half a second, but for the race detector
			t.Errorf("%s: checking took %v", name, took)
		} else {
			t.Logf("%s: %v %s", name, took, details[0])
		}
	}
}
