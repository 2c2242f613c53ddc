//go:build campaign

// Kills the server while files are inspected.

package campaign

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/scanner"
)

// A file of this campaign takes two seconds to be scanned, so that each kill hits several.
const (
	scanPace     = 2 * time.Second
	scanDeadline = 8 * time.Minute // a lease of a minute, and a periodic job of a killed server that runs again after three
)

// scanned is a transfer with one file.
type scanned struct {
	transfer, subject string
	data              []byte
	infected          bool
}

// TestCrashInspections kills the server with SIGKILL while files wait for the malware scanner and are scanned. No byte may be given before
// its verdict, and never one of an infected file. After the restarts each file must get its verdict, and each infected one its mail.
func TestCrashInspections(t *testing.T) {
	daemon := scanner.NewClamd(t)
	daemon.Pace(scanPace)
	s := newServer(t, "CONSIGN_SCANNER_URL="+daemon.URL, "CONSIGN_SCANNER_STREAMS=2", "CONSIGN_ACCESS_TOKEN_LIFETIME=1h")
	s.start()
	owner, err := s.owner()
	if err != nil {
		t.Fatal(err)
	}
	var all []scanned
	for n := range number(t, "ROUNDS", 20) {
		for i := range 3 {
			sent, err := s.deliver(fmt.Sprintf("round-%02d-%d", n, i), (n+i)%3 == 0)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, sent)
		}
		time.Sleep(rand.N(scanPace))
		if n%5 == 4 { // the scanner dies with the server
			daemon.Away(true)
		}
		s.signal(syscall.SIGKILL)
		_ = s.wait()
		daemon.Away(false)
		s.start()
		owner.checkGiven(t, daemon, all)
	}
	daemon.Pace(0)
	deadline := time.Now().Add(scanDeadline)
	for waiting := owner.checkGiven(t, daemon, all); waiting > 0; waiting = owner.checkGiven(t, daemon, all) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d files have no verdict %s after the last kill", waiting, len(all), scanDeadline)
		}
		time.Sleep(time.Second)
	}
	scans, _ := daemon.Scans()
	t.Logf("%d rounds: %d files have their verdicts after %d scans, none was given before", len(all)/3, len(all), scans)
	s.checkMails(all)
}

// deliver confirms a transfer of one file to the demo mailbox.
func (s *server) deliver(subject string, infected bool) (scanned, error) {
	j := &job{data: []byte(subject + strings.Repeat(".", 64<<10))}
	if infected {
		j.data = append(j.data, scanner.Eicar...)
	}
	var err error
	if j.c, j.reservation, j.object, err = s.reserveAs(subject, int64(len(j.data))); err != nil {
		return scanned{}, err
	}
	if err := j.put(0, int64(len(j.data)), 0); err != nil {
		return scanned{}, err
	}
	err = j.confirm()
	return scanned{transfer: j.transfer, subject: subject, data: j.data, infected: infected}, err
}

// checkGiven downloads every file. It returns how many have no verdict yet.
func (c client) checkGiven(t *testing.T, daemon *scanner.Clamd, all []scanned) (waiting int) {
	t.Helper()
	for _, one := range all {
		state, resp, err := c.fetch(one.transfer)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		given, judged := resp.StatusCode == http.StatusOK, daemon.Judged(one.data)
		switch {
		case given && (one.infected || judged == 0 || !bytes.Equal(body, one.data)):
			t.Fatalf("%s: %d bytes were given; infected: %t, judged %d times", one.subject, len(body), one.infected, judged)
		case !given && resp.StatusCode != http.StatusForbidden:
			t.Fatalf("%s: the download answered %d: %s", one.subject, resp.StatusCode, body)
		case state == "scanning", state == "failed":
			waiting++
		case state != map[bool]string{false: "clean", true: "infected"}[one.infected]:
			t.Fatalf("%s is %q; infected: %t", one.subject, state, one.infected)
		}
	}
	return waiting
}

// checkMails waits until the owner has a mail about each infected file, and about no other.
func (s *server) checkMails(all []scanned) {
	s.t.Helper()
	poll.Until(s.t, "a mail about each infected file", func() bool {
		files, err := filepath.Glob(filepath.Join(s.dir, "var", "mail", "*.eml"))
		if err != nil {
			s.t.Fatal(err)
		}
		var found []string
		for _, f := range files {
			raw, err := os.ReadFile(f)
			if err != nil {
				s.t.Fatal(err)
			}
			if bytes.Contains(raw, []byte("Eicar-Test-Signature")) {
				found = append(found, string(raw))
			}
		}
		for _, one := range all {
			if told := slices.ContainsFunc(found, func(m string) bool { return strings.Contains(m, one.subject) }); told != one.infected {
				return false
			}
		}
		return true
	})
}
