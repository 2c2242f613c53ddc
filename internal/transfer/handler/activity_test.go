package handler_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// activity returns all activities of a transfer in pages of a size, one line each.
func activity(p *testkit.Person, path string, size int) (lines []string) {
	p.Server.T.Helper()
	after := ""
	for range 100 {
		query := fmt.Sprintf("/activity?limit=%d", size)
		if after != "" {
			query += "&after=" + url.QueryEscape(after)
		}
		var page struct {
			Activity []struct {
				Kind      string
				Recipient struct {
					Email   string
					Removed bool
				}
				Objects   []struct{ Name string }
				Archive   bool
				Downloads int
				Bytes     int
				Complete  bool
				Members   []string
				Addresses []string
			}
			Next string
		}
		p.Get(path + query).Want(http.StatusOK).JSON(&page)
		for _, a := range page.Activity {
			line := strings.TrimSpace(a.Kind + " " + a.Recipient.Email)
			if a.Recipient.Removed {
				line += " removed"
			}
			if a.Kind == "downloaded" {
				line += fmt.Sprintf(" %v %t %d %d %t", a.Objects, a.Archive, a.Downloads, a.Bytes, a.Complete)
			}
			if len(a.Addresses) != 1 || a.Addresses[0] != "127.0.0.1" {
				line += fmt.Sprint(a.Addresses)
			}
			lines = append(lines, strings.TrimSpace(line+" "+strings.Join(a.Members, " ")))
		}
		if after = page.Next; after == "" {
			return lines
		}
	}
	p.Server.T.Fatal("the pages do not end")
	return nil
}

func TestActivity(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	x := deliver(ann, object{"subject": "Plans", "recipients": []object{to("bob@example.com"), to("cid@example.org")}},
		[2]string{"a.bin", string(random(1000))}, [2]string{"b.bin", string(random(1000))})
	cids := linkTo(s, "cid@example.org")
	s.Clock.Advance(time.Minute)
	cid := openLink(s, cids, nil)
	b := contentOf(cid, cids, "1")
	cid.Get(b).Want(http.StatusOK)
	cid.With("Range", "bytes=0-9").Get(b).Want(http.StatusPartialContent)
	cid.With("Range", "bytes=10-19").Get(b).Want(http.StatusPartialContent)
	cid.Get(b + "?preview=true").Want(http.StatusOK) // is no download
	s.Clock.Advance(time.Minute)
	bob.With("Range", "bytes=0-499").Get(contentOf(bob, x.path, "0")).Want(http.StatusPartialContent)
	ann.Get(x.path + "/archive").Want(http.StatusOK) // nor are the sender's
	s.Clock.Advance(time.Minute)
	ann.Patch(x.path, object{"ttl": 14, "subject": "Drawings"}).Want(http.StatusOK)
	bob.Post(x.path+"/forward", object{"recipients": []object{to("eve@example.org")}}).Want(http.StatusCreated)
	s.Clock.Advance(time.Minute)
	ann.Delete(x.path + "/recipients/" + ann.Get(x.path).String("recipients.1.delivery")).Want(http.StatusNoContent)
	want := []string{
		"recipientRemoved removed",
		"forwarded", "changed subject expiresAt",
		"opened bob@example.com", "downloaded bob@example.com [{a.bin}] false 1 500 false",
		"downloaded removed [{b.bin}] false 2 1020 true",
		"delivered",
	}
	for _, size := range []int{50, 1, 2, 3} {
		if diff := cmp.Diff(want, activity(ann, x.path, size)); diff != "" {
			t.Errorf("pages of %d: %s", size, diff)
		}
	}
	bob.Get(x.path + "/activity").WantError(transfer.ErrSenderOnly)
	s.SignUp("eve@example.com").Get(x.path + "/activity").WantError(transfer.ErrNotFound)
	for _, query := range []string{"?limit=0", "?limit=201", "?after=x", "?after=MSB0cnVlIHg"} {
		ann.Get(x.path + "/activity" + query).WantError(fault.ErrInvalid)
	}
	ann.Delete(x.path).Want(http.StatusNoContent)
	if got := activity(ann, x.path, 2); got[0] != "revoked" || len(got) != len(want)+1 {
		t.Errorf("%v", got)
	}
}

// TestActivityIsForgotten: addresses of recipients are kept as long as the audit log.
func TestActivityIsForgotten(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_AUDIT_RETENTION", "2d"))
	ann := s.SignUp("ann@example.com")
	x := deliver(ann, object{"recipients": []object{to("bob@example.org")}}, [2]string{"a.bin", "hello"})
	link := linkTo(s, "bob@example.org")
	openLink(s, link, nil).Get(link + "/archive").Want(http.StatusOK)
	addresses := func() int {
		return count(t, s, `SELECT (SELECT count(*) FROM transfer.deliveries WHERE accessed_from IS NOT NULL) + (SELECT count(*) FROM transfer.downloads WHERE addresses <> '{}')`)
	}
	run(t, s, service.PurgeJob)
	if n := addresses(); n != 2 {
		t.Errorf("%d addresses", n)
	}
	s.Clock.Advance(3 * 24 * time.Hour)
	run(t, s, service.PurgeJob)
	if n := addresses(); n != 0 {
		t.Errorf("%d addresses", n)
	}
	if got := activity(ann.Login(), x.path, 50); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestAttackActivityGrows: what a holder of a link makes the server store stays small, whatever is asked for.
func TestAttackActivityGrows(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Constants(func(c *config.Constants) { c.DownloadBucket.Capacity = 1000 }))
	ann := s.SignUp("ann@example.com")
	deliver(ann, object{"recipients": []object{to("bob@example.org")}}, [2]string{"a.bin", string(random(1000))}, [2]string{"b.bin", "hello"})
	link := linkTo(s, "bob@example.org")
	bob := openLink(s, link, nil)
	a := contentOf(bob, link, "0")
	for i := range 150 {
		bob.With("Range", fmt.Sprintf("bytes=%d-%d", 3*i, 3*i)).Get(a).Want(http.StatusPartialContent)
	}
	if n := count(t, s, `SELECT count(*) FROM transfer.downloads`); n != 1 {
		t.Errorf("%d rows", n)
	}
	if n := count(t, s, `SELECT count(*) FROM transfer.downloads x, unnest(x.ranges)`); n != 64 {
		t.Errorf("%d ranges", n)
	}
}
