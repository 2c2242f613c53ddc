// Tests of uploads from a page of another site.

package handler_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

const shop = "https://shop.example"

// allows reports whether the answer to a request lets a page of shop read it.
func allows(t *testing.T, r *testkit.Response) bool {
	t.Helper()
	if r.Header.Get("Access-Control-Allow-Credentials") != "" || !strings.Contains(strings.Join(r.Header.Values("Vary"), ","), "Origin") {
		t.Errorf("headers %v", r.Header)
	}
	got := r.Header.Get("Access-Control-Allow-Origin")
	if got != "" && got != shop {
		t.Errorf("allowed is %q", got)
	}
	return got == shop
}

// TestUploadFromAnotherSite: a stranger uploads with tus from a page of another site that Acme lists, at Acme's hosts and nowhere
// else. The next replica knows the list at once, and its end.
func TestUploadFromAnotherSite(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	other := testkit.New(t, testkit.Beside(s))
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	acme, bolt := createOrganization(ann, "Acme"), createOrganization(bob, "Bolt")
	for uid, name := range map[string]string{acme.uid: "files.acme.test", bolt.uid: "files.bolt.test"} {
		if err := s.App.Identity.SetHostname(t.Context(), testkit.Command, uid, name); err != nil {
			t.Fatal(err)
		}
	}
	ann.With("Host", "files.acme.test").Put(s.Transfer+"/mailbox", object{"vanityLink": "acme"}).Want(http.StatusCreated)
	settings := s.Identity + "/organizations/" + acme.uid + "/uploadorigins"
	visitor := func(server *testkit.Server, host string) *testkit.Person {
		return server.Stranger().With("Host", host).With("Origin", shop).With("Sec-Fetch-Site", "cross-site")
	}
	mailbox := s.Transfer + "/public/mailbox/acme"
	preflight := func(server *testkit.Server, host, path, method string) *testkit.Response {
		return visitor(server, host).With("Access-Control-Request-Method", method).With("Access-Control-Request-Headers",
			"authorization,tus-resumable").Do("OPTIONS", path, nil)
	}
	if allows(t, visitor(s, "files.acme.test").Get(mailbox)) || allows(t, preflight(s, "files.acme.test", mailbox, "POST")) {
		t.Error("before")
	}
	ann.Put(settings, object{"origins": []string{shop}}).Want(http.StatusOK)
	poll.Until(t, "the other replica knows", func() bool { return allows(t, visitor(other, "files.acme.test").Get(mailbox)) })

	sam := visitor(other, "files.acme.test")
	opened := preflight(other, "files.acme.test", mailbox, "POST").Want(http.StatusNoContent)
	if !allows(t, opened) || opened.Header.Get("Access-Control-Max-Age") == "" ||
		!strings.Contains(opened.Header.Get("Access-Control-Allow-Headers"), "Tus-Resumable") {
		t.Errorf("%v", opened.Header)
	}
	made := sam.Post(mailbox, object{"anonSender": "Sam", "anonEmail": "sam@example.com"}).Want(http.StatusCreated)
	if !allows(t, made) || !strings.Contains(made.Header.Get("Access-Control-Expose-Headers"), "Authorization") {
		t.Errorf("%v", made.Header)
	}
	path := s.Transfer + "/reservations/" + made.String("uid")
	d := draft{Person: sam.As(strings.TrimPrefix(made.Header.Get("Authorization"), "Bearer ")), path: path}.tus()
	data := random(100_000)
	begun := d.with("Upload-Length", "100000").with("Upload-Metadata", "filename "+inBase64("list.csv")).Post(path+"/tus",
		nil).Want(http.StatusCreated)
	upload := begun.Header.Get("Location")
	upload = upload[strings.Index(upload, s.Transfer):]
	if !allows(t, preflight(other, "files.acme.test", upload, "PATCH")) || !allows(t, begun) ||
		!strings.Contains(begun.Header.Get("Access-Control-Expose-Headers"), "Location") {
		t.Errorf("%v", begun.Header)
	}
	if sent := d.bytesAt(upload, 0, data).Want(http.StatusNoContent); !allows(t, sent) ||
		!strings.Contains(sent.Header.Get("Access-Control-Expose-Headers"), "Upload-Offset") {
		t.Errorf("%v", sent.Header)
	}
	if !allows(t, d.Post(path+"/confirm", nil).Want(http.StatusOK)) {
		t.Error("the confirm cannot be read")
	}

	for what, r := range map[string]*testkit.Response{
		"another organization's host": visitor(s, "files.bolt.test").Get(mailbox),
		"the free host":               visitor(s, "localhost").Get(mailbox),
		"a host of nobody":            visitor(s, "unknown.test").Get(mailbox),
		"its preflight":               preflight(s, "files.bolt.test", mailbox, "POST"),
		"sign-in": visitor(s, "files.acme.test").Post(s.Identity+"/auth/login",
			object{"email": ann.Email, "type": "bcrypt", "key": testkit.Password}),
		"the inbox":          preflight(s, "files.acme.test", s.Transfer+"/mailbox/transfers", "GET"),
		"a path beside":      preflight(s, "files.acme.test", s.Transfer+"/reservations", "POST"),
		"a path that climbs": preflight(s, "files.acme.test", s.Transfer+"/reservations%2f..%2fmailbox", "GET"),
		"another port":       sam.With("Origin", shop+":8443").Get(mailbox),
		"a sibling":          sam.With("Origin", "https://evil.shop.example").Get(mailbox),
		"http":               sam.With("Origin", "http://shop.example").Get(mailbox),
	} {
		if allows(t, r) {
			t.Errorf("%s is open to the shop", what)
		}
	}
	ann.Put(settings, object{"origins": []string{}}).Want(http.StatusOK)
	removed := time.Now()
	poll.Until(t, "the end", func() bool { return !allows(t, visitor(other, "files.acme.test").Get(mailbox)) })
	if took := time.Since(removed); took > time.Second {
		t.Errorf("the other replica needed %s", took)
	}
}
