package request

import (
	"encoding/hex"
	"fmt"
	"time"
)

// HeartbeatMagic is the first line of a heartbeat. docs/use/receipts.md describes the format.
const HeartbeatMagic = "consign-heartbeat/v1"

// FormatHeartbeat returns the statement that the service at a host answered at a time.
func FormatHeartbeat(host string, at time.Time, salt []byte) []byte {
	return fmt.Appendf(nil, "%s\nsalt %s\nhost %s\nat %s\n", HeartbeatMagic, hex.EncodeToString(salt), host,
		at.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// MaxGap is the longest time between two heartbeats, which come once a minute, that counts as no outage.
const MaxGap = 2 * time.Minute

// Heartbeat is one entry of the log.
type Heartbeat struct {
	At    time.Time
	Body  []byte
	Entry []byte
}

// Gap is a time without heartbeats. Before and After are those around it; nil: there is none.
type Gap struct {
	From, Until   time.Time
	Before, After *Heartbeat
}

// Gaps returns the gaps between heartbeats, which are in order, from one time until another.
func Gaps(from, until time.Time, beats []Heartbeat) (gaps []Gap) {
	var before *Heartbeat
	last := from
	add := func(at time.Time, after *Heartbeat) {
		if at.Sub(last) > MaxGap {
			gaps = append(gaps, Gap{From: last, Until: at, Before: before, After: after})
		}
	}
	for i := range beats {
		add(beats[i].At, &beats[i])
		before, last = &beats[i], beats[i].At
	}
	add(until, nil)
	return gaps
}
