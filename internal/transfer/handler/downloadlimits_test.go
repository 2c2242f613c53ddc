package handler_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
)

// twoFiles delivers two files of a thousand bytes to bob@example.org and cid@example.org. It returns the links of both.
func twoFiles(ann *testkit.Person) (x sent, bob, cid string) {
	x = deliver(ann, object{"subject": "Plans", "recipients": []object{to("bob@example.org"), to("cid@example.org")}},
		[2]string{"a.bin", string(random(1000))}, [2]string{"b.bin", string(random(1000))})
	return x, linkTo(ann.Server, "bob@example.org"), linkTo(ann.Server, "cid@example.org")
}

// contentOf returns the path of an object's content below the path of a transfer or link.
func contentOf(p *testkit.Person, base string, i string) string {
	p.Server.T.Helper()
	return base + "/objects/" + p.Get(base).Want(http.StatusOK).String("objects."+i+".uid") + "/content"
}

func TestDownloadLimit(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	x, bobs, cids := twoFiles(ann)
	if got := ann.Patch(x.path, object{"maxDownloads": 2, "maxTotalDownloads": 3}).Want(http.StatusOK); got.Value("maxDownloads") != 2.0 ||
		got.Value("maxTotalDownloads") != 3.0 {
		t.Errorf("%s", got.Body)
	}
	bob, cid := openLink(s, bobs, nil), openLink(s, cids, nil)
	a, b := contentOf(bob, bobs, "0"), contentOf(bob, bobs, "1")
	for range 3 {
		bob.Head(a).Want(http.StatusOK)
	}
	bob.Get(a + "?preview=true").Want(http.StatusOK) // would be a way around the limit
	bob.Get(bobs + "/archive").Want(http.StatusOK)
	bob.Get(a).WantError(transfer.ErrDownloadLimit)
	bob.Get(bobs + "/archive").WantError(transfer.ErrDownloadLimit)
	bob.Post(bobs+"/otk", nil).WantError(transfer.ErrDownloadLimit)
	bob.Get(b).Want(http.StatusOK) // the second time
	bob.Get(b).WantError(transfer.ErrDownloadLimit)
	b = contentOf(cid, cids, "1")
	cid.Get(b).Want(http.StatusOK) // the third of all recipients
	cid.Get(b).WantError(transfer.ErrDownloadLimit)
	for range 3 {
		ann.Get(x.path + "/archive").Want(http.StatusOK)
	}
	dan := s.SignUp("dan@example.com")
	ann.Post(x.path+"/recipients", object{"recipients": []object{to("dan@example.com")}}).Want(http.StatusOK)
	dan.Post(x.path+"/forward", object{"recipients": []object{to("eve@example.org")}}).WantError(transfer.ErrNoForwarding)
	if got := cid.Get(cids).Want(http.StatusOK); got.Value("maxDownloads") != 2.0 {
		t.Errorf("%s", got.Body)
	}
	merge := ann.With("Content-Type", "application/merge-patch+json")
	if got := merge.Patch(x.path, `{"maxDownloads": null, "maxTotalDownloads": 0}`).Want(http.StatusOK); got.Value("maxDownloads") != nil ||
		got.Value("maxTotalDownloads") != nil {
		t.Errorf("%s", got.Body)
	}
	bob.Get(bobs + "/archive").Want(http.StatusOK)
	for _, body := range []object{{"maxDownloads": -1}, {"maxTotalDownloads": transfer.MaxLimit + 1}, {"maxDownloads": "one"}} {
		ann.Patch(x.path, body).WantError(fault.ErrInvalid)
	}
}

// TestDownloadLimitOfParts: a later byte needs a download that was counted, and each sends twice its size at most.
func TestDownloadLimitOfParts(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	x, bobs, cids := twoFiles(ann)
	ann.Patch(x.path, object{"maxDownloads": 1}).Want(http.StatusOK)
	bob, cid := openLink(s, bobs, nil), openLink(s, cids, nil)
	a := contentOf(bob, bobs, "0")
	bob.With("Range", "bytes=0-499").Get(a).Want(http.StatusPartialContent)
	for range 3 { // an interrupted download goes on: 500 + 3 * 500
		bob.With("Range", "bytes=500-").Get(a).Want(http.StatusPartialContent)
	}
	bob.With("Range", "bytes=500-").Get(a).WantError(transfer.ErrDownloadLimit)
	bob.Get(a).WantError(transfer.ErrDownloadLimit)
	a = contentOf(cid, cids, "0")
	cid.With("Range", "bytes=1-").Get(a).Want(http.StatusPartialContent) // counts
	cid.Get(a).WantError(transfer.ErrDownloadLimit)
	some := "?objects=" + cid.Get(cids).String("objects.1.uid")
	cid.Get(cids + "/archive" + some).Want(http.StatusOK)
	cid.Get(cids + "/archive" + some).WantError(transfer.ErrDownloadLimit)
	cid.Get(contentOf(cid, cids, "1")).WantError(transfer.ErrDownloadLimit)
	if got := ann.Get(x.path); got.Value("objects.0.downloads") != 2.0 || got.Value("recipients.0.downloads") != 1.0 ||
		got.Value("recipients.1.downloads") != 2.0 {
		t.Errorf("%s", got.Body)
	}
}

// TestLastDownload: of 50 parallel last downloads by tokens, one-time keys and archives one is served.
func TestLastDownload(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Constants(func(c *config.Constants) { c.DownloadBucket.Capacity = 1000 }))
	second := testkit.New(t, testkit.Beside(s))
	ann := s.SignUp("ann@example.com")
	x, bobs, _ := twoFiles(ann)
	ann.Patch(x.path, object{"maxDownloads": 1}).Want(http.StatusOK)
	bob := openLink(s, bobs, nil)
	a := contentOf(bob, bobs, "0")
	keys := make([]string, 5)
	for i := range keys {
		keys[i] = oneTime(bob, bobs+"/otk", nil)
	}
	var served, refused atomic.Int32
	var wg sync.WaitGroup
	get := func(p *testkit.Person, path string) {
		switch r, err := p.Try(t.Context(), "GET", path, nil); {
		case err != nil:
			t.Error(err)
		case r.Status == http.StatusOK:
			served.Add(1)
		case r.Status == http.StatusForbidden:
			refused.Add(1)
		default:
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}
	for i := range 50 {
		wg.Go(func() {
			switch {
			case i < len(keys):
				get(s.Stranger(), bobs+"/archive"+keys[i])
			case i%3 == 0:
				get(bob, bobs+"/archive")
			case i%2 == 0:
				get(bob.At(second), a)
			default:
				get(bob, a)
			}
		})
	}
	wg.Wait()
	if served.Load() != 1 || refused.Load() != 49 {
		t.Errorf("%d served, %d refused", served.Load(), refused.Load())
	}
}

func TestDeleteAfterDownload(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	x, bobs, cids := twoFiles(ann)
	ann.Patch(x.path, object{"deleteAfterDownload": true}).Want(http.StatusOK)
	bob, cid := openLink(s, bobs, nil), openLink(s, cids, nil)
	a, b := contentOf(bob, bobs, "0"), contentOf(bob, bobs, "1")
	bob.Get(a).Want(http.StatusOK)
	cid.Get(contentOf(cid, cids, "1")).Want(http.StatusOK) // both together have everything, neither alone
	bob.With("Range", "bytes=0-899").Get(b).Want(http.StatusPartialContent)
	ann.Get(x.path + "/archive").Want(http.StatusOK)
	if got := ann.Get(x.path).Want(http.StatusOK); got.String("state") != "accessed" {
		t.Fatalf("%s", got.Body)
	}
	if got := bob.With("Range", "bytes=900-").Get(b).Want(http.StatusPartialContent); len(got.Body) != 100 {
		t.Errorf("%d bytes", len(got.Body))
	}
	poll.Until(t, "the transfer has ended", func() bool { return ann.Get(x.path).Want(http.StatusOK).String("state") == "revoked" })
	cid.Get(cids + "/archive").WantError(transfer.ErrNotFound)
	poll.Until(t, "all bytes are purged", func() bool { return stored(t, s) == 0 })
	if !hasEvent(t, ann, "TRANSFER_REVOKED", x.uid) {
		t.Error("the sender did not hear of it")
	}
	if n := count(t, s, `SELECT count(*) FROM audit WHERE action = 'transfer.revoke' AND details->>'reason' = 'downloaded'`); n != 1 {
		t.Errorf("%d audit entries", n)
	}
	wantBooked(t, s)
}

// TestDeleteAfterParallelDownloads: parallel complete downloads on two replicas all arrive, and end the transfer once.
func TestDeleteAfterParallelDownloads(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Constants(func(c *config.Constants) { c.DownloadBucket.Capacity = 1000 }))
	second := testkit.New(t, testkit.Beside(s))
	ann := s.SignUp("ann@example.com")
	for i := range 5 {
		address := fmt.Sprintf("bob%d@example.org", i)
		x := deliver(ann, object{"recipients": []object{to(address)}}, [2]string{"a.bin", string(random(300_000))})
		ann.Patch(x.path, object{"deleteAfterDownload": true}).Want(http.StatusOK)
		link := linkTo(s, address)
		bob := openLink(s, link, nil)
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				p := bob
				if i%2 == 0 {
					p = bob.At(second)
				}
				if r, err := p.Try(t.Context(), "GET", link+"/archive", nil); err == nil && r.Status != http.StatusOK &&
					r.Status != http.StatusNotFound {
					t.Errorf("%d %s", r.Status, r.Body)
				}
			})
		}
		wg.Wait()
		poll.Until(t, "the transfer has ended", func() bool { return ann.Get(x.path).Want(http.StatusOK).String("state") == "revoked" })
	}
	if n := count(t, s, `SELECT count(*) FROM audit WHERE action = 'transfer.revoke'`); n != 5 {
		t.Errorf("%d audit entries", n)
	}
	poll.Until(t, "all bytes are purged", func() bool { return stored(t, s) == 0 })
	wantBooked(t, s)
}

// TestRevokeAgainstDownload: 50 rounds of a revocation beside downloads of a file, of the archive and with a one-time key, on two
// replicas. A download has all bytes or ends early. After the end nothing is served, nothing is half erased, and the volume is exact.
func TestRevokeAgainstDownload(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_NEW_TRANSFER_BUCKET", "200,1/1s"))
	second := testkit.New(t, testkit.Beside(s))
	ann := s.SignUp("ann@example.com")
	content := random(200_000)
	whole, cut, refused := atomic.Int32{}, atomic.Int32{}, atomic.Int32{}
	for round := range 50 {
		made := deliver(ann, object{"subject": "Plans"}, [2]string{"a.bin", string(content)})
		link := made.public
		if round%2 == 0 { // the other way of counting
			ann.Patch(made.path, object{"maxDownloads": 100}).Want(http.StatusOK)
		}
		bob := openLink(s, link, nil)
		file, key := contentOf(bob, link, "0"), oneTime(bob, link+"/otk", nil)
		began := make(chan struct{}, 4)
		var wg sync.WaitGroup
		for i, path := range []string{file, link + "/archive", link + "/archive" + key, file} {
			wg.Go(func() {
				p := bob
				if i%2 == 1 {
					p = bob.At(second)
				}
				if i == 2 {
					p = s.Stranger()
				}
				resp, err := p.Open(t.Context(), "GET", path, nil)
				began <- struct{}{}
				if err != nil {
					cut.Add(1)
					return
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				switch {
				case resp.StatusCode == http.StatusNotFound:
					refused.Add(1)
				case resp.StatusCode != http.StatusOK:
					t.Errorf("%d %s", resp.StatusCode, body)
				case err != nil:
					cut.Add(1)
				case !bytes.Contains(body, content):
					t.Errorf("%d bytes without the file", len(body))
				default:
					whole.Add(1)
				}
			})
		}
		wg.Go(func() {
			for range round % 5 { // before any of the downloads begins, to after all have
				<-began
			}
			if r, err := ann.Try(t.Context(), "DELETE", made.path, nil); err != nil || r.Status != http.StatusNoContent {
				t.Errorf("revoking: %v %v", r, err)
			}
		})
		wg.Wait()
		for _, p := range []*testkit.Person{bob, bob.At(second)} {
			p.Get(file).WantError(transfer.ErrNotFound)
		}
		if got := ann.Get(made.path).Want(http.StatusOK); got.String("state") != "revoked" || got.Value("subject") != nil ||
			got.Value("objects.0.name") != nil {
			t.Errorf("half erased: %s", got.Body)
		}
		wantBooked(t, s)
	}
	poll.Until(t, "all bytes are purged", func() bool { return stored(t, s) == 0 })
	if booked, _ := storedBytes(t, s); booked != 0 {
		t.Errorf("%d bytes are booked", booked)
	}
	t.Logf("%d whole, %d cut off, %d refused", whole.Load(), cut.Load(), refused.Load())
}
