// Tests of the console: where it is served, who gets in, what is audited, queues, settings and keys.

package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/operator"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

const overview = httpapi.OperatorBase + "/overview"

// TestConsolePlaces: the console is where CONSIGN_ADMIN_CONSOLE says, by default at the admin listener only. Elsewhere its API and its
// pages are 404.
func TestConsolePlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		setting         string
		public, private bool
	}{{"listener", false, true}, {"public", true, true}, {"off", false, false}} {
		t.Run(c.setting, func(t *testing.T) {
			t.Parallel()
			s := testkit.New(t, testkit.Env("CONSIGN_ADMIN_CONSOLE", c.setting))
			addOrganization(t, s, "org.test")
			olga, _ := s.SignUpOperator("olga@example.com")
			status := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}
			for _, path := range []string{overview, "/admin"} {
				p := olga
				if path == "/admin" {
					p = s.Stranger().With("Accept", "text/html")
				}
				p.Get(path).Want(status[c.public])
				p.With("Host", "org.test").Get(path).Want(http.StatusNotFound)
				p.Get(s.Admin + path).Want(status[c.private])
				p.With("Host", "console.internal").Get(s.Admin + path).Want(status[c.private])
			}
			s.Stranger().Get(s.Admin + "/metrics").Want(http.StatusOK)
		})
	}
}

// TestConsoleListener: the admin listener signs operators in at any host name. With CONSIGN_REQUIRE_HTTPS it takes plain HTTP from
// loopback, and from nowhere else. It works during maintenance.
func TestConsoleListener(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, loopback(), testkit.Env("CONSIGN_REQUIRE_HTTPS", "on"), testkit.Env("CONSIGN_ADMIN_CONSOLE", "listener"))
	if err := s.App.Identity.AddOperator(t.Context(), testkit.Command, "nobody@example.com", token.RoleOperator); err == nil {
		t.Error("an operator without an account")
	}
	addPerson(t, s, "olga@example.com", "")
	at := s.Stranger().With("Host", "localhost:9090")
	login := map[string]any{"email": "olga@example.com", "type": "bcrypt", "key": testkit.Password}
	raw := at.Post(s.Admin+s.Identity+"/auth/login", login).Want(http.StatusOK).String("token")
	cookie := at.With("Cookie", "id="+raw).With("Sec-Fetch-Site", "same-origin")
	cookie.With("Origin", "http://localhost:9090").Post(s.Admin+s.Identity+"/auth/access", nil).Want(http.StatusOK)
	cookie.With("Origin", "http://localhost:9091").Post(s.Admin+s.Identity+"/auth/access", nil).WantError(token.ErrCrossOrigin)
	at.With("X-Forwarded-For", "192.0.2.7").Post(s.Admin+s.Identity+"/auth/login", login).WantError(fault.ErrForbidden)
	at.With("X-Forwarded-For", "192.0.2.7").With("X-Forwarded-Proto", "https").Post(s.Admin+s.Identity+"/auth/login",
		login).Want(http.StatusOK)
	if err := s.App.SetMaintenance(t.Context(), operator.Maintenance{On: true}); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "maintenance begins", func() bool {
		return s.Stranger().With("X-Forwarded-Proto", "https").Get(s.Transfer+"/environment").Status == http.StatusServiceUnavailable
	})
	at.Post(s.Admin+s.Identity+"/auth/login", login).Want(http.StatusOK)
}

// TestOperatorSession: an operator whose login is too long ago proves it again, and gets a token for changes. Guesses have a bucket.
func TestOperatorSession(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, limited())
	olga, code := s.SignUpOperator("olga@example.com")
	session := httpapi.OperatorBase + "/session"
	if got := olga.Get(session).Want(http.StatusOK).String("email"); got != "olga@example.com" {
		t.Errorf("the operator is %s", got)
	}
	olga.Post(session, nil).Want(http.StatusOK) // a young login is enough
	s.Clock.Advance(s.Config.YoungSession + time.Minute)
	olga.Refresh()
	olga.Post(session, nil).WantError(identity.ErrSessionNotYoung)
	olga.Post(session, map[string]any{"authKey": testkit.Password}).WantError(identity.ErrFactorFirst)
	olga.Post(session, map[string]any{"authKey": "not the password"}).WantError(identity.ErrKeyChange)
	proof := map[string]any{"authKey": testkit.Password, "authFactor": map[string]any{"type": "totp", "key": code()}}
	renewed := olga.As(olga.Post(session, proof).Want(http.StatusOK).String("token"))
	olga.Post(session, proof).WantError(identity.ErrVerificationFailed) // a code works once
	until, err := time.Parse(time.RFC3339, renewed.Get(session).Want(http.StatusOK).String("changesUntil"))
	if want := s.Clock.Now().Add(s.Config.YoungSession); err != nil || until.Before(want.Add(-2*time.Second)) || until.After(want) {
		t.Errorf("changes until %v, want %v (%v)", until, want, err)
	}
	for range 12 {
		olga.Post(session, map[string]any{"authKey": "a guess"})
	}
	olga.Post(session, map[string]any{"authKey": "a guess"}).WantError(fault.ErrRateLimited)
}

// TestAttackRenewedOperatorSession: a stolen token for changes does not renew itself, and a proof for something else does not make it last
// longer.
func TestAttackRenewedOperatorSession(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, code := s.SignUpOperator("olga@example.com")
	session := httpapi.OperatorBase + "/session"
	proof := func() map[string]any {
		return map[string]any{"authKey": testkit.Password, "authFactor": map[string]any{"type": "totp", "key": code()}}
	}
	s.Clock.Advance(s.Config.YoungSession + time.Minute)
	olga.Refresh()
	stolen := olga.As(olga.Post(session, proof()).Want(http.StatusOK).String("token"))
	until := stolen.Get(session).Want(http.StatusOK).String("changesUntil")
	s.Clock.Advance(5 * time.Minute)
	stolen = stolen.As(stolen.Post(session, nil).Want(http.StatusOK).String("token"))
	if got := stolen.Get(session).Want(http.StatusOK).String("changesUntil"); got != until {
		t.Errorf("a token that renewed itself counts until %s, the proof until %s", got, until)
	}
	again := olga.As(olga.Post(session, nil).Want(http.StatusOK).String("token")) // the session's proof of five minutes ago
	if got := again.Get(session).Want(http.StatusOK).String("changesUntil"); got != until {
		t.Errorf("an earlier proof counts until %s, want %s", got, until)
	}
	s.Clock.Advance(4 * time.Minute)
	again = olga.As(olga.Post(session, nil).Want(http.StatusOK).String("token"))
	olga.Refresh()
	s.Clock.Advance(7 * time.Minute)
	again.Post(session, nil).WantError(identity.ErrSessionNotYoung)
	olga.Refresh()
	olga.Post(session, nil).WantError(identity.ErrSessionNotYoung)
}

// TestConsoleIsAudited: each call has an entry, also a refused one and a read. The same read again has one a minute later only.
func TestConsoleIsAudited(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	olga.Get(overview + "?why=ticket%207").Want(http.StatusOK)
	olga.Get(overview + "?why=ticket%207").Want(http.StatusOK)
	olga.Get(overview + "?why=ticket%208").Want(http.StatusOK)
	s.Clock.Advance(2 * time.Minute)
	olga.Get(overview + "?why=ticket%207").Want(http.StatusOK)
	olga.Post(httpapi.OperatorBase+"/session", map[string]any{"authKey": "x", "authFactor": map[string]any{"type": "totp", "key": "000000"}})
	entries, err := audit.List(t.Context(), s.App.DB.Pool, audit.Filter{Action: "console."})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if e.Person.IsZero() || !e.Client.Address.IsValid() {
			t.Errorf("who or where is missing: %+v", e)
		}
		got = append(got, strings.Join([]string{e.Action, e.Object, e.Details["route"], e.Details["query"]}, " "))
	}
	read := "console.read " + overview + " GET " + overview + " why=ticket%20"
	want := []string{"console.change " + httpapi.OperatorBase + "/session POST " + httpapi.OperatorBase + "/session ", read + "7", read + "8",
		read + "7"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the audit has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestConsoleQueues: an operator sees why a mail does not arrive, sends it again, sends a test mail, runs a job and ends one.
func TestConsoleQueues(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	mails, jobs := httpapi.OperatorBase+"/mails", httpapi.OperatorBase+"/jobs"
	var sent string
	poll.Until(t, "the newest mail is marked as sent", func() bool { // a mail arrives before it is marked
		all := olga.Get(mails + "?to=OLGA@example.com&limit=1").Want(http.StatusOK)
		if all.String("mails.0.to") != "olga@example.com" {
			t.Fatalf("the newest mail is %s", all.Body)
		}
		sent = all.String("mails.0.uid")
		return all.String("mails.0.state") == "sent"
	})
	olga.Post(mails+"/"+sent+"/retry", nil).WantError(mail.ErrFinished)
	olga.Post(mails+"/"+id.New[id.Mail]().String()+"/retry", nil).WantError(mail.ErrNotFound)
	if _, err := s.App.DB.Pool.Exec(t.Context(), `UPDATE mails SET state = 'failed', has_secret = false, data = '{"at": 1}' WHERE uid = $1`,
		sent); err != nil {
		t.Fatal(err)
	}
	olga.Post(mails+"/"+sent+"/retry", nil).Want(http.StatusNoContent)

	if _, err := s.App.DB.Pool.Exec(t.Context(), `UPDATE mails SET state = 'failed', finished_at = $2, last_answer = '550 Relaying denied',
		data = CASE WHEN uid = $1 THEN '{"at": 1}' ELSE '{}' END::jsonb WHERE state <> 'queued' OR uid = $1`, sent, s.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	failed := len(olga.Get(mails + "?answer=relaying&since=2020-01-01T00:00:00Z").Want(http.StatusOK).Value("mails").([]any))
	if got := olga.Get(mails + "?answer=greylisted").Want(http.StatusOK).Value("mails").([]any); len(got) != 0 || failed < 1 {
		t.Errorf("%v mails with another answer, %v with this", got, failed)
	}
	s.Stranger().Post(mails+"/retry", nil).Want(http.StatusUnauthorized)
	olga.Post(mails+"/retry?state=sent", nil).WantError(fault.ErrInvalid)
	if got := olga.Post(mails+"/retry?answer=relaying&state=failed", nil).Want(http.StatusOK); got.Number("due") != 1 ||
		got.Number("left") != float64(failed-1) {
		t.Errorf("sent again: %s, of %v", got.Body, failed)
	}

	test := olga.Post(mails+"/test", map[string]any{"address": "Ops@example.com"}).Want(http.StatusOK)
	if test.Value("sent") != true || test.String("answer") == "" {
		t.Errorf("the test mail: %s", test.Body)
	}
	olga.Post(mails+"/test", map[string]any{"address": "not an address"}).WantError(fault.ErrInvalid)
	for _, wrong := range []string{"?state=lost", "?after=x", "?limit=0", "?limit=201", "?limit=1&limit=2"} {
		olga.Get(mails + wrong).WantError(fault.ErrInvalid)
	}

	var job int64
	err := s.App.DB.Pool.QueryRow(t.Context(), `INSERT INTO river_job (kind, args, state, max_attempts, scheduled_at, queue)
		VALUES ('periodic', '{"name": "nothing"}', 'scheduled', 3, now() + interval '1 day', 'nobody') RETURNING id`).Scan(&job)
	if err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf("%s/%d", jobs, job)
	if got := olga.Get(jobs + "?queue=nobody&state=scheduled").Want(http.StatusOK); got.String("jobs.0.kind") != "periodic nothing" {
		t.Errorf("the job is %s", got.Body)
	}
	if got := olga.Post(at+"/retry", nil).Want(http.StatusOK).String("state"); got != "available" {
		t.Errorf("a job that was made due is %s", got)
	}
	if got := olga.Post(at+"/cancel", nil).Want(http.StatusOK).String("state"); got != "cancelled" {
		t.Errorf("a job that was ended is %s", got)
	}
	olga.Post(jobs+"/999999999/retry", nil).WantError(fault.ErrNotFound)
	olga.Post(jobs+"/x/cancel", nil).WantError(fault.ErrNotFound)
}

// TestConsoleAudit: pages of the audit follow each other without gaps; as a table and as lines of JSON it is whole.
func TestConsoleAudit(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	for i := range 7 {
		if err := audit.Append(t.Context(), s.App.DB.Pool, s.Clock.Now(),
			audit.Entry{Actor: testkit.Command, Action: "probe.made", Object: fmt.Sprint(i),
				Details: map[string]string{"formula": "=1+1"}}); err != nil {
			t.Fatal(err)
		}
	}
	at := httpapi.OperatorBase + "/audit?action=probe."
	var got []string
	for next := at + "&limit=3"; next != ""; {
		page := olga.Get(next).Want(http.StatusOK)
		var body struct {
			Entries []struct{ Object string }
			Next    string
		}
		page.JSON(&body)
		for _, e := range body.Entries {
			got = append(got, e.Object)
		}
		if next = ""; body.Next != "" {
			next = at + "&limit=3&after=" + body.Next
		}
	}
	if want := "6 5 4 3 2 1 0"; strings.Join(got, " ") != want {
		t.Errorf("the pages have %q, want %s", got, want)
	}
	table := olga.With("Accept", "text/csv").Get(at + "&format=csv").Want(http.StatusOK)
	if lines := strings.Count(string(table.Body), "\n"); lines != 8 || !strings.HasPrefix(string(table.Body), "at,action,object,actor,") {
		t.Errorf("the table is %s", table.Body)
	}
	lines := strings.Split(strings.TrimSpace(string(olga.With("Accept",
		"application/x-ndjson").Get(at+"&format=jsonl").Want(http.StatusOK).Body)), "\n")
	var first struct{ Action string }
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil || len(lines) != 7 || first.Action != "probe.made" {
		t.Errorf("the lines are %q (%v)", lines, err)
	}
	own := olga.Get(httpapi.OperatorBase + "/audit?action=operator.add").Want(http.StatusOK)
	if own.String("entries.0.target.email") != "olga@example.com" {
		t.Errorf("the entry is %s", own.Body)
	}
}

// TestConsoleSettings: settings come masked and say whether the environment has them. Maintenance is turned on and off by an operator at
// the admin listener. Refusals are counted.
func TestConsoleSettings(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	at := s.Admin + httpapi.OperatorBase
	got := olga.Get(at + "/settings").Want(http.StatusOK)
	var body struct {
		Settings []struct{ Name, Value, Source string }
	}
	got.JSON(&body)
	sources := map[string]string{}
	for _, e := range body.Settings {
		sources[e.Name] = e.Source + " " + e.Value
	}
	for name, want := range map[string]string{"CONSIGN_SECRET_KEY": "environment ********", "CONSIGN_YOUNG_SESSION": "default 15m",
		"CONSIGN_ADMIN_CONSOLE": "environment public"} {
		if sources[name] != want {
			t.Errorf("%s is %q, want %q", name, sources[name], want)
		}
	}
	if strings.Contains(string(got.Body), strings.Repeat("a2tr", 4)) { // the kit's secret key
		t.Error("the settings show the secret key")
	}
	olga.Put(at+"/maintenance", map[string]any{}).WantError(fault.ErrInvalid)
	olga.Put(at+"/maintenance", map[string]any{"on": true}).Want(http.StatusNoContent)
	poll.Until(t, "maintenance begins", func() bool {
		return s.Stranger().Get(s.Transfer+"/environment").Status == http.StatusServiceUnavailable
	})
	if olga.Get(at+"/settings").Want(http.StatusOK).Value("maintenance") != true {
		t.Error("the console does not say that there is maintenance")
	}
	olga.Put(at+"/maintenance", map[string]any{"on": false}).Want(http.StatusNoContent)
	poll.Until(t, "maintenance ends", func() bool { return s.Stranger().Get(s.Transfer+"/environment").Status == http.StatusOK })

	for range 5 {
		s.Stranger().Post(s.Identity+"/auth/login", map[string]any{"email": "eve@example.com", "type": "bcrypt", "key": "a guess"})
	}
	if limits := olga.Get(at + "/limits").Want(http.StatusOK); limits.String("refusals.0.bucket") != "login" {
		t.Errorf("the refusals are %s", limits.Body)
	}
}

// TestConsoleKeys: an operator publishes a key, revokes another, and replaces the key of the log.
func TestConsoleKeys(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	at := httpapi.OperatorBase + "/keys"
	fresh := olga.Post(at+"/rotate", nil).Want(http.StatusOK)
	if fresh.String("state") != "pending" || fresh.String("purpose") != "session" {
		t.Errorf("the new key is %s", fresh.Body)
	}
	olga.Delete(at + "/" + fresh.String("kid")).Want(http.StatusNoContent)
	olga.Delete(at + "/unknown").WantError(token.ErrUnknownKey)
	olga.Delete(at + "/%00").WantError(token.ErrUnknownKey)
	first := olga.Post(at+"/log/rotate", nil).Want(http.StatusOK).String("verifier")
	second := olga.Post(at+"/log/revoke", nil).Want(http.StatusOK).String("verifier")
	var list struct {
		Signing []struct{ KID, State string }
		Log     []struct{ Verifier, State string }
	}
	olga.Get(at).Want(http.StatusOK).JSON(&list)
	states := map[string]string{}
	for _, k := range list.Signing {
		states[k.KID] = k.State
	}
	for _, k := range list.Log {
		states[k.Verifier] = k.State
	}
	if states[fresh.String("kid")] != "revoked" || states[first] != "revoked" || states[second] != "signing" {
		t.Errorf("the keys are %v", states)
	}
}
