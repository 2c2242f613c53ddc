package transfer

import (
	"strconv"
	"strings"
)

// ContentRange is the part of an object that one request carries: bytes First to Last, both included, of Total.
type ContentRange struct {
	First, Last, Total int64
}

// Length is the number of bytes in the range.
func (c ContentRange) Length() int64 { return c.Last - c.First + 1 }

// ParseContentRange reads a Content-Range header of an upload, "bytes first-last/total" (RFC 9110, 14.4). The unit
// compares without case. Unknown totals and unsatisfied ranges (*) say nothing an upload could use and are not ok.
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

// ParsePosition reads a position or length of a range: digits only. ParseInt alone would let a sign through.
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
