//go:build campaign

package campaign

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestClusterShares checks that three replicas share files, events, sessions, jobs and signing keys.
func TestClusterShares(t *testing.T) {
	c := newCluster(t, "CONSIGN_RATE_LIMIT=off", "CONSIGN_SIGNING_KEY_LIFETIME=1h", "CONSIGN_STRANGER_MAILS_PER_DAY=1000",
		"CONSIGN_STRANGER_SHARE=100")
	for _, step := range []struct {
		name string
		run  func(t *testing.T, c *cluster)
	}{
		{"resume", resumeElsewhere}, {"events", eventsEverywhere}, {"logout", logoutEverywhere}, {"jobs", jobsOnce}, {"keys", keysRotate},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(t, c) }) {
			return
		}
	}
}

func randomBytes(n int) []byte {
	data := make([]byte, n)
	random := rand.New(rand.NewPCG(uint64(n), uint64(time.Now().UnixNano())))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

// resumeElsewhere uploads one file through all three replicas in turn. It aborts two request bodies midway and resumes at the next
// replica. Then it downloads the file from each replica.
func resumeElsewhere(t *testing.T, c *cluster) {
	data := randomBytes(40 << 20)
	holder, reservation, object, err := c.front.reserve(int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	j := &job{c: holder, reservation: reservation, object: object, data: data}
	for n, until := range []int64{15 << 20, 30 << 20} { // the client disconnects in the middle of a request body
		at := holder.at(c.replicas[n])
		from, err := at.held(object)
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		header := http.Header{"Content-Range": {fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data))}}
		body := &leaving{r: bytes.NewReader(data[from:]), left: until - from, leave: leave}
		if resp, err := at.do(ctx, "PUT", object+"/content", body, header); err == nil {
			resp.Body.Close()
			t.Fatalf("an aborted request body got status %d", resp.StatusCode)
		}
		began, next := time.Now(), holder.at(c.replicas[n+1])
		took := within(t, "the next replica takes the upload over", 15*time.Second, began, func() bool {
			held, err := next.held(object)
			if err != nil {
				t.Fatal(err)
			}
			j.c = next
			return held >= until-(1<<20) && j.put(held, held+1000, 0) == nil
		})
		held, _ := next.held(object)
		t.Logf("client of replica %d disconnected at %d bytes; replica %d resumes at %d after %v", n+1, until, n+2, held,
			took.Round(time.Millisecond))
	}
	j.c = holder.at(c.replicas[2])
	held, err := j.c.held(object)
	if err == nil {
		err = j.put(held, int64(len(data)), 0)
	}
	if err == nil {
		err = j.confirm()
	}
	if err != nil {
		t.Fatal(err)
	}
	owner, err := c.front.owner()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	for n, s := range c.replicas {
		if got, err := owner.at(s).download(j.transfer); err != nil || got != hex.EncodeToString(sum[:]) {
			t.Errorf("replica %d gives %s, %v", n+1, got, err)
		}
	}
}

// leaving is a request body whose client disconnects after a given number of bytes.
type leaving struct {
	r     io.Reader
	left  int64
	leave context.CancelFunc
}

// Read implements io.Reader.
func (l *leaving) Read(p []byte) (int, error) {
	if l.left <= 0 {
		time.Sleep(200 * time.Millisecond) // time to send the bytes already read
		l.leave()
		return 0, io.ErrUnexpectedEOF
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// arrival is an event received from a stream.
type arrival struct {
	subject string
	at      time.Time
}

// listen opens an event stream and returns a channel of its events.
func (c client) listen(t *testing.T) <-chan arrival {
	t.Helper()
	resp, err := c.do(t.Context(), "GET", "/id/v3/events", nil, http.Header{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("GET /events answered %d", resp.StatusCode)
	}
	all := make(chan arrival, 1000)
	go func() {
		defer close(all)
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var e struct{ Subject string }
				if json.Unmarshal([]byte(data), &e) == nil {
					all <- arrival{e.Subject, time.Now()}
				}
			}
		}
	}()
	return all
}

// eventsEverywhere confirms transfers at each replica and measures when the event streams of all replicas report them.
func eventsEverywhere(t *testing.T, c *cluster) {
	owner, err := c.front.owner()
	if err != nil {
		t.Fatal(err)
	}
	var streams []<-chan arrival
	for _, s := range c.replicas {
		streams = append(streams, owner.at(s).listen(t))
	}
	var lags []time.Duration
	for n := range 30 {
		holder, reservation, object, err := c.front.reserve(4)
		if err != nil {
			t.Fatal(err)
		}
		j := &job{c: holder.at(c.replicas[n%3]), reservation: reservation, object: object, data: []byte("four")}
		if err := j.put(0, 4, 0); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := j.confirm(); err != nil {
			t.Fatal(err)
		}
		for _, stream := range streams {
			for {
				select {
				case got, open := <-stream:
					if !open {
						t.Fatal("an event stream ended")
					}
					if got.subject != j.transfer {
						continue
					}
					lags = append(lags, got.at.Sub(began))
				case <-time.After(time.Second):
					t.Fatalf("no event for transfer %s within one second", j.transfer)
				}
				break
			}
		}
	}
	report(t, "events: from the request that confirms to the stream, any replica to any", lags, time.Second)
}

// report logs quantiles and fails when the maximum exceeds limit.
func report(t *testing.T, what string, all []time.Duration, limit time.Duration) {
	t.Helper()
	slices.Sort(all)
	longest := all[len(all)-1]
	t.Logf("%s: p50 %v, p99 %v, max %v of %d", what, all[len(all)/2].Round(100*time.Microsecond),
		all[len(all)*99/100].Round(100*time.Microsecond),
		longest.Round(100*time.Microsecond), len(all))
	if longest > limit {
		t.Errorf("%s took %v, want at most %v", what, longest, limit)
	}
}

// logoutEverywhere ends sessions at one replica and measures when the others refuse their access tokens.
func logoutEverywhere(t *testing.T, c *cluster) {
	var lags []time.Duration
	for n := range 20 {
		var id, access struct{ Token string }
		_, err := client{s: c.front}.call("POST", "/id/v3/signup", map[string]string{
			"address": fmt.Sprintf("person%d@example.com", n), "password": "correct horse battery", "name": "P"}, &id)
		if err == nil {
			_, err = client{s: c.front, token: id.Token}.call("POST", "/id/v3/auth/access", nil, &access)
		}
		if err != nil {
			t.Fatal(err)
		}
		caller := client{s: c.front, token: access.Token}
		for _, s := range c.replicas {
			if _, err := caller.at(s).call("GET", "/id/v3/profile", nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := (client{s: c.replicas[n%3], token: id.Token}).call("POST", "/id/v3/auth/logout", nil, nil); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for _, s := range c.replicas {
			lags = append(lags, within(t, "every replica knows of a logout", 5*time.Second, began, func() bool {
				_, err := caller.at(s).call("GET", "/id/v3/profile", nil, nil)
				return err != nil && strings.Contains(err.Error(), "answered 401")
			}))
		}
	}
	report(t, "logout: from its answer to 401 at every replica", lags, time.Second)
	figure(t, len(lags), "times that a replica learned of a sign-out, each within 1 s")
	for n, s := range c.replicas {
		count, sum := s.metric("consign_revocation_lag_seconds_count"), s.metric("consign_revocation_lag_seconds_sum")
		if count < 20 {
			t.Errorf("replica %d measured %v revocations", n+1, count)
		}
		t.Logf("replica %d measured %v revocations, known after %.1f ms on average", n+1, count, 1000*sum/count)
	}
}

// jobsOnce confirms 100 transfers in parallel at all replicas. Each queues two mails. It checks that each mail is sent once and
// counts the mails per replica.
func jobsOnce(t *testing.T, c *cluster) {
	const transfers = 100
	sent := func() (all float64, each [3]float64) {
		for n, s := range c.replicas {
			each[n] = s.metric(`consign_mail_attempts_total{outcome="sent"}`)
			all += each[n]
		}
		return all, each
	}
	idle := func() bool {
		s := c.replicas[0]
		return s.metric("consign_mails_waiting") == 0 && s.metric(`consign_jobs{queue="mail",state="due"}`) == 0 &&
			s.metric(`consign_jobs{queue="mail",state="running"}`) == 0
	}
	within(t, "earlier mails are sent", 30*time.Second, time.Now(), idle)
	before, eachBefore := sent()
	began := time.Now()
	var group sync.WaitGroup
	for n := range 10 {
		group.Go(func() {
			for m := range transfers / 10 {
				if err := c.send(c.replicas[m%3], fmt.Sprintf("sender%d-%d@example.com", n, m), []byte("content")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	within(t, "the mails are sent", 60*time.Second, time.Now(), idle)
	took := time.Since(began)
	time.Sleep(2 * time.Second) // time for a duplicate mail to be sent
	after, each := sent()
	t.Logf("%d transfers and %v mails in %v; replicas sent %v, %v and %v", transfers, after-before, took.Round(10*time.Millisecond),
		each[0]-eachBefore[0], each[1]-eachBefore[1], each[2]-eachBefore[2])
	if after-before != 2*transfers {
		t.Errorf("%v mails were sent, %d were queued", after-before, 2*transfers)
	}
	for n, s := range c.replicas {
		if each[n] == eachBefore[n] {
			t.Errorf("replica %d sent no mail", n+1)
		}
		if failures := s.metric("consign_job_failures_total"); failures != 0 {
			t.Errorf("%v jobs failed at replica %d", failures, n+1)
		}
	}
}

// send uploads and confirms one small file at one server.
func (c *cluster) send(s *server, from string, data []byte) error {
	var out struct{ UID string }
	header, err := client{s: s}.call("POST", "/transfer/v2/public/mailbox/demo",
		map[string]string{"subject": "s", "anonSender": "Sam", "anonEmail": from}, &out)
	if err != nil {
		return err
	}
	j := &job{c: client{s: s, token: strings.TrimPrefix(header.Get("Authorization"), "Bearer ")},
		reservation: "/transfer/v2/reservations/" + out.UID, data: data}
	j.object = j.reservation + "/objects/file"
	_, err = j.c.call("POST", j.reservation+"/objects", map[string]any{"clientId": "file", "name": "file.bin", "intendedSize": len(data)}, nil)
	if err == nil {
		err = j.put(0, int64(len(data)), 0)
	}
	if err == nil {
		err = j.confirm()
	}
	return err
}

// keysRotate rotates the signing key three times while tokens are issued at one replica and used at another.
func keysRotate(t *testing.T, c *cluster) {
	var id struct{ Token string }
	if _, err := (client{s: c.front}).call("POST", "/id/v3/auth/login",
		map[string]string{"email": c.front.email, "type": "bcrypt", "key": c.front.password}, &id); err != nil {
		t.Fatal(err)
	}
	kids, tokens := map[string]bool{}, []string{}
	calls := 0
	for rotation := range 3 {
		rotate := exec.CommandContext(t.Context(), binary(t), "keys", "rotate")
		rotate.Env = c.replicas[rotation].env
		if out, err := rotate.CombinedOutput(); err != nil {
			t.Fatalf("consign keys rotate: %v: %s", err, out)
		}
		for began := time.Now(); time.Since(began) < 7*time.Second; {
			issuer, user := c.replicas[rand.IntN(3)], c.replicas[rand.IntN(3)]
			var access struct{ Token string }
			if _, err := (client{s: issuer, token: id.Token}).call("POST", "/id/v3/auth/access", nil, &access); err != nil {
				t.Fatalf("after %d calls: %v", calls, err)
			}
			tokens = append(tokens, access.Token)
			kids[kid(t, access.Token)] = true
			for _, token := range []string{access.Token, tokens[rand.IntN(len(tokens))]} {
				if _, err := (client{s: user, token: token}).call("GET", "/id/v3/profile", nil, nil); err != nil {
					t.Fatalf("after %d calls: %v", calls, err)
				}
				calls++
			}
		}
	}
	t.Logf("%d calls across replicas with tokens signed by %d keys; none was refused", calls, len(kids))
	if len(kids) < 4 {
		t.Errorf("tokens were signed by %d keys, want 4", len(kids))
	}
}

// kid returns the ID of the key that signed a token.
func kid(t *testing.T, token string) string {
	t.Helper()
	head, _, _ := strings.Cut(token, ".")
	var h struct{ KID string }
	if raw, err := base64.RawURLEncoding.DecodeString(head); err != nil || json.Unmarshal(raw, &h) != nil {
		t.Fatalf("not a token: %.20s", token)
	}
	return h.KID
}
