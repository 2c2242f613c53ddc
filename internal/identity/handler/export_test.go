package handler_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// unzip returns the files of an archive by name.
func unzip(t testing.TB, raw []byte) map[string][]byte {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	must(t, err)
	files := map[string][]byte{}
	for _, f := range archive.File {
		r, err := f.Open()
		must(t, err)
		content, err := io.ReadAll(r)
		must(t, err)
		files[f.Name] = content
	}
	return files
}

// send has a person send a file, and returns the transfer's uid.
func send(t testing.TB, s *testkit.Server, p *testkit.Person, to, subject string) string {
	t.Helper()
	at := s.Transfer + "/reservations"
	opened := p.Post(at, map[string]any{"recipients": []map[string]any{{"email": to, "destinationType": "to"}}, "subject": subject}).Want(
		http.StatusCreated)
	at += "/" + opened.String("uid")
	p.Post(at+"/objects", map[string]any{"clientId": "a", "name": "a.txt", "intendedSize": 3}).Want(http.StatusCreated)
	p.With("Content-Type", "application/octet-stream").Put(at+"/objects/a/content", "abc").Want(http.StatusOK)
	return p.Post(at+"/confirm", nil).Want(http.StatusOK).String("uid")
}

// TestExportProfile: a person downloads all stored data about itself and gets a mail. A leaked token cannot do so.
func TestExportProfile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, path := w.s, w.s.Identity+"/profile/export"
	ann := w.ann
	ann.Put(s.Identity+"/profile", map[string]any{"name": "Ann"}).Want(http.StatusOK)
	ann.With("Content-Type", "image/jpeg").Put(s.Identity+"/profile/avatar", jpegOf(t, 300, 300)).Want(http.StatusOK)
	mailbox := ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann-files", "maxFiles": 7}).Want(http.StatusCreated)
	ann.Post(s.Transfer+"/mailboxgroups", map[string]any{"name": "Office", "mailboxUids": []string{mailbox.String("uid")}}).Want(
		http.StatusCreated)
	sent := send(t, s, ann, "bob@example.com", "Plans")
	received := send(t, s, w.bob, "ann@example.com", "Answer")
	withTwoFactors(t, s, ann)
	program := ann.As(ann.ID).Post(s.Identity+"/tokens",
		map[string]any{"name": "nightly", "scopes": []string{"transfers:read"}}).Want(http.StatusCreated)
	hook := ann.Post(s.Identity+"/webhooks", map[string]any{"url": "https://hooks.example.com/a",
		"events": []string{"TRANSFER_RECEIVED"}}).Want(http.StatusCreated)

	resp := ann.Get(path).Want(http.StatusOK)
	if got := resp.Header.Get("Content-Type"); got != "application/zip" {
		t.Errorf("the type is %s", got)
	}
	files := unzip(t, resp.Body)
	if !bytes.HasPrefix(files["avatar.jpg"], []byte{0xff, 0xd8}) || len(files) != 2 {
		t.Errorf("the avatar is missing in %d files", len(files))
	}
	var out struct {
		Name           string
		Emails         []struct{ Address string }
		Membership     struct{ Name string }
		Authenticators []struct{ Type, RegisteredAt string }
		Sessions       []struct{ UserAgent, IP string }
		KnownClients   []struct{ LastLoginAt time.Time }
		Mailbox        struct {
			VanityLink string
			MaxFiles   int
		}
		APITokens []struct {
			Name   string
			Scopes []string
		}
		Webhooks  []struct{ URL string }
		Groups    []struct{ Name string }
		Transfers []struct {
			UID, Subject, SenderEmail string
			Sent                      bool
			Recipients                []string
			Objects                   []struct{ Name, SHA256 string }
		}
		Audit []struct{ Action, From string }
	}
	must(t, json.Unmarshal(files["export.json"], &out))
	if out.Name != "Ann" || out.Emails[0].Address != "ann@example.com" || out.Membership.Name != "Acme" || len(out.Authenticators) != 2 ||
		len(out.Sessions) == 0 ||
		out.Mailbox.VanityLink != "ann-files" || out.Mailbox.MaxFiles != 7 || len(out.Groups) != 1 || out.Groups[0].Name != "Office" ||
		len(out.KnownClients) == 0 {
		t.Errorf("exported %s", files["export.json"])
	}
	if len(out.APITokens) != 1 || out.APITokens[0].Name != "nightly" || len(out.APITokens[0].Scopes) != 1 ||
		len(out.Webhooks) != 1 || out.Webhooks[0].URL != "https://hooks.example.com/a" {
		t.Errorf("the API tokens and webhooks are %+v, %+v", out.APITokens, out.Webhooks)
	}
	if len(out.Transfers) != 2 || out.Transfers[0].UID != received || out.Transfers[0].Sent ||
		out.Transfers[0].SenderEmail != "bob@example.com" ||
		out.Transfers[1].UID != sent || !out.Transfers[1].Sent || out.Transfers[1].Recipients[0] != "bob@example.com" ||
		out.Transfers[1].Objects[0].Name != "a.txt" {
		t.Errorf("the transfers are %+v", out.Transfers)
	}
	actions := map[string]bool{}
	for _, a := range out.Audit {
		actions[a.Action] = true
	}
	if !actions["person.export"] || !actions["session.login"] || !actions["mailbox.put"] {
		t.Errorf("the audit is %v", actions)
	}
	for _, secret := range []string{"$2a$", ann.ID, ann.Access, "/t/", program.String("token"), hook.String("secret")} {
		if bytes.Contains(files["export.json"], []byte(secret)) {
			t.Errorf("%s is exported", secret)
		}
	}
	if m := s.Mail.Wait(t, "ann@example.com", "A copy of your data was downloaded", 1); !strings.Contains(m.Text, "/undo/") {
		t.Errorf("the mail is %s", m.Text)
	}
	ann.Head(path).Want(http.StatusMethodNotAllowed)
	s.Stranger().Get(path).Want(http.StatusUnauthorized)
}

// TestExportNeedsProof: a leaked token exports nothing, and its tries do not use up the owner's exports.
func TestExportNeedsProof(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, path := s.SignUp("ann@example.com"), s.Identity+"/profile/export"
	s.Clock.Advance(16 * time.Minute)
	ann.Refresh()
	for range 4 {
		ann.Get(path).WantError(identity.ErrSessionNotYoung)
		ann.Post(path, nil).WantError(identity.ErrSessionNotYoung)
	}
	ann.Post(path, map[string]any{"authKey": "wrong horse battery"}).WantError(identity.ErrKeyChange)
	for range 3 {
		ann.Post(path, map[string]any{"authKey": testkit.Password}).Want(http.StatusOK)
	}
	ann.Post(path, map[string]any{"authKey": testkit.Password}).WantError(fault.ErrOverloaded)
	s.Clock.Advance(10 * time.Minute)
	ann.Refresh()
	ann.Post(path, map[string]any{"authKey": testkit.Password}).Want(http.StatusOK)
	s.SignUpUnconfirmed("bob@example.com").Get(path).Want(http.StatusForbidden)
}

// TestExportStreams: a long export reaches the client before it is complete, is the only one of its person, and ends with its
// session.
func TestExportStreams(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, path := s.SignUp("ann@example.com"), s.Identity+"/profile/export"
	for range 10 { // a statement may last 10 s
		_, err := s.App.DB.Pool.Exec(t.Context(), `INSERT INTO audit (at, kind, actor, action, object, target, user_agent, details)
			SELECT now(), 'person', $1, 'mailbox.update', gen_random_uuid()::text, $1, '', jsonb_build_object('x', gen_random_uuid(), 'y',
				gen_random_uuid(), 'z', gen_random_uuid())
			FROM generate_series(1, 10000)`, uid(t, ann.ID))
		must(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	slow, err := ann.Open(ctx, "GET", path, nil)
	must(t, err)
	defer slow.Body.Close()
	if slow.StatusCode != http.StatusOK {
		t.Fatalf("the export answered %d", slow.StatusCode)
	}
	ann.Get(path).WantError(fault.ErrOverloaded)
	s.Stranger().As(ann.ID).Post(s.Identity+"/auth/logout", nil).Want(http.StatusNoContent)
	poll.Until(t, "the end of access", func() bool { return ann.Get(s.Identity+"/profile").Status == http.StatusUnauthorized })
	if raw, err := io.ReadAll(slow.Body); err == nil {
		t.Errorf("the export of an ended session was complete: %d bytes", len(raw))
	}
	_, err = s.App.DB.Pool.Exec(t.Context(), `DELETE FROM audit`)
	must(t, err)
	again := ann.Login()
	poll.Until(t, "the next export", func() bool { return again.Get(path).Status == http.StatusOK })
}
