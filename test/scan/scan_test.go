//go:build scan

package scan

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/scan"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/scanner"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// daemon is a process of a test.
type daemon struct {
	t       *testing.T
	program string
	args    []string
	cmd     *exec.Cmd
}

func (d *daemon) start() {
	d.t.Helper()
	log, err := os.CreateTemp(d.t.TempDir(), "log")
	if err != nil {
		d.t.Fatal(err)
	}
	d.cmd = exec.CommandContext(context.Background(), d.program, d.args...)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
}

// kill ends the process by SIGKILL.
func (d *daemon) kill() {
	if d.cmd != nil {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
		d.cmd = nil
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// clamd starts a ClamAV daemon whose only signature is that of EICAR, and returns its URL. lines are added to its configuration.
func clamd(t *testing.T, lines string) (url string, d *daemon) {
	t.Helper()
	dir, err := os.MkdirTemp("", "consign-clamd") // short: a socket's path has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	write(t, filepath.Join(dir, "test.ndb"), "Test.Eicar:0:*:"+hex.EncodeToString(scanner.Eicar)+"\n")
	socket := filepath.Join(dir, "clamd.sock")
	user := ""
	if os.Getuid() == 0 {
		user = "User root\n"
	}
	write(t, filepath.Join(dir, "clamd.conf"), fmt.Sprintf("LocalSocket %s\nDatabaseDirectory %s\nForeground yes\nFixStaleSocket yes\n%s%s",
		socket, dir, user, lines))
	d = &daemon{t: t, program: "clamd", args: []string{"-c", filepath.Join(dir, "clamd.conf")}}
	d.start()
	t.Cleanup(d.kill)
	url = "clamd://" + socket
	ready(t, url)
	return url, d
}

// honest are the lines with which clamd reports what it has not read.
const honest = "AlertExceedsMax yes\nAlertEncryptedArchive yes\nStreamMaxLength 2000M\nMaxFileSize 2000M\nMaxScanSize " +
	"4000M\nMaxScanTime 600000\n"

// cicap starts c-icap with its antivirus module, which asks the clamd at a URL.
func cicap(t *testing.T, clamdURL string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "consign-icap")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	port := testkit.FreePort(t)
	modules := os.Getenv("CICAP_MODULES")
	conf := filepath.Join(dir, "c-icap.conf")
	write(t, conf, fmt.Sprintf(`PidFile %[1]s/pid
CommandsSocket %[1]s/ctl
Port 127.0.0.1:%[2]s
TmpDir %[1]s
ServerLog %[1]s/server.log
AccessLog %[1]s/access.log
ModulesDir %[3]s
ServicesDir %[3]s
TemplateDir /usr/share/c_icap/templates/
LoadMagicFile /etc/c-icap/c-icap.magic
Module common clamd_mod.so
clamd_mod.ClamdSocket %[4]s
Service antivirus_module virus_scan.so
ServiceAlias avscan virus_scan?allow204=on&sizelimit=off&mode=simple
virus_scan.ScanFileTypes TEXT DATA EXECUTABLE ARCHIVE GIF JPEG MSOFFICE
virus_scan.SendPercentData 0
virus_scan.MaxObjectSize 100M
`, dir, port, modules, strings.TrimPrefix(clamdURL, "clamd://")))
	d := &daemon{t: t, program: "c-icap", args: []string{"-N", "-f", conf}}
	d.start()
	t.Cleanup(func() {
		if d.cmd != nil {
			_ = d.cmd.Process.Signal(os.Interrupt) // it ends its children
			_ = d.cmd.Wait()
		}
	})
	url := "icap://127.0.0.1:" + port + "/avscan"
	ready(t, url)
	return url
}

func open(t *testing.T, url string, limit int64) scan.Scanner {
	t.Helper()
	s, err := scan.New(url, scan.Options{Limit: limit, Timeout: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ready(t *testing.T, url string) {
	t.Helper()
	s := open(t, url, 1)
	deadline := time.Now().Add(time.Minute)
	for {
		v, err := s.Version(t.Context())
		if err == nil {
			t.Logf("%s: %s %q", url, v.Engine, v.Signatures)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not answer: %v", url, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func verdict(t *testing.T, s scan.Scanner, r io.Reader, size int64) scan.Verdict {
	t.Helper()
	v, err := s.Scan(t.Context(), r, size)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func zipped(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create(name)
	if err == nil {
		_, err = f.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// samples are files with EICAR in them.
func samples(t *testing.T) map[string][]byte {
	inZip := zipped(t, "eicar.com", scanner.Eicar)
	return map[string][]byte{"plain": scanner.Eicar, "in a zip": inZip, "in a zip in a zip": zipped(t, "inner.zip", inZip)}
}

// sparse returns a file of zeros with EICAR at an offset.
func sparse(t *testing.T, at int64) (*os.File, int64) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteAt(scanner.Eicar, at); err != nil {
		t.Fatal(err)
	}
	return f, at + int64(len(scanner.Eicar))
}

func TestClamd(t *testing.T) {
	url, _ := clamd(t, honest)
	s := open(t, url, 2000<<20)
	for name, content := range samples(t) {
		if v := verdict(t, s, bytes.NewReader(content), int64(len(content))); v.State != scan.Infected || v.Finding != "Test.Eicar.UNOFFICIAL" {
			t.Errorf("EICAR %s: %v", name, v)
		}
	}
	if v := verdict(t, s, strings.NewReader("harmless"), 8); v.State != scan.Clean {
		t.Errorf("harmless: %v", v)
	}
	if warnings, err := s.Warnings(t.Context()); err != nil || len(warnings) > 0 {
		t.Errorf("%q, %v", warnings, err)
	}
}

// TestBeyondTheLimit: EICAR at byte 3,000,000,000 is found by nobody. The file is partly read, never clean, whatever limit is configured.
func TestBeyondTheLimit(t *testing.T) {
	url, _ := clamd(t, honest)
	f, size := sparse(t, 3_000_000_000)
	for _, limit := range []int64{100_000_000, 1 << 40} {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if v := verdict(t, open(t, url, limit), f, size); v.State != scan.Partly {
			t.Errorf("limit %d: %v", limit, v)
		} else {
			t.Logf("limit %d: %v after %v", limit, v, time.Since(start))
		}
	}
	if _, err := f.Seek(size-1000, io.SeekStart); err != nil { // its end alone: the sample is there
		t.Fatal(err)
	}
	if v := verdict(t, open(t, url, 100_000_000), f, 1000); v.State != scan.Infected {
		t.Errorf("the end of the file: %v", v)
	}
}

// TestDefaultConfiguration: as Debian configures it, clamd says OK about what it has not read. The probe finds that out.
func TestDefaultConfiguration(t *testing.T) {
	url, _ := clamd(t, "")
	if warnings, err := open(t, url, 100_000_000).Warnings(t.Context()); err != nil || len(warnings) != 1 {
		t.Errorf("%q, %v", warnings, err)
	}
	f, size := sparse(t, 150_000_000)
	if v := verdict(t, open(t, url, 1<<40), f, size); v.State != scan.Partly || v.Finding != "StreamMaxLength" {
		t.Errorf("over StreamMaxLength: %v", v)
	}
}

func TestICAP(t *testing.T) {
	url, _ := clamd(t, honest)
	s := open(t, cicap(t, url), 50_000_000)
	for name, content := range samples(t) {
		if v := verdict(t, s, bytes.NewReader(content), int64(len(content))); v.State != scan.Infected || !strings.Contains(v.Finding, "Eicar") {
			t.Errorf("EICAR %s: %v", name, v)
		}
	}
	for _, size := range []int{1, 1000, 3_000_000} {
		content := bytes.Repeat([]byte("harmless\n"), size/9+1)
		if v := verdict(t, s, bytes.NewReader(content), int64(len(content))); v.State != scan.Clean {
			t.Errorf("%d harmless bytes: %v", len(content), v)
		}
	}
	f, size := sparse(t, 60_000_000)
	if v := verdict(t, s, f, size); v.State != scan.Partly {
		t.Errorf("over the limit: %v", v)
	}
}

// mailbox returns a server that has its files inspected, and Ann with a mailbox.
func mailbox(t *testing.T, options ...testkit.Option) (*testkit.Server, *testkit.Person) {
	t.Helper()
	s := testkit.New(t, options...)
	ann := s.SignUp("ann@example.com")
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann"}).Want(http.StatusCreated)
	return s, ann
}

// deliver uploads files of a stranger to Ann and confirms. It returns the path of the transfer and how long the confirm took.
func deliver(t *testing.T, s *testkit.Server, files ...[]byte) (path string, confirm time.Duration) {
	t.Helper()
	made := s.Stranger().Post(s.Transfer+"/public/mailbox/ann",
		map[string]any{"anonSender": "Sam", "anonEmail": "sam@example.com"}).Want(http.StatusCreated)
	sam := s.Stranger().As(strings.TrimPrefix(made.Header.Get("Authorization"), "Bearer "))
	reservation := s.Transfer + "/reservations/" + made.String("uid")
	var list []map[string]any
	for i, content := range files {
		list = append(list, map[string]any{"clientId": fmt.Sprint("f", i), "name": fmt.Sprint("file", i), "intendedSize": len(content)})
	}
	sam.Post(reservation+"/objects", map[string]any{"objects": list}).Want(http.StatusCreated)
	for i, content := range files {
		sam.Put(fmt.Sprintf("%s/objects/f%d/content", reservation, i), content).Want(http.StatusOK)
	}
	start := time.Now()
	done := sam.Post(reservation+"/confirm", nil).Want(http.StatusOK)
	return s.Transfer + "/transfers/" + done.String("uid"), time.Since(start)
}

func wait(t *testing.T, p *testkit.Person, path, state string) *testkit.Response {
	t.Helper()
	var r *testkit.Response
	poll.Until(t, "the transfer is "+state, func() bool {
		r = p.Get(path).Want(http.StatusOK)
		return r.Value("malwareStatus") == state
	})
	return r
}

// TestClamdIsKilled: clamd dies while it reads a file. The file is held, and given when clamd is back and calls it clean.
func TestClamdIsKilled(t *testing.T) {
	url, d := clamd(t, honest)
	s, ann := mailbox(t, testkit.Env("CONSIGN_SCANNER_URL", url))
	clean, _ := deliver(t, s, []byte("before"))
	wait(t, ann, clean, "clean")
	path, _ := deliver(t, s, bytes.Repeat([]byte("harmless\n"), 11_000_000))
	poll.Until(t, "the file is taken", func() bool {
		var taken int
		err := s.App.DB.Pool.QueryRow(t.Context(), "SELECT count(*) FROM transfer.inspections WHERE attempts > 0 AND state = 'scanning'").Scan(
			&taken)
		return err == nil && taken == 1
	})
	d.kill()
	held := ann.Get(path)
	if held.String("malwareStatus") != "scanning" || held.Value("objects.0.held") != true {
		t.Errorf("clamd is dead: %s", held.Body)
	}
	ann.Get(path + "/objects/" + held.String("objects.0.uid") + "/content").Want(http.StatusForbidden)
	d.start()
	ready(t, url)
	poll.Until(t, "the file is inspected after all", func() bool {
		s.Clock.Advance(time.Minute)
		ann.Refresh()
		if err := s.App.Jobs.RunOnce(t.Context(), service.InspectJob); err != nil {
			t.Fatal(err)
		}
		return ann.Get(path).Value("malwareStatus") == "clean"
	})
}

// TestScannerHangs: 1,000 files, and a scanner that accepts connections and never answers. Confirms stay fast, few connections are
// open, and after the patience every file is failed and held.
func TestScannerHangs(t *testing.T) {
	files := make([][]byte, 1000)
	for i := range files {
		files[i] = fmt.Appendf(nil, "file %d", i)
	}
	limits := []testkit.Option{testkit.Env("CONSIGN_RATE_LIMIT", "off")}
	plain, _ := mailbox(t, limits...)
	_, without := deliver(t, plain, files...)
	silent := scanner.NewClamd(t)
	silent.Hang(true)
	s, ann := mailbox(t, append(limits, testkit.Env("CONSIGN_SCANNER_URL", silent.URL), testkit.Env("CONSIGN_SCANNER_TIMEOUT", "1s"))...)
	path, with := deliver(t, s, files...)
	small, confirm := deliver(t, s, []byte("one more"))
	t.Logf("confirm of 1,000 files: %v without a scanner, %v with one that hangs; of one file %v", without, with, confirm)
	if with > without+500*time.Millisecond || confirm > 500*time.Millisecond {
		t.Errorf("confirms wait for the scanner")
	}
	s.Clock.Advance(11 * time.Minute)
	ann.Refresh()
	if err := s.App.Jobs.RunOnce(t.Context(), service.InspectJob); err != nil {
		t.Fatal(err)
	}
	wait(t, ann, path, "failed")
	wait(t, ann, small, "failed")
	shown := ann.Get(path)
	held := strings.Count(string(shown.Body), `"held":true`)
	if held != len(files) {
		t.Errorf("%d of %d files are held", held, len(files))
	}
	if open := silent.Open(); open > 8 {
		t.Errorf("%d connections to the scanner", open)
	}
	ann.Get(path + "/archive").Want(http.StatusForbidden)
}
