// Tests of audit entries: order, filters, transaction, and secrets that are withheld.

package audit_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/token"
)

// job is an actor.
var job = audit.Actor{Kind: audit.Job}

var start = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

func open(t *testing.T) *database.DB {
	t.Helper()
	db, err := database.New(t.Context(), pgtest.URL(t), 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func appendAll(t *testing.T, db *database.DB, entries ...audit.Entry) {
	t.Helper()
	for i, e := range entries {
		if err := audit.Append(t.Context(), db.Pool, start.Add(time.Duration(i)*time.Hour), e); err != nil {
			t.Fatal(err)
		}
	}
}

func list(t *testing.T, db *database.DB, f audit.Filter) []audit.Record {
	t.Helper()
	records, err := audit.List(t.Context(), db.Pool, f)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func TestListReturnsWhatWasAppended(t *testing.T) {
	t.Parallel()
	db := open(t)
	full := audit.Entry{
		Actor: audit.Actor{Kind: audit.Operator, Person: id.New[id.Person](),
			Client: token.Client{Address: netip.MustParseAddr("2001:db8::7"), UserAgent: "curl/8"}},
		Action: "member.remove", Object: id.New[id.Organization]().String(),
		Target: id.New[id.Person](), Organization: id.New[id.Organization](),
		Details: map[string]string{"roles": "Organization.Admin"},
	}
	appendAll(t, db, audit.Entry{Actor: job, Action: "job.run"}, full)
	want := []audit.Record{
		{Entry: full, At: start.Add(time.Hour)},
		{Entry: audit.Entry{Actor: job, Action: "job.run"}, At: start},
	}
	opts := cmp.Options{
		cmpopts.IgnoreFields(audit.Record{}, "ID"), cmpopts.EquateEmpty(),
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	}
	if diff := cmp.Diff(want, list(t, db, audit.Filter{}), opts); diff != "" {
		t.Error(diff)
	}
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	db := open(t)
	ann, bob := id.New[id.Person](), id.New[id.Person]()
	appendAll(t, db,
		audit.Entry{Object: "0", Action: "session.login", Actor: audit.By(ann, token.Client{})},
		audit.Entry{Object: "1", Action: "session.logout", Actor: audit.By(ann, token.Client{})},
		audit.Entry{Object: "2", Action: "member.role", Actor: audit.By(bob, token.Client{}), Target: ann},
		audit.Entry{Object: "3", Action: "session-policy.set", Actor: audit.By(bob, token.Client{})},
	)
	newest := list(t, db, audit.Filter{Limit: 1})[0]
	for name, test := range map[string]struct {
		filter audit.Filter
		want   string
	}{
		"all":      {audit.Filter{}, "3210"},
		"person":   {audit.Filter{Person: ann}, "210"},
		"action":   {audit.Filter{Action: "session.login"}, "0"},
		"resource": {audit.Filter{Action: "session."}, "10"},
		"since":    {audit.Filter{Since: start.Add(2 * time.Hour)}, "32"},
		"limit":    {audit.Filter{Limit: 2}, "32"},
		"after":    {audit.Filter{After: newest.ID, Limit: 2}, "21"},
		"several":  {audit.Filter{Person: ann, Action: "session.", Since: start.Add(time.Hour)}, "1"},
		"pattern":  {audit.Filter{Action: "%."}, ""},
	} {
		var got strings.Builder
		for _, r := range list(t, db, test.filter) {
			got.WriteString(r.Object)
		}
		if got.String() != test.want {
			t.Errorf("%s: %q, want %q", name, got.String(), test.want)
		}
	}
}

func TestEntryGoesWithItsTransaction(t *testing.T) {
	t.Parallel()
	db := open(t)
	errUndone := errors.New("undone")
	err := db.InTx(t.Context(), func(tx database.Tx) error {
		if err := audit.Append(t.Context(), tx, start, audit.Entry{Actor: job, Action: "settings.change"}); err != nil {
			return err
		}
		return errUndone
	})
	if !errors.Is(err, errUndone) {
		t.Fatal(err)
	}
	if got := list(t, db, audit.Filter{}); len(got) != 0 {
		t.Errorf("recorded %v", got)
	}
}

func TestNothingSecretIsRecorded(t *testing.T) {
	t.Parallel()
	db := open(t)
	jwt := "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl"
	appendAll(t, db, audit.Entry{
		Action: "password.change", Object: "session " + jwt,
		Actor: audit.By(id.Person{}, token.Client{UserAgent: "bad\x00agent\n\xff " + jwt + strings.Repeat("ä", 1000)}),
		Details: map[string]string{
			"newPassword": "hunter2", "reset_key": "abc", "recoveryCodes": "123", "Authorization": "x", "note": "Bearer " + jwt,
			"monkey": "kept", "keyboard": "kept too",
		},
	})
	got := list(t, db, audit.Filter{})[0]
	want := map[string]string{
		"newPassword": "(withheld)", "reset_key": "(withheld)", "recoveryCodes": "(withheld)", "Authorization": "(withheld)",
		"note": "Bearer (withheld)", "monkey": "kept", "keyboard": "kept too",
	}
	if diff := cmp.Diff(want, got.Details); diff != "" {
		t.Error(diff)
	}
	if got.Object != "session (withheld)" || !strings.HasPrefix(got.Client.UserAgent, "badagent\uFFFD (withheld)ä") ||
		len(got.Client.UserAgent) > 500 {
		t.Errorf("object %q, user agent %q", got.Object, got.Client.UserAgent)
	}
}
