//go:build campaign

// Witnesses and a verifier of others for the transparency log.

package campaign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// TestWitnesses lets two witnesses of others, omniwitness and torchwood's litewitness, cosign the log across kills with SIGKILL.
// CHECKPOINTS (1000) must be cosigned by both, and a verifier of others accepts as many receipts and all tiles. Then an older backup is
// restored: both witnesses refuse, and the log stops. Then the older state goes on without witnesses until its log is longer than what
// the witnesses know, a split view: each of them refuses it.
func TestWitnesses(t *testing.T) {
	want := number(t, "CHECKPOINTS", 1000)
	b := &blackout{facts: map[string]fact{}, count: map[string]int{}}
	b.server = newServer(t, "CONSIGN_NEW_TRANSFER_BUCKET=100000,1000/s", "CONSIGN_STRANGER_RESERVATIONS=10000",
		"CONSIGN_STRANGER_ORGANIZATION_RESERVATIONS=10000",
		"CONSIGN_STRANGER_SHARE=100")
	b.start()
	keys, err := b.read("/log/keys")
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Fields(string(keys))[0] // of "KEY signing"
	w := &witnesses{t: t, dir: t.TempDir(), key: key}
	w.omniwitness()
	w.litewitness()
	plain := b.env
	b.env = append(plain, "CONSIGN_LOG_WITNESSES="+strings.Join(w.settings, ","))
	b.restart(syscall.SIGTERM)

	begin, kills := time.Now(), 0
	older := filepath.Join(b.dir, "older")
	for b.cosigned(w, nil) < want {
		b.work(w, 40*time.Second, want) // after a kill another process leads the log only some seconds later; witnesses are asked once a second
		b.restart(syscall.SIGKILL)
		if kills++; kills == 1 {
			b.stop()
			copyTree(t, filepath.Join(b.dir, "var"), older)
			b.start()
		}
	}
	figure(t, b.cosigned(w, nil), "checkpoints cosigned by two witnesses of others")
	figure(t, kills, "kills")
	t.Logf("%d checkpoints cosigned by both witnesses across %d kills, %.0f s", b.cosigned(w, nil), kills, time.Since(begin).Seconds())
	b.verify(w)

	before := b.cosigned(w, nil)
	poll.Until(t, "the backup is older than what is cosigned", func() bool {
		b.work(w, time.Second, 0)
		return b.cosigned(w, b.read) > before+1
	})
	seen, _, err := b.checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(b.dir, "newer")
	b.stop()
	rename(t, filepath.Join(b.dir, "var"), newer)
	copyTree(t, older, filepath.Join(b.dir, "var")) // with the mark in the store, which alone would stop the log
	started := b.logged()
	b.start()
	b.wantStopped("a restored database", started)
	figure(t, 1, "forks refused")

	b.stop()
	b.env = plain
	b.start()
	for size := int64(0); size <= seen; size, _, _ = b.checkpoint() {
		b.work(w, time.Second, 0)
	}
	for _, setting := range w.settings {
		b.stop()
		b.env = append(plain, "CONSIGN_LOG_WITNESSES="+setting)
		started := b.logged()
		b.start()
		b.wantStopped("a split view at "+setting, started)
		figure(t, 1, "forks refused")
	}
	b.stop()
	if err := os.RemoveAll(filepath.Join(b.dir, "var")); err != nil {
		t.Fatal(err)
	}
	rename(t, newer, filepath.Join(b.dir, "var"))
	b.env = append(plain, "CONSIGN_LOG_WITNESSES="+strings.Join(w.settings, ","))
	b.start()
	before = b.cosigned(w, nil)
	b.work(w, time.Second, 0)
	poll.Until(t, "the newer database is cosigned on", func() bool { return b.cosigned(w, b.read) > before })
}

// stop ends the server and with it its Postgres.
func (b *blackout) stop() {
	b.signal(syscall.SIGTERM)
	_ = b.wait()
}

func (b *blackout) restart(sig syscall.Signal) {
	b.t.Helper()
	b.signal(sig)
	_ = b.wait()
	b.start()
}

// work lets three strangers deliver small files for a while, and keeps what they hold for the receipts of at most so many. While it keeps
// any they pause: a checkpoint a second needs few entries, and a split view must outgrow all of them.
func (b *blackout) work(w *witnesses, d time.Duration, most int) {
	var all sync.WaitGroup
	end := time.Now().Add(d)
	for range 3 {
		all.Go(func() {
			for time.Now().Before(end) {
				j := &job{data: []byte("hello")}
				var err error
				if j.c, j.reservation, j.object, err = b.reserve(5); err != nil {
					return
				}
				if j.put(0, 5, 0) != nil || j.confirm() != nil {
					return
				}
				w.mu.Lock()
				if len(w.delivered) < most {
					w.delivered = append(w.delivered, j)
				}
				w.mu.Unlock()
				if most > 0 {
					time.Sleep(200 * time.Millisecond)
				}
			}
		})
	}
	for time.Now().Before(end) {
		b.cosigned(w, b.read)
		time.Sleep(10 * time.Millisecond)
	}
	all.Wait()
}

// cosigned notes the newest checkpoint, if read is given, and returns how many were seen with the signatures of all witnesses.
func (b *blackout) cosigned(w *witnesses, read func(string) ([]byte, error)) int {
	if read != nil {
		if body, err := read("/log/checkpoint"); err == nil {
			signed := 0
			for _, name := range w.names {
				signed += strings.Count(string(body), "— "+name+" ")
			}
			if size := strings.Split(string(body), "\n")[1]; signed == len(w.names) {
				w.seen[size] = true
			}
		}
	}
	return len(w.seen)
}

// verify lets the foreign verifier check the receipts and tiles.
func (b *blackout) verify(w *witnesses) {
	b.t.Helper()
	dir := b.t.TempDir()
	for n, j := range w.delivered {
		poll.Until(b.t, "the receipt is signed", func() bool {
			resp, err := j.c.do(b.t.Context(), "GET", j.reservation+"/receipt", nil, http.Header{})
			if err != nil {
				b.t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				b.t.Fatal(err)
			}
			for _, name := range w.names {
				if !strings.Contains(string(body), "— "+name+" ") {
					return false
				}
			}
			return os.WriteFile(fmt.Sprintf("%s/%d.consign", dir, n), body, 0o600) == nil
		})
	}
	args := append([]string{b.url + "/log", dir, w.key}, w.keys...)
	var out []byte
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Second) { // the newest checkpoint is cosigned a moment later
		var err error
		if out, err = exec.CommandContext(b.t.Context(), os.Getenv("TEST_FOREIGN_VERIFIER"), args...).CombinedOutput(); err == nil {
			break
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("the foreign verifier: %v: %s", err, out)
		}
	}
	figure(b.t, len(w.delivered), "receipts verified by a program of others")
	b.t.Logf("%s", bytes.TrimSpace(out))
}

// logged returns the length of the server's log.
func (b *blackout) logged() int64 {
	info, err := b.log.Stat()
	if err != nil {
		b.t.Fatal(err)
	}
	return info.Size()
}

// wantStopped waits until the server, whose log began at started, has learned from its witnesses that it forks. The log then stays as it
// is.
func (b *blackout) wantStopped(what string, started int64) {
	b.t.Helper()
	w := &witnesses{seen: map[string]bool{}}
	poll.Until(b.t, what+" stops the log", func() bool {
		b.work(w, 500*time.Millisecond, 0)
		raw, err := os.ReadFile(b.log.Name())
		return err == nil && bytes.Contains(raw[started:],
			[]byte("a witness has cosigned a state of the transparency log that the database does not continue"))
	})
	size, _, err := b.checkpoint()
	if err != nil {
		b.t.Fatal(err)
	}
	b.work(w, 2*time.Second, 0)
	if now, _, err := b.checkpoint(); err != nil || now != size {
		b.t.Fatalf("%s: the log went on from %d to %d, %v", what, size, now, err)
	}
}

// witnesses are programs of others.
type witnesses struct {
	t        *testing.T
	dir      string
	key      string // of the log
	names    []string
	keys     []string
	settings []string // KEY URL
	seen     map[string]bool

	mu        sync.Mutex
	delivered []*job
}

func (w *witnesses) add(name, key, url string) {
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.names, w.keys, w.settings = append(w.names, name), append(w.keys, key), append(w.settings, key+" "+url)
}

// origin is the name of the log.
func (w *witnesses) origin() string { name, _, _ := strings.Cut(w.key, "+"); return name }

func (w *witnesses) omniwitness() {
	w.t.Helper()
	name, port := "witness.example/omni", testkit.FreePort(w.t)
	w.run(os.Getenv("TEST_GENERATE_KEYS"), "-origin", name, "-out_priv", w.dir+"/w.sec", "-out_pub", w.dir+"/w.pub")
	key, err := os.ReadFile(w.dir + "/w.pub")
	if err != nil {
		w.t.Fatal(err)
	}
	logs := fmt.Sprintf("Logs:\n  - Origin: %s\n    PublicKey: %s\n    URL: http://127.0.0.1/\n", w.origin(), w.key)
	if err := os.WriteFile(w.dir+"/logs.yaml", []byte(logs), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.serve(port, os.Getenv("TEST_OMNIWITNESS"), "-listen", "127.0.0.1:"+port, "-metrics_listen", "127.0.0.1:"+testkit.FreePort(w.t),
		"-db_file", w.dir+"/omni.db", "-private_key_path", w.dir+"/w.sec", "-additional_logs", w.dir+"/logs.yaml")
	w.add(name, strings.TrimSpace(string(key)), "http://127.0.0.1:"+port)
}

var vkey = regexp.MustCompile(`vkey=(\S+)`)

func (w *witnesses) litewitness() {
	w.t.Helper()
	name, port, agent := "witness.example/lite", testkit.FreePort(w.t), w.dir+"/agent"
	w.start("ssh-agent", "-D", "-a", agent)
	w.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", w.dir+"/id")
	w.t.Setenv("SSH_AUTH_SOCK", agent)
	poll.Until(w.t, "the agent takes the key", func() bool {
		return exec.CommandContext(w.t.Context(), "ssh-add", "-q", w.dir+"/id").Run() == nil
	})
	fingerprint := strings.Fields(string(w.run("ssh-keygen", "-lf", w.dir+"/id.pub")))[1]
	log := w.serve(port, os.Getenv("TEST_LITEWITNESS"), "-db", w.dir+"/lite.db", "-name", name, "-key", fingerprint, "-listen",
		"127.0.0.1:"+port, "-ssh-agent", agent)
	raw, err := os.ReadFile(log)
	if err != nil {
		w.t.Fatal(err)
	}
	key := vkey.FindSubmatch(raw)
	if key == nil {
		w.t.Fatalf("litewitness tells no key: %s", raw)
	}
	empty := sha256.Sum256(nil)
	w.run("sqlite3", w.dir+"/lite.db", fmt.Sprintf("INSERT INTO log VALUES ('%s', 0, '%s'); INSERT INTO key VALUES ('%[1]s', '%[3]s')",
		w.origin(), base64.StdEncoding.EncodeToString(empty[:]), w.key))
	w.add(name, string(key[1]), "http://127.0.0.1:"+port)
}

func (w *witnesses) run(program string, args ...string) []byte {
	w.t.Helper()
	out, err := exec.CommandContext(w.t.Context(), program, args...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s: %v: %s", program, err, out)
	}
	return out
}

// start runs a program until the end of the test and returns the file of its log.
func (w *witnesses) start(program string, args ...string) string {
	w.t.Helper()
	log, err := os.Create(filepath.Join(w.dir, filepath.Base(program)+".log"))
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(w.t.Context()), program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if raw, err := os.ReadFile(log.Name()); err == nil && w.t.Failed() {
			w.t.Logf("the end of %s:\n%s", log.Name(), raw[max(0, len(raw)-3000):])
		}
	})
	return log.Name()
}

// serve is start for a program that listens on a port.
func (w *witnesses) serve(port, program string, args ...string) (log string) {
	w.t.Helper()
	log = w.start(program, args...)
	poll.Until(w.t, program+" listens", func() bool {
		resp, err := get(w.t, "http://127.0.0.1:"+port+"/")
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	})
	return log
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
