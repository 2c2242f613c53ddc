package handler_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// arrive delivers a file to a person's mailbox and returns the path of the transfer.
func arrive(owner *testkit.Person, subject string) string {
	s := owner.Server
	s.T.Helper()
	d := reserve(s)
	d.Patch(d.path, object{"subject": subject}).Want(http.StatusOK)
	d.send("a", []byte("file"))
	return s.Transfer + "/transfers/" + d.confirm()
}

// listing returns the subjects of a person's transfers, over all pages.
func listing(p *testkit.Person, query string) string {
	p.Server.T.Helper()
	var subjects []string
	for next := ""; ; {
		page := p.Get(p.Server.Transfer + "/transfers?limit=2&" + query + "&after=" + next).Want(http.StatusOK)
		for _, x := range page.Value("transfers").([]any) {
			subject, _ := x.(map[string]any)["subject"].(string)
			subjects = append(subjects, subject)
		}
		next, _ = page.Value("next").(string)
		if next == "" {
			return strings.Join(subjects, " ")
		}
	}
}

func TestReadState(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	var paths []string
	for _, subject := range []string{"one", "two", "three"} {
		paths = append(paths, deliver(ann, object{"subject": subject, "recipients": []object{to("bob@example.com"), to("ann@example.com")}},
			[2]string{"a", "a"}).path)
		s.Clock.Advance(time.Second)
	}
	if got := bob.Get(paths[0]).Want(http.StatusOK); got.Value("read") != false || got.Value("pinned") != false || got.Value("notes") != nil {
		t.Errorf("%s", got.Body)
	}
	if got := listing(bob, "filter=new&location=received"); got != "three two one" {
		t.Errorf("new: %s", got)
	}
	if got := bob.Patch(paths[1], object{"read": true}).Want(http.StatusOK); got.Value("read") != true {
		t.Errorf("%s", got.Body)
	}
	if !hasEvent(t, bob, "TRANSFER_UPDATED", bob.Get(paths[1]).String("uid")) {
		t.Error("bob's other sessions did not hear of it")
	}
	bob.Get(paths[0] + "/archive").Want(http.StatusOK)
	if got := listing(bob.Login(), "filter=new"); got != "three" {
		t.Errorf("new after a download: %s", got)
	}
	bob.Patch(paths[0], object{"read": false}).Want(http.StatusOK)
	if got := listing(bob, "filter=new&order=oldest"); got != "one three" {
		t.Errorf("marked as unread: %s", got)
	}
	if got := listing(ann, "filter=new&location=received"); got != "three two one" {
		t.Errorf("ann's state changed with bob's: %s", got)
	}
	if got := listing(ann, "filter=new&location=sent"); got != "" {
		t.Errorf("sent ones are new: %s", got)
	}
	// Members of both roles in one request; those of the other one are refused.
	if got := ann.Patch(paths[0], object{"read": true, "subject": "uno"}).Want(http.StatusOK); got.Value("read") != true ||
		got.String("subject") != "uno" {
		t.Errorf("%s", got.Body)
	}
	bob.Patch(paths[0], object{"read": true, "subject": "eins"}).WantError(transfer.ErrSenderOnly)
	if bob.Get(paths[0]).Value("read") != false {
		t.Error("half of a refused change was stored")
	}
	drop := deliver(ann, object{}, [2]string{"a", "a"})
	ann.Patch(drop.path, object{"read": true}).WantError(transfer.ErrRecipientOnly)
	s.SignUp("eve@example.com").Patch(paths[0], object{"read": true}).WantError(transfer.ErrNotFound)
}

func TestFilters(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	send := func(subject string, ttl int) string {
		path := deliver(ann, object{"subject": subject, "ttl": ttl, "recipients": []object{to("bob@example.com")}}, [2]string{"a", "a"}).path
		s.Clock.Advance(time.Second)
		return path
	}
	send("short", 1)
	send("long", 30)
	ann.Delete(send("gone", 30)).Want(http.StatusNoContent)
	send("last", 30)
	s.Clock.Advance(2 * 24 * time.Hour)
	ann, bob = ann.Login(), bob.Login()
	for query, want := range map[string]string{
		"filter=open": "last long", "filter=open&order=oldest": "long last", "filter=new": "last long", "filter=open&search=LON": "long",
		"filter=open&search=zzz": "",
		"order=oldest":           " long  last", "filter=pinned": "",
	} {
		if got := listing(bob, query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	if got := listing(ann, "filter=expired&order=oldest"); got != "short " {
		t.Errorf("ann's expired: %q", got)
	}
	if got := listing(ann, "filter=pinned&location=sent"); got != "" {
		t.Errorf("ann's pinned: %q", got)
	}
	for _, bad := range []string{"filter=old", "order=up"} {
		bob.Get(s.Transfer + "/transfers?" + bad).WantError(fault.ErrInvalid)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob, cid := s.SignUp("ann@example.com"), s.SignUp("bob@example.com"), s.SignUp("cid@example.com")
	x := deliver(ann, object{"subject": "Plans", "protection": "password", "password": "vermilion-42",
		"recipients": []object{to("bob@example.com"), to("cid@example.com")}}, [2]string{"a", "a"})
	if got := bob.Patch(x.path, object{"notes": "Käseglocke\nsecond line"}).Want(http.StatusOK); got.String(
		"notes") != "Käseglocke\nsecond line" {
		t.Errorf("%s", got.Body)
	}
	for _, p := range []*testkit.Person{ann, cid} {
		if got := p.Get(x.path).Want(http.StatusOK); got.Value("notes") != nil {
			t.Errorf("%s", got.Body)
		}
	}
	find := func(p *testkit.Person, text string) int {
		return len(p.Get(s.Transfer + "/transfers?search=" + text).Want(http.StatusOK).Value("transfers").([]any))
	}
	if find(bob, "käseg") != 1 || find(bob, "k%C3%A4") != 1 || find(ann, "käseg") != 0 || find(cid, "käseg") != 0 {
		t.Error("the search for notes is wrong")
	}
	if n := count(t, s, `SELECT count(*) FROM transfer.search_texts WHERE words LIKE '%käseglocke%'`); n != 1 {
		t.Error("the index does not know the notes")
	}
	bob.Patch(x.path, object{"notes": strings.Repeat("x", 4001)}).WantError(fault.ErrInvalid)
	bob.Patch(x.path, object{"notes": "a\x00b"}).WantError(fault.ErrInvalid)
	bob.With("Content-Type", "application/merge-patch+json").Patch(x.path, object{"notes": nil}).Want(http.StatusOK)
	if bob.Get(x.path).Value("notes") != nil || find(bob, "käseg") != 0 {
		t.Error("the notes are still there")
	}
	bob.Patch(x.path, object{"notes": "Stays until I delete it."}).Want(http.StatusOK)
	ann.Delete(x.path).Want(http.StatusNoContent)
	if got := bob.Get(x.path); got.String("notes") != "Stays until I delete it." {
		t.Errorf("%s", got.Body)
	}
	bob.Delete(x.path).Want(http.StatusNoContent)
	if n := count(t, s, `SELECT count(*) FROM transfer.deliveries WHERE notes IS NOT NULL`); n != 0 {
		t.Error("the notes outlive the transfer in the list")
	}
}

func TestPinning(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	kept, other := arrive(ann, "kept"), arrive(ann, "other")
	if got := ann.Patch(kept, object{"pinned": true}).Want(http.StatusOK); got.Value("pinned") != true {
		t.Errorf("%s", got.Body)
	}
	if n := count(t, s, `SELECT count(*) FROM audit WHERE action = 'transfer.pin'`); n != 1 {
		t.Errorf("%d entries in the audit log", n)
	}
	s.Clock.Advance(40 * 24 * time.Hour)
	run(t, s, service.ReleasePinsJob)
	run(t, s, service.ExpireTransfersJob)
	ann = ann.Login()
	ann.Get(kept + "/archive").Want(http.StatusOK)
	ann.Get(other + "/archive").WantError(transfer.ErrNotFound)
	ann.Patch(other, object{"pinned": true}).WantError(transfer.ErrEnded)
	if got := listing(ann, "filter=pinned"); got != "kept" {
		t.Errorf("pinned: %s", got)
	}
	wantBooked(t, s)

	// Unpinned, it expires after the time of a warning.
	if got := ann.Patch(kept, object{"pinned": false}).Want(http.StatusOK); got.Value("pinned") != false ||
		got.String("expiresAt") != days(s, 3) {
		t.Errorf("%s", got.Body)
	}
	ann.Patch(kept, object{"pinned": true}).Want(http.StatusOK)

	// Used-up storage and the organization end pins whose expiry has passed, with a warning.
	s.Clock.Advance(5 * 24 * time.Hour)
	exec(t, s, `UPDATE identity.limits SET storage_volume_bytes = 4 WHERE organization = (SELECT organization FROM directory.organizations WHERE free)`)
	s.App.Transfer.ForgetOrganizations()
	ann = ann.Login()
	run(t, s, service.ReleasePinsJob)
	if got := ann.Get(kept); got.Value("pinned") != false || got.String("expiresAt") != days(s, 3) ||
		!hasEvent(t, ann, "TRANSFER_UPDATED", got.String("uid")) {
		t.Errorf("%s", got.Body)
	}
	run(t, s, service.WarnExpiringJob)
	s.Mail.Wait(t, ann.Email, "expire", 1)
	ann.Patch(kept, object{"pinned": true}).WantError(transfer.ErrStorageVolume)
	exec(t, s, `UPDATE identity.limits SET storage_volume_bytes = NULL`)
	exec(t, s, `INSERT INTO transfer.adminunits (organization, available_ttl, default_ttl, priority_enabled, protection_level, max_files, max_file_size_mb, max_recipients, updated_at, pinning_enabled)
		SELECT organization, '{7}', 7, true, 'none', 9, 9, 3, now(), false FROM directory.organizations WHERE free`)
	s.App.Transfer.ForgetOrganizations()
	ann.Patch(kept, object{"pinned": true}).WantError(transfer.ErrPinning)
	bob := s.SignUp("bob@example.com")
	x := deliver(ann, object{"recipients": []object{to("bob@example.com")}}, [2]string{"a", "a"})
	bob.Patch(x.path, object{"pinned": true}).WantError(transfer.ErrPinning)
	s.Clock.Advance(4 * 24 * time.Hour)
	run(t, s, service.ExpireTransfersJob)
	ann.Login().Get(kept + "/archive").WantError(transfer.ErrNotFound)
	wantBooked(t, s)
}

// TestPinAgainstExpiry: a pin beside the expiry. Either it is refused, or the transfer stays whole.
func TestPinAgainstExpiry(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t, testkit.Env("CONSIGN_NEW_TRANSFER_BUCKET", "200,1/1s"), testkit.Env("CONSIGN_RATE_LIMIT", "off"))
	var paths []string
	for i := range 50 {
		paths = append(paths, arrive(ann, fmt.Sprint(i)))
	}
	pinned := 0
	for i, path := range paths {
		// The expiry is now; the clock of some rounds is just before it.
		exec(t, s, `UPDATE transfer.transfers SET expires_at = $2 WHERE uid = $1`, path[strings.LastIndexByte(path, '/')+1:],
			s.Clock.Now().Add(time.Duration(i%2)*time.Second))
		var answer *testkit.Response
		var wg sync.WaitGroup
		wg.Go(func() { answer, _ = ann.Try(t.Context(), "PATCH", path, object{"pinned": true}) })
		wg.Go(func() {
			for range i % 6 { // sometimes later, sometimes earlier
				_, _ = ann.Try(t.Context(), "GET", path, nil)
			}
			s.Clock.Advance(time.Second)
			run(t, s, service.ExpireTransfersJob)
		})
		wg.Wait()
		run(t, s, service.ExpireTransfersJob)
		switch answer.Status {
		case http.StatusOK:
			pinned++
			if got := ann.Get(path + "/archive").Want(http.StatusOK); len(got.Body) == 0 {
				t.Error("the transfer is empty")
			}
		case http.StatusConflict:
			ann.Get(path + "/archive").WantError(transfer.ErrNotFound)
		default:
			t.Fatalf("%d %s", answer.Status, answer.Body)
		}
	}
	purged(t, s, pinned)
	t.Logf("%d of 50 were pinned", pinned)
	if pinned == 0 || pinned == 50 {
		t.Error("the rounds did not race")
	}
}
