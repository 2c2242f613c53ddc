// The hostile bodies and texts that hostile_test.go sends to each route.

package app_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit"
)

// Values that a member of each type must tolerate.
var (
	hostileStrings = []string{"", " ", "x", "\x1b[2J", "a\nb", "\u202egnp.exe", "\u00a0", strings.Repeat("x", 300),
		strings.Repeat("ä", 20_000), "'; DROP TABLE persons--",
		"<script>alert(1)</script>", "../../etc/passwd", "ann@example.com", "ann@example.com\r\nBcc: all@example.com", "😀", "\ufeff", "%s%n",
		"http://[::1", "en_US", "2026-13-45"}
	hostileNumbers = []any{-1, 0, 1, 1.5, 1e18, 9007199254740993, 2147483648, json.RawMessage("9223372036854775808"), json.RawMessage("1e400"),
		json.RawMessage("-0")}
	hostileOthers = []any{nil, true, "x", 1, []any{}, map[string]any{}, []any{nil}, map[string]any{"": nil}}
)

// hostileBodies returns bodies that are not valid JSON, and documented bodies with one wrong member.
func hostileBodies(w world, r httpapi.MountedRoute, operation *openapi3.Operation) []attack {
	if reads(r) {
		return []attack{{who: w.who(r), target: w.path(r), body: "{}", header: map[string]string{"Content-Type": "application/json"}}}
	}
	send := func(body any) attack {
		return attack{who: w.who(r), target: w.path(r), body: body, header: map[string]string{"Content-Type": "application/json"}}
	}
	list := []attack{send(nil)}
	for _, text := range []string{"garbage", "{}", "[]", "null", `"x"`, "1", "true", "{", "\x00", "\xff\xfe", "\ufeff{}", `{"a":1}}`,
		`{"a":1,"a":2}`, `{"":""}`, `{"__proto__":{}}`,
		strings.Repeat("[", 20_000), strings.Repeat(`{"a":`, 20_000), `{"a":` + strings.Repeat("9", 50_000) + "}", strings.Repeat(" ", 1<<20+1),
		`{"a":"` + strings.Repeat("x", 1<<20) + `"}`} {
		list = append(list, send(text))
	}
	if operation == nil || operation.RequestBody == nil {
		return list
	}
	media := operation.RequestBody.Value.Content.Get("application/json")
	if media == nil {
		return list
	}
	for _, schema := range alternatives(media.Schema.Value) {
		valid, _ := sample(schema, 0).(map[string]any)
		list = append(list, send(valid))
		all := members(schema)
		for i, name := range slices.Sorted(maps.Keys(all)) {
			for _, value := range some(i, wrongs(all[name].Value)) {
				changed := maps.Clone(valid)
				changed[name] = value
				list = append(list, send(changed))
			}
		}
	}
	return list
}

// operationOf returns the documented operation of a route; nil for aliases, which are documented below the base path.
func operationOf(docs testkit.Documents, r httpapi.MountedRoute) *openapi3.Operation {
	if doc := docs[r.Base]; doc != nil {
		if item := doc.Paths.Value(r.Pattern); item != nil {
			return item.GetOperation(r.Method)
		}
	}
	return nil
}

// alternatives are the forms a schema allows.
func alternatives(schema *openapi3.Schema) []*openapi3.Schema {
	var list []*openapi3.Schema
	for _, one := range slices.Concat(schema.OneOf, schema.AnyOf) {
		list = append(list, alternatives(one.Value)...)
	}
	if list == nil {
		list = append(list, schema)
	}
	return list
}

// members are the properties of an object, of its parts too.
func members(schema *openapi3.Schema) openapi3.Schemas {
	all := openapi3.Schemas{}
	for _, part := range schema.AllOf {
		maps.Copy(all, members(part.Value))
	}
	maps.Copy(all, schema.Properties)
	return all
}

// sample returns a value that fits the schema.
func sample(schema *openapi3.Schema, depth int) any {
	forms := alternatives(schema)
	schema = forms[0]
	switch {
	case len(schema.Enum) > 0:
		return schema.Enum[0]
	case schema.Type.Includes("string"):
		switch schema.Format {
		case "email":
			return "bob@example.com"
		case "uuid":
			return id.New[id.Person]().String()
		case "uri":
			return "https://localhost/"
		}
		return "abc"
	case schema.Type.Includes("integer"), schema.Type.Includes("number"):
		return 1
	case schema.Type.Includes("boolean"):
		return true
	case schema.Type.Includes("array"):
		if depth > 4 || schema.Items == nil {
			return []any{}
		}
		return []any{sample(schema.Items.Value, depth+1)}
	}
	object := map[string]any{}
	if depth <= 4 {
		for name, member := range members(schema) {
			object[name] = sample(member.Value, depth+1)
		}
	}
	return object
}

// some returns every third value, starting at turn. The same code checks all members of a type, so together they see
// every value.
func some(turn int, values []any) []any {
	var list []any
	for i, v := range values {
		if (i+turn)%3 == 0 {
			list = append(list, v)
		}
	}
	return list
}

// wrongs returns wrong values for a member: bad values of its type, and values of other types.
func wrongs(schema *openapi3.Schema) []any {
	list := slices.Clone(hostileOthers)
	switch {
	case schema.Type.Includes("string"):
		for _, text := range hostileStrings {
			list = append(list, text)
		}
	case schema.Type.Includes("integer"), schema.Type.Includes("number"):
		list = append(list, hostileNumbers...)
	case schema.Type.Includes("array") && schema.Items != nil:
		for _, value := range wrongs(schema.Items.Value) {
			list = append(list, []any{value})
		}
		list = append(list, slices.Repeat([]any{sample(schema.Items.Value, 1)}, 1500))
	default:
		all := members(schema)
		for i, name := range slices.Sorted(maps.Keys(all)) {
			for _, value := range some(i, wrongs(all[name].Value)) {
				object, _ := sample(schema, 1).(map[string]any)
				object[name] = value
				list = append(list, object)
			}
		}
	}
	return list
}
