package transfer

import (
	"strconv"
	"strings"
)

// ContentRange is the part of an object that one request has: the bytes First to Last, both included, of Total.
type ContentRange struct {
	First, Last, Total int64
}

// Length returns the number of bytes in the range.
func (c ContentRange) Length() int64 { return c.Last - c.First + 1 }

// ParseContentRange parses the Content-Range header of an upload, "bytes first-last/total" (RFC 9110, 14.4). The unit is
// case-insensitive. ok is false also for an unknown total and an unsatisfied range (*): an upload cannot use them.
func ParseContentRange(header string) (_ ContentRange, ok bool) {
	unit, rest, found := strings.Cut(header, " ")
	if !found || !strings.EqualFold(unit, "bytes") {
		return ContentRange{}, false
	}
	span, total, found := strings.Cut(rest, "/")
	if !found {
		return ContentRange{}, false
	}
	first, last, found := strings.Cut(span, "-")
	if !found {
		return ContentRange{}, false
	}
	var c ContentRange
	for _, part := range []struct {
		text string
		to   *int64
	}{{first, &c.First}, {last, &c.Last}, {total, &c.Total}} {
		n, ok := ParsePosition(part.text)
		if !ok {
			return ContentRange{}, false
		}
		*part.to = n
	}
	if c.Last < c.First || c.Last >= c.Total {
		return ContentRange{}, false
	}
	return c, true
}

// ParsePosition parses a position or length of a range: digits only. ParseInt alone would accept a sign.
func ParsePosition(s string) (int64, bool) {
	if s == "" {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
