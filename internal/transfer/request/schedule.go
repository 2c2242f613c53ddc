package request

import "time"

// Reminders are sent between these hours of the party's zone.
const (
	morning = 8
	evening = 20
)

// Quiet reports whether it is night in a zone, and returns the next morning if so.
func Quiet(now time.Time, zone string) (until time.Time, quiet bool) {
	local := now.In(Location(zone))
	switch h := local.Hour(); {
	case h < morning:
		return at(local, 0, morning), true
	case h >= evening:
		return at(local, 1, morning), true
	}
	return now, false
}

// Location returns a time zone, UTC for an unknown one.
func Location(zone string) *time.Location {
	l, err := time.LoadLocation(zone)
	if err != nil || l == time.Local {
		return time.UTC
	}
	return l
}

// at returns the beginning of an hour, days after the day of local.
func at(local time.Time, days, hour int) time.Time {
	y, m, d := local.Date()
	return time.Date(y, m, d+days, hour, 0, 0, 0, local.Location())
}

// Reminder is one reminder of a schedule.
type Reminder struct {
	At   time.Time
	Last bool
}

// Schedule returns when a party is reminded: 3 days and 1 day before the due time at the same time of day, and on the day itself in the
// morning. A time at night moves to the morning, or, when the due time comes first, is left out.
func Schedule(due time.Time, zone string) (list []Reminder) {
	local := due.In(Location(zone))
	add := func(t time.Time) {
		t, _ = Quiet(t, zone)
		if t.Before(due) && (len(list) == 0 || t.After(list[len(list)-1].At)) {
			list = append(list, Reminder{At: t})
		}
	}
	add(local.AddDate(0, 0, -3))
	add(local.AddDate(0, 0, -1))
	add(at(local, 0, morning))
	if n := len(list); n > 0 {
		list[n-1].Last = true
	}
	return list
}

// Next returns the first reminder after a time; ok is false when there is none.
func Next(due *time.Time, zone string, after time.Time) (next Reminder, ok bool) {
	if due == nil {
		return next, false
	}
	for _, r := range Schedule(*due, zone) {
		if r.At.After(after) {
			return r, true
		}
	}
	return next, false
}
