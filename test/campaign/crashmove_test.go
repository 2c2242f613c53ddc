//go:build campaign

// Kills consign storage move at random moments, under uploads and downloads at two servers.

package campaign

import (
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// TestCrashMove moves the files of two servers, whose settings have the places in different orders, from a disk to another, in plain and
// encrypted. With TEST_S3_URL (test/s3.sh): from the disk to the bucket, within the bucket, and back to a disk. The command is killed
// ROUNDS (10) times while files are sent and read at both servers. Each file that was acknowledged is then whole at a server that has the
// new place only, nothing is left in the old one, and consign fsck finds nothing.
func TestCrashMove(t *testing.T) {
	disk := func(t *testing.T) string { return "file://" + filepath.Join(t.TempDir(), "objects") }
	ways := [][2]func(*testing.T) string{{disk, disk}}
	names := []string{"disk to disk"}
	if os.Getenv("TEST_S3_URL") != "" {
		within := func(t *testing.T) string {
			u, err := url.Parse(os.Getenv("TEST_S3_URL"))
			if err != nil {
				t.Fatal(err)
			}
			return u.JoinPath(strings.ToLower(crand.Text())).String()
		}
		ways = [][2]func(*testing.T) string{{disk, within}, {within, within}, {within, disk}}
		names = []string{"disk to bucket", "bucket to bucket", "bucket to disk"}
	}
	for i, way := range ways {
		for _, encryption := range []string{"off", "on"} {
			t.Run(names[i]+", encryption "+encryption, func(t *testing.T) { crashMove(t, way[0](t), way[1](t), encryption) })
		}
	}
}

// moving is what happens beside the command.
type moving struct {
	t       *testing.T
	servers []*server
	owner   client
	mu      sync.Mutex
	sent    []received
	read    int
	failed  int
}

func crashMove(t *testing.T, old, fresh, encryption string) {
	key := make([]byte, 32)
	_, _ = crand.Read(key)
	public := "http://localhost:" + testkit.FreePort(t)
	common := []string{"CONSIGN_DATABASE_URL=" + pgtest.EmptyURL(t), "CONSIGN_SECRET_KEY=" + base64.StdEncoding.EncodeToString(key),
		"CONSIGN_STORAGE_ENCRYPTION=" + encryption, "CONSIGN_PUBLIC_URL=" + public, "CONSIGN_NEW_TRANSFER_BUCKET=100000,1000/s"}
	with := func(one, two string) *server {
		s := newServer(t, append(common, "CONSIGN_STORAGE_URL="+one, "CONSIGN_STORAGE_SECOND_URL="+two)...)
		return s
	}
	a, b := with(old, fresh), with(fresh, old)
	a.args = append(a.args, "--migrate")
	a.start()
	b.args = []string{"serve"}
	b.start()
	b.email, b.password = a.email, a.password
	m := &moving{t: t, servers: []*server{a, b}}
	var err error
	if m.owner, err = a.owner(); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		m.deliver(n)
	}
	stop, all := make(chan struct{}), sync.WaitGroup{}
	for n := range 3 {
		all.Go(func() {
			for i := n; !closed(stop); i++ {
				m.deliver(i)
			}
		})
	}
	all.Go(func() {
		for !closed(stop) {
			m.download()
		}
	})
	killed, rounds := 0, number(t, "ROUNDS", 10)
	for tries := 0; killed < rounds; tries++ {
		if tries == 20*rounds {
			t.Fatalf("only %d of %d commands were still at work when they were killed", killed, tries)
		}
		cmd := b.command("storage", "move", "--to", fresh)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(1200 * time.Millisecond))
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err != nil {
			killed++
		}
	}
	close(stop)
	all.Wait()
	m.finish(b, fresh)
	for _, s := range m.servers {
		s.signal(syscall.SIGTERM)
		_ = s.wait()
	}
	alone := newServer(t, append(common, "CONSIGN_STORAGE_URL="+fresh)...)
	alone.args = []string{"serve"}
	alone.start()
	alone.email, alone.password = a.email, a.password
	alone.checkBytes(m.sent)
	if out, err := alone.command("fsck").CombinedOutput(); err != nil {
		t.Errorf("consign fsck: %v: %s", err, out)
	}
	if m.failed > 0 {
		t.Errorf("%d requests beside the move failed", m.failed)
	}
	figure(t, killed, "moves of the storage killed")
	figure(t, 0, "files lost")
	t.Logf("%d of the commands were killed, %d files sent and %d read meanwhile, 0 requests failed, all files are whole in the new place",
		killed, len(m.sent), m.read)
}

// command returns a command with the settings of the server.
func (s *server) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), s.program, args...)
	cmd.Env = s.env
	return cmd
}

// finish repeats the command until nothing is left: leases of uploads that have just ended last some seconds.
func (m *moving) finish(b *server, fresh string) {
	m.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		out, err := b.command("storage", "move", "--to", fresh).CombinedOutput()
		if err != nil {
			m.t.Fatalf("consign storage move: %v: %s", err, out)
		}
		if strings.Contains(string(out), "nothing is left") {
			return
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("the move does not end: %s", out)
		}
		time.Sleep(time.Second)
	}
}

func (m *moving) note(what string, err error) bool {
	if err == nil {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed++
	m.t.Logf("%s: %v", what, err)
	return false
}

// deliver sends a file in pieces, in turn at the one and the other server.
func (m *moving) deliver(n int) {
	data := randomBytes(1<<20 + rand.IntN(8<<20))
	j := &job{data: data}
	var err error
	if j.c, j.reservation, j.object, err = m.servers[0].reserve(int64(len(data))); !m.note("reserve", err) {
		return
	}
	const pieces = 4
	for i := range pieces {
		if i > 0 { // the first server begins all of them in the old place
			j.c.s = m.servers[(n+i)%2]
		}
		if !m.note(fmt.Sprintf("piece %d", i), j.put(int64(len(data)*i/pieces), int64(len(data)*(i+1)/pieces), time.Millisecond)) {
			return
		}
	}
	if !m.note("confirm", j.confirm()) {
		return
	}
	sum := sha256.Sum256(data)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent = append(m.sent, received{j.transfer, hex.EncodeToString(sum[:])})
}

// download reads one of the files at one of the servers.
func (m *moving) download() {
	m.mu.Lock()
	r, s := m.sent[rand.IntN(len(m.sent))], m.servers[m.read%2]
	m.read++
	m.mu.Unlock()
	owner := client{s: s, token: m.owner.token}
	got, err := owner.download(r.transfer)
	if m.note("download", err) && got != r.sum {
		_ = m.note("download", fmt.Errorf("transfer %s: SHA-256 %s, sent %s", r.transfer, got, r.sum))
	}
}
