package client_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/client"
	"github.com/consign-dev/consign/client/transferapi"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/operator"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/cutter"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/securitykey"
)

// behindCutter starts a server whose network can be cut, with Ann, who has the mailbox ann.
func behindCutter(t *testing.T) (*testkit.Server, *cutter.Cutter, *testkit.Person) {
	t.Helper()
	network := cutter.New(t)
	s := testkit.New(t, testkit.PublicURL(network.URL))
	network.To(strings.TrimPrefix(s.URL, "http://"))
	ann := s.SignUp("ann@example.com")
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "dr-ann"}).Want(http.StatusCreated)
	return s, network, ann
}

func connect(t *testing.T, url string, o ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(t.Context(), url, append([]client.Option{client.WithPatience(time.Minute)}, o...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// random returns n bytes that no compression shortens, the same for a seed.
func random(n int, seed byte) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data)
	return data
}

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

func file(name string, data []byte) client.File {
	return client.File{Name: name, Size: int64(len(data)), Open: func() (client.Content, error) { return memory{bytes.NewReader(data)}, nil }}
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

var toAnn = client.Delivery{Mailbox: "dr-ann", SenderName: "Sam", SenderEmail: "sam@example.com", Subject: "X-ray"}

// forgetful loses the answer to the first POST.
type forgetful struct{ lost atomic.Bool }

func (f *forgetful) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost && f.lost.CompareAndSwap(false, true) {
		resp.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return resp, err
}

// TestReserveOnce: a reservation whose answer is lost is not made a second time.
func TestReserveOnce(t *testing.T) {
	t.Parallel()
	s, _, _ := behindCutter(t)
	c := connect(t, s.Config.PublicURL.String(), client.WithHTTPClient(&http.Client{Transport: &forgetful{}}))
	u, err := c.Reserve(t.Context(), toAnn)
	if err != nil {
		t.Fatal(err)
	}
	var uids []string
	if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT array_agg(uid::text) FROM transfer.reservations`).Scan(&uids); err != nil {
		t.Fatal(err)
	}
	if len(uids) != 1 || uids[0] != u.UID {
		t.Errorf("%s was reserved, the server has %v", u.UID, uids)
	}
}

// reserve reserves a transfer to Ann and attaches files.
func reserve(t *testing.T, c *client.Client, files ...client.File) *client.Upload {
	t.Helper()
	u, err := c.Reserve(t.Context(), toAnn)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Attach(t.Context(), files...); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestSendAndReceive: Sam, who has no account, sends three files, and Ann receives exactly these.
func TestSendAndReceive(t *testing.T) {
	t.Parallel()
	s, _, _ := behindCutter(t)
	contents := map[string][]byte{"a.bin": random(3_000_000, 1), "folder/b.bin": random(200_000, 2), "empty": nil}
	u := reserve(t, connect(t, s.Config.PublicURL.String()), file("a.bin", contents["a.bin"]), file("folder/b.bin", contents["folder/b.bin"]),
		file("empty", nil))
	var sent atomic.Int64
	err := u.Upload(t.Context(), client.UploadOptions{Part: 1 << 20, Progress: func(_ int, held int64) { sent.Store(max(sent.Load(), held)) }})
	if err != nil {
		t.Fatal(err)
	}
	if u.Objects[0].SHA256 != sum(contents["a.bin"]) || sent.Load() != 3_000_000 {
		t.Errorf("a.bin was sent as %s, %d bytes were reported", u.Objects[0].SHA256, sent.Load())
	}
	transfer, err := u.Confirm(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := u.Confirm(t.Context())
	if err != nil || again.UID != transfer.UID {
		t.Errorf("a second confirm: %v, %v", again, err)
	}

	var stored client.Session
	ann := connect(t, s.Config.PublicURL.String(), client.WithOnSession(func(s client.Session) error { stored = s; return nil }))
	if err := ann.Login(t.Context(), "ann@example.com", "wrong wrong wrong", nil); !client.HasCode(err, 401002) {
		t.Errorf("a wrong password: %v", err)
	}
	if err := ann.Login(t.Context(), "ann@example.com", testkit.Password, nil); err != nil {
		t.Fatal(err)
	}
	ann = connect(t, s.Config.PublicURL.String(), client.WithSession(stored))
	list, err := ann.Transfer.ListTransfers(t.Context(), &transferapi.ListTransfersParams{})
	if err != nil || len(list.Transfers) != 1 || list.Transfers[0].UID != transfer.UID {
		t.Fatalf("the inbox: %v, %v", list, err)
	}
	objects, err := ann.Objects(t.Context(), transfer.UID.String())
	if err != nil || len(objects) != len(contents) {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	for _, o := range objects {
		target := scratch(t)
		if err := ann.Download(t.Context(), o, target, client.DownloadOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := read(t, target); !bytes.Equal(got, contents[o.Name]) {
			t.Errorf("%s differs", o.Name)
		}
	}
	if err := ann.Logout(t.Context()); err != nil {
		t.Error(err)
	}
	gone := connect(t, s.Config.PublicURL.String(), client.WithSession(stored))
	if _, err := gone.Objects(t.Context(), transfer.UID.String()); !errors.Is(err, client.ErrSessionEnded) {
		t.Errorf("after the logout: %v", err)
	}
}

func scratch(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "target"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func read(t *testing.T, f *os.File) []byte {
	t.Helper()
	got, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestUploadAndDownloadSurviveCuts: the network cuts twenty connections of the upload and five of the download.
func TestUploadAndDownloadSurviveCuts(t *testing.T) {
	t.Parallel()
	s, network, annPerson := behindCutter(t)
	data := random(8_000_000, 3)
	u := reserve(t, connect(t, network.URL), file("a", data))
	network.Cut(20, 300_000)
	if err := u.Upload(t.Context(), client.UploadOptions{Part: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	if network.Cuts() != 20 {
		t.Errorf("%d cuts", network.Cuts())
	}
	transfer, err := u.Confirm(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ann := connect(t, network.URL, client.WithSession(client.Session{IDToken: annPerson.ID}))
	objects, err := ann.Objects(t.Context(), transfer.UID.String())
	if err != nil || objects[0].SHA256 != sum(data) {
		t.Fatalf("%v, %v", objects, err)
	}
	network.Cut(5, 1_000_000)
	target := scratch(t)
	if _, err := target.Write(data[:100_000]); err != nil {
		t.Fatal(err)
	}
	if err := ann.Download(t.Context(), objects[0], target, client.DownloadOptions{}); err != nil {
		t.Fatal(err)
	}
	if network.Cuts() != 25 || !bytes.Equal(read(t, target), data) {
		t.Errorf("%d cuts, or the file differs", network.Cuts())
	}
	other := scratch(t)
	if _, err := other.WriteString("of another file"); err != nil {
		t.Fatal(err)
	}
	if err := ann.Download(t.Context(), objects[0], other, client.DownloadOptions{}); err != nil || !bytes.Equal(read(t, other), data) {
		t.Errorf("over a target that does not fit: %v", err)
	}
	_ = s
}

// TestUploadContinuesInAnotherProgram: what Upload's JSON holds is enough to continue, and a file that changed is refused.
func TestUploadContinuesInAnotherProgram(t *testing.T) {
	t.Parallel()
	s, _, _ := behindCutter(t)
	url, data := s.Config.PublicURL.String(), random(4_000_000, 4)
	u := reserve(t, connect(t, url), file("a", data))
	ctx, kill := context.WithCancel(t.Context())
	err := u.Upload(ctx, client.UploadOptions{Part: 1 << 20, Progress: func(_ int, held int64) {
		if held > 2_500_000 {
			kill()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("killed: %v", err)
	}
	stored, err := json.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	var second client.Upload
	if err := json.Unmarshal(stored, &second); err != nil {
		t.Fatal(err)
	}
	c := connect(t, url)
	if err := c.Continue(&second, file("a", data[1:])); !errors.Is(err, client.ErrChanged) {
		t.Errorf("a shorter file: %v", err)
	}
	changed := bytes.Clone(data)
	changed[0]++
	if err := c.Continue(&second, file("a", changed)); err != nil {
		t.Fatal(err)
	}
	if err := second.Upload(t.Context(), client.UploadOptions{}); !errors.Is(err, client.ErrChanged) {
		t.Errorf("another content: %v", err)
	}
	if err := c.Continue(&second, file("a", data)); err != nil {
		t.Fatal(err)
	}
	least := int64(len(data))
	err = second.Upload(t.Context(), client.UploadOptions{Parallel: 1, Progress: func(_ int, held int64) { least = min(least, held) }})
	if err != nil || least < 2<<20 {
		t.Errorf("it continued at %d: %v", least, err)
	}
	if _, err := second.Confirm(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLoginWithSecondFactor: the person is asked for a code.
func TestLoginWithSecondFactor(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	made := ann.Post(s.Identity+"/profile/authenticators", map[string]any{"type": "totp"}).Want(http.StatusCreated)
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(made.String("key"))
	if err != nil {
		t.Fatal(err)
	}
	code := func() string { return credential.TOTPCode(secret, s.Clock.Now().Unix()/30) }
	ann.Post(s.Identity+"/profile/authenticators/"+made.String("uid")+"/verify",
		map[string]any{"email": "ann@example.com", "type": "totp", "key": code()}).Want(http.StatusNoContent)
	s.Clock.Advance(time.Minute)
	c := connect(t, s.URL)
	if err := c.Login(t.Context(), "ann@example.com", testkit.Password, nil); err == nil {
		t.Error("no factor was asked for")
	}
	err = c.Login(t.Context(), "ann@example.com", testkit.Password, func(_ context.Context, kinds []string) (string, string, error) {
		return kinds[0], code(), nil
	})
	if err != nil || !c.SignedIn() {
		t.Fatal(err)
	}
	if _, err := c.Identity.GetProfile(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLoginWithPasskeyOnly: a program cannot use a passkey, and says so.
func TestLoginWithPasskeyOnly(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	made := ann.Post(s.Identity+"/profile/authenticators", map[string]any{"type": "webauthn"}).Want(http.StatusCreated)
	key := securitykey.Key{Origin: s.URL, Verifies: true}
	ann.Post(s.Identity+"/profile/authenticators/"+made.String("uid")+"/verify", map[string]any{
		"email": "ann@example.com", "type": "webauthn", "key": key.Create(t, made.Value("options")),
	}).Want(http.StatusNoContent)
	err := connect(t, s.URL).Login(t.Context(), "ann@example.com", testkit.Password, func(context.Context, []string) (string, string, error) {
		return "", "", errors.New("a code was asked for")
	})
	if err == nil || !strings.Contains(err.Error(), "only a browser") {
		t.Errorf("the login says %v", err)
	}
}

// TestMaintenanceIsWaitedFor: requests wait while the server is in maintenance mode.
func TestMaintenanceIsWaitedFor(t *testing.T) {
	t.Parallel()
	s, _, _ := behindCutter(t)
	c := connect(t, s.Config.PublicURL.String(), client.WithPatience(6*time.Second))
	u := reserve(t, c, file("a", random(100_000, 5)))
	if err := s.App.SetMaintenance(t.Context(), operator.Maintenance{On: true}); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "maintenance", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := c.Transfer.GetPublicMailbox(ctx, "dr-ann")
		return client.HasStatus(err, http.StatusServiceUnavailable)
	})
	done := make(chan error)
	go func() { done <- u.Upload(t.Context(), client.UploadOptions{}) }()
	select {
	case err := <-done:
		t.Errorf("the upload ended in maintenance mode: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	if err := s.App.SetMaintenance(t.Context(), operator.Maintenance{}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestLinkWithPassword: Ann sends by a link under a password.
func TestLinkWithPassword(t *testing.T) {
	t.Parallel()
	s, _, ann := behindCutter(t)
	url, data := s.Config.PublicURL.String(), random(50_000, 6)
	sender := connect(t, url, client.WithSession(client.Session{IDToken: ann.ID}))
	u, err := sender.Reserve(t.Context(), client.Delivery{Subject: "Plans", Password: "vermilion-42"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(u.Attach(t.Context(), file("plan", data)), u.Upload(t.Context(), client.UploadOptions{})); err != nil {
		t.Fatal(err)
	}
	transfer, err := u.Confirm(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	key := (*transfer.Link)[strings.LastIndex(*transfer.Link, "/")+1:]
	stranger := connect(t, url)
	if _, err := stranger.OpenLink(t.Context(), key, "wrong"); !client.HasCode(err, 401010) {
		t.Errorf("a wrong password: %v", err)
	}
	link, err := stranger.OpenLink(t.Context(), key, "vermilion-42")
	if err != nil {
		t.Fatal(err)
	}
	target := scratch(t)
	if err := stranger.Download(t.Context(), link.Objects[0], target, client.DownloadOptions{}); err != nil ||
		!bytes.Equal(read(t, target), data) {
		t.Error("the file differs", err)
	}
}

// TestNotAServer: an address without Consign is an error at once.
func TestNotAServer(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "files.example.com", "ftp://files.example.com", "https://"} {
		if _, err := client.New(t.Context(), address); err == nil {
			t.Errorf("%q is accepted", address)
		}
	}
	_, err := client.New(t.Context(), "http://127.0.0.1:1", client.WithPatience(time.Millisecond))
	if err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a closed port: %v", err)
	}
}
