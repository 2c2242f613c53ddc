package id

import (
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// NotNext says what is wrong with a position that is none. A list's parameter for it is named "after".
const NotNext = "must be next of an earlier answer"

// Position returns the position of an item in a list, for the client to ask for the items after it: the text by which the list is sorted,
// and the item's uid.
func Position[T ~struct{ uuid.UUID }](uid T, key string) string {
	u := struct{ uuid.UUID }(uid).UUID
	return base64.RawURLEncoding.EncodeToString(append(u[:], key...))
}

// ParsePosition reverses Position. The empty text is the position before the first item.
func ParsePosition[T ~struct{ uuid.UUID }](s string) (uid T, key string, ok bool) {
	if s == "" {
		return uid, "", true
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(raw) < 16 {
		return uid, "", false
	}
	key = string(raw[16:])
	return T{uuid.UUID(raw[:16])}, key, utf8.ValidString(key) && !strings.ContainsRune(key, 0)
}

// TimePosition is Position in a list that is sorted by time.
func TimePosition[T ~struct{ uuid.UUID }](uid T, at time.Time) string {
	return Position(uid, at.UTC().Format(time.RFC3339Nano))
}

// ParseTimePosition reverses TimePosition. The empty text is the zero position.
func ParseTimePosition[T ~struct{ uuid.UUID }](s string) (uid T, at time.Time, ok bool) {
	uid, key, ok := ParsePosition[T](s)
	if !ok || s == "" {
		return uid, at, ok
	}
	at, err := time.Parse(time.RFC3339Nano, key)
	return uid, at, err == nil && at.Year() > 1970 && TimePosition(uid, at) == s
}
