// Tests of the forms of keys, digests and fields.

package transfer_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/transfer"
)

func TestParseKey(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]transfer.Key{
		"abc":                                  {Link: "abc"},
		"Ann.Lee_1-x":                          {Link: "ann.lee_1-x"},
		strings.Repeat("a", 64):                {Link: strings.Repeat("a", 64)},
		"019ABCDE-0000-7000-8000-000000000001": {UID: "019abcde-0000-7000-8000-000000000001"},
	} {
		if got, err := transfer.ParseKey(in); err != nil || got != want {
			t.Errorf("%q: got %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "a", "ab", "-ab", "ab-", "a b", "a/b", "äbc", "\u212Aabc", strings.Repeat("a", 65), "abc\n", "a%20b"} {
		if _, err := transfer.ParseKey(in); !errors.Is(err, transfer.ErrKeyInvalid) {
			t.Errorf("%q: got %v, want ErrKeyInvalid", in, err)
		}
	}
	if _, ok := transfer.ParseVanityLink("019abcde-0000-7000-8000-000000000001"); ok {
		t.Error("a link that looks like a uid is accepted as a vanity link")
	}
}

func TestValidClientID(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"a": true, "A.b_c-9": true, "...": true, strings.Repeat("x", 128): true,
		"": false, ".": false, "..": false, "a b": false, "a/b": false, "ä": false, strings.Repeat("x", 129): false, "a\n": false,
	} {
		if got := transfer.ValidClientID(in); got != want {
			t.Errorf("ValidClientID(%q) = %v", in, got)
		}
	}
}

func TestParseDigest(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("hello"))
	enc := base64.StdEncoding.EncodeToString(sum[:])
	other := sha256.Sum256([]byte("other"))
	for header, want := range map[string][]byte{
		"sha-256=:" + enc + ":":                 sum[:],
		" sha-256=:" + enc + ":\t":              sum[:],
		"sha-512=:AAAA:, sha-256=:" + enc + ":": sum[:],
		"sha-512=:AAAA:":                        nil,
		"sha-256=:" + base64.StdEncoding.EncodeToString(other[:]) + ":, sha-256=:" + enc + ":": sum[:],
	} {
		if got, ok := transfer.ParseDigest(header); !ok || !bytes.Equal(got, want) {
			t.Errorf("%q: got %x, %v", header, got, ok)
		}
	}
	for _, header := range []string{
		"", "sha-256", "sha-256=" + enc, "sha-256=:AAAA:", "sha-256=:" + enc, "sha-256=::", "SHA-256=:" + enc + ":",
		"sha-256=:" + enc + ":,", "sha-256=:!!!:", "sha-256=:" + enc + "\n:", "sha-256=\"" + enc + "\"",
	} {
		if _, ok := transfer.ParseDigest(header); ok {
			t.Errorf("%q was accepted", header)
		}
	}
}

const schema = `{"type":"object","title":"Order","properties":{"number":{"type":"string","pattern":"^[0-9]+$"},"note":{"$ref":"#/properties/number"}},"required":["number"]}`

func TestFields(t *testing.T) {
	t.Parallel()
	if err := transfer.CheckFieldsSchema([]byte(schema)); err != nil {
		t.Fatal(err)
	}
	for values, want := range map[string]int{
		`{"number":"12"}`: 0, `{"number":"12","note":"3"}`: 0,
		``: 1, `{}`: 1, `{"number":"x"}`: 1, `{"number":"x","note":"y"}`: 2,
	} {
		if got := transfer.ValidateFields([]byte(schema), []byte(values)); len(got) != want {
			t.Errorf("%s: %q", values, got)
		}
	}
}

func TestCheckFieldsSchemaRefuses(t *testing.T) {
	t.Parallel()
	with := func(properties string) string {
		return `{"type":"object","title":"T","required":[],"properties":` + properties + `}`
	}
	var laughs strings.Builder
	laughs.WriteString(`{"d0":{"type":"string"}`)
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&laughs, `,"d%d":{"allOf":[{"$ref":"#/properties/d%d"},{"$ref":"#/properties/d%d"}]}`, i, i-1, i-1)
	}
	laughs.WriteString("}")
	for _, fine := range []string{`{"a":{}}`, `{"a":{"type":["string","null"]}}`, `{"a":{"format":"email"},"b":true}`} {
		if err := transfer.CheckFieldsSchema([]byte(with(fine))); err != nil {
			t.Errorf("%s: %v", fine, err)
		}
	}
	began := time.Now()
	for name, s := range map[string]string{
		"nothing":        `{}`,
		"array":          `[]`,
		"title missing":  `{"type":"object","properties":{},"required":[]}`,
		"required null":  `{"type":"object","title":"","properties":{},"required":null}`,
		"unknown field":  `{"type":"object","title":"","properties":{},"required":["a"]}`,
		"outside":        with(`{"a":{"$ref":"https://example.com/schema"}}`),
		"file":           with(`{"a":{"$ref":"file:///etc/passwd"}}`),
		"relative":       with(`{"a":{"$ref":"other.json"}}`),
		"circle":         with(`{"a":{"$ref":"#/properties/b"},"b":{"$ref":"#/properties/a"}}`),
		"itself":         with(`{"a":{"$ref":"#"}}`),
		"nowhere":        with(`{"a":{"$ref":"#/nothing/here"}}`),
		"laughs":         with(laughs.String()),
		"bad keyword":    with(`{"a":{"type":"no such type"}}`),
		"bad pattern":    with(`{"a":{"type":"string","pattern":"("}}`),
		"no text":        with(`{"a":{"type":"integer"}}`),
		"no text of two": with(`{"a":{"type":["null","number"]}}`),
		"too long":       with(`{"a":{"title":"` + strings.Repeat("x", text.MaxSchema) + `"}}`),
	} {
		if err := transfer.CheckFieldsSchema([]byte(s)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("refusing took %v", took)
	}
}

func TestCheckUISchema(t *testing.T) {
	t.Parallel()
	const good = `{"number":{"ui:widget":"text","ui:title":"Number","ui:options":{}},"ui:order":["number"]}`
	if err := transfer.CheckUISchema([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		`{}`, `[]`, `null`, `{"ui:order":[]}`, strings.Replace(good, "text", "textarea", 1),
		strings.Replace(good, `"ui:options":{}`, `"ui:options":[]`, 1),
		strings.Replace(good, `"ui:title":"Number",`, "", 1), strings.Replace(good, `["number"]`, `["other"]`, 1),
		strings.Replace(good, `["number"]`, `"number"`, 1),
	} {
		if err := transfer.CheckUISchema([]byte(s)); err == nil {
			t.Errorf("%s: accepted", s)
		}
	}
}

func TestMonth(t *testing.T) {
	t.Parallel()
	in := time.Date(2026, 12, 31, 23, 30, 0, 0, time.FixedZone("", -3600))
	if got := transfer.Month(in); !got.Equal(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("got %v", got)
	}
}
