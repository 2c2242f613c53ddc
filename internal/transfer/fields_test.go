package transfer_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/transfer"
)

// withProperties returns a fieldsSchema of these properties and further members.
func withProperties(properties, more string) []byte {
	return []byte(`{"type":"object","title":"T","required":[],"properties":` + properties + more + `}`)
}

// TestSchemasEnd checks that no schema takes long to check when it is saved.
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
	if err := transfer.CheckFieldsSchema(withProperties(
		`{"a":{"$ref":"#/%24defs/b"},"c":{"anyOf":[{"type":"string"}]},"d":{"$ref":"#/properties/c/anyOf/0"}}`,
		`,"$defs":{"b":{"type":"string"}}`)); err != nil {
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

// TestValidationEnds checks that no fields take long to validate at a confirm.
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
		if took := time.Since(began); took > time.Minute { // half a second without the race detector
			t.Errorf("%s: checking took %v", name, took)
		} else {
			t.Logf("%s: %v %s", name, took, details[0])
		}
	}
}

// TestFieldProblems checks the details for the person who fills in the fields: one sentence per mistake, naming the field.
func TestFieldProblems(t *testing.T) {
	t.Parallel()
	schema := []byte(`{"type":"object","title":"T","required":["nr","name"],"additionalProperties":false,
		"dependentRequired":{"street":["city"]},"propertyNames":{"maxLength":10},
		"properties":{
			"nr":{"type":"string","pattern":"^[0-9]+$"},
			"name":{"type":"string","minLength":3,"maxLength":5},
			"kind":{"enum":["plan","letter"]},
			"who":{"oneOf":[{"const":"a"},{"const":"b"}]},
			"street":{"type":"string"},"city":{"type":"string"},
			"when":{"anyOf":[{"pattern":"^a"},{"maxLength":1}]},
			"count":{"type":"integer"},"never":false,"both":{"oneOf":[{"minLength":1},{"maxLength":9}]},"not":{"not":{"const":"x"}}}}`)
	for values, want := range map[string][]string{
		`{}`:                         {"fields.name: is required", "fields.nr: is required"},
		`{"nr":"x","name":"ab"}`:     {`fields.name: is shorter than 3 characters`, `fields.nr: does not match the pattern "^[0-9]+$"`},
		`{"nr":"1","name":"abcdef"}`: {`fields.name: is longer than 5 characters`},
		`{"nr":"1","name":"abc","kind":"film","who":"c"}`: {`fields.kind: must be one of "plan", "letter"`,
			`fields.who: must be one of "a", "b"`},
		`{"nr":"1","name":"abc","street":"Elm"}`: {`fields.city: is required with "street"`},
		`{"nr":"1","name":"abc","extra":"1"}`:    {`fields.extra: is not among the fields that the mailbox asks for`},
		`{"nr":"1","name":"abc","never":"1"}`:    {`fields.never: is not among the fields that the mailbox asks for`},
		`{"nr":"1","name":"abc","not":"x"}`:      {`fields.not: is what the mailbox does not allow`},
		`{"nr":"1","name":"abc","when":"bb"}`:    {`fields.when: must fit one of the alternatives that the mailbox allows`},
		`{"nr":"1","name":"abc","both":"bb"}`:    {`fields.both: fits more than one of the alternatives that the mailbox allows`},
		`{"nr":"1","name":"abc","count":"7"}`:    {`fields.count: cannot be given: the mailbox asks for something else than a text`},
		`{"nr":"1","name":"abc"}`:                nil,
	} {
		if got := transfer.ValidateFields(schema, []byte(values)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", values, got, want)
		}
	}
	long := transfer.ValidateFields(schema, []byte(`{"nr":"1","name":"abc","a\nvery long name indeed":"1"}`))
	if len(long) != 2 || strings.ContainsAny(strings.Join(long, ""), "\n") {
		t.Errorf("%q", long)
	}
}

// TestSchemaProblems checks that the error for an invalid schema says where it is invalid.
func TestSchemaProblems(t *testing.T) {
	t.Parallel()
	for property, want := range map[string]string{
		`{"minLength":-1}`:     "at /properties/a/minLength",
		`{"type":"strin"}`:     "at /properties/a/type",
		`{"enum":"x"}`:         "at /properties/a/enum",
		`{"pattern":"("}`:      "at /properties/a/pattern",
		`{"required":["b",1]}`: "at /properties/a/required/1",
		`7`:                    "at /properties/a",
	} {
		err := transfer.CheckFieldsSchema(withProperties(`{"a":`+property+`}`, ""))
		if err == nil || !strings.Contains(err.Error(), want+": ") || len(err.Error()) > 500 {
			t.Errorf("%s: %v", property, err)
		}
	}
}

// FuzzSchemas checks that an accepted schema has the required members by their exact names, and can validate fields.
func FuzzSchemas(f *testing.F) {
	f.Add(withProperties(`{"a":{"pattern":"^a"}}`, ""), []byte(`{"a":"b"}`))
	f.Add([]byte(`{"TYPE":"object","title":"T","properties":{"a":{"$ref":"#/$defs/b"}},"required":[],"$defs":{"b":{}}}`), []byte(`{}`))
	f.Add([]byte(`{"ui:order":["a","*"],"a":{"ui:widget":"text","ui:title":"A","ui:options":{}}}`), []byte(`{"a":7}`))
	f.Add([]byte(`{"ui:order":[],"a":{"ui:widget":"text","UI:title":"A","ui:options":{}}}`), []byte(`null`))
	f.Fuzz(func(t *testing.T, schema, values []byte) {
		var members map[string]any
		_ = json.Unmarshal(schema, &members)
		if transfer.CheckFieldsSchema(schema) == nil {
			_, titled := members["title"].(string)
			_, keyed := members["properties"].(map[string]any)
			_, listed := members["required"].([]any)
			if members["type"] != "object" || !titled || !keyed || !listed {
				t.Errorf("%q was taken", schema)
			}
			transfer.ValidateFields(schema, values)
		}
		if transfer.CheckUISchema(schema) == nil {
			for name, entry := range members {
				look, _ := entry.(map[string]any)
				if _, titled := look["ui:title"].(string); name != "ui:order" && !titled {
					t.Errorf("%q was taken", schema)
				}
			}
		}
	})
}
