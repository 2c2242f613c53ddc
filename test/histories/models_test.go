package main

import (
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
)

// TestModels checks that each model accepts what may happen, and finds what must not. The operations follow each other, half a second
// apart. Without a code, their outcome is unknown.
func TestModels(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		linear     bool
		ops        []Op
	}{
		{"an upload", "upload", true, []Op{{Do: "reserve", Got: "201", Text: "a"}, {Do: "reserve", Got: "201", Text: "a"},
			{Do: "write", To: 9, Got: "200"}, {Do: "write", To: 3, Got: "416001", Value: 9}, {Do: "confirm", Got: "400011"},
			{Do: "write", From: 9, To: 16, Got: "200"}, {Do: "held", Got: "200", Value: 16},
			{Do: "confirm", Got: "200", Text: "t"}, {Do: "confirm", Got: "409010", Text: "t"}}},
		{"a write that kept some of its bytes", "upload", true, []Op{{Do: "write", To: 9}, {Do: "held", Got: "200"},
			{Do: "held", Got: "200", Value: 4}}},
		{"two reservations of one key", "upload", false, []Op{{Do: "reserve", Got: "201", Text: "a"}, {Do: "reserve", Got: "201", Text: "b"}}},
		{"an acknowledged byte is lost", "upload", false, []Op{{Do: "write", To: 9, Got: "200"}, {Do: "held", Got: "200", Value: 8}}},
		{"bytes that nobody sent", "upload", false, []Op{{Do: "write", To: 9}, {Do: "held", Got: "200", Value: 10}}},
		{"a confirm of half a file", "upload", false, []Op{{Do: "write", To: 9, Got: "200"}, {Do: "confirm", Got: "200", Text: "t"}}},
		{"two transfers of one reservation", "upload", false, []Op{{Do: "write", To: 16, Got: "200"},
			{Do: "confirm", Got: "200", Text: "t"},
			{Do: "confirm", Got: "200", Text: "u"}}},
		{"a cancel that was undone", "upload", false, []Op{{Do: "cancel", Got: "204"}, {Do: "held", Got: "200"}}},
		{"an extension that came late", "transfer", true, []Op{{Do: "confirm", Got: "200", Value: 1}, {Do: "extend", From: 2},
			{Do: "look", Got: "200", Value: 1}, {Do: "look", Got: "200", Value: 2}, {Do: "revoke", Got: "204"},
			{Do: "mine", Got: "200", Text: "revoked"}, {Do: "revoke", Got: "204"},
			{Do: "mine", Got: "404001"}}},
		{"an extension that was lost", "transfer", false, []Op{{Do: "confirm", Got: "200", Value: 1}, {Do: "extend", From: 2, Got: "200"},
			{Do: "look", Got: "200", Value: 1}}},
		{"a download after the end", "transfer", false, []Op{{Do: "revoke", Got: "204"}, {Do: "download", Got: "200"}}},
		{"a transfer that came back", "transfer", false, []Op{{Do: "revoke"}, {Do: "look", Got: "404001"}, {Do: "download", Got: "200"}}},
		{"the last download", "limit", true, []Op{{Do: "limit", From: 1, Got: "200"}, {Do: "download"}, {Do: "download", Got: "403086"}}},
		{"one download too many", "limit", false, []Op{{Do: "limit", From: 1, Got: "200"}, {Do: "download", Got: "200"},
			{Do: "download", Got: "200"}}},
		{"one download too few", "limit", false, []Op{{Do: "limit", From: 2, Got: "200"}, {Do: "download", Got: "200"},
			{Do: "download", Got: "403086"}}},
		{"a key whose answer was lost", "otk", true, []Op{{Do: "start"}, {Do: "start", Got: "404010"}}},
		{"a key that was used twice", "otk", false, []Op{{Do: "start", Got: "200"}, {Do: "start", Got: "200"}}},
		{"a key that nobody used", "otk", false, []Op{{Do: "start", Got: "404010"}}},
		{"a key of a revoked transfer", "otk", false, []Op{{Do: "revoke", Got: "204"}, {Do: "start", Got: "200"}}},
		{"an invitation", "invitation", true, []Op{{Do: "read", Got: "200"}, {Do: "accept", Got: "204"}, {Do: "accept", Got: "401904"},
			{Do: "revoke", Got: "404001"}, {Do: "member", Got: "200"}}},
		{"accepted and revoked", "invitation", false, []Op{{Do: "accept", Got: "204"}, {Do: "revoke", Got: "204"}}},
		{"accepted by nobody", "invitation", false, []Op{{Do: "read", Got: "404001"}}},
		{"a member without a place", "invitation", false, []Op{{Do: "accept", Got: "204"}, {Do: "member", Got: "404001"}}},
		{"a session that ends within a second", "session", true, []Op{{Do: "logout", Got: "204"}, {Do: "use", Got: "200"},
			{Do: "use", From: 1, Got: "200"}, {Do: "use", Got: "401904"}}},
		{"a session that ends after a second", "session", false, []Op{{Do: "logout", Got: "204"}, {Do: "use", From: 1, Got: "200"},
			{Do: "use", From: 1, Got: "200"}, {Do: "use", Got: "200"}}},
		{"an ended session renews its token", "session", false, []Op{{Do: "everywhere", Got: "204"}, {Do: "refresh", From: 1, Got: "200"}}},
		{"a session that ended by itself", "session", false, []Op{{Do: "logout", From: 1, Got: "204"}, {Do: "use", Got: "401904"}}},
		{"an answer that nobody promised", "session", false, []Op{{Do: "use", Got: "403001"}}},
	} {
		for i := range c.ops {
			c.ops[i].Call = int64(i+1) * 5e8
			if c.ops[i].Got != "" {
				c.ops[i].Return = c.ops[i].Call + 1e6
			}
		}
		result, _, err := check(History{Kind: c.kind, Ops: c.ops})
		if err != nil {
			t.Fatal(err)
		}
		if linear := result == porcupine.Ok; linear != c.linear {
			var all strings.Builder
			for _, o := range c.ops {
				all.WriteString("\n" + o.String())
			}
			t.Errorf("%s: linearizable %v, want %v%s", c.name, linear, c.linear, all.String())
		}
	}
}
