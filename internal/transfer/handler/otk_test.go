package handler_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// oneTime requests a one-time key. It returns the query to append to the URL of a download.
func oneTime(p *testkit.Person, path string, body any) string {
	p.Server.T.Helper()
	return "?otk=" + p.Post(path, body).Want(http.StatusOK).String("key")
}

func TestOneTimeKey(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	data := random(50_000)
	d.send("a", data)
	d.send("b", []byte("other"))
	uid := d.confirm()
	path := s.Transfer + "/transfers/" + uid
	a, b := ann.Get(path).String("objects.0.uid"), ann.Get(path).String("objects.1.uid")
	file := path + "/objects/" + a + "/content"
	asked := ann.Post(s.Transfer+"/auth/otk", object{"transferUid": uid, "objectUid": a}).Want(http.StatusOK)
	if expires := asked.String("expiresAt"); expires != httpapi.Time(s.Clock.Now().Add(time.Minute)).String() ||
		asked.Header.Get("X-RateLimit-Limit") != "10" {
		t.Errorf("%s %v", asked.Body, asked.Header)
	}
	otk := "?otk=" + asked.String("key")
	browser := s.Stranger()
	for _, elsewhere := range []string{path + "/objects/" + b + "/content", path + "/archive"} {
		browser.Get(elsewhere + otk).WantError(transfer.ErrOneTimeKey)
	}
	browser.Get(file + otk + "x").WantError(transfer.ErrOneTimeKey)
	browser.Get(file + "?otk=").WantError(token.ErrMissing)
	for range 3 {
		if head := browser.Head(file + otk).Want(http.StatusOK); head.Header.Get("Content-Length") != "50000" {
			t.Errorf("%v", head.Header)
		}
	}
	browser.With("Range", "bytes=50000-").Get(file + otk).WantError(transfer.ErrRange) // does not use the key up
	first := browser.Get(file + otk).Want(http.StatusOK)
	if string(first.Body) != string(data) {
		t.Errorf("%d bytes", len(first.Body))
	}
	browser.Get(file + otk).WantError(transfer.ErrOneTimeKey)
	browser.With("Range", "bytes=0-").Get(file + otk).WantError(transfer.ErrOneTimeKey)
	rest := browser.With("Range", "bytes=20000-").With("If-Range", first.Header.Get("ETag"))
	if got := rest.Get(file + otk).Want(http.StatusPartialContent); string(got.Body) != string(data[20_000:]) {
		t.Errorf("%d bytes", len(got.Body))
	}
	rest.With("If-Range", `"other"`).Get(file + otk).WantError(transfer.ErrOneTimeKey)
	browser.Head(file + otk).Want(http.StatusOK)
	if n := ann.Get(path).Value("objects.0.downloads"); n != 1.0 {
		t.Errorf("%v downloads", n)
	}
	s.Clock.Advance(time.Hour - time.Second)
	last := browser.With("Range", "bytes=40000-")
	last.Get(file + otk).Want(http.StatusPartialContent)
	s.Clock.Advance(time.Second)
	last.Get(file + otk).WantError(transfer.ErrOneTimeKey)
	browser.Head(file + otk).Want(http.StatusNotFound)
}

func TestOneTimeKeyExpires(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	d.send("a", []byte("hello"))
	uid := d.confirm()
	path := s.Transfer + "/transfers/" + uid
	late := oneTime(ann, s.Transfer+"/auth/otk", object{"transferUid": uid})
	s.Clock.Advance(time.Minute)
	s.Stranger().Get(path + "/archive" + late).WantError(transfer.ErrOneTimeKey)

	parallel := oneTime(ann, s.Transfer+"/auth/otk", object{"transferUid": uid})
	var served, refused atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			switch r, err := s.Stranger().Try(t.Context(), "GET", path+"/archive"+parallel, nil); {
			case err != nil:
				t.Error(err)
			case r.Status == http.StatusOK:
				served.Add(1)
			case r.Status == http.StatusNotFound:
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	if served.Load() != 1 || refused.Load() != 19 {
		t.Errorf("%d served, %d refused", served.Load(), refused.Load())
	}
	// It ends with the session that asked for it.
	ended := oneTime(ann, s.Transfer+"/auth/otk", object{"transferUid": uid})
	ann.As(ann.ID).Post(s.Identity+"/auth/logout", nil).Want(http.StatusNoContent)
	poll.Until(t, "the key is refused", func() bool { return s.Stranger().Get(path+"/archive"+ended).Status == http.StatusUnauthorized })
}

func TestOneTimeKeyOfALink(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	x := deliver(ann, object{"protection": "password", "password": "Geheimnis!", "recipients": []object{to("bob@example.org")}},
		[2]string{"a.txt", "hello"}, [2]string{"b.txt", "world"})
	link := linkTo(s, "bob@example.org")
	bob := openLink(s, link, object{"password": "Geheimnis!"})
	file := link + "/objects/" + bob.Get(link).String("objects.0.uid") + "/content"
	s.Stranger().Post(link+"/otk", nil).WantError(token.ErrMissing)
	ann.Post(link+"/otk", nil).WantError(token.ErrKind)
	all := oneTime(bob, link+"/otk", nil)
	one := oneTime(bob, link+"/otk", object{"objectUid": bob.Get(link).String("objects.0.uid")})
	s.Stranger().Get(x.public + "/archive" + all).WantError(transfer.ErrOneTimeKey)
	s.Stranger().Get(x.path + "/archive" + all).WantError(transfer.ErrOneTimeKey)
	s.Stranger().Get(link + "/archive" + one).WantError(transfer.ErrOneTimeKey)
	s.Stranger().Get(link + "/archive" + all).Want(http.StatusOK)
	if got := s.Stranger().Get(file + one).Want(http.StatusOK); string(got.Body) != "hello" {
		t.Errorf("%s", got.Body)
	}
	s.Stranger().Get(file + one).WantError(transfer.ErrOneTimeKey)
	if seen := ann.Get(x.path); seen.Value("objects.0.downloads") != 2.0 || seen.Value("objects.1.downloads") != 1.0 {
		t.Errorf("%s", seen.Body)
	}
	dead := oneTime(bob, link+"/otk", nil)
	ann.Delete(x.path).Want(http.StatusNoContent)
	s.Stranger().Get(link + "/archive" + dead).WantError(transfer.ErrOneTimeKey)
	bob.Get(link + "/archive").WantError(transfer.ErrNotFound)
}

func TestOneTimeKeyRefuses(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	bob := s.SignUp("bob@example.com")
	d := reserve(s)
	d.send("a", []byte("hello"))
	uid := d.confirm()
	otk := s.Transfer + "/auth/otk"
	s.Stranger().Post(otk, object{"transferUid": uid}).WantError(token.ErrMissing)
	d.Post(otk, object{"transferUid": uid}).WantError(token.ErrKind)
	for range 2 {
		bob.Post(otk, object{"transferUid": uid}).WantError(transfer.ErrNotFound)
	}
	for _, body := range []object{{}, {"transferUid": "x"}, {"transferUid": 1}, {"transferUid": uid, "objectUid": "x"}} {
		ann.Post(otk, body).WantError(fault.ErrInvalid)
	}
	ann.Post(otk, object{"transferUid": uid, "objectUid": uid}).WantError(transfer.ErrNotFound)
	for range 5 {
		ann.Post(otk, object{"transferUid": uid}).Want(http.StatusOK)
	}
	full := ann.Post(otk, object{"transferUid": uid}).WantError(fault.ErrRateLimited) // the eleventh
	if full.Header.Get("Retry-After") != "30" {
		t.Errorf("Retry-After: %s", full.Header.Get("Retry-After"))
	}
	s.Clock.Advance(30 * time.Second)
	ann.Post(otk, object{"transferUid": uid}).Want(http.StatusOK)
}
