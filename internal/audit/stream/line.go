// Lines of the stream: one JSON object for each entry, chained by SHA-256.

package stream

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/audit"
)

// Line is an entry with its place in the chain.
type Line struct {
	Sequence int64
	At       time.Time
	Action   string
	Text     string // JSON, without a newline

	hash []byte `db:"-"`
}

// longest is the longest line, in bytes: a syslog receiver takes messages of 8 KiB (RFC 5425, 4.3.1).
const longest = 7800

const hashMember = `,"hash":"`

var errNoLine = errors.New("it is no line of the audit stream")

// fields are the members of a line, in this order. The member hash follows: SHA-256 of the line without it, in hexadecimal.
type fields struct {
	Sequence     int64             `json:"sequence"`
	Previous     string            `json:"previous"` // hash of the line before; of the first line zeros
	ID           int64             `json:"id"`
	At           time.Time         `json:"at"`
	Action       string            `json:"action"`
	Role         audit.Kind        `json:"role,omitempty"`
	Actor        string            `json:"actor,omitempty"`
	Target       string            `json:"target,omitempty"`
	Organization string            `json:"organization,omitempty"`
	Object       string            `json:"object,omitempty"`
	Address      string            `json:"address,omitempty"`
	UserAgent    string            `json:"userAgent,omitempty"`
	Details      map[string]string `json:"details,omitempty"`
	Missing      bool              `json:"missing,omitempty"` // deleted from the audit before it was sent
}

// chain returns the line of a record that follows h.
func chain(h head, r audit.Taken) (Line, error) {
	f := fields{Sequence: h.Sequence + 1, Previous: hex.EncodeToString(h.Hash), ID: r.ID, At: r.At.UTC(), Action: r.Action, Role: r.Kind,
		Object: r.Object, UserAgent: r.Client.UserAgent, Details: r.Details, Missing: r.Missing}
	for _, p := range []struct {
		to   *string
		uid  fmt.Stringer
		none bool
	}{{&f.Actor, r.Person, r.Person.IsZero()}, {&f.Target, r.Target, r.Target.IsZero()},
		{&f.Organization, r.Organization, r.Organization.IsZero()}, {&f.Address, r.Client.Address, !r.Client.Address.IsValid()}} {
		if !p.none {
			*p.to = p.uid.String()
		}
	}
	text, err := json.Marshal(f)
	for err == nil && len(text) > longest && f.shorten() {
		text, err = json.Marshal(f)
	}
	if err != nil {
		return Line{}, fmt.Errorf("line of audit entry %d: %w", r.ID, err)
	}
	hash := sha256.Sum256(text)
	line := string(text[:len(text)-1]) + hashMember + hex.EncodeToString(hash[:]) + `"}`
	return Line{f.Sequence, f.At, f.Action, line, hash[:]}, nil
}

// shorten cuts the longest detail. It reports false when there is none that is long.
func (f *fields) shorten() bool {
	longest := ""
	for name, value := range f.Details {
		if len(value) > len(f.Details[longest]) || longest == "" {
			longest = name
		}
	}
	const cut = "(cut)"
	if len(f.Details[longest]) <= len(cut) {
		return false
	}
	f.Details = maps.Clone(f.Details)
	f.Details[longest] = cut
	return true
}

// Hash returns the hash that the line names as its own.
func (l Line) Hash() ([]byte, error) {
	_, hash, err := split(l.Text)
	return hash, err
}

// split returns the text over which a line's hash is, and the hash.
func split(text string) (hashed string, hash []byte, err error) {
	i := strings.LastIndex(text, hashMember)
	if i < 0 {
		return "", nil, errNoLine
	}
	digits, closed := strings.CutSuffix(text[i+len(hashMember):], `"}`)
	hash, err = hex.DecodeString(digits)
	if !closed || err != nil || len(hash) != sha256.Size {
		return "", nil, errNoLine
	}
	return text[:i] + "}", hash, nil
}
