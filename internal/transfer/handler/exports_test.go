package handler_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/webdav"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

// cloud is a WebDAV server of a person, on a directory.
type cloud struct {
	*httptest.Server
	dir    string
	failed atomic.Int64 // PUTs to fail
	puts   atomic.Int64
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{dir: t.TempDir()}
	dav := &webdav.Handler{FileSystem: webdav.Dir(c.dir), LockSystem: webdav.NewMemLS()}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ann" || password != "s3cret-of-ann" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Method == http.MethodPut {
			if c.puts.Add(1); c.failed.Add(-1) >= 0 {
				w.WriteHeader(http.StatusInsufficientStorage)
				return
			}
		}
		dav.ServeHTTP(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *cloud) target() object {
	return object{"url": "webdav+" + c.URL, "events": []string{"TRANSFER_RECEIVED"}, "user": "ann", "password": "s3cret-of-ann"}
}

// folders returns the folders with a manifest whose files are all there, by the uid of the transfer.
func (c *cloud) folders(t *testing.T) map[string]map[string][]byte {
	t.Helper()
	out := map[string]map[string][]byte{}
	found, err := filepath.Glob(filepath.Join(c.dir, "*", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		var m struct {
			Transfer string
			Files    []struct {
				Path string
				Size int
			}
		}
		raw, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(raw, &m) != nil {
			continue // it is being written
		}
		out[m.Transfer] = map[string][]byte{}
		for _, f := range m.Files {
			content, err := os.ReadFile(filepath.Join(filepath.Dir(path), f.Path))
			if err != nil || len(content) != f.Size {
				t.Errorf("%s: %d bytes, %v", f.Path, len(content), err)
			}
			out[m.Transfer][f.Path] = content
		}
	}
	return out
}

func exporting(t *testing.T, options ...testkit.Option) (*testkit.Server, *testkit.Person) {
	t.Helper()
	return newMailbox(t, append(options, testkit.Env("CONSIGN_WEBHOOK_ALLOW", "127.0.0.0/8"))...)
}

// TestExportTarget: what arrives is copied, byte for byte, also after failures, and again when asked for.
func TestExportTarget(t *testing.T) {
	t.Parallel()
	s, ann := exporting(t)
	c := newCloud(t)
	made := ann.Post(s.Identity+"/webhooks", c.target()).Want(http.StatusCreated)
	path := s.Identity + "/webhooks/" + made.String("uid")
	if made.String("kind") != "webdav" || made.String("user") != "ann" || made.String("secret") != "" ||
		bytes.Contains(made.Body, []byte("s3cret")) {
		t.Errorf("the answer is %s", made.Body)
	}
	ann.Post(path+"/ping", nil).Want(http.StatusAccepted)
	poll.Until(t, "the test file", func() bool {
		_, err := os.Stat(filepath.Join(c.dir, "consign-test.txt"))
		return err == nil
	})

	c.failed.Store(1)
	data := random(300_000)
	d := reserve(s)
	d.send("a", data)
	d.send("b", nil)
	uid := d.confirm()
	poll.Until(t, "a failure", func() bool {
		return strings.Contains(string(ann.Get(path+"/deliveries?state=pending").Body), `"status":507`)
	})
	s.Clock.Advance(time.Minute)
	poll.Until(t, "the copy", func() bool { return len(c.folders(t)) == 1 })
	if got := c.folders(t)[uid]; !bytes.Equal(got["a.bin"], data) || len(got) != 2 {
		t.Errorf("copied %d files", len(got))
	}
	poll.Until(t, "the log", func() bool {
		return strings.Contains(string(ann.Get(path+"/deliveries").Body), `"state":"delivered"`) &&
			count(t, s, `SELECT count(*) FROM audit WHERE action = 'webhook.export' AND object = $1`, uid) == 1
	})

	if err := os.RemoveAll(filepath.Join(c.dir, onlyFolder(t, c), "a.bin")); err != nil {
		t.Fatal(err)
	}
	before := c.puts.Load()
	ann.Post(path+"/deliveries/"+ann.Get(path+"/deliveries?state=delivered").String("deliveries.0.uid")+"/send", nil).Want(http.StatusAccepted)
	// the file and the manifest
	poll.Until(t, "another copy", func() bool { return c.puts.Load() == before+2 && bytes.Equal(c.folders(t)[uid]["a.bin"], data) })
}

func onlyFolder(t *testing.T, c *cloud) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(c.dir, "20*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("folders %v, %v", found, err)
	}
	return filepath.Base(found[0])
}

// TestExportTargetRules: who may make and change a target, and that a password goes nowhere else.
func TestExportTargetRules(t *testing.T) {
	t.Parallel()
	s, ann := exporting(t)
	c := newCloud(t)
	all := s.Identity + "/webhooks"
	for _, wrong := range []object{
		{"url": "webdav+" + c.URL, "user": "ann"}, {"password": "x"}, {"url": "webdav+" + c.URL, "user": "", "password": "x"},
		{"url": "s3+" + c.URL, "user": "ann", "password": "x"}, {"url": "webdav+https://10.1.1.1/a", "user": "ann", "password": "x"},
		{"url": "https://hooks.example.com/", "user": "ann", "password": "x"}, {"url": "ftp+" + c.URL, "user": "ann", "password": "x"},
	} {
		body := object{"events": []string{"TRANSFER_RECEIVED"}}
		for name, value := range wrong {
			body[name] = value
		}
		ann.Post(all, body).WantError(fault.ErrInvalid)
	}
	more := c.target()
	more["events"] = []string{"TRANSFER_RECEIVED", "TRANSFER_REVOKED"}
	ann.Post(all, more).WantError(fault.ErrInvalid)

	program := s.Stranger().As(ann.As(ann.ID).Post(s.Identity+"/tokens",
		object{"name": "hooks", "scopes": []string{"webhooks"}}).Want(http.StatusCreated).String("token"))
	program.Post(all, c.target()).WantError(token.ErrNoScope)
	path := all + "/" + ann.Post(all, c.target()).Want(http.StatusCreated).String("uid")
	s.Mail.Wait(t, "ann@example.com", "An export target of your account was changed", 1)
	program.Get(path).Want(http.StatusOK)
	program.Put(path, c.target()).WantError(token.ErrNoScope)
	paused := object{"url": "webdav+" + c.URL, "events": []string{"TRANSFER_RECEIVED"}, "user": "ann", "active": false}
	if got := program.Put(path, paused).Want(http.StatusOK); got.Value("active") != false {
		t.Errorf("%s", got.Body)
	}
	for name, value := range map[string]string{"url": "webdav+https://elsewhere.example.com/", "user": "eve"} {
		other := c.target()
		delete(other, "password")
		other[name] = value
		ann.Put(path, other).WantError(fault.ErrInvalid)
	}
	ann.Put(path, object{"url": "https://hooks.example.com/", "events": []string{"TRANSFER_RECEIVED"}}).WantError(fault.ErrInvalid)
	ann.Post(path+"/rotate", nil).WantError(fault.ErrInvalid)
	s.Clock.Advance(16 * time.Minute) // the session is not young
	ann.Refresh()
	ann.Post(all, c.target()).WantError(identity.ErrSessionNotYoung)
	ann.Put(path, c.target()).WantError(identity.ErrSessionNotYoung)
	proved := c.target()
	proved["authKey"] = testkit.Password
	ann.Put(path, proved).Want(http.StatusOK)

	// The link in the mail about it pauses the target, as all that somebody else may have made ends.
	key := s.Mail.Wait(t, "ann@example.com", "An export target of your account was changed", 1).Key(t, "/undo/")
	s.Stranger().Post(s.Identity+"/auth/undo/"+key, nil).Want(http.StatusOK)
	if n := count(t, s, `SELECT count(*) FROM webhook.webhooks WHERE NOT active AND disabled_reason = 'SECURITY'`); n != 1 {
		t.Error("the target is active after the undo")
	}
	if strings.Contains(s.Log(), "s3cret-of-ann") {
		t.Error("the log has the password")
	}
}

// TestExportTargetLeavesOut: protected, limited and ended transfers are not copied, and the target of an organization gets what mailboxes
// receive only.
func TestExportTargetLeavesOut(t *testing.T) {
	t.Parallel()
	s, ann := exporting(t)
	bob := s.SignUp("bob@example.com")
	c := newCloud(t)
	target := s.Identity + "/webhooks/" + ann.Post(s.Identity+"/webhooks", c.target()).Want(http.StatusCreated).String("uid")
	reason := func(word string) func() bool {
		return func() bool {
			return strings.Contains(string(ann.Get(target+"/deliveries?state=dead").Body), `"reason":"`+word+`"`)
		}
	}
	toAnn := []object{to("ann@example.com")}
	deliver(bob, object{"recipients": toAnn, "protection": "password", "password": "an-umbrella-42"}, [2]string{"a", "secret"})
	poll.Until(t, "PROTECTED", reason("PROTECTED"))
	open := deliver(bob, object{"recipients": toAnn}, [2]string{"a", "plain"})
	poll.Until(t, "the copy", func() bool { return len(c.folders(t)) == 1 && string(c.folders(t)[open.uid]["a"]) == "plain" })

	c.failed.Store(1)
	gone := deliver(bob, object{"recipients": toAnn}, [2]string{"a", "gone"})
	poll.Until(t, "a failure", func() bool {
		return strings.Contains(string(ann.Get(target+"/deliveries?state=pending").Body), `"status":507`)
	})
	bob.Post(gone.path+"/revoke", nil)
	bob.Delete(gone.path)
	s.Clock.Advance(time.Minute)
	poll.Until(t, "ENDED", reason("ENDED"))
	ann.Delete(target).Want(http.StatusNoContent)

	company := createOrganization(ann, "Acme")
	office := newCloud(t)
	ann.Refresh()
	body := office.target()
	body["organization"] = company.uid
	made := ann.Post(s.Identity+"/webhooks", body).Want(http.StatusCreated)
	target = s.Identity + "/webhooks/" + made.String("uid")
	deliver(bob, object{"recipients": toAnn}, [2]string{"a", "personal"})
	d := reserve(s)
	d.send("a", []byte("intake"))
	uid := d.confirm()
	poll.Until(t, "the copy", func() bool { return len(office.folders(t)) == 1 && string(office.folders(t)[uid]["a.bin"]) == "intake" })
	poll.Until(t, "an empty queue", func() bool {
		return count(t, s, `SELECT count(*) FROM webhook.deliveries WHERE state <> 'delivered'`) == 0
	})
	if len(office.folders(t)) != 1 {
		t.Error("a personal transfer was copied")
	}
}

// TestExportTargetTakenOver: another replica goes on with a copy whose replica was killed, and copies what is missing only.
func TestExportTargetTakenOver(t *testing.T) {
	t.Parallel()
	s, ann := exporting(t)
	c := newCloud(t)
	path := s.Identity + "/webhooks/" + ann.Post(s.Identity+"/webhooks", c.target()).Want(http.StatusCreated).String("uid")
	d := reserve(s)
	d.send("a", random(1000))
	d.send("b", random(1000))
	c.failed.Store(1 << 30)
	uid := d.confirm()
	poll.Until(t, "a failure", func() bool {
		return strings.Contains(string(ann.Get(path+"/deliveries?state=pending").Body), `"status":507`)
	})
	c.failed.Store(0)
	// The state after a kill: claimed until the end of the lease, one file there.
	tx := hold(t, s, `UPDATE webhook.deliveries SET attempts = attempts + 1, next_attempt_at = $1, last_attempt_at = $1`,
		s.Clock.Now().Add(30*time.Second))
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := testkit.New(t, testkit.Beside(s), testkit.Env("CONSIGN_WEBHOOK_ALLOW", "127.0.0.0/8"))
	s.Clock.Advance(31 * time.Second)
	poll.Until(t, "the copy", func() bool { return len(c.folders(t)[uid]) == 2 })
	poll.Until(t, "the log", func() bool {
		return count(t, second, `SELECT count(*) FROM webhook.deliveries WHERE state = 'delivered'`) == 1
	})
	if n := c.puts.Load(); n > 1+3 { // the failed one, two files, the manifest
		t.Errorf("%d files were put", n)
	}
}
