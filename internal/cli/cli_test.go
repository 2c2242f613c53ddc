package cli_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/client"
	"github.com/consign-dev/consign/internal/cli"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/output"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// desk is a machine with a home directory on which somebody runs consign.
type desk struct {
	t       *testing.T
	home    string
	environ []string
	stdin   io.Reader
}

func newDesk(t *testing.T, environ ...string) *desk {
	home := t.TempDir()
	return &desk{t: t, home: home, environ: append([]string{"HOME=" + home}, environ...)}
}

// withToken is a desk with an API token of a person.
func withToken(t *testing.T, s *testkit.Server, p *testkit.Person, scopes ...string) *desk {
	t.Helper()
	token := p.As(p.ID).Post(s.Identity+"/tokens", map[string]any{"name": "test", "scopes": scopes}).Want(http.StatusCreated).String("token")
	return newDesk(t, "CONSIGN_SERVER="+s.Config.PublicURL.String(), "CONSIGN_TOKEN="+token)
}

// run runs a command line.
func (d *desk) run(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	var out, diagnostics output.Buffer
	p := &cli.Program{Name: "consign", Version: "test", Environ: d.environ, Stdin: d.stdin, Stdout: &out, Stderr: &diagnostics}
	err = p.Run(ctx, args)
	return out.String(), diagnostics.String(), err
}

// do is run for what must succeed.
func (d *desk) do(args ...string) string {
	d.t.Helper()
	out, diagnostics, err := d.run(d.t.Context(), args...)
	if err != nil {
		d.t.Fatalf("consign %s: %v\n%s%s", strings.Join(args, " "), err, out, diagnostics)
	}
	return out
}

// refused is run for what must fail with an exit code and say something.
func (d *desk) refused(code int, says string, args ...string) {
	d.t.Helper()
	out, _, err := d.run(d.t.Context(), args...)
	if got := cli.ExitCode(err); got != code || err == nil || !strings.Contains(err.Error(), says) {
		d.t.Errorf("consign %s: exit code %d, want %d: %v, want %q\n%s", strings.Join(args, " "), got, code, err, says, out)
	}
}

// write writes a file on the desk and returns its path.
func (d *desk) write(name string, data []byte) string {
	d.t.Helper()
	path := filepath.Join(d.home, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
		d.t.Fatal(err)
	}
	return path
}

// tree returns the files below a directory with their content, without the metadata and the date of directories.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "transfer.json" {
			return err
		}
		data, err := os.ReadFile(path)
		relative, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(relative)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func random(n int, seed byte) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data)
	return data
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// ann starts a server with Ann, who has the mailbox dr-ann.
func ann(t *testing.T) (*testkit.Server, *testkit.Person, string) {
	t.Helper()
	s := testkit.New(t)
	p := s.SignUp("ann@example.com")
	p.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "dr-ann"}).Want(http.StatusCreated)
	return s, p, s.Config.PublicURL.String()
}

var from = []string{"--from", "Sam <sam@example.com>"}

func send(url string, args ...string) []string {
	return append(append([]string{"send", "--to", url + "/m/dr-ann"}, from...), args...)
}

// TestSendAndReceive: Sam sends a directory and a stream to a mailbox, and Ann receives each file once, even after she has moved it.
func TestSendAndReceive(t *testing.T) {
	t.Parallel()
	s, person, url := ann(t)
	sam := newDesk(t)
	big := random(3_000_000, 1)
	sam.write("project/big.bin", big)
	sam.write("project/sub/empty", nil)
	out := sam.do(send(url, filepath.Join(sam.home, "project"), "--subject", "../../The/project", "--json")...)
	var result struct {
		Transfer string
		Files    []struct{ Name, SHA256 string }
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || len(result.Files) != 2 || result.Files[0].SHA256 != sum(big) {
		t.Fatalf("%v: %s", err, out)
	}
	sam.stdin = strings.NewReader("a stream")
	sam.do(send(url, "-", "--name", "stream.txt")...)
	if left, _ := filepath.Glob(filepath.Join(sam.home, ".local/state/consign/sends/*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	desk := withToken(t, s, person, "transfers:read")
	inbox := filepath.Join(desk.home, "in")
	desk.do("receive", inbox)
	got := tree(t, inbox)
	if len(got) != 3 {
		t.Fatalf("received %d files", len(got))
	}
	for name, content := range got {
		if strings.Contains(name, "..") && !strings.Contains(name, "..-..-The-project ") {
			t.Errorf("a directory %q", name)
		}
		if !strings.HasSuffix(name, "/project/big.bin") && !strings.HasSuffix(name, "/project/sub/empty") &&
			!strings.HasSuffix(name, "/stream.txt") {
			t.Errorf("received %s", name)
		}
		if strings.HasSuffix(name, "big.bin") && content != string(big) {
			t.Error("the big file differs")
		}
	}
	if err := os.RemoveAll(inbox); err != nil { // moved away
		t.Fatal(err)
	}
	if out := desk.do("receive", inbox); out != "" || len(tree(t, inbox)) != 0 {
		t.Errorf("received again: %s", out)
	}
	if list := desk.do("list", "--received"); strings.Count(list, "sam@example.com") != 2 {
		t.Errorf("the list: %s", list)
	}
	if shown := desk.do("show", result.Transfer); !strings.Contains(shown, sum(big)) || !strings.Contains(shown, "project/sub/empty") {
		t.Errorf("shown: %s", shown)
	}
	there := filepath.Join(desk.home, "there")
	desk.do("download", result.Transfer, "-d", there)
	if got := tree(t, there); len(got) != 2 || got["project/big.bin"] != string(big) {
		t.Errorf("downloaded %d files", len(got))
	}
	if out := desk.do("download", result.Transfer, "-d", there); strings.Count(out, "is there already") != 2 {
		t.Errorf("downloaded again: %s", out)
	}
	desk.write("there/project/big.bin", []byte("mine"))
	desk.refused(6, "another file has this name", "download", result.Transfer, "-d", there)
}

// TestInterruptedSend: a send is cut off, and the same command or resume continues it; a changed file is noticed.
func TestInterruptedSend(t *testing.T) {
	t.Parallel()
	s, person, url := ann(t)
	sam := newDesk(t)
	file := sam.write("a.bin", random(2_000_000, 2))
	slow := send(url, file, "--limit-rate", "200k")
	interrupt := func() {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, _, err := sam.run(ctx, slow...)
			done <- err
		}()
		poll.Until(t, "the state of the test", func() bool {
			return strings.Contains(sam.do("resume", "--list"), "2.0 MB") && openReservations(s, person) > 0
		})
		cancel()
		if err := <-done; cli.ExitCode(err) != 130 {
			t.Fatalf("interrupted: %v", err)
		}
	}
	interrupt()
	sam.write("a.bin", random(2_000_001, 2))
	sam.refused(6, "has changed since its upload began", slow...)
	sam.write("a.bin", random(2_000_000, 2))
	if out := sam.do("resume"); !strings.Contains(out, "delivered as transfer") {
		t.Errorf("resumed: %s", out)
	}
	interrupt()
	sam.write("a.bin", random(2_000_000, 3)) // of the same size
	if out, _, err := sam.run(t.Context(), send(url, file)...); err == nil && strings.Contains(out, "delivered") {
		desk := withToken(t, s, person, "transfers:read")
		desk.do("receive", filepath.Join(desk.home, "in"))
		for name, content := range tree(t, filepath.Join(desk.home, "in")) {
			if sum([]byte(content)) != sum(random(2_000_000, 2)) && sum([]byte(content)) != sum(random(2_000_000, 3)) {
				t.Errorf("%s is a mixture", name)
			}
		}
	} else if cli.ExitCode(err) != 6 {
		t.Errorf("a changed file: %v", err)
	}
	sam.do("resume", "--forget")
	if list := sam.do("resume", "--list"); strings.Contains(list, "MB") {
		t.Errorf("still listed: %s", list)
	}
}

func openReservations(s *testkit.Server, p *testkit.Person) int {
	list, _ := p.Get(s.Transfer + "/mailbox/reservations").Want(http.StatusOK).Value("reservations").([]any)
	return len(list)
}

// TestWatch: a watch receives what arrives while it waits.
func TestWatch(t *testing.T) {
	t.Parallel()
	s, person, url := ann(t)
	desk := withToken(t, s, person, "transfers:read")
	inbox := filepath.Join(desk.home, "in")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, _, err := desk.run(ctx, "receive", "--watch", "--poll", "1h", inbox)
		done <- err
	}()
	sam := newDesk(t)
	for i := range 3 {
		sam.do(send(url, sam.write(fmt.Sprint("file", i), []byte("content")))...)
		poll.Until(t, "the state of the test", func() bool {
			found, _ := filepath.Glob(filepath.Join(inbox, "*", fmt.Sprint("file", i)))
			return len(found) == 1
		})
	}
	desk.refused(1, "another process does this already", "receive", inbox)
	cancel()
	if err := <-done; cli.ExitCode(err) != 130 {
		t.Errorf("the watch ended with %v", err)
	}
}

// TestLogin: Ann approves the login of her command line in a browser, sends with it, makes a token and signs out.
func TestLogin(t *testing.T) {
	t.Parallel()
	s, person, url := ann(t)
	desk := newDesk(t)
	var stderr output.Buffer
	p := &cli.Program{Name: "consign", Version: "test", Environ: desk.environ, Stdin: strings.NewReader(""), Stdout: io.Discard,
		Stderr: &stderr}
	done := make(chan error, 1)
	go func() { done <- p.Run(t.Context(), []string{"login", url}) }()
	code := regexp.MustCompile(`[A-Z]{4}-[A-Z]{4}`)
	poll.Until(t, "the state of the test", func() bool { return code.MatchString(stderr.String()) })
	s.Clock.Advance(6 * time.Second)
	person.Post(s.Identity+"/device/"+code.FindString(stderr.String())+"/approve", nil).Want(http.StatusNoContent)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	stored := filepath.Join(desk.home, ".config/consign/credentials.json")
	if info, err := os.Stat(stored); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the credentials: %v, %v", info, err)
	}
	file := desk.write("a.txt", []byte("to everybody"))
	out := desk.do("send", file, "--link", "--password", "vermilion-42", "--json")
	var sent struct{ Transfer, Link string }
	if err := json.Unmarshal([]byte(out), &sent); err != nil || sent.Link == "" {
		t.Fatalf("%v: %s", err, out)
	}
	stranger := newDesk(t)
	stranger.refused(3, "--password", "download", sent.Link, "-d", stranger.home)
	stranger.do("download", sent.Link, "-d", filepath.Join(stranger.home, "got"), "--password", "vermilion-42")
	if got := tree(t, filepath.Join(stranger.home, "got")); got["a.txt"] != "to everybody" {
		t.Errorf("downloaded %v", got)
	}
	desk.do("send", file, "--to", "dr-ann") // as herself, to her own mailbox
	desk.do("extend", sent.Transfer, "14")
	desk.do("revoke", sent.Transfer)
	stranger.refused(4, "", "download", sent.Link, "-d", stranger.home)

	token := strings.TrimSpace(desk.do("token", "create", "nightly", "--scope", "transfers:read"))
	nightly := newDesk(t)
	nightly.stdin = strings.NewReader(token + "\n")
	nightly.do("login", url, "--token", "-")
	nightly.do("list")
	nightly.refused(3, "cannot manage API tokens", "token", "list")
	nightly.refused(1, "403904", "send", file, "--link")
	uid := strings.Fields(strings.Split(desk.do("token", "list"), "\n")[1])[0]
	desk.do("token", "revoke", uid)
	poll.Until(t, "the token is dead", func() bool { // within a second
		_, _, err := nightly.run(t.Context(), "list")
		return cli.ExitCode(err) == 3
	})
	desk.do("logout")
	desk.refused(3, "not signed in", "list")
}

// TestErrors: each failure has its exit code and says what to do.
func TestErrors(t *testing.T) {
	t.Parallel()
	_, _, url := ann(t)
	d := newDesk(t)
	file := d.write("a.txt", []byte("x"))
	d.refused(2, "a command is missing")
	d.refused(2, `there is no command "sned"`, "sned")
	d.refused(2, "unknown flag: --too", "send", file, "--too", "x")
	d.refused(2, "--to is missing", "send", file)
	d.refused(2, "is not the link of a mailbox", "send", file, "--to", url+"/t/abc")
	d.refused(2, "--from is missing", "send", file, "--to", url+"/m/dr-ann")
	d.refused(2, "needs --name", send(url, "-")...)
	d.refused(2, "is not a rate", send(url, file, "--limit-rate", "fast")...)
	d.refused(2, "asks no questions", send(url, file, "--field", "a=b")...)
	d.refused(2, "not encrypted", "login", "http://files.example.com")
	d.refused(2, "is not the uid of a transfer", "show", "x")
	d.refused(2, "without CONSIGN_SERVER", func() []string {
		d.environ = append(d.environ, "CONSIGN_TOKEN=cns_x")
		return []string{"list", "--server", url}
	}()...)
	d.environ = d.environ[:1]
	d.refused(3, "not signed in", "send", file, "--to", "bob@example.com", "--server", url)
	d.refused(3, "not signed in", "list")
	d.refused(4, "there is no mailbox", append([]string{"send", file, "--to", url + "/m/nobody"}, from...)...)
	d.refused(6, "no such file", send(url, file+"x")...)
	d.refused(5, "", append([]string{"send", file, "--to", "http://127.0.0.1:1/m/x", "--patience", "1s"}, from...)...)
	d.environ = append(d.environ, "CONSIGN_SERVER="+url, "CONSIGN_TOKEN=cns_"+strings.Repeat("a", 49))
	d.refused(3, "", "list")

	// The person's token is not sent to another server than its own.
	leak := newDesk(t, "CONSIGN_SERVER=https://files.example.com", "CONSIGN_TOKEN=cns_"+strings.Repeat("a", 49))
	leak.refused(3, "not signed in", "list", "--server", url)
}

// TestExplanations: what is printed to the terminal cannot change it.
func TestExplanations(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	code := cli.Report(&b, "consign", fmt.Errorf("\x1b]0;title\a %w", client.ErrSessionEnded))
	if code != 3 || strings.ContainsAny(b.String(), "\x1b\a") {
		t.Errorf("%d %q", code, b.String())
	}
}

// TestPatience: a send waits as long as a server that is busy asks for. Each command has a default of its own.
func TestPatience(t *testing.T) {
	t.Parallel()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "consign-environment") {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"baseUrlId": %[1]q, "baseUrlSkp": %[1]q}`, server.URL)
			return
		}
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	d := newDesk(t)
	ctx, cancel := context.WithCancel(t.Context())
	var stderr output.Buffer
	p := &cli.Program{Name: "consign", Version: "test", Environ: d.environ, Stdout: io.Discard, Stderr: &stderr}
	done := make(chan error, 1)
	go func() {
		done <- p.Run(ctx, append([]string{"send", d.write("a", nil), "--to", server.URL + "/m/ann"}, from...))
	}()
	poll.Until(t, "the notice of a pause", func() bool { return strings.Contains(stderr.String(), "trying again in 1m0s") })
	cancel()
	if err := <-done; cli.ExitCode(err) != 130 {
		t.Errorf("interrupted: %v", err)
	}
}
