// Races at the due time, reminders, heartbeats, and what parties and strangers may try.

package handler_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/request/service"
)

// TestDeadlineRace: many hand in around the due time. Of each, answer, state of the party, transfer, receipt and mail say the same time,
// and late is what the due time says. The second hand-in of the same party fails.
func TestDeadlineRace(t *testing.T) {
	t.Parallel()
	s, ann := newOffice(t, testkit.Env("CONSIGN_YOUNG_RECIPIENTS_PER_DAY", "1000"))
	const rounds, at = 10, 20 // 200 hand-ins
	confirmed := map[string]string{}
	for round := range rounds {
		var addresses []string
		for i := range at {
			addresses = append(addresses, fmt.Sprintf("p%d.%d@example.org", round, i)) // an address gets so many confirmations a day
		}
		made := ann.ask(map[string]any{"due": in(s, time.Hour), "title": fmt.Sprint("Tender ", round)}, addresses...)
		var parties []*party
		for i := range at {
			p := ann.partyOf(made, fmt.Sprint(i)).open()
			p.send(0, "offer.pdf", fmt.Sprint("offer ", i))
			parties = append(parties, p)
		}
		began := time.Now()
		due := s.Clock.Now().Add(40 * time.Millisecond).UTC().Truncate(time.Millisecond)
		one := ann.Patch(ann.base+"/"+made.String("uid"), map[string]any{"due": due.Format(time.RFC3339Nano)}).Want(http.StatusOK)
		// The clock of the kit stands still, that of Postgres does not: the hand-ins spread over the due time as real ones do.
		s.Clock.Advance(time.Since(began))
		answers := make([]*testkit.Response, 2*at)
		var all sync.WaitGroup
		for i, p := range append(parties, parties...) {
			all.Go(func() {
				if i%at >= at/2 {
					s.Clock.Advance(4 * time.Millisecond)
				}
				answers[i], _ = p.Server.Stranger().Try(t.Context(), "POST", p.link+"/handin", nil)
			})
		}
		all.Wait()
		seen := ann.Get(ann.base + "/" + one.String("uid")).Want(http.StatusOK)
		for i := range parties {
			won := answers[i]
			if won.Status != http.StatusOK {
				won = answers[at+i]
			} else if answers[at+i].Status == http.StatusOK {
				t.Fatalf("party %d has handed in twice", i)
			}
			won.Want(http.StatusOK)
			when := won.String("at")
			stamp, err := time.Parse(time.RFC3339Nano, when)
			must(t, err)
			party := fmt.Sprintf("parties.%d.", i)
			if seen.String(party+"handedInAt") != when || seen.Value(party+"late") != stamp.After(due) || won.Value("late") != stamp.After(due) {
				t.Fatalf("party %d: answer %s, due %s, state %v %v", i, won.Body, due, seen.Value(party+"handedInAt"), seen.Value(party+"late"))
			}
			stated := stamp.UTC().Format("2006-01-02T15:04:05.000Z")
			var receipt string
			must(t, s.App.DB.Pool.QueryRow(t.Context(), `SELECT convert_from(r.body, 'UTF8') FROM transfer.receipts r
				JOIN transfer.transfers t ON t.uid = r.transfer AND t.created_at = $2 WHERE t.uid = $1`, won.String("transfer"), stamp).Scan(&receipt))
			if !strings.Contains(receipt, "\nconfirmed "+stated+"\n") ||
				!strings.Contains(receipt, "\ndue "+due.Format("2006-01-02T15:04:05.000Z")+"\n") {
				t.Fatalf("party %d, at %s: the receipt is\n%s", i, stated, receipt)
			}
			confirmed[fmt.Sprintf("p%d.%d@example.org", round, i)] = stated
		}
	}
	for address, stated := range confirmed {
		m := s.Mail.Wait(t, address, "have reached", 1)
		if !strings.Contains(string(m.Files["receipt.consign"]), "\nconfirmed "+stated+"\n") {
			t.Errorf("%s, at %s: the mail has the files %q\n%s", address, stated, m.Files, m.Text)
		}
	}
}

// TestReminderSurvivesCrashes: the connections of the job break at any moment, as those of a server that is killed do. Each party gets its
// reminder, once.
func TestReminderSurvivesCrashes(t *testing.T) {
	t.Parallel()
	s, ann := newOffice(t, testkit.Env("CONSIGN_YOUNG_RECIPIENTS_PER_DAY", "1000"))
	const parties, crashes = 300, 20
	var addresses []string
	for i := range parties {
		addresses = append(addresses, fmt.Sprintf("p%d@example.org", i))
	}
	noon := s.Clock.Now().UTC().Truncate(24 * time.Hour).Add(5*24*time.Hour + 11*time.Hour)
	ann.ask(map[string]any{"due": noon.Format(time.RFC3339)}, addresses...)
	s.Clock.Advance(noon.Add(-70 * time.Hour).Sub(s.Clock.Now()))
	conn, err := pgx.Connect(t.Context(), s.DatabaseURL)
	must(t, err)
	broken := 0
	for i := range crashes {
		done := make(chan error, 1)
		go func() { done <- s.App.Jobs.RunOnce(t.Context(), service.RemindJob) }()
		time.Sleep(time.Duration(i) * 500 * time.Microsecond)
		for ended := false; !ended; {
			_, err := conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
				AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND query ~ 'request_parties|request_items|mails'`)
			must(t, err)
			select {
			case err := <-done:
				if ended = true; err != nil {
					broken++
				}
			default:
			}
		}
	}
	must(t, conn.Close(t.Context()))
	poll.Until(t, "the job ends", func() bool { return s.App.Jobs.RunOnce(t.Context(), service.RemindJob) == nil })
	var mails, people int
	must(t, s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*), count(DISTINCT recipient) FROM mails WHERE template = 'request-reminder'`).
		Scan(&mails, &people))
	if mails != parties || people != parties {
		t.Errorf("%d reminders to %d people, want one to each of %d", mails, people, parties)
	}
	if broken == 0 {
		t.Errorf("no run of %d was broken: the test shows nothing", crashes)
	}
	t.Logf("%d of %d runs were broken", broken, crashes)
}

// TestReminders: three servers remind at the same moments; each reminder is sent once, by day, and none after the hand-in.
func TestReminders(t *testing.T) {
	t.Parallel()
	s, ann := newOffice(t)
	other, third := testkit.New(t, testkit.Beside(s)), testkit.New(t, testkit.Beside(s))
	noon := s.Clock.Now().UTC().Truncate(24 * time.Hour).Add(5*24*time.Hour + 11*time.Hour) // in Berlin, where the people of the kit live
	made := ann.ask(map[string]any{"due": noon.Format(time.RFC3339)}, "bob@example.org", "carol@example.org")
	bob := ann.partyOf(made, "0").open()
	handed := false
	for s.Clock.Now().Before(noon) {
		s.Clock.Advance(time.Hour)
		if left := noon.Sub(s.Clock.Now()); !handed && left < 60*time.Hour { // after the first reminder
			handed = true
			bob.open().send(0, "id.pdf", "id")
			bob.handIn(false).Want(http.StatusOK)
		}
		var all sync.WaitGroup
		for _, one := range []*testkit.Server{s, other, third} {
			all.Go(func() { _ = one.App.Jobs.RunOnce(t.Context(), service.RemindJob) })
		}
		all.Wait()
	}
	reminders := func(address string) (n int) {
		for _, m := range s.Mail.To(address) {
			if strings.HasPrefix(m.Subject, "Reminder:") {
				n++
			}
		}
		return n
	}
	s.Mail.Wait(t, "carol@example.org", "Reminder:", 3)
	poll.Until(t, "Bob's first reminder", func() bool { return reminders("bob@example.org") == 1 })
	if b, c := reminders("bob@example.org"), reminders("carol@example.org"); b != 1 || c != 3 {
		t.Errorf("Bob, who handed in, got %d reminders, Carol %d", b, c)
	}
	last := 0
	for _, m := range s.Mail.To("carol@example.org") {
		if strings.Contains(m.Text, "then it is deleted") {
			last++
		}
	}
	if last != 1 {
		t.Errorf("%d reminders say what becomes of the files, want the last one", last)
	}
}

// TestAvailability: while a request with a due time runs, a minute has one heartbeat of all servers; an outage is a gap.
func TestAvailability(t *testing.T) {
	t.Parallel()
	s, ann := newOffice(t)
	other := testkit.New(t, testkit.Beside(s))
	must(t, s.App.Jobs.RunOnce(t.Context(), service.HeartbeatJob)) // nothing runs: none
	made := ann.ask(map[string]any{"due": in(s, time.Hour)}, "bob@example.org")
	s.Clock.Advance(time.Second)
	for minute := range 10 {
		if minute < 4 || minute >= 7 {
			must(t, s.App.Jobs.RunOnce(t.Context(), service.HeartbeatJob))
			must(t, other.App.Jobs.RunOnce(t.Context(), service.HeartbeatJob))
		}
		s.Clock.Advance(time.Minute)
	}
	path := ann.base + "/" + made.String("uid") + "/availability"
	ann.Refresh()
	poll.Until(t, "the proofs", func() bool { return ann.Get(path).Value("gaps.0.after") != nil })
	got := ann.Get(path).Want(http.StatusOK)
	if got.Number("heartbeats") != 7 || got.Value("gaps.1") != nil ||
		!strings.HasPrefix(got.String("gaps.0.before"), "consign-heartbeat/v1\n") {
		t.Errorf("availability is %s", got.Body)
	}
	if seconds := got.Number("gaps.0.seconds"); seconds < 238 || seconds > 242 {
		t.Errorf("the gap has %v seconds", seconds)
	}
}

// TestAttackRequests: parties and strangers reach nothing of others, and nothing of a closed or refused request.
func TestAttackRequests(t *testing.T) {
	t.Parallel()
	s, ann := newOffice(t)
	made := ann.ask(map[string]any{"due": in(s, time.Hour), "late": "refuse"}, "bob@example.org", "carol@example.org")
	one, bobUID := ann.base+"/"+made.String("uid"), made.String("parties.0.uid")
	bob, carol := ann.partyOf(made, "0").open(), ann.partyOf(made, "1").open()
	bob.send(0, "secret.pdf", "secret")
	if strings.Contains(string(s.Stranger().Get(carol.link).Want(http.StatusOK).Body), "secret.pdf") {
		t.Error("Carol sees Bob's file")
	}
	carol.Get(bob.draft).WantError(transfer.ErrNotFound)
	carol.Put(bob.draft+"/objects/secret.pdf/content", []byte("forged")).WantError(transfer.ErrNotFound)
	bob.Patch(bob.draft, map[string]any{"anonEmail": "victim@example.com"}).WantError(transfer.ErrFixedMember)

	eve := office{s.SignUp("eve@example.com"), ann.base}
	for _, attempt := range []*testkit.Response{
		eve.Get(one), eve.Patch(one, map[string]any{"state": "closed"}), eve.Delete(one), eve.Get(one + "/archive"), eve.Get(one + "/table"),
		eve.Get(one + "/availability"), eve.Post(one+"/parties", map[string]any{"csv": "eve@example.com"}),
		eve.Post(one+"/parties/"+bobUID+"/remind", nil), eve.Post(one+"/remind", nil), eve.decide(made.String("uid"), bobUID, bob.items[0], ""),
		s.Stranger().Get(s.Transfer + "/public/requests/" + strings.Repeat("A", 43)), s.Stranger().Get(s.Transfer + "/public/requests/x"),
		s.Stranger().Post(s.Transfer+"/public/requests/"+made.String("uid")+"/handin", nil),
		s.Stranger().Get(s.Transfer + "/public/requests/" + made.String("uid") + "/receipt"),
	} {
		attempt.WantError(transfer.ErrNotFound)
	}
	if list, _ := eve.Get(ann.base).Want(http.StatusOK).Value("requests").([]any); len(list) != 0 {
		t.Error("Eve sees Ann's request")
	}
	theirs := eve.ask(nil)
	mixed := eve.base + "/" + theirs.String("uid") + "/parties/" + bobUID // her request, his party
	eve.Patch(mixed, map[string]any{"name": "Eve"}).WantError(transfer.ErrNotFound)
	bob.Post(bob.draft+"/objects?item="+eve.partyItems(theirs)[0],
		map[string]any{"clientId": "x", "name": "x", "intendedSize": 1}).WantError(fault.ErrInvalid)

	s.Clock.Advance(time.Hour + time.Second)
	bob.handIn(false).WantError(transfer.ErrLate)
	bob.Post(bob.draft+"/confirm", nil).WantError(transfer.ErrLate)
	s.Stranger().Post(bob.link, nil).WantError(transfer.ErrLate)
}
