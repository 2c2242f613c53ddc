package handler_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/outbound/target"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/scanner"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// newScanned returns a server with a scanner, and Ann, who has the mailbox "ann" on it.
func newScanned(t *testing.T, options ...testkit.Option) (*testkit.Server, *testkit.Person, *scanner.Clamd) {
	t.Helper()
	daemon := scanner.NewClamd(t)
	s, ann := newMailbox(t, append([]testkit.Option{testkit.Env("CONSIGN_SCANNER_URL", daemon.URL)}, options...)...)
	return s, ann, daemon
}

// inspected waits until a transfer has a state.
func inspected(t *testing.T, p *testkit.Person, path, state string) *testkit.Response {
	t.Helper()
	var r *testkit.Response
	poll.Until(t, "the transfer is "+state, func() bool {
		r = p.Get(path).Want(http.StatusOK)
		return r.Value("malwareStatus") == state
	})
	return r
}

func contentPath(path string, shown *testkit.Response, i int) string {
	return path + "/objects/" + shown.String(fmt.Sprintf("objects.%d.uid", i)) + "/content"
}

// TestHoldUntilClean: a stranger's file is given to nobody until the scanner calls it clean. The parties get events.
func TestHoldUntilClean(t *testing.T) {
	t.Parallel()
	s, ann, daemon := newScanned(t)
	release := daemon.Hold()
	d := reserve(s)
	d.send("a", []byte("harmless"))
	done := d.Post(d.path+"/confirm", nil).Want(http.StatusOK)
	if done.String("malwareStatus") != "scanning" || done.String("objects.0.malwareStatus") != "scanning" ||
		done.Value("objects.0.held") != true {
		t.Errorf("confirm says %s", done.Body)
	}
	path := s.Transfer + "/transfers/" + done.String("uid")
	shown := ann.Get(path)
	file := contentPath(path, shown, 0)
	if r := ann.Get(file).WantError(transfer.ErrBeingChecked); r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	ann.Get(path + "/archive").WantError(transfer.ErrBeingChecked)
	annID, err := id.Parse[id.Person](uidOf(ann))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.App.Transfer.ExportedTransfer(t.Context(), done.String("uid"), []id.Person{annID}, true); !errors.Is(err, target.ErrHeld) {
		t.Errorf("a copy of a held file: %v", err)
	}
	if m := s.Mail.Wait(t, "ann@example.com", "/t/", 1); !strings.Contains(m.Text, "are being checked for malware") {
		t.Errorf("the mail is silent: %s", m.Text)
	}
	release()
	shown = inspected(t, ann, path, "clean")
	if shown.String("objects.0.malwareStatus") != "clean" || shown.Value("objects.0.held") != nil ||
		shown.String("objects.0.malware.engine") != "ClamAV 1.0.9" ||
		!strings.HasPrefix(shown.String("objects.0.malware.signatureVersion"), "27500/") || shown.String("objects.0.malware.checkedAt") == "" {
		t.Errorf("clean: %s", shown.Body)
	}
	if r := ann.Get(file).Want(http.StatusOK); string(r.Body) != "harmless" {
		t.Errorf("downloads %q", r.Body)
	}
	ann.Get(path + "/archive").Want(http.StatusOK)
	if list := ann.Get(s.Transfer + "/transfers"); list.String("transfers.0.malwareStatus") != "clean" {
		t.Errorf("list: %s", list.Body)
	}
	if !hasEvent(t, ann, "TRANSFER_INSPECTED", done.String("uid")) {

		t.Error("no event")
	}
}

// TestInfected: nobody gets an infected file, sender and owner get a mail, and the bytes are deleted after their time.
func TestInfected(t *testing.T) {
	t.Parallel()
	s, ann, _ := newScanned(t, testkit.Env("CONSIGN_INFECTED_RETENTION", "2d"))
	d := reserve(s)
	d.send("good", []byte("harmless"))
	d.send("bad", scanner.Eicar)
	path := s.Transfer + "/transfers/" + d.confirm()
	shown := inspected(t, ann, path, "infected")
	if shown.String("objects.1.malware.finding") != "Eicar-Test-Signature" || shown.Value("objects.1.held") != true {
		t.Errorf("%s", shown.Body)
	}
	bad := contentPath(path, shown, 1)
	ann.Get(bad).WantError(transfer.ErrHeld)
	ann.Get(bad + "?anyway=true").WantError(transfer.ErrNoDownloadAnyway)
	ann.Get(path + "/archive").WantError(transfer.ErrHeld)
	poll.Until(t, "the other file is clean", func() bool { // the finding does not wait for it
		return ann.Get(path).Want(http.StatusOK).String("objects.0.malwareStatus") == "clean"
	})
	ann.Get(contentPath(path, shown, 0)).Want(http.StatusOK)
	ann.Get(path + "/archive?objects=" + shown.String("objects.0.uid")).Want(http.StatusOK)
	ann.Post(path+"/forward", object{"recipients": []object{to("bob@example.com")}}).WantError(transfer.ErrHeld)
	if m := s.Mail.Wait(t, "ann@example.com", "Malware", 1); !strings.Contains(m.Text, "bad.bin") ||
		!strings.Contains(m.Text, "Eicar-Test-Signature") {
		t.Errorf("the owner's mail: %s", m.Text)
	}
	if m := s.Mail.Wait(t, "sam@example.com", "Malware", 1); strings.Contains(m.Text, "bad.bin") {
		t.Errorf("the stranger's mail has the uploader's text: %s", m.Text)
	}
	s.Clock.Advance(47 * time.Hour)
	ann.Refresh()
	run(t, s, service.InspectJob)
	ann.Get(bad).WantError(transfer.ErrHeld)
	before := stored(t, s)
	s.Clock.Advance(2 * time.Hour)
	ann.Refresh()
	run(t, s, service.InspectJob)
	ann.Get(bad).WantError(transfer.ErrRemoved)
	ann.Get(bad + "?anyway=true").WantError(transfer.ErrNoDownloadAnyway)
	poll.Until(t, "the infected bytes are gone", func() bool { return stored(t, s) == before-1 })
	ann.Get(contentPath(path, shown, 0)).Want(http.StatusOK)
}

// TestAttackDownloadAnyway: an organization of one's own does not open what another policy holds.
func TestAttackDownloadAnyway(t *testing.T) {
	t.Parallel()
	s, ann, _ := newScanned(t)
	s.SignUp("bob@example.com")
	x := deliver(ann, object{"recipients": []object{to("bob@example.com")}}, [2]string{"bad", string(scanner.Eicar)})
	bad := contentPath(x.path, inspected(t, ann, x.path, "infected"), 0)
	createOrganization(ann, "Mine")
	ann.Put(s.Transfer+"/adminunit", object{"availableTtl": []int{7}, "defaultTtl": 7, "inspection": object{"downloadAnyway": true}}).
		Want(http.StatusOK)
	if told := ann.Get(x.path).Value("downloadAnyway"); told != nil {
		t.Errorf("downloadAnyway is %v", told)
	}
	ann.Get(bad + "?anyway=true").WantError(transfer.ErrNoDownloadAnyway)
	ann.Get(bad).WantError(transfer.ErrHeld)
}

// TestDownloadAnyway: only the owner, and only where the organization allows it.
func TestDownloadAnyway(t *testing.T) {
	t.Parallel()
	s, ann, _ := newScanned(t)
	archers := createOrganization(ann, "Archers")
	unit := func(inspection object) object {
		return object{"availableTtl": []int{7}, "defaultTtl": 7, "inspection": inspection}
	}
	ann.Put(s.Transfer+"/adminunit", unit(object{"strangers": "sometimes"})).WantError(fault.ErrInvalid)
	ann.Put(s.Transfer+"/adminunit", unit(object{"rules": []string{"macros", "macros"}})).WantError(fault.ErrInvalid)
	stored := ann.Put(s.Transfer+"/adminunit", unit(object{"downloadAnyway": true, "members": "hold"})).Want(http.StatusOK)
	if stored.String("inspection.strangers") != "hold" || stored.Value("inspection.downloadAnyway") != true {
		t.Errorf("%s", stored.Body)
	}
	bob := s.SignUp("bob@example.com")
	x := deliver(ann, object{"recipients": []object{to("bob@example.com")}}, [2]string{"bad", string(scanner.Eicar)})
	shown := inspected(t, ann, x.path, "infected")
	bad := contentPath(x.path, shown, 0)
	bob.Get(bad).WantError(transfer.ErrHeld)
	bob.Get(bad + "?anyway=true").WantError(transfer.ErrNoDownloadAnyway)
	ann.Get(bad).WantError(transfer.ErrHeld)
	if ann.Get(x.path).Value("downloadAnyway") != true || bob.Get(x.path).Value("downloadAnyway") != nil {
		t.Error("downloadAnyway is not told to the owner alone")
	}
	if r := ann.Get(bad + "?anyway=true").Want(http.StatusOK); !bytes.Equal(r.Body, scanner.Eicar) {
		t.Errorf("%q", r.Body)
	}
	if log := ann.Get(archers.path + "/audit?limit=20"); !strings.Contains(string(log.Body), "transfer.download.anyway") {
		t.Errorf("no audit entry: %s", log.Body)
	}
}

// TestMarkAndOff: a mailbox can only be stricter than its organization.
func TestMarkAndOff(t *testing.T) {
	t.Parallel()
	s, ann, daemon := newScanned(t)
	createOrganization(ann, "Archers")
	policy := func(strangers, mailbox string) {
		ann.Put(s.Transfer+"/adminunit", object{"availableTtl": []int{7}, "defaultTtl": 7,
			"inspection": object{"strangers": strangers, "rules": []string{"encrypted", "macros", "executable"}}}).Want(http.StatusOK)
		body := object{"vanityLink": "ann"}
		if mailbox != "" {
			body["inspection"] = mailbox
		}
		if got := ann.Put(s.Transfer+"/mailbox", body).Want(http.StatusOK); got.String("organizationInspection") != strangers {
			t.Errorf("%s", got.Body)
		}
	}
	ann.Put(s.Transfer+"/mailbox", object{"vanityLink": "ann", "inspection": "never"}).WantError(fault.ErrInvalid)
	send := func(content string) (string, string) {
		d := reserve(s)
		d.send("a", []byte(content))
		path := s.Transfer + "/transfers/" + d.confirm()
		return path, contentPath(path, ann.Get(path), 0)
	}
	policy("off", "")
	path, file := send(string(scanner.Eicar))
	ann.Get(file).Want(http.StatusOK)
	if ann.Get(path).Value("malwareStatus") != nil {
		t.Error("off is inspected")
	}
	release := daemon.Hold()
	policy("off", "mark")
	path, file = send("being checked")
	ann.Get(file).Want(http.StatusOK)
	policy("hold", "off")
	_, held := send("held")
	ann.Get(held).WantError(transfer.ErrBeingChecked)
	release()
	inspected(t, ann, path, "clean")
	policy("mark", "")
	path, file = send(string(scanner.Eicar))
	inspected(t, ann, path, "infected")
	ann.Get(file).WantError(transfer.ErrHeld)
	path, file = send("MZ program")
	if shown := inspected(t, ann, path, "clean"); shown.String("objects.0.malware.rules.0") != "executable" ||
		shown.Value("objects.0.held") != true {
		t.Errorf("%s", shown.Body)
	}
	ann.Get(file).WantError(transfer.ErrHeld)
	daemon.Find("limits", "Heuristics.Limits.Exceeded.MaxFiles")
	path, file = send("limits")
	inspected(t, ann, path, "partly")
	ann.Get(file).Want(http.StatusOK)
	policy("hold", "")
	path, file = send("limits again")
	inspected(t, ann, path, "partly")
	ann.Get(file).WantError(transfer.ErrHeld)
}

// TestForwardInspected: a forward has the state of the bytes that it shares.
func TestForwardInspected(t *testing.T) {
	t.Parallel()
	s, ann, daemon := newScanned(t)
	bob := s.SignUp("bob@example.com")
	d := reserve(s)
	d.send("a", []byte("later infected"))
	path := s.Transfer + "/transfers/" + d.confirm()
	inspected(t, ann, path, "clean")
	forward := ann.Post(path+"/forward", object{"recipients": []object{to("bob@example.com")}}).Want(http.StatusCreated)
	if forward.String("malwareStatus") != "clean" {
		t.Errorf("%s", forward.Body)
	}
	daemon.Find("later infected", "New.Threat")
	daemon.Signatures("27501")
	run(t, s, service.InspectJob)
	inspected(t, ann, path, "infected")
	passed := s.Transfer + "/transfers/" + forward.String("uid")
	shown := inspected(t, bob, passed, "infected")
	bob.Get(contentPath(passed, shown, 0)).WantError(transfer.ErrHeld)
}

// TestRescanEnds: new signatures are applied for three days only.
func TestRescanEnds(t *testing.T) {
	t.Parallel()
	s, ann, daemon := newScanned(t)
	d := reserve(s)
	d.send("a", []byte("content"))
	path := s.Transfer + "/transfers/" + d.confirm()
	inspected(t, ann, path, "clean")
	s.Clock.Advance(73 * time.Hour)
	daemon.Signatures("27501")
	scans, _ := daemon.Scans()
	run(t, s, service.InspectJob)
	again := reserve(s)
	again.send("b", []byte("another"))
	ann.Refresh()
	inspected(t, ann, s.Transfer+"/transfers/"+again.confirm(), "clean")
	if now, _ := daemon.Scans(); now != scans+1 {
		t.Errorf("%d scans, then %d", scans, now)
	}
}

// TestScannerAway: a confirm does not wait for a scanner that is gone or silent. After the patience the files are failed; they are
// inspected when the scanner is back.
func TestScannerAway(t *testing.T) {
	t.Parallel()
	s, ann, daemon := newScanned(t)
	daemon.Away(true)
	d := reserve(s)
	d.send("a", []byte("content"))
	path := s.Transfer + "/transfers/" + d.confirm()
	run(t, s, service.InspectJob)
	shown := ann.Get(path)
	if shown.String("malwareStatus") != "scanning" {
		t.Errorf("before the patience: %s", shown.Body)
	}
	s.Clock.Advance(11 * time.Minute)
	ann.Refresh()
	run(t, s, service.InspectJob)
	shown = inspected(t, ann, path, "failed")
	ann.Get(contentPath(path, shown, 0)).WantError(transfer.ErrHeld)
	daemon.Away(false)
	hours := 0
	poll.Until(t, "the file is inspected after all", func() bool {
		if hours++; hours <= 3 { // on a slow machine Ann's session would end meanwhile
			s.Clock.Advance(time.Hour)
			ann.Refresh()
		}
		run(t, s, service.InspectJob)
		return ann.Get(path).Value("malwareStatus") == "clean"
	})
}

// TestParallelVerdicts: of many verdicts about one transfer the last one settles it, whichever it is; several servers share the work.
func TestParallelVerdicts(t *testing.T) {
	t.Parallel()
	s, ann, daemon := newScanned(t, testkit.Env("CONSIGN_SCANNER_STREAMS", "8"))
	testkit.New(t, testkit.Beside(s), testkit.Env("CONSIGN_SCANNER_URL", daemon.URL))
	d := reserve(s)
	for i := range 40 {
		d.send(fmt.Sprint("f", i), fmt.Appendf(nil, "content %d", i))
	}
	inspected(t, ann, s.Transfer+"/transfers/"+d.confirm(), "clean")
	if scans, peak := daemon.Scans(); scans != 40 || peak > 12 {
		t.Errorf("%d scans, %d at a time", scans, peak)
	}
}

// TestNoRouteGivesHeldBytes calls every route of the server about a transfer whose file is held, for each reason, as its owner, as the
// holder of its link and as a stranger: no answer has the file's bytes.
func TestNoRouteGivesHeldBytes(t *testing.T) {
	t.Parallel()
	s, ann, _ := newScanned(t)
	createOrganization(ann, "Archers")
	ann.Put(s.Transfer+"/adminunit", object{"availableTtl": []int{7}, "defaultTtl": 7,
		"inspection": object{"members": "hold", "rules": []string{"macros"}}}).Want(http.StatusOK)
	const canary = "canary-of-held-bytes"
	x := deliver(ann, object{"recipients": []object{to("bob@example.org")}}, [2]string{"a.txt", canary})
	shown := inspected(t, ann, x.path, "clean")
	bob := openLink(s, linkTo(s, "bob@example.org"), nil)
	link := strings.TrimPrefix(linkTo(s, "bob@example.org"), s.Transfer+"/public/transfers/")
	replace := strings.NewReplacer("{uid}", x.uid, "{key}", link, "{objectUid}", shown.String("objects.0.uid"), "{clientId}", "f0")
	s.SendUndocumented()
	given := func() (routes []string) {
		for _, r := range s.App.API.Routes() {
			if !strings.HasPrefix(r.Path, s.Transfer) || r.Method == http.MethodDelete || strings.Contains(r.Path, "adminunit") ||
				strings.HasSuffix(r.Path, "/forward") || strings.Contains(r.Path, "{deliveryUid}") {
				continue
			}
			for _, p := range []*testkit.Person{ann, bob, s.Stranger()} {
				for _, query := range []string{"", "?preview=true", "?anyway=true", "?objects=" + shown.String("objects.0.uid")} {
					for _, ranged := range []string{"", "bytes=0-", "bytes=5-"} {
						c := p
						if ranged != "" {
							c = p.With("Range", ranged)
						}
						answer, err := c.Try(t.Context(), r.Method, replace.Replace(r.Path)+query, nil)
						if err != nil {
							t.Fatal(err)
						}
						if bytes.Contains(answer.Body, []byte(canary[5:])) && !slices.Contains(routes, r.Method+" "+r.Path) {
							routes = append(routes, r.Method+" "+r.Path)
						}
					}
				}
			}
		}
		return routes
	}
	if open := given(); len(open) < 4 { // object and archive, of account and link
		t.Fatalf("only %v give a clean file: the test shows nothing", open)
	}
	for _, reason := range []string{
		"state = 'scanning', rules = '{}'", "state = 'infected', rules = '{}'", "state = 'partly', rules = '{}'",
		"state = 'failed', rules = '{}'", "state = 'clean', rules = '{macros}'", "state = 'clean', rules = '{}', removed_at = now()",
	} {
		if _, err := s.App.DB.Pool.Exec(t.Context(), "UPDATE transfer.inspections SET "+reason); err != nil {
			t.Fatal(err)
		}
		if routes := given(); len(routes) > 0 {
			t.Errorf("%s: %v give the bytes", reason, routes)
		}
	}
}

// TestWithoutScanner: nothing is inspected, and the members are left out.
func TestWithoutScanner(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	d.send("a", scanner.Eicar)
	path := s.Transfer + "/transfers/" + d.confirm()
	shown := ann.Get(path)
	if strings.Contains(string(shown.Body), "malware") || strings.Contains(string(ann.Get(s.Transfer+"/mailbox").Body), "nspection") {
		t.Errorf("%s", shown.Body)
	}
	ann.Get(contentPath(path, shown, 0)).Want(http.StatusOK)
}
