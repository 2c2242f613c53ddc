// Tests of mailbox groups, and of links that move to another host.

package handler_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

const use = "Service.Transfer.Use"

// newOffice returns the organization Acme. Ann administers it, Bob is a member with a mailbox, Eve has a mailbox outside of it.
func newOffice(t *testing.T, options ...testkit.Option) (s *testkit.Server, acme company, ann, bob, eve *testkit.Person) {
	t.Helper()
	s = testkit.New(t, options...)
	ann, bob, eve = s.SignUp("ann@example.com"), s.SignUp("bob@example.com"), s.SignUp("eve@example.com")
	acme = createOrganization(ann, "Acme")
	acme.join(ann, bob, use)
	for _, p := range []*testkit.Person{ann, bob, eve} {
		name, _, _ := strings.Cut(p.Email, "@")
		p.Put(s.Transfer+"/mailbox", object{"vanityLink": name}).Want(http.StatusCreated)
	}
	return s, acme, ann, bob, eve
}

func TestMailboxGroups(t *testing.T) {
	t.Parallel()
	s, acme, ann, bob, eve := newOffice(t)
	groups := s.Transfer + "/mailboxgroups"
	if got := ann.Get(groups).Want(http.StatusOK); len(got.Value("mailboxgroups").([]any)) != 0 {
		t.Errorf("%s", got.Body)
	}
	made := ann.Post(groups, object{"name": "Office", "description": "Plans\nand permits", "vanityLink": "The.Office",
		"mailboxUids": []string{uidOf(bob), uidOf(ann)}}).Want(http.StatusCreated)
	path := groups + "/" + made.String("uid")
	if made.Header.Get("Location") != s.URL+path || made.String("vanityLink") != "the.office" ||
		made.String("mailboxes.0.uid") != uidOf(bob) || made.String("mailboxUids.1") != uidOf(ann) {
		t.Errorf("%s %s", made.Header.Get("Location"), made.Body)
	}
	public := s.Transfer + "/public/mailboxgroup/"
	for key, want := range map[string]int{"the.office": 200, "THE.office": 200, made.String("uid"): 200, "x": 400, "no-group": 404, "bob": 404,
		"019abcde-0000-7000-8000-000000000001": 404} {
		if r := s.Stranger().Get(public + key); r.Status != want {
			t.Errorf("%s answered %d %s", key, r.Status, r.Body)
		}
	}
	s.Stranger().Get(public + "-").WantError(transfer.ErrKeyInvalid)
	s.Stranger().Get(s.Transfer + "/public/mailbox/the.office").WantError(transfer.ErrNotFound)
	seen := s.Stranger().Get(public + "the.office").Want(http.StatusOK)
	if seen.String("name") != "Office" || seen.String("mailboxes.0.email") != "bob@example.com" || seen.Value("mailboxUids") != nil ||
		seen.Value("mailboxes.0.maxFiles") != 1_000.0 {
		t.Errorf("%s", seen.Body)
	}
	s.Stranger().Post(s.Transfer+"/public/mailbox/"+seen.String("mailboxes.0.uid"), nil).Want(http.StatusCreated)

	ann.With("Content-Type", "application/json").Put(path, made.Body).Want(http.StatusOK)
	changed := ann.Put(path, object{"name": "Bureau", "mailboxUids": []string{uidOf(ann)}}).Want(http.StatusOK)
	if changed.Value("vanityLink") != nil || changed.Value("description") != nil || len(changed.Value("mailboxes").([]any)) != 1 {
		t.Errorf("%s", changed.Body)
	}
	s.Stranger().Get(public + "the.office").WantError(transfer.ErrNotFound)
	if got := ann.Get(path).Want(http.StatusOK); string(got.Body) != string(changed.Body) {
		t.Errorf("%s", got.Body)
	}
	ann.Put(path, object{"name": "Bureau", "mailboxUids": []string{uidOf(bob)}}).Want(http.StatusOK)
	useToken(bob, bob.Post(acme.path+"/leave", nil).Want(http.StatusNoContent))
	if got := ann.Get(path).Want(http.StatusOK); len(got.Value("mailboxes").([]any)) != 0 {
		t.Errorf("a mailbox of somebody who left is listed: %s", got.Body)
	}
	for _, p := range []*testkit.Person{bob, eve} {
		for _, r := range []*testkit.Response{p.Get(groups), p.Post(groups, object{"name": "x", "mailboxUids": []string{}}), p.Get(path),
			p.Put(path, object{"name": "x", "mailboxUids": []string{}}), p.Delete(path)} {
			r.WantError(transfer.ErrAdminRole)
		}
	}
	s.Stranger().Get(groups).WantError(token.ErrMissing)
	zed := s.SignUp("zed@example.com")
	createOrganization(zed, "Zed & Co")
	zed.Get(path).WantError(transfer.ErrNotFound)
	zed.Put(path, object{"name": "x", "mailboxUids": []string{}}).WantError(transfer.ErrNotFound)
	zed.Delete(path).WantError(transfer.ErrNotFound)
	ann.Delete(path).Want(http.StatusNoContent)
	ann.Delete(path).WantError(transfer.ErrNotFound)
}

func TestMailboxGroupsRefuse(t *testing.T) {
	t.Parallel()
	s, acme, ann, bob, eve := newOffice(t)
	groups := s.Transfer + "/mailboxgroups"
	for _, c := range []struct {
		body   object
		want   *fault.Error
		detail string
	}{
		{object{}, fault.ErrInvalid, "name: is required\nmailboxUids: is required"},
		{object{"name": " ", "mailboxUids": []string{}}, fault.ErrInvalid, "name"},
		{object{"name": strings.Repeat("x", 256), "mailboxUids": []string{}}, fault.ErrInvalid, "name"},
		{object{"name": "x", "mailboxUids": []string{"bob"}}, fault.ErrInvalid, "mailboxUids[0]"},
		{object{"name": "x", "mailboxUids": []string{uidOf(eve)}}, fault.ErrInvalid, "mailboxUids: must name"},
		{object{"name": "x", "mailboxUids": []string{uidOf(bob), uidOf(bob)}}, fault.ErrInvalid, "mailboxUids[1]: is given twice"},
		{object{"name": "x", "mailboxUids": []string{"019abcde-0000-7000-8000-000000000001"}}, fault.ErrInvalid, "mailboxUids: must name"},
		{object{"name": "x", "vanityLink": "a", "mailboxUids": []string{}}, fault.ErrInvalid, "vanityLink"},
		{object{"name": "x", "vanityLink": "019abcde-0000-7000-8000-000000000001", "mailboxUids": []string{}}, fault.ErrInvalid, "vanityLink"},
		{object{"name": "x", "vanityLink": "EVE", "mailboxUids": []string{}}, transfer.ErrVanityLink, ""}, // Acme and Eve have the same home host
	} {
		r := ann.Post(groups, c.body)
		r.WantError(c.want)
		if !strings.Contains(r.Details(), c.detail) {
			t.Errorf("%v: %q", c.body, r.Details())
		}
	}
	ann.Post(groups, object{"name": "x", "vanityLink": "team", "mailboxUids": []string{}}).Want(http.StatusCreated)
	eve.Put(s.Transfer+"/mailbox", object{"vanityLink": "team"}).WantError(transfer.ErrVanityLink)
	eve.Put(s.Transfer+"/mailbox", object{"vanityLink": "Team"}).WantError(transfer.ErrVanityLink)
	if got := ann.Get(groups); len(got.Value("mailboxgroups").([]any)) != 1 {
		t.Errorf("a refused group was stored: %s", got.Body)
	}
	if err := s.App.Identity.SetLimits(t.Context(), testkit.Command, acme.uid,
		identity.LimitsChange{MailboxGroups: identity.To(4)}); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for i := range 12 {
		wait.Go(func() {
			r, err := ann.Try(t.Context(), "POST", groups, object{"name": fmt.Sprint("g", i), "mailboxUids": []string{}})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[r.Status]++
		})
	}
	wait.Wait()
	if statuses[http.StatusCreated] != 3 || statuses[http.StatusForbidden] != 9 {
		t.Errorf("of 12 groups at once with room for 3: %v", statuses)
	}
	ann.Post(groups, object{"name": "x", "mailboxUids": []string{}}).WantError(transfer.ErrGroupLimit)
}

// waiting waits until a request waits for a lock in the database.
func waiting(t *testing.T, s *testkit.Server) {
	t.Helper()
	poll.Until(t, "a request waits for a lock", func() bool { return pgtest.Waiting(t, s.App.DB.Pool) > 0 })
}

// TestGroupOfRemovedMailbox removes Bob's mailbox while Ann puts it into a group.
func TestGroupOfRemovedMailbox(t *testing.T) {
	t.Parallel()
	s, _, ann, bob, _ := newOffice(t)
	group := object{"name": "Office", "mailboxUids": []string{uidOf(bob)}}
	tx := hold(t, s, `DELETE FROM transfer.mailboxes WHERE person = $1`, uidOf(bob))
	answer := make(chan *testkit.Response, 1)
	go func() {
		r, err := ann.Try(t.Context(), "POST", s.Transfer+"/mailboxgroups", group)
		if err != nil {
			t.Error(err)
		}
		answer <- r
	}()
	waiting(t, s)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-answer; r != nil {
		r.WantError(fault.ErrInvalid)
	}
}

// TestVanityLinkRace: of two mailboxes and a group that request one link in parallel, one gets it.
func TestVanityLinkRace(t *testing.T) {
	t.Parallel()
	s, _, ann, bob, eve := newOffice(t)
	for round := range 5 {
		link := fmt.Sprint("wanted-", round)
		var wait sync.WaitGroup
		statuses := make([]int, 3)
		try := func(i int, p *testkit.Person, method, path string, body any) {
			wait.Go(func() {
				r, err := p.Try(t.Context(), method, s.Transfer+path, body)
				if err != nil {
					t.Error(err)
					return
				}
				statuses[i] = r.Status
			})
		}
		try(0, bob, "PUT", "/mailbox", object{"vanityLink": link})
		try(1, eve, "PUT", "/mailbox", object{"vanityLink": strings.ToUpper(link)})
		try(2, ann, "POST", "/mailboxgroups", object{"name": "x", "vanityLink": link, "mailboxUids": []string{}})
		wait.Wait()
		got := map[bool]int{}
		for _, status := range statuses {
			got[status == http.StatusOK || status == http.StatusCreated]++
			if status >= 400 && status != http.StatusConflict {
				t.Errorf("answered %d", status)
			}
		}
		if got[true] != 1 {
			t.Errorf("round %d: %v", round, statuses)
		}
	}
}

func TestAvatarOfAMailbox(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	path := s.Transfer + "/public/mailbox/ann/avatar"
	box := strings.TrimSuffix(path, "/avatar")
	s.Stranger().Get(path).WantError(transfer.ErrNotFound)
	if got := s.Stranger().Get(box).Want(http.StatusOK); got.Value("hasAvatar") != false {
		t.Errorf("without a picture: %s", got.Body)
	}
	ann.With("Content-Type", "image/png").Put(s.Identity+"/profile/avatar", picture(t)).Want(http.StatusOK)
	if got := s.Stranger().Get(box).Want(http.StatusOK); got.Value("hasAvatar") != true {
		t.Errorf("with a picture: %s", got.Body)
	}
	largest := s.Stranger().Get(path).Want(http.StatusOK)
	small := s.Stranger().Get(path + "?height=70").Want(http.StatusOK)
	if largest.Header.Get("Content-Type") != "image/jpeg" || len(small.Body) == 0 || len(small.Body) >= len(largest.Body) ||
		largest.Header.Get("ETag") == "" {
		t.Errorf("%v, %d and %d bytes", largest.Header, len(largest.Body), len(small.Body))
	}
	s.Stranger().With("If-None-Match", largest.Header.Get("ETag")).Get(path).Want(http.StatusNotModified)
	s.Stranger().With("Accept", "application/json").Get(path).Want(http.StatusNotAcceptable)
	for _, sent := range []string{"bytes=0-9", "bytes=9999999999-", "nonsense"} { // a picture is always sent whole
		if r := s.Stranger().With("Range", sent).Get(path).Want(http.StatusOK); !bytes.Equal(r.Body, largest.Body) {
			t.Errorf("Range: %s answered %d bytes", sent, len(r.Body))
		}
	}
	s.Stranger().With("If-Match", `"another"`).Get(path).WantError(fault.ErrVersion)
	for _, height := range []string{"0", "-1", "tall", "NaN", "1e9"} {
		s.Stranger().Get(path + "?height=" + height).WantError(fault.ErrInvalid)
	}
	s.Stranger().Get(s.Transfer + "/public/mailbox/a/avatar").WantError(transfer.ErrKeyInvalid)
	s.Stranger().Get(s.Transfer + "/public/mailbox/nobody/avatar").WantError(transfer.ErrNotFound)
}

// picture returns a PNG file.
func picture(t *testing.T) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, 300, 300))
	copy(img.Pix, random(len(img.Pix)))
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestLinksFollowTheOrganizationToItsHost: when an organization gets its own host, its mailboxes and groups move there with
// their links, and no longer exist on the free host.
func TestLinksFollowTheOrganizationToItsHost(t *testing.T) {
	t.Parallel()
	s, acme, ann, bob, _ := newOffice(t)
	ann.Post(s.Transfer+"/mailboxgroups", object{"name": "Office", "vanityLink": "office", "mailboxUids": []string{uidOf(bob)}}).Want(
		http.StatusCreated)
	if err := s.App.Identity.SetHostname(t.Context(), testkit.Command, acme.uid, "files.acme.test"); err != nil {
		t.Fatal(err)
	}
	there := s.Stranger().With("Host", "files.acme.test")
	public := s.Transfer + "/public/mailboxgroup/office"
	poll.Until(t, "jobs have moved the links", func() bool {
		return there.Get(public).Status == http.StatusOK && there.Get(s.Transfer+"/public/mailbox/bob").Status == http.StatusOK
	})
	s.Stranger().Get(public).WantError(transfer.ErrNotFound)
	s.Stranger().Get(s.Transfer + "/public/mailbox/bob").WantError(transfer.ErrNotFound)
	ann.Get(s.Transfer + "/mailboxgroups").WantError(transfer.ErrNotFound)
	ann.Post(s.Transfer+"/reservations", nil).WantError(transfer.ErrNotFound)
	at := ann.With("Host", "files.acme.test")
	if got := at.Get(s.Transfer + "/mailboxgroups").Want(http.StatusOK); got.String("mailboxgroups.0.vanityLink") != "office" {
		t.Errorf("%s", got.Body)
	}
	made := at.Post(s.Transfer+"/reservations", object{"message": "Hello.", "recipients": []object{to("eve@example.com")}}).Want(
		http.StatusCreated)
	if !strings.HasPrefix(made.Header.Get("Location"), "http://files.acme.test:") {
		t.Errorf("Location %s", made.Header.Get("Location"))
	}
	done := at.Post(s.Transfer+"/reservations/"+made.String("uid")+"/confirm", nil).Want(http.StatusOK)
	if !strings.HasPrefix(done.String("link"), "http://files.acme.test:") {
		t.Errorf("link %s", done.String("link"))
	}
	if link := s.Mail.Wait(t, "eve@example.com", "/t/", 1).Link(t, "/t/"); !strings.HasPrefix(link, "http://files.acme.test:") {
		t.Errorf("the mail's link is %s", link)
	}
}

// TestGroupOfLongMailboxes: a group may have a thousand mailboxes with schemas of 128 kB each. The answer shows all of
// them in order and is streamed, so that a slow reader does not hold them all in memory. It is not parallel, because
// it measures the memory of the process.
func TestGroupOfLongMailboxes(t *testing.T) { //nolint:paralleltest // measures memory
	s, acme, ann, bob, _ := newOffice(t)
	const members = 100
	padding := strings.Repeat("x", 60<<10)
	uids := []string{uidOf(bob)}
	for i := range members {
		address := fmt.Sprintf("p%d@example.com", i)
		p, err := s.App.Identity.CreatePerson(t.Context(), testkit.Command,
			service.NewAccount{Address: address, Password: testkit.Password, Name: "P"}, true)
		if err == nil {
			err = s.App.Identity.SetMember(t.Context(), testkit.Command, acme.uid, address, []string{use})
		}
		if err == nil {
			_, _, err = s.App.Transfer.SetMailbox(t.Context(), testkit.Command, transfer.Mailbox{
				Person:       p.UID,
				FieldsSchema: []byte(`{"type":"object","title":"` + padding + `","properties":{},"required":[]}`),
				UISchema:     []byte(`{"ui:order":["a"],"a":{"ui:widget":"text","ui:title":"` + padding + `","ui:options":{}}}`),
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		uids = append(uids, p.UID.String())
	}
	groups := s.Transfer + "/mailboxgroups"
	if err := s.App.Identity.SetLimits(t.Context(), testkit.Command, acme.uid,
		identity.LimitsChange{MailboxGroups: identity.To(2)}); err != nil {
		t.Fatal(err)
	}
	made := ann.Post(groups, object{"name": "All", "mailboxUids": uids}).Want(http.StatusCreated)
	ann.Post(groups, object{"name": "None", "mailboxUids": []string{}}).Want(http.StatusCreated)
	public := s.Transfer + "/public/mailboxgroup/" + made.String("uid")
	list := ann.Get(groups).Want(http.StatusOK)
	if list.String("mailboxgroups.0.mailboxUids.7") != uids[7] || len(list.Value("mailboxgroups.1.mailboxes").([]any)) != 0 ||
		len(list.Value("mailboxgroups").([]any)) != 2 {
		t.Errorf("%.300s", list.Body)
	}
	for _, shown := range []any{made.Value("mailboxes"), s.Stranger().Get(public).Value("mailboxes"),
		list.Value("mailboxgroups.0.mailboxes")} {
		mailboxes, _ := shown.([]any)
		if len(mailboxes) != len(uids) {
			t.Fatalf("%d mailboxes, want %d", len(mailboxes), len(uids))
		}
		for i, m := range mailboxes {
			if m.(map[string]any)["uid"] != uids[i] {
				t.Fatalf("mailbox %d is not the one that was given", i)
			}
		}
	}
	made, list = nil, nil
	if held := heldFor(t, s, s.Stranger(), public); held > 4<<20 {
		t.Errorf("the answer to a slow reader holds %d MB", held>>20)
	}
	if held := heldFor(t, s, ann, groups); held > 4<<20 {
		t.Errorf("the list for a slow reader holds %d MB", held>>20)
	}
}

// TestLinksFollowBeforeTheJob: when an organization gets its own host, the links of its mailboxes and groups answer there within
// a second, on every replica, even while the job that moves them cannot run.
func TestLinksFollowBeforeTheJob(t *testing.T) {
	t.Parallel()
	here, acme, ann, bob, _ := newOffice(t)
	there := testkit.New(t, testkit.Beside(here))
	ann.Post(here.Transfer+"/mailboxgroups", object{"name": "Office", "vanityLink": "office", "mailboxUids": []string{uidOf(bob)}}).Want(
		http.StatusCreated)
	links := []string{here.Transfer + "/public/mailbox/bob", here.Transfer + "/public/mailboxgroup/office"}
	all := func(host string, status int) bool {
		for _, s := range []*testkit.Server{here, there} {
			for _, link := range links {
				if s.Stranger().With("Host", host).Get(link).Status != status {
					return false
				}
			}
		}
		return true
	}
	if !all("localhost", http.StatusOK) {
		t.Fatal("the links do not answer before the move")
	}
	tx, err := here.App.DB.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `SELECT FROM transfer.vanity_links FOR UPDATE`); err != nil { // the job waits
		t.Fatal(err)
	}
	if err := here.App.Identity.SetHostname(t.Context(), testkit.Command, acme.uid, "files.acme.test"); err != nil {
		t.Fatal(err)
	}
	changed := time.Now()
	poll.Until(t, "the links answer at the new host only", func() bool {
		return all("files.acme.test", http.StatusOK) && all("localhost", http.StatusNotFound)
	})
	if took := time.Since(changed); took > 2*time.Second { // 1 s, and slack for a busy machine
		t.Errorf("the links followed after %v", took)
	}
	made := there.Stranger().With("Host", "files.acme.test").Post(links[0],
		object{"anonSender": "Sam", "anonEmail": "sam@example.com"}).Want(http.StatusCreated)
	if location := made.Header.Get("Location"); !strings.HasPrefix(location, "http://files.acme.test:") {
		t.Errorf("Location: %s", location)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the job has moved the links", func() bool {
		var n int
		err := here.App.DB.Pool.QueryRow(t.Context(),
			`SELECT count(*) FROM transfer.vanity_links WHERE host_organization::text = $1 AND link IN ('bob', 'office')`, acme.uid).Scan(&n)
		return err == nil && n == 2
	})
	if !all("files.acme.test", http.StatusOK) {
		t.Error("the moved links do not answer")
	}
}
