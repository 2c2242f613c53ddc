//go:build campaign

// The storages that crashes of uploads happen on, and what must be true of each in the end.

package campaign

import (
	crand "crypto/rand"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/localpg"
)

// number returns the whole number in an environment variable.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(name, err)
	}
	return n
}

// figure notes for docs/trust.md what was counted (scripts/figure.sh).
func figure(t *testing.T, n int, what string) {
	t.Helper()
	name := os.Getenv("FIGURE")
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, n, what); err != nil {
		t.Fatal(err)
	}
}

// received is a confirmed transfer of one file, and the SHA-256 that was sent.
type received struct{ transfer, sum string }

// crashUploads repeats a crash ROUNDS (10) times on a storage without encryption, and as often on one with it: the local disk, or with
// TEST_S3_URL (test/s3.sh) that bucket. Then each file is downloaded byte for byte, consign fsck finds nothing, and the volume that is
// charged is the sum of what is kept.
func crashUploads(t *testing.T, crash func(s *server, n int) received) {
	for _, encryption := range []string{"off", "on"} {
		t.Run("encryption "+encryption, func(t *testing.T) {
			env := []string{"CONSIGN_STORAGE_ENCRYPTION=" + encryption}
			if bucket := os.Getenv("TEST_S3_URL"); bucket != "" {
				u, err := url.Parse(bucket)
				if err != nil {
					t.Fatal(err)
				}
				env = append(env, "CONSIGN_STORAGE_URL="+u.JoinPath(strings.ToLower(crand.Text())).String())
			}
			s := newServer(t, env...)
			s.start()
			var sent []received
			for n := range number(t, "ROUNDS", 10) {
				sent = append(sent, crash(s, n))
			}
			s.checkBytes(sent)
			s.signal(syscall.SIGTERM)
			_ = s.wait()
			s.cmd = nil
			fsck := exec.CommandContext(t.Context(), s.program, "fsck")
			fsck.Env = s.env
			if out, err := fsck.CombinedOutput(); err != nil {
				t.Errorf("consign fsck: %v: %s", err, out)
			}
			s.checkVolumes()
			figure(t, len(sent), "rounds of kill -9")
			figure(t, 0, "acknowledged bytes lost")
			t.Logf("%d rounds: nothing acknowledged was lost, all files are byte for byte what was sent", len(sent))
		})
	}
}

func (s *server) checkBytes(sent []received) {
	s.t.Helper()
	owner, err := s.owner()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range sent {
		if got, err := owner.download(r.transfer); err != nil || got != r.sum {
			s.t.Errorf("transfer %s: SHA-256 %s, sent %s: %v", r.transfer, got, r.sum, err)
		}
	}
}

// checkVolumes compares the volume that is charged with what is kept, in the embedded database of a server that has stopped.
func (s *server) checkVolumes() {
	s.t.Helper()
	cluster, err := localpg.Start(s.t.Context(), localpg.Options{Dir: filepath.Join(s.dir, "var", app.ClusterDir), Fsync: true})
	if err != nil {
		s.t.Fatal(err)
	}
	defer cluster.Close()
	db, err := database.New(s.t.Context(), cluster.URL("consign"), 2)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	for what, sql := range map[string]string{
		"bytes charged to persons, less the bytes of contents, names and texts": `
			SELECT (SELECT sum(held) FROM transfer.volume_totals WHERE kind = 'person') - (SELECT sum(held + metadata) FROM transfer.objects)
				- (SELECT sum(metadata) FROM transfer.reservations)`,
		"bytes set aside in volumes":            `SELECT sum(reserved) FROM transfer.volume_totals`,
		"bytes set aside for segments":          `SELECT sum(reserved) FROM transfer.segments`,
		"bytes of objects, less their segments": `SELECT (SELECT sum(held) FROM transfer.objects) - (SELECT sum(held) FROM transfer.segments)`,
	} {
		var n int64
		if err := db.Pool.QueryRow(s.t.Context(), sql).Scan(&n); err != nil || n != 0 {
			s.t.Errorf("%s: %d, want 0: %v", what, n, err)
		}
	}
}
