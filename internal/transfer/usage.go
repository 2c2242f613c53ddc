package transfer

import "time"

// UsedDay is what an organization stored at the end of a day (UTC), and had uploaded in the month up to then.
type UsedDay struct {
	Day    time.Time
	Stored int64 // bytes
	Held   int64 // bytes
}

// UsedMonth is the upload volume of an organization in a calendar month (UTC).
type UsedMonth struct {
	Month time.Time // its first day
	Held  int64     // bytes
}

// UsageOverTime is how much an organization used. A negative limit means no limit.
type UsageOverTime struct {
	Days        []UsedDay   // oldest first, without those in which no server ran
	Months      []UsedMonth // oldest first
	VolumeLimit int64       // bytes a month
	StoredLimit int64       // bytes
}
