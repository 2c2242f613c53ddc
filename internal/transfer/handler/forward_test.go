package handler_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// forward passes a transfer on as a person.
func forward(p *testkit.Person, path string, body object) sent {
	s := p.Server
	s.T.Helper()
	done := p.Post(path+"/forward", body).Want(http.StatusCreated)
	uid := done.String("uid")
	if !strings.HasSuffix(done.Header.Get("Location"), "/transfers/"+uid) {
		s.T.Errorf("Location: %s", done.Header.Get("Location"))
	}
	link := done.String("link")
	return sent{uid: uid, path: s.Transfer + "/transfers/" + uid,
		public: s.Transfer + "/public/transfers/" + link[strings.LastIndexByte(link, '/')+1:]}
}

// clean checks that storage and rows agree.
func clean(t *testing.T, s *testkit.Server) {
	t.Helper()
	_, err := s.App.Content.Fsck(t.Context(), content.FsckOptions{}, func(f content.Finding) error {
		t.Errorf("fsck: %s %s: %s", f.Kind, f.Object, f.Detail)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// purged waits until the storage holds n objects and no purge is due.
func purged(t *testing.T, s *testkit.Server, n int) {
	t.Helper()
	run(t, s, content.PurgeBytesJob)
	poll.Until(t, "the purge is done", func() bool { return stored(t, s) == n })
	clean(t, s)
	wantBooked(t, s)
}

func TestForwarding(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob, cid := s.SignUp("ann@example.com"), s.SignUp("bob@example.com"), s.SignUp("cid@example.com")
	x := deliver(ann, object{"subject": "Plans", "message": "Only for Bob.", "recipients": []object{to("bob@example.com")}},
		[2]string{"plan.pdf", "%PDF-1.4"}, [2]string{"notes.txt", "Notes."}, [2]string{"empty", ""})
	y := forward(bob, x.path, object{"recipients": []object{to("cid@example.com")}})
	got := cid.Get(y.path).Want(http.StatusOK)
	if got.String("subject") != "Plans" || got.Value("message") != nil || got.String("sender.email") != "bob@example.com" ||
		got.Number("objectCount") != 3 || got.String("expiresAt") != days(s, 7) {
		t.Errorf("%s", got.Body)
	}
	if body := cid.Get(y.path + "/objects/" + got.String("objects.1.uid") + "/content").Want(http.StatusOK); string(body.Body) != "Notes." {
		t.Errorf("%q", body.Body)
	}
	if !hasEvent(t, cid, "TRANSFER_RECEIVED", y.uid) {
		t.Error("cid did not hear of it")
	}
	link := linkTo(s, "cid@example.com")
	openLink(s, link, nil).Get(link + "/archive").Want(http.StatusOK)
	ann.Get(y.path).WantError(transfer.ErrNotFound)
	poll.Until(t, "the receipt is signed", func() bool { return bob.Get(y.path+"/receipt").Status == http.StatusOK })
	if n := count(t, s, `SELECT count(*) FROM audit WHERE action = 'transfer.forward' AND object = $1`, x.uid); n != 1 {
		t.Errorf("%d entries in the audit log", n)
	}
	purged(t, s, 2)

	chosen := ann.Get(x.path).String("objects.0.uid")
	z := forward(cid, y.path, object{"subject": "More", "objects": []string{got.String("objects.0.uid")},
		"recipients": []object{to("dan@example.org")}, "ttl": 30})
	bob.Post(x.path+"/forward", object{"objects": []string{chosen, got.String("objects.0.uid")},
		"recipients": []object{to("dan@example.org")}}).WantError(transfer.ErrNotFound)

	// Bytes stay as long as one of the three needs them.
	ann.Delete(x.path).Want(http.StatusNoContent)
	purged(t, s, 2)
	// Purge and orphan sweep leave what is noted so.
	if n := count(t, s, `SELECT count(*) FROM transfer.discarded_objects WHERE discarded_at = 'infinity' AND busy_until = 'infinity'`); n != 3 {
		t.Errorf("%d contents are noted as held by a forward", n)
	}
	bob.Get(x.path + "/archive").WantError(transfer.ErrNotFound)
	cid.Get(y.path + "/archive").Want(http.StatusOK)
	bob.Delete(y.path).Want(http.StatusNoContent)
	purged(t, s, 1)
	link = linkTo(s, "dan@example.org")
	openLink(s, link, nil).Get(link + "/archive").Want(http.StatusOK)
	run(t, s, service.CertifyErasureJob)
	if n := count(t, s, `SELECT count(*) FROM transfer.receipts WHERE kind = 'erased'`); n != 0 {
		t.Errorf("the erasure of shared bytes is certified %d times", n)
	}
	cid.Delete(z.path).Want(http.StatusNoContent)
	purged(t, s, 0)
	run(t, s, service.CertifyErasureJob)
	if n := count(t, s, `SELECT count(*) FROM transfer.receipts WHERE kind = 'erased'`); n != 3 {
		t.Errorf("the erasure is certified %d times", n)
	}
	if n := count(t, s, `SELECT (SELECT count(*) FROM transfer.shared_contents) + (SELECT count(*) FROM transfer.discarded_objects)`); n != 0 {
		t.Errorf("%d rows are left over", n)
	}
}

// TestForwardOutlivesRecord: bytes stay after the record of the transfer that uploaded them is deleted, and the orphan sweep spares them.
func TestForwardOutlivesRecord(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_TRANSFER_RETENTION", "1d"),
		testkit.Constants(func(c *config.Constants) { c.OrphanAge = time.Hour }))
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	x := deliver(ann, object{"recipients": []object{to("bob@example.com")}}, [2]string{"plan.pdf", "%PDF-1.4"})
	y := forward(bob, x.path, object{"recipients": []object{to("cid@example.com")}, "ttl": 30})
	ann.Delete(x.path).Want(http.StatusNoContent)
	s.Clock.Advance(10 * 24 * time.Hour)
	run(t, s, service.PurgeJob)
	if n := count(t, s, `SELECT count(*) FROM transfer.transfers`); n != 1 {
		t.Errorf("%d transfers", n)
	}
	if err := s.App.Content.AcceptStorage(t.Context()); err != nil {
		t.Fatal(err)
	}
	run(t, s, content.SweepOrphansJob)
	bob = bob.Login()
	bob.Get(y.path + "/archive").Want(http.StatusOK)
	purged(t, s, 1)
	bob.Delete(y.path).Want(http.StatusNoContent)
	purged(t, s, 0)
}

func TestForwardRules(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	x := deliver(ann, object{"recipients": []object{to("bob@example.com")}}, [2]string{"plan.pdf", "%PDF-1.4"})
	others := object{"recipients": []object{to("cid@example.org")}}
	for _, bad := range []object{{}, {"recipients": []object{}}, {"recipients": []object{to("nobody")}},
		{"recipients": []object{to("c@example.org")}, "objects": []string{"x"}}} {
		bob.Post(x.path+"/forward", bad).WantError(fault.ErrInvalid)
	}
	s.SignUp("eve@example.com").Post(x.path+"/forward", others).WantError(transfer.ErrNotFound)
	if !bob.Get(x.path).Value("forwarding").(bool) {
		t.Error("forwarding is not allowed at first")
	}
	ann.Patch(x.path, object{"forwarding": false}).Want(http.StatusOK)
	if bob.Get(x.path).Value("forwarding").(bool) {
		t.Error("bob does not see that forwarding is forbidden")
	}
	bob.Post(x.path+"/forward", others).WantError(transfer.ErrNoForwarding)
	forward(ann, x.path, others) // it is hers
	ann.With("Content-Type", "application/merge-patch+json").Patch(x.path, object{"forwarding": nil}).Want(http.StatusOK)
	forward(bob, x.path, others)

	// The protection does not become weaker.
	ann.Patch(x.path, object{"protection": "recipientAuthentication"}).Want(http.StatusOK)
	for _, weak := range []object{{"protection": "none"}, {"protection": "password", "password": "vermilion-42"}} {
		weak["recipients"] = others["recipients"]
		bob.Post(x.path+"/forward", weak).WantError(transfer.ErrProtection)
	}
	y := forward(bob, x.path, others)
	if got := bob.Get(y.path).String("protection"); got != "recipientAuthentication" {
		t.Errorf("the forward's protection is %s", got)
	}
	ann.Patch(x.path, object{"protection": "password", "password": "vermilion-42"}).Want(http.StatusOK)
	bob.Post(x.path+"/forward", others).WantError(transfer.ErrLocked)
	ann.Post(x.path+"/forward", others).WantError(transfer.ErrUnconfirmable)

	note := deliver(ann, object{"message": "Hello.", "recipients": []object{to("bob@example.com")}})
	bob.Post(note.path+"/forward", others).WantError(fault.ErrInvalid)
	s.Clock.Advance(7 * 24 * time.Hour)
	bob.Login().Post(x.path+"/forward", others).WantError(transfer.ErrEnded)
	gone := deliver(ann.Login(), object{"recipients": []object{to("bob@example.com")}}, [2]string{"plan.pdf", "%PDF-1.4"})
	ann.Login().Delete(gone.path).Want(http.StatusNoContent)
	bob.Login().Post(gone.path+"/forward", others).WantError(transfer.ErrEnded)
	wantBooked(t, s)
}

// TestForwardLimits: volume, recipients a day and files are those of a sending.
func TestForwardLimits(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_UPLOAD_VOLUME_GB", "1"), testkit.Env("CONSIGN_YOUNG_RECIPIENTS_PER_DAY", "3"))
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	x := deliver(ann, object{"recipients": []object{to("bob@example.com")}}, [2]string{"plan.pdf", strings.Repeat("x", 1000)})
	others := object{"subject": "x", "recipients": []object{to("cid@example.org")}}
	before := bob.Get(s.Transfer + "/usage").Number("uploadBytes")
	forward(bob, x.path, others)
	if n := bob.Get(s.Transfer+"/usage").Number("uploadBytes") - before - transfer.ObjectCost; n < 1000 || n > 1100 {
		t.Errorf("%v bytes were counted", n)
	}
	bob.Post(x.path+"/forward", object{"recipients": []object{to("a@example.org"), to("b@example.org"), to("c@example.org")}}).WantError(
		transfer.ErrTooManyRecipientsToday)
	exec(t, s, `UPDATE transfer.volumes SET held = 1000000000 - 1000 WHERE subject = $1`, uidOf(bob))
	bob.Post(x.path+"/forward", others).WantError(transfer.ErrPersonalVolume)
	exec(t, s, `UPDATE transfer.volumes SET held = 0 WHERE subject = $1`, uidOf(bob))
	wantBooked(t, s)
	if n := count(t, s, `SELECT count(*) FROM transfer.shared_contents WHERE holders = 2`); n != 1 {
		t.Errorf("%d contents are shared by two", n)
	}
}

// TestForwardVolumeOff: bytes of a forward count nothing, and its end gives nothing back.
func TestForwardVolumeOff(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_FORWARD_VOLUME", "off"))
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	x := deliver(ann, object{"recipients": []object{to("bob@example.com")}}, [2]string{"plan.pdf", strings.Repeat("x", 1000)})
	y := forward(bob, x.path, object{"recipients": []object{to("cid@example.org")}})
	if used := bob.Get(s.Transfer + "/usage").Number("uploadBytes"); used > 100+transfer.ObjectCost {
		t.Errorf("%v bytes were counted", used)
	}
	wantBooked(t, s)
	bob.Delete(y.path).Want(http.StatusNoContent)
	purged(t, s, 1)
	ann.Delete(x.path).Want(http.StatusNoContent)
	purged(t, s, 0)
}

// TestForwardAgainstEnds: a forward beside the revocation of its original, the removal of its recipient and the end of other forwards.
// Either it is refused, or all its bytes are there.
func TestForwardAgainstEnds(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_RATE_LIMIT", "off"), testkit.Env("CONSIGN_NEW_TRANSFER_BUCKET", "1000,10/1s"),
		testkit.Env("CONSIGN_YOUNG_RECIPIENTS_PER_DAY", "1000"))
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	made, refused := 0, 0
	for round := range 50 {
		x := deliver(ann, object{"recipients": []object{to("bob@example.com")}}, [2]string{"a", "first"}, [2]string{"b", "second"})
		y := forward(bob, x.path, object{"recipients": []object{to("cid@example.org")}})
		var answers [2]*testkit.Response
		var wg sync.WaitGroup
		for i, path := range []string{x.path, y.path} {
			wg.Go(func() {
				var err error
				if answers[i], err = bob.Try(t.Context(), "POST", path+"/forward", object{"recipients": []object{to("cid@example.org")}}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Go(func() { _, _ = bob.Try(t.Context(), "DELETE", y.path, nil) })
		if round%2 == 0 {
			wg.Go(func() { _, _ = ann.Try(t.Context(), "DELETE", x.path, nil) })
		} else {
			wg.Go(func() { _, _ = bob.Try(t.Context(), "DELETE", x.path, nil) })
		}
		wg.Go(func() { run(t, s, content.PurgeBytesJob) })
		wg.Wait()
		if t.Failed() {
			return
		}
		for _, a := range answers {
			switch a.Status {
			case http.StatusCreated:
				made++
				z := s.Transfer + "/transfers/" + a.String("uid")
				for i, want := range []string{"first", "second"} {
					o := a.Value("objects").([]any)[i].(map[string]any)["uid"].(string)
					if got := bob.Get(z + "/objects/" + o + "/content").Want(http.StatusOK); string(got.Body) != want {
						t.Fatalf("%q", got.Body)
					}
				}
				bob.Delete(z).Want(http.StatusNoContent)
			case http.StatusNotFound, http.StatusConflict:
				refused++
			default:
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
		ann.Delete(x.path)
		wantBooked(t, s)
	}
	purged(t, s, 0)
	t.Logf("%d forwards were made, %d refused", made, refused)
	if made == 0 || refused == 0 {
		t.Error("the rounds did not race")
	}
}

// TestForwardAgainstExpiry: a forward beside the expiry of its original and the end of its grace. Either it is refused, or it is whole.
func TestForwardAgainstExpiry(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_EXPIRY_GRACE", "1s"), testkit.Env("CONSIGN_RATE_LIMIT", "off"),
		testkit.Env("CONSIGN_NEW_TRANSFER_BUCKET", "1000,10/1s"),
		testkit.Env("CONSIGN_YOUNG_RECIPIENTS_PER_DAY", "1000"))
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	var paths []string
	for range 50 {
		paths = append(paths, deliver(ann, object{"recipients": []object{to("bob@example.com")}}, [2]string{"a", "first"}).path)
	}
	made := 0
	for i, path := range paths {
		exec(t, s, `UPDATE transfer.transfers SET expires_at = $2 WHERE uid = $1`, path[strings.LastIndexByte(path, '/')+1:],
			s.Clock.Now().Add(time.Second))
		var answer *testkit.Response
		var wg sync.WaitGroup
		wg.Go(func() {
			answer, _ = bob.Try(t.Context(), "POST", path+"/forward", object{"recipients": []object{to("cid@example.org")}})
		})
		wg.Go(func() {
			for range i % 10 { // sometimes later, sometimes earlier
				_, _ = ann.Try(t.Context(), "GET", path, nil)
			}
			s.Clock.Advance(3 * time.Second)
			run(t, s, service.ExpireTransfersJob)
			run(t, s, content.PurgeBytesJob)
		})
		wg.Wait()
		switch answer.Status {
		case http.StatusCreated:
			made++
			z := s.Transfer + "/transfers/" + answer.String("uid")
			if got := bob.Get(z + "/objects/" + answer.String("objects.0.uid") + "/content").Want(http.StatusOK); string(got.Body) != "first" {
				t.Fatalf("%q", got.Body)
			}
		case http.StatusConflict:
		default:
			t.Fatalf("%d %s", answer.Status, answer.Body)
		}
		wantBooked(t, s)
	}
	purged(t, s, made)
	t.Logf("%d of 50 forwards were made", made)
	if made == 0 || made == 50 {
		t.Error("the rounds did not race")
	}
}
