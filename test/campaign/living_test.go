//go:build campaign

// Kills the server while transfers are forwarded, extended, added to and revoked.

package campaign

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/relay"
)

// livingRounds is the number of kills; ROUNDS overrides it.
const livingRounds = 200

// mostMessages is about how many messages an operation and its jobs send.
const mostMessages = 50

// TestFaultsLiving kills the server with SIGKILL before each message that it sends to Postgres while it forwards, extends, adds a
// recipient, or revokes and purges: some messages further in each round of an operation, so that all rounds reach its end. After each
// restart the operation is repeated where it was not answered. In the end each recipient got one mail, all bytes are there as long as a
// transfer has them, volumes are the sum of the objects, and consign fsck finds nothing.
func TestFaultsLiving(t *testing.T) {
	rounds := number(t, "ROUNDS", livingRounds)
	l := newLiving(t)
	l.stride = max(1, mostMessages*4/int64(max(rounds, 1)))
	operations := []func(n int){l.forward, l.extend, l.add, l.revoke}
	for n := range rounds {
		l.kind = n % len(operations)
		operations[l.kind](n)
		l.checkVolumes(fmt.Sprint("round ", n))
	}
	l.checkMails()
	l.end()
	t.Logf("%d rounds of forward, extend, add and revoke; %v were answered before the kill; the last kills were at message %v", rounds,
		l.passed, l.deepest)
}

// living is the state of the campaign.
type living struct {
	*server
	relay     *relay.Relay
	db        *database.DB
	owner     client
	kind      int      // of the operation
	stride    int64    // messages between two kills
	step      [4]int64 // message before which the next round of an operation is killed, from 0
	passed    [4]int   // how often an operation was answered before its kill
	deepest   [4]int64
	mailed    []string // addresses that get one mail each
	transfers []string // paths of transfers that still have their files
	examples  int64    // shared contents and objects of the demo's examples
}

func newLiving(t *testing.T) *living {
	t.Helper()
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	url := pgtest.EmptyURL(t)
	l := &living{relay: relay.New(t, url)}
	l.server = newServer(t, "CONSIGN_DATABASE_URL="+l.relay.URL, "CONSIGN_SECRET_KEY="+base64.StdEncoding.EncodeToString(key),
		"CONSIGN_NEW_TRANSFER_BUCKET=100000,1000/s", "CONSIGN_STRANGER_RESERVATIONS=10000", "CONSIGN_STRANGER_SHARE=100",
		"CONSIGN_RECIPIENTS_PER_DAY=100000", "CONSIGN_YOUNG_RECIPIENTS_PER_DAY=100000")
	l.args = append(l.args, "--migrate")
	l.start()
	var err error
	if l.db, err = database.New(context.WithoutCancel(t.Context()), url, 2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.db.Close)
	l.examples = l.contents()
	l.signIn()
	return l
}

func (l *living) signIn() {
	l.t.Helper()
	var err error
	if l.owner, err = l.server.owner(); err != nil {
		l.t.Fatal(err)
	}
}

// killed runs an operation, kills the server before one of its messages to Postgres, and starts it again. It reports whether the operation
// was answered. An operation that is answered before is killed a moment later, while its jobs run.
func (l *living) killed(operation func() error) bool {
	l.t.Helper()
	var messages atomic.Int64
	gone, last := make(chan struct{}), l.step[l.kind]
	l.relay.Gate(func() bool {
		n := messages.Add(1) - 1
		if n == last {
			l.signal(syscall.SIGKILL)
			close(gone)
		}
		return n < last
	})
	err := operation()
	answered := err == nil
	if answered {
		l.passed[l.kind]++
		select {
		case <-gone:
		case <-time.After(500 * time.Millisecond):
			l.signal(syscall.SIGKILL)
		}
	}
	l.deepest[l.kind] = max(l.deepest[l.kind], last)
	if l.step[l.kind] += l.stride; answered && messages.Load() < l.step[l.kind] {
		l.step[l.kind] = 0
	}
	_ = l.wait()
	l.relay.Gate(nil)
	l.start()
	l.signIn()
	return answered
}

// content is what the files of a round hold.
func content(n int) []byte { return bytes.Repeat([]byte(fmt.Sprintf("round %d\n", n)), 1000) }

// deliver delivers two files, to the demo's mailbox or from its owner to an address, and returns the path of the transfer.
func (l *living) deliver(n int, to string) string {
	l.t.Helper()
	c, reservation := client{s: l.server}, ""
	var out struct{ UID string }
	path, body := "/transfer/v2/public/mailbox/demo",
		map[string]any{"subject": fmt.Sprint("round ", n), "anonSender": "Sam", "anonEmail": "sam@example.com"}
	if to != "" {
		c, path, body = l.owner, "/transfer/v2/reservations", map[string]any{"subject": fmt.Sprint("round ", n), "recipients": recipients(to)}
		l.mailed = append(l.mailed, to)
	}
	header, err := c.call("POST", path, body, &out)
	if err != nil {
		l.t.Fatal(err)
	}
	c.token, reservation = strings.TrimPrefix(header.Get("Authorization"), "Bearer "), "/transfer/v2/reservations/"+out.UID
	for _, name := range []string{"a", "b"} {
		if _, err := c.call("POST", reservation+"/objects", map[string]any{"clientId": name, "name": name, "intendedSize": len(content(n))},
			nil); err != nil {
			l.t.Fatal(err)
		}
		resp, err := c.do(l.t.Context(), "PUT", reservation+"/objects/"+name+"/content", bytes.NewReader(content(n)), http.Header{})
		if err != nil {
			l.t.Fatal(err)
		}
		resp.Body.Close()
	}
	if _, err := c.call("POST", reservation+"/confirm", nil, &out); err != nil {
		l.t.Fatal(err)
	}
	x := "/transfer/v2/transfers/" + out.UID
	l.transfers = append(l.transfers, x)
	return x
}

func recipients(email string) []map[string]string {
	return []map[string]string{{"email": email, "destinationType": "to"}}
}

// whole downloads the files of a transfer.
func (l *living) whole(n int, path string) {
	l.t.Helper()
	var out struct{ Objects []struct{ UID string } }
	if _, err := l.owner.call("GET", path, nil, &out); err != nil {
		l.t.Fatalf("round %d: %v", n, err)
	}
	if len(out.Objects) != 2 {
		l.t.Fatalf("round %d: %s has %d objects", n, path, len(out.Objects))
	}
	for _, o := range out.Objects {
		resp, err := l.owner.do(l.t.Context(), "GET", path+"/objects/"+o.UID+"/content", nil, http.Header{})
		if err != nil {
			l.t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !bytes.Equal(got, content(n)) {
			l.t.Fatalf("round %d: status %d, %d bytes instead of %d, %v", n, resp.StatusCode, len(got), len(content(n)), err)
		}
	}
}

// forward passes a transfer on. An unanswered forward is made or not as a whole.
func (l *living) forward(n int) {
	l.t.Helper()
	x, to := l.deliver(n, ""), fmt.Sprintf("forward%d@example.org", n)
	l.forwardTo(n, x, to, l.killed)
}

func (l *living) forwardTo(n int, x, to string, run func(func() error) bool) string {
	l.t.Helper()
	subject := fmt.Sprint("forward ", n)
	var out struct{ UID string }
	post := func() error {
		_, err := l.owner.call("POST", x+"/forward", map[string]any{"subject": subject, "recipients": recipients(to)}, &out)
		return err
	}
	answered := run(post)
	var page struct {
		Transfers []struct{ UID, Subject string }
	}
	if _, err := l.owner.call("GET", "/transfer/v2/transfers?location=sent&limit=20", nil, &page); err != nil {
		l.t.Fatal(err)
	}
	var made []string
	for _, sent := range page.Transfers {
		if sent.Subject == subject {
			made = append(made, sent.UID)
		}
	}
	switch {
	case len(made) > 1, answered && (len(made) != 1 || made[0] != out.UID):
		l.t.Fatalf("round %d: answered %v with %s, made %v", n, answered, out.UID, made)
	case len(made) == 0:
		if err := post(); err != nil {
			l.t.Fatalf("round %d: %v", n, err)
		}
	default:
		out.UID = made[0]
	}
	l.mailed = append(l.mailed, to)
	z := "/transfer/v2/transfers/" + out.UID
	l.transfers = append(l.transfers, z)
	l.whole(n, x)
	l.whole(n, z)
	return z
}

func (l *living) extend(n int) {
	l.t.Helper()
	x := l.deliver(n, fmt.Sprintf("extend%d@example.org", n))
	patch := func() error { _, err := l.owner.call("PATCH", x, map[string]any{"ttl": 30}, nil); return err }
	answered := l.killed(patch)
	var out struct{ ExpiresAt time.Time }
	if _, err := l.owner.call("GET", x, nil, &out); err != nil {
		l.t.Fatal(err)
	}
	if extended := time.Until(out.ExpiresAt) > 20*24*time.Hour; answered && !extended {
		l.t.Fatalf("round %d: the extension was answered and is lost", n)
	}
	if err := patch(); err != nil {
		l.t.Fatal(err)
	}
	l.whole(n, x)
}

func (l *living) add(n int) {
	l.t.Helper()
	x, to := l.deliver(n, fmt.Sprintf("first%d@example.org", n)), fmt.Sprintf("added%d@example.org", n)
	l.mailed = append(l.mailed, to)
	post := func() error {
		_, err := l.owner.call("POST", x+"/recipients", map[string]any{"recipients": recipients(to)}, nil)
		return err
	}
	answered := l.killed(post)
	switch err := post(); { // an unanswered one may have taken effect
	case err == nil && !answered:
	case err != nil && strings.Contains(err.Error(), "409021"):
	default:
		l.t.Fatalf("round %d: answered %v, then %v", n, answered, err)
	}
}

// revoke ends a transfer, or its forward, and purges what nobody needs.
func (l *living) revoke(n int) {
	l.t.Helper()
	x := l.deliver(n, fmt.Sprintf("revoked%d@example.org", n))
	z := l.forwardTo(n, x, fmt.Sprintf("kept%d@example.org", n), func(post func() error) bool { return post() == nil })
	gone, kept := x, z
	if n%8 > 3 {
		gone, kept = z, x
	}
	remove := func() error { _, err := l.owner.call("DELETE", gone, nil, nil); return err }
	answered := l.killed(remove)
	var out struct{ State string }
	if _, err := l.owner.call("GET", gone, nil, &out); err != nil {
		l.t.Fatal(err)
	}
	switch {
	case answered && out.State != "revoked":
		l.t.Fatalf("round %d: the revocation was answered, and the transfer is %s", n, out.State)
	case out.State != "revoked":
		if err := remove(); err != nil {
			l.t.Fatal(err)
		}
	}
	l.whole(n, kept)
}

func (l *living) number(sql string, args ...any) int64 {
	l.t.Helper()
	var n int64
	if err := l.db.Pool.QueryRow(l.t.Context(), sql, args...).Scan(&n); err != nil {
		l.t.Fatalf("%v: %s", err, sql)
	}
	return n
}

// bookedAndKept selects the bytes that organizations are charged with, and those that they store: files, names and texts.
const bookedAndKept = `SELECT coalesce(sum(bytes), 0)::bigint,
	(coalesce((SELECT sum(held + metadata) FROM transfer.objects WHERE name IS NOT NULL), 0) + coalesce((SELECT sum(r.metadata)
		FROM transfer.reservations r LEFT JOIN transfer.transfers t ON t.reservation = r.uid WHERE t.ended_at IS NULL), 0))::bigint
	FROM transfer.stored_totals`

// checkVolumes compares what is booked with what is there, and the holders of shared bytes with their objects.
func (l *living) checkVolumes(when string) {
	l.t.Helper()
	var booked, kept int64
	if err := l.db.Pool.QueryRow(l.t.Context(), bookedAndKept).Scan(&booked, &kept); err != nil {
		l.t.Fatal(err)
	}
	if booked != kept {
		l.t.Fatalf("%s: %d bytes are booked, %d are kept", when, booked, kept)
	}
	wrong := l.number(`SELECT count(*) FROM transfer.shared_contents c WHERE holders <> (
		SELECT count(*) FROM transfer.objects o WHERE (o.uid = c.content OR o.content = c.content) AND o.name IS NOT NULL)`)
	if wrong != 0 {
		l.t.Fatalf("%s: %d contents have another number of holders than is noted", when, wrong)
	}
}

// within waits for something that jobs do. A job of a killed server is rescued after 2.5 minutes.
func (l *living) within(what string, done func() bool) {
	l.t.Helper()
	for deadline := time.Now().Add(6 * time.Minute); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatal("does not happen: " + what)
		}
	}
}

func (l *living) checkMails() {
	l.t.Helper()
	for _, to := range l.mailed {
		if n := l.number(`SELECT count(*) FROM mails WHERE recipient = $1`, to); n != 1 {
			l.t.Errorf("%d mails to %s", n, to)
		}
	}
	l.within("all mails are sent or cancelled", func() bool {
		return l.number(`SELECT count(*) FROM mails WHERE state NOT IN ('sent', 'cancelled')`) == 0
	})
}

// contents returns the number of shared contents and objects.
func (l *living) contents() int64 {
	l.t.Helper()
	return l.number(`SELECT count(*) + (SELECT count(*) FROM transfer.objects WHERE name IS NOT NULL) FROM transfer.shared_contents`)
}

// end ends all transfers: then only the demo's examples are stored and booked.
func (l *living) end() {
	l.t.Helper()
	l.fsck()
	l.start()
	l.signIn()
	for _, x := range l.transfers {
		for range 2 { // revoke, then hide
			_, _ = l.owner.call("DELETE", x, nil, nil)
		}
	}
	l.within("all bytes are purged", func() bool { return l.number(`SELECT count(*) FROM transfer.discarded_objects`) == 0 })
	l.checkVolumes("at the end")
	if n := l.contents() - l.examples; n != 0 {
		l.t.Errorf("%d shared contents and objects are left", n)
	}
	l.fsck()
}

// fsck stops the server and checks the storage.
func (l *living) fsck() {
	l.t.Helper()
	l.signal(syscall.SIGTERM)
	_ = l.wait()
	fsck := exec.CommandContext(l.t.Context(), binary(l.t), "fsck")
	fsck.Env = l.env
	out, err := fsck.CombinedOutput()
	l.t.Logf("consign fsck: %s", out)
	if err != nil {
		l.t.Errorf("consign fsck: %v", err)
	}
}
