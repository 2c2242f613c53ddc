package transfer

import "time"

// RecipientLimits bound the recipients of one account's transfers on a day (UTC).
type RecipientLimits struct {
	PerDay   int
	Young    int // of an account younger than YoungAge
	YoungAge time.Duration
}

// On returns how many recipients an account may have on the day of now.
func (l RecipientLimits) On(now time.Time, a Account) int {
	if l.young(now, a) {
		return min(l.Young, l.PerDay)
	}
	return l.PerDay
}

func (l RecipientLimits) young(now time.Time, a Account) bool {
	return now.Before(a.CreatedAt.Add(l.YoungAge))
}

// Wait returns how long n recipients that do not fit today must wait: for the next day, and for the age of the account if n is
// more than a young one may have on any day.
func (l RecipientLimits) Wait(now time.Time, a Account, n int) time.Duration {
	const day = 24 * time.Hour
	next := now.UTC().Truncate(day).Add(day)
	if grown := a.CreatedAt.Add(l.YoungAge); n > l.Young && grown.After(next) {
		next = grown
	}
	return next.Sub(now)
}
