package request_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/transfer/request"
)

// TestSchedule: of 1,000 random due times and zones, each reminder is before the due time, after the one before, and by day.
func TestSchedule(t *testing.T) {
	t.Parallel()
	zones := []string{"Europe/Berlin", "America/New_York", "Asia/Tokyo", "Pacific/Kiritimati", "America/St_Johns", "UTC", "nowhere"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		after := time.Duration(r.Int64N(int64(2 * 365 * 24 * time.Hour)))
		due := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(after).Truncate(time.Millisecond)
		zone := zones[r.IntN(len(zones))]
		list := request.Schedule(due, zone)
		if len(list) < 2 || len(list) > 3 || !list[len(list)-1].Last {
			t.Fatalf("due %s in %s: %v", due, zone, list)
		}
		for i, one := range list {
			if _, quiet := request.Quiet(one.At, zone); quiet || !one.At.Before(due) || i > 0 && !one.At.After(list[i-1].At) {
				t.Fatalf("due %s in %s: reminder %d at %s", due, zone, i, one.At.In(request.Location(zone)))
			}
		}
		if next, ok := request.Next(&due, zone, list[0].At); !ok || !next.At.Equal(list[1].At) {
			t.Fatalf("after the first of %v comes %v", list, next)
		}
	}
}

func TestReadParties(t *testing.T) {
	t.Parallel()
	for table, want := range map[string][]string{
		"bob@example.org":                                   {"bob@example.org|"},
		"Name,Mail\nBob Builder,bob@example.org\n":          {"bob@example.org|Bob Builder"},
		"\ufeffVorname;Nachname;E-Mail\nBob;Builder;b@x.de": {"b@x.de|Bob Builder"},
		"bob@example.org\tBob\n\ncarol@example.org\tCarol":  {"bob@example.org|Bob", "carol@example.org|Carol"},
	} {
		list, err := request.ReadParties(table)
		if err != nil || len(list) != len(want) {
			t.Errorf("%q: %v, %v", table, list, err)
			continue
		}
		for i, p := range list {
			if p.Email+"|"+p.Name != want[i] {
				t.Errorf("%q: %s|%s", table, p.Email, p.Name)
			}
		}
	}
	if _, err := request.ReadParties("bob@example.org\nCarol"); err == nil {
		t.Error("a row without an address is accepted")
	}
}

func TestGaps(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	var beats []request.Heartbeat
	for m := range 30 {
		if m < 10 || m >= 13 { // three minutes without
			beats = append(beats, request.Heartbeat{At: from.Add(time.Duration(m) * time.Minute)})
		}
	}
	gaps := request.Gaps(from, from.Add(30*time.Minute), beats)
	if len(gaps) != 1 || gaps[0].Until.Sub(gaps[0].From) != 4*time.Minute || gaps[0].Before == nil || gaps[0].After == nil {
		t.Errorf("gaps are %v", gaps)
	}
	if gaps := request.Gaps(from, from.Add(time.Hour), nil); len(gaps) != 1 || gaps[0].Before != nil {
		t.Errorf("without heartbeats the gaps are %v", gaps)
	}
}
