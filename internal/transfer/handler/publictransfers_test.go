package handler_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// sent is a confirmed transfer, with the link from the answer to confirm.
type sent struct {
	uid, path string // for sender and recipients with an account
	public    string // for the holder of the sender's link
}

// deliver sends files. Each is a name and a content.
func deliver(p *testkit.Person, body object, files ...[2]string) sent {
	s := p.Server
	s.T.Helper()
	d, _ := begin(p, body)
	for i, f := range files {
		path := fmt.Sprintf("%s/objects/f%d/content", d.path, i)
		d.Post(d.path+"/objects", object{"clientId": fmt.Sprint("f", i), "name": f[0], "intendedSize": len(f[1])}).Want(http.StatusCreated)
		if f[1] != "" {
			d.Put(path, f[1]).Want(http.StatusOK)
		}
	}
	done := d.Post(d.path+"/confirm", nil).Want(http.StatusOK)
	uid := done.String("uid")
	link := done.String("link")
	return sent{uid: uid, path: s.Transfer + "/transfers/" + uid,
		public: s.Transfer + "/public/transfers/" + link[strings.LastIndexByte(link, '/')+1:]}
}

// linkTo returns the path of the link in the mail to an address.
func linkTo(s *testkit.Server, address string) string {
	s.T.Helper()
	return s.Transfer + "/public/transfers/" + s.Mail.Wait(s.T, address, "/t/", 1).Key(s.T, "/t/")
}

// openLink presents credentials at a link. It returns a client with the download token.
func openLink(s *testkit.Server, link string, credentials any) *testkit.Person {
	s.T.Helper()
	return s.Stranger().As(s.Stranger().Post(link+"/access", credentials).Want(http.StatusOK).String("token"))
}

func TestOpeningALink(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	x := deliver(ann, object{"subject": "Plans", "message": "Both.", "recipients": []object{to("bob@example.org"), to("cid@example.org")},
		"deliveryNotification": true},
		[2]string{"plan.pdf", "%PDF-1.4 plan"}, [2]string{"empty", ""})
	link := linkTo(s, "bob@example.org")
	shown := s.Stranger().Get(link).Want(http.StatusOK)
	if shown.String("type") != "p2p" || shown.String("subject") != "Plans" || shown.String("message") != "Both." ||
		shown.Value("locked") != false || shown.String("sender.email") != "ann@example.com" ||
		shown.Value("objectCount") != 2.0 || shown.Value("totalBytes") != 13.0 || shown.String("objects.0.name") != "plan.pdf" ||
		shown.Value("objects.0.downloads") != 0.0 || shown.Value("recipients") != nil {
		t.Errorf("%s", shown.Body)
	}
	file := link + "/objects/" + shown.String("objects.0.uid") + "/content"
	s.Stranger().Get(file).WantError(token.ErrMissing)
	// An access token, which the browser of a signed-in person also sends, is ignored at a link.
	if signedIn := ann.Get(link).Want(http.StatusOK); signedIn.String("subject") != "Plans" {
		t.Errorf("%s", signedIn.Body)
	}
	ann.Get(file).WantError(token.ErrMissing)
	bob := openLink(s, link, nil)
	if got := bob.Get(file).Want(http.StatusOK); string(got.Body) != "%PDF-1.4 plan" ||
		got.Header.Get("Content-Security-Policy") != "sandbox; default-src 'none'" {
		t.Errorf("%v %s", got.Header, got.Body)
	}
	if part := bob.With("Range", "bytes=5-").Get(file).Want(http.StatusPartialContent); string(part.Body) != "1.4 plan" {
		t.Errorf("%s", part.Body)
	}
	bob.Head(file).Want(http.StatusOK)
	seen := ann.Get(x.path).Want(http.StatusOK)
	if seen.Value("objects.0.downloads") != 1.0 || seen.String("state") != "accessed" || seen.Value("accessedAt") == nil {
		t.Errorf("%s", seen.Body)
	}
	s.Mail.Wait(t, "ann@example.com", "bob@example.org opened your transfer", 1)
	cid := linkTo(s, "cid@example.org")
	openLink(s, cid, nil).Get(cid + "/archive").Want(http.StatusOK)
	if mails := s.Mail.To("ann@example.com"); len(mails) != 2 { // the confirmation of the address, and one notice
		t.Errorf("%d mails to Ann", len(mails))
	}
	// One delivery's token opens that delivery only.
	bob.Get(strings.Replace(file, link, cid, 1)).WantError(transfer.ErrNotFound)
	bob.Get(cid + "/archive").WantError(transfer.ErrNotFound)
	bob.Post(cid+"/otk", nil).WantError(transfer.ErrNotFound)
	bob.Get(x.path).WantError(token.ErrKind)
	bob.Get(link + "/objects/" + x.uid + "/content").WantError(transfer.ErrNotFound)
	bob.Get(link + "/objects/x/content").WantError(transfer.ErrNotFound)
	for _, unknown := range []string{"x", strings.Repeat("A", 43), "%00", "..%2F", strings.Repeat("x", 5000)} {
		for _, what := range []string{"", "/archive", "/objects/" + x.uid + "/content"} {
			bob.Get(s.Transfer + "/public/transfers/" + unknown + what).WantError(transfer.ErrNotFound)
		}
		s.Stranger().Post(s.Transfer+"/public/transfers/"+unknown+"/access", nil).WantError(transfer.ErrNotFound)
		s.Stranger().Post(s.Transfer+"/public/transfers/"+unknown+"/code", nil).WantError(transfer.ErrNotFound)
	}
	s.Clock.Advance(time.Hour + time.Second)
	bob.Get(file).WantError(token.ErrExpired)
}

func TestFirstAccessToDropLink(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	x := deliver(ann, object{"subject": "Party", "deliveryNotification": true})
	if got := s.Stranger().Get(x.public).Want(http.StatusOK); got.String("type") != "drop" || got.Value("objectCount") != 0.0 {
		t.Errorf("%s", got.Body)
	}
	openLink(s, x.public, nil) // there is nothing to download, so this is the access
	s.Mail.Wait(t, "ann@example.com", "Somebody opened your transfer", 1)
	if got := ann.Get(x.path); got.String("state") != "accessed" {
		t.Errorf("%s", got.Body)
	}
}

// hiddenWords must not appear in an answer to a client that has not passed the protection.
var hiddenWords = []string{"Merger", "hush", "deal.pdf", "%PDF", `"contentLength"`, `"objectCount"`, `"totalBytes"`, "colour"}

func checkHidden(t *testing.T, what string, body []byte) {
	t.Helper()
	for _, w := range hiddenWords {
		if strings.Contains(string(body), w) {
			t.Errorf("%s tells %s: %s", what, w, body)
		}
	}
}

func TestPasswordProtection(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	x := deliver(ann, object{"subject": "Merger", "message": "hush", "fields": object{"colour": "red"}, "protection": "password",
		"password": "Geheimnis ☂", "recipients": []object{to("bob@example.com")}},
		[2]string{"deal.pdf", "%PDF-1.4 deal"})
	link := linkTo(s, "bob@example.com")
	m := s.Mail.Wait(t, "bob@example.com", "/t/", 1)
	checkHidden(t, "the mail", []byte(m.Subject+m.Text+m.HTML))
	locked := s.Stranger().Get(link).Want(http.StatusOK)
	checkHidden(t, "the link", locked.Body)
	if locked.Value("locked") != true || locked.String("protection") != "password" {
		t.Errorf("%s", locked.Body)
	}
	// A recipient with an account sees the transfer, but not its contents.
	received := bob.Get(s.Transfer + "/transfers?location=received").Want(http.StatusOK)
	checkHidden(t, "the list", received.Body)
	one := bob.Get(x.path).Want(http.StatusOK)
	checkHidden(t, "the transfer", one.Body)
	if received.Value("transfers.0.locked") != true || one.Value("locked") != true {
		t.Errorf("%s", one.Body)
	}
	for _, guess := range []string{"merger", "deal.pdf", "DEAL"} {
		if found := bob.Get(s.Transfer + "/transfers?search=" + guess).Want(http.StatusOK); len(found.Value("transfers").([]any)) != 0 {
			t.Errorf("a search for %s finds what it must not know", guess)
		}
	}
	if found := bob.Get(s.Transfer + "/transfers?search=ann").Want(http.StatusOK); len(found.Value("transfers").([]any)) != 1 {
		t.Errorf("the sender is not found: %s", found.Body)
	}
	object0 := ann.Get(x.path).Want(http.StatusOK).String("objects.0.uid")
	bob.Get(x.path + "/objects/" + object0 + "/content").WantError(transfer.ErrLocked)
	bob.Get(x.path + "/archive").WantError(transfer.ErrLocked)
	bob.Post(s.Transfer+"/auth/otk", object{"transferUid": x.uid}).WantError(transfer.ErrLocked)

	s.Stranger().Post(link+"/code", nil).WantError(transfer.ErrNoCode)
	for _, wrong := range []any{nil, object{}, object{"password": "geheimnis ☂"}, object{"code": "123456"}} {
		s.Stranger().Post(link+"/access", wrong).WantError(transfer.ErrPassword)
	}
	reader := openLink(s, link, object{"password": "Geheimnis ☂"})
	full := s.Stranger().Post(link+"/access", object{"password": "Geheimnis ☂"}).WantError(fault.ErrRateLimited)
	if full.Header.Get("Retry-After") == "" || full.Header.Get("X-RateLimit-Limit") != "5" || full.Header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("%v", full.Header)
	}
	s.Clock.Advance(time.Minute)
	s.Stranger().Post(link+"/access", object{"password": strings.Repeat("x", 73)}).WantError(transfer.ErrPassword)
	s.Stranger().Post(link+"/access", object{"password": 7}).WantError(fault.ErrRateLimited)
	s.Clock.Advance(time.Minute)
	s.Stranger().Post(link+"/access", object{"password": 7}).WantError(fault.ErrInvalid)
	if open := reader.Get(link).Want(http.StatusOK); open.Value("locked") != false || open.String("subject") != "Merger" ||
		open.String("objects.0.name") != "deal.pdf" {
		t.Errorf("%s", open.Body)
	}
	checkHidden(t, "another link with this token", reader.Get(x.public).Want(http.StatusOK).Body)
	if got := reader.Get(link + "/objects/" + object0 + "/content").Want(http.StatusOK); string(got.Body) != "%PDF-1.4 deal" {
		t.Errorf("%s", got.Body)
	}
}

var sixDigits = regexp.MustCompile(`\b\d{6}\b`)

// code returns the access code in the n-th mail with one to an address.
func code(s *testkit.Server, address string, n int) string {
	s.T.Helper()
	return mailedCode(s, address, "access code", n)
}

// mailedCode returns the code in the n-th mail with text to an address.
func mailedCode(s *testkit.Server, address, text string, n int) string {
	s.T.Helper()
	found := sixDigits.FindString(s.Mail.Wait(s.T, address, text, n).Text)
	if found == "" {
		s.T.Fatal("no code in the mail")
	}
	return found
}

func TestCodeProtection(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	x := deliver(ann, object{"subject": "Merger", "message": "hush", "protection": "recipientAuthentication",
		"recipients": []object{to("bob@example.org")}}, [2]string{"deal.pdf", "%PDF-1.4 deal"})
	link := linkTo(s, "bob@example.org")
	nobody := s.Stranger()
	checkHidden(t, "the link", nobody.Get(link).Want(http.StatusOK).Body)
	nobody.Post(link+"/access", nil).WantError(transfer.ErrCode)
	nobody.Post(link+"/access", object{"code": "000000"}).WantError(transfer.ErrCode) // none was mailed
	asked := nobody.With("Accept-Language", "de").Post(link+"/code", nil).Want(http.StatusNoContent)
	if asked.Header.Get("X-RateLimit-Limit") != "1" || asked.Header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("%v", asked.Header)
	}
	nobody.Post(link+"/code", nil).WantError(fault.ErrRateLimited)
	if first := s.Mail.Wait(t, "bob@example.org", "Code", 1); !strings.Contains(first.Text, "Geben Sie") ||
		strings.Contains(first.Text, "Merger") {
		t.Errorf("%s", first.Text)
	}
	first := sixDigits.FindString(s.Mail.Wait(t, "bob@example.org", "Geben Sie", 1).Text)
	s.Clock.Advance(time.Minute)
	nobody.Post(link+"/code", nil).Want(http.StatusNoContent)
	second := code(s, "bob@example.org", 1)
	s.Clock.Advance(5 * time.Minute)
	if first != second { // equal by chance once in a million
		nobody.Post(link+"/access", object{"code": first}).WantError(transfer.ErrCode)
	}
	bob := openLink(s, link, object{"code": second})
	nobody.Post(link+"/access", object{"code": second}).WantError(transfer.ErrCode)
	if open := bob.Get(link).Want(http.StatusOK); open.String("subject") != "Merger" || open.Value("locked") != false {
		t.Errorf("%s", open.Body)
	}
	bob.Get(link + "/archive").Want(http.StatusOK)
	// The sender's own link has no recipient whom a code could verify.
	nobody.Post(x.public+"/code", nil).WantError(transfer.ErrNoCode)
	nobody.Post(x.public+"/access", nil).WantError(transfer.ErrCode)
	// A code expires after ten minutes.
	nobody.Post(link+"/code", nil).Want(http.StatusNoContent)
	third := code(s, "bob@example.org", 2)
	s.Clock.Advance(10 * time.Minute)
	nobody.Post(link+"/access", object{"code": third}).WantError(transfer.ErrCode)
}

func TestCodesAreLimited(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	s.Clock.Advance(24*time.Hour - s.Clock.Now().Sub(s.Clock.Now().Truncate(24*time.Hour))) // a day begins
	ann.Refresh()
	deliver(ann, object{"message": "Hello.", "protection": "recipientAuthentication", "recipients": []object{to("bob@example.org")}})
	link := linkTo(s, "bob@example.org")
	nobody := s.Stranger()
	var last string
	for n := range 10 {
		nobody.Post(link+"/code", nil).Want(http.StatusNoContent)
		last = code(s, "bob@example.org", n+1)
		s.Clock.Advance(time.Minute)
	}
	if refused := nobody.Post(link+"/code", nil).WantError(transfer.ErrTooManyCodes); refused.Header.Get("Retry-After") != "85800" {
		t.Errorf("Retry-After: %s", refused.Header.Get("Retry-After"))
	}
	for i := range 5 { // as many tries as one code has
		nobody.Post(link+"/access", object{"code": fmt.Sprintf("x%d", i)}).WantError(transfer.ErrCode)
	}
	s.Clock.Advance(time.Minute)
	nobody.Post(link+"/access", object{"code": last}).WantError(transfer.ErrCode)
	s.Clock.Advance(24 * time.Hour)
	nobody.Post(link+"/code", nil).Want(http.StatusNoContent)
	openLink(s, link, object{"code": code(s, "bob@example.org", 11)})
}

func TestCodeWorksOnce(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	deliver(ann, object{"message": "Hello.", "protection": "recipientAuthentication", "recipients": []object{to("bob@example.org")}})
	link := linkTo(s, "bob@example.org")
	s.Stranger().Post(link+"/code", nil).Want(http.StatusNoContent)
	right := code(s, "bob@example.org", 1)
	var passed, refused atomic.Int32
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			switch r, err := s.Stranger().Try(t.Context(), "POST", link+"/access", object{"code": right}); {
			case err != nil:
				t.Error(err)
			case r.Status == http.StatusOK:
				passed.Add(1)
			case r.Status == http.StatusUnauthorized:
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	if passed.Load() != 1 || refused.Load() != 4 {
		t.Errorf("%d passed, %d refused", passed.Load(), refused.Load())
	}
}

func TestAccountVerifiesTheRecipient(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob, eve := s.SignUp("ann@example.com"), s.SignUp("bob@example.com"), s.SignUp("eve@example.com")
	x := deliver(ann, object{"subject": "Merger", "protection": "recipientAuthentication", "recipients": []object{to("bob@example.com")}},
		[2]string{"deal.pdf", "%PDF-1.4 deal"})
	link := linkTo(s, "bob@example.com")
	if got := bob.Get(x.path).Want(http.StatusOK); got.Value("locked") != false || got.String("subject") != "Merger" {
		t.Errorf("%s", got.Body)
	}
	bob.Get(x.path + "/archive").Want(http.StatusOK)
	for _, way := range []string{link, x.public} { // the sender's link also opens it: Bob sees his transfer
		eve.Post(way+"/access", nil).WantError(transfer.ErrCode)
		reader := s.Stranger().As(bob.Post(way+"/access", nil).Want(http.StatusOK).String("token"))
		reader.Get(way + "/archive").Want(http.StatusOK)
	}
	// A person who removed the address is no longer the recipient.
	exec(t, s, `UPDATE identity.addresses SET verified_at = NULL, remove_at = now() + interval '7 days' WHERE address = 'bob@example.com'`)
	lockedNow := bob.Get(x.path).Want(http.StatusOK)
	checkHidden(t, "the transfer", lockedNow.Body)
	checkHidden(t, "the list", bob.Get(s.Transfer+"/transfers").Want(http.StatusOK).Body)
	bob.Get(x.path + "/archive").WantError(transfer.ErrLocked)
	if found := bob.Get(s.Transfer + "/transfers?search=merger").Want(http.StatusOK); len(found.Value("transfers").([]any)) != 0 {
		t.Errorf("found %s", found.Body)
	}
}

func exec(t *testing.T, s *testkit.Server, sql string, args ...any) {
	t.Helper()
	if _, err := s.App.DB.Pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// count returns the one number of a statement's result.
func count(t *testing.T, s *testkit.Server, sql string, args ...any) int {
	t.Helper()
	var n int
	if err := s.App.DB.Pool.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSecureMailboxOpensForItsOwner(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	ann.Put(s.Transfer+"/mailbox", object{"vanityLink": "ann", "secure": true}).Want(http.StatusOK)
	d := reserve(s)
	d.send("a", []byte("hello"))
	path := s.Transfer + "/transfers/" + d.confirm()
	if got := ann.Get(path).Want(http.StatusOK); got.Value("locked") != false || got.String("protection") != "recipientAuthentication" {
		t.Errorf("%s", got.Body)
	}
	link := linkTo(s, "ann@example.com")
	s.Stranger().Post(link+"/access", nil).WantError(transfer.ErrCode)
	reader := s.Stranger().As(ann.Post(link+"/access", nil).Want(http.StatusOK).String("token"))
	reader.Get(link + "/archive").Want(http.StatusOK)
}

func TestLinksBelongToHosts(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	deliver(ann, object{"recipients": []object{to("bob@example.org")}}, [2]string{"a", "b"})
	exec(t, s, `INSERT INTO identity.organizations (uid, name, locale, time_zone, created_at, updated_at) VALUES ('0190d2f4-7c1e-7b44-8d6a-3f1f6f0e2c11', 'Other', 'en_US', 'UTC', now(), now())`)
	exec(t, s, `INSERT INTO identity.limits (organization) VALUES ('0190d2f4-7c1e-7b44-8d6a-3f1f6f0e2c11')`)
	exec(t, s, `INSERT INTO identity.hosts (host, organization, active, created_at) VALUES ('other.test', '0190d2f4-7c1e-7b44-8d6a-3f1f6f0e2c11', true, now())`)
	exec(t, s, `SELECT pg_notify('directory', '')`)
	link := linkTo(s, "bob@example.org")
	elsewhere := s.Stranger().With("Host", "other.test")
	poll.Until(t, "the link is unknown on another host", func() bool { return elsewhere.Get(link).Status == http.StatusNotFound })
	elsewhere.Post(link+"/access", nil).WantError(transfer.ErrNotFound)
	reader := openLink(s, link, nil)
	reader.With("Host", "other.test").Get(link + "/archive").WantError(transfer.ErrNotFound)
	reader.Get(link + "/archive").Want(http.StatusOK)
	// The link outlives its sender, until the transfer expires.
	if err := s.App.Identity.DeletePerson(t.Context(), testkit.Command, "ann@example.com"); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the deleted sender's transfer names nobody",
		func() bool { return count(t, s, `SELECT count(*) FROM transfer.transfers WHERE sender IS NULL`) == 1 })
	got := s.Stranger().Get(link).Want(http.StatusOK)
	if got.String("sender.name") != "Ann" || got.String("sender.email") != "" || got.Value("sender.uid") != nil {
		t.Errorf("%s", got.Body)
	}
	openLink(s, link, nil).Get(link + "/archive").Want(http.StatusOK)
}
