package app_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// usage is an answer of GET /adminunit/usage.
type usage struct {
	Months []struct {
		Month string
		Bytes int64
	}
	Days []struct {
		Day                     string
		StoredBytes, MonthBytes int64
	}
	StorageLimitBytes *int64
}

// TestUsageOverTime: the samples of an organization's days stay as they were, a day without a server is missing, and the present day is
// read at once. Another organization changes nothing of it.
func TestUsageOverTime(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	own, other := addFirm(t, s, "org.test", ""), addFirm(t, s, "other.test", "o")
	if err := s.App.Identity.SetLimits(t.Context(), testkit.Command, "org.test",
		identity.LimitsChange{StorageVolumeGB: identity.To(5.0)}); err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC).Sub(s.Clock.Now()))
	sample := func() {
		t.Helper()
		if err := s.App.Jobs.RunOnce(t.Context(), service.SampleVolumesJob); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (u usage) {
		t.Helper()
		own.ann.Refresh()
		own.ann.Get(own.at + "/usage").Want(http.StatusOK).JSON(&u)
		return u
	}
	if u := read(); len(u.Days) != 1 || u.Days[0].Day != "2026-11-28" || u.Days[0].StoredBytes != 0 || len(u.Months) != 1 ||
		u.Months[0].Month != "2026-11" || *u.StorageLimitBytes != 5e9 {
		t.Errorf("of a new organization: %+v", u)
	}
	own.receive("bob")
	first := read().Days[0]
	if first.StoredBytes < 7 || first.MonthBytes != first.StoredBytes {
		t.Errorf("after a transfer: %+v", first)
	}
	sample()
	other.receive("obob")
	s.Clock.Advance(time.Hour)
	uid := own.receive("bob")
	sample()
	sample()
	s.Clock.Advance(24 * time.Hour)
	second := read()
	if len(second.Days) != 2 || second.Days[0].Day != "2026-11-28" || second.Days[0].StoredBytes != 2*first.StoredBytes ||
		second.Days[1].StoredBytes != 2*first.StoredBytes {
		t.Errorf("a day later: %+v", second)
	}
	s.Clock.Advance(48 * time.Hour) // the 29th was not sampled
	own.ann.Refresh()
	own.ann.Post(own.at+"/transfers/"+uid+"/revoke", map[string]any{"reason": "x"}).Want(http.StatusNoContent)
	own.receive("ann")
	own.receive("ann")
	last := read()
	if len(last.Days) != 2 || last.Days[0].MonthBytes != 2*first.MonthBytes || last.Days[1].Day != "2026-12-01" ||
		last.Days[1].MonthBytes != 2*first.MonthBytes || last.Days[1].StoredBytes != 3*first.StoredBytes {
		t.Errorf("in the next month: %+v, the first day was %+v", last, first)
	}
	if len(last.Months) != 2 || last.Months[0].Month != "2026-11" || last.Months[0].Bytes != 2*first.MonthBytes ||
		last.Months[1].Month != "2026-12" || last.Months[1].Bytes != 2*first.MonthBytes {
		t.Errorf("months: %+v", last.Months)
	}
	sample()
	count := func(where string) (n int) {
		t.Helper()
		if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM transfer.volume_samples WHERE `+where).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(`true`); n != 4 {
		t.Errorf("%d samples of two organizations and two days", n)
	}
	// Old samples are deleted, and those of an organization with it.
	s.Clock.Advance(90 * 24 * time.Hour)
	if err := s.App.Jobs.RunOnce(t.Context(), service.PurgeJob); err != nil {
		t.Fatal(err)
	}
	if n := count(`day < '2026-12-01'`); n != 0 || count(`true`) != 2 {
		t.Errorf("%d samples of November are left, %d in all", n, count(`true`))
	}
	o, err := id.Parse[id.Organization](organizationOf(t, s, "org.test"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.App.Transfer.DeleteOrganizationData(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if n := count(`true`); n != 1 {
		t.Errorf("%d samples are left, want the one of the other organization", n)
	}
}

// TestManyOrganizationsAreSampled: the samples of more organizations than one statement stores.
func TestManyOrganizationsAreSampled(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	if _, err := s.App.DB.Pool.Exec(t.Context(), `
		WITH o AS (
			INSERT INTO identity.organizations (uid, name, locale, time_zone, created_at, updated_at) SELECT gen_random_uuid(), 'Many', 'en_US',
				'UTC', now(), now() FROM generate_series(1, 2100) RETURNING uid
		)
		INSERT INTO transfer.stored_volumes (organization, bytes) SELECT uid, 5 FROM o`); err != nil {
		t.Fatal(err)
	}
	if err := s.App.Jobs.RunOnce(t.Context(), service.SampleVolumesJob); err != nil {
		t.Fatal(err)
	}
	var n, sum int
	if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*), sum(stored) FROM transfer.volume_samples`).Scan(&n, &sum); err != nil ||
		n != 2100 || sum != 10500 {
		t.Errorf("%d samples with %d bytes (%v)", n, sum, err)
	}
}
