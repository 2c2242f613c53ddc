//go:build campaign

// Somebody who owns a whole IPv6 prefix and many IPv4 addresses, against strangers of other networks.

package campaign

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	honestPeople  = 20
	attackers     = 24                      // requests under way at a time
	attackerPause = 40 * time.Millisecond   // between two requests of each: the machine runs the attack, too
	warmUp        = 30 * time.Second        // before the first honest person: at first the addresses are new to the server
	honestEvery   = 1500 * time.Millisecond // between two honest people
	slowest       = 3                       // times the undisturbed time
	password      = "correct horse battery staple"
)

// prefixes is a server behind a trusted proxy, so that X-Forwarded-For says who asks.
type prefixes struct {
	*server
	http *http.Client
	next atomic.Int64
}

// attacker returns an address of the /48, or one of the 200 in as many networks.
func attacker() string {
	if n := rand.IntN(400); n < 200 {
		return fmt.Sprintf("203.%d.113.7", n)
	}
	return fmt.Sprintf("2001:db8:bad:%x::1", rand.IntN(1<<16))
}

// honest returns the address of the next stranger. Each has a network of his own.
func (p *prefixes) honest() string { return fmt.Sprintf("198.18.%d.9", p.next.Add(1)) }

// ask sends JSON, or bytes, from an address, and returns the status and the answer.
func (p *prefixes) ask(ctx context.Context, from, token, method, path, body string) (status int, header http.Header, answer string) {
	r, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err.Error()
	}
	r.Header.Set("X-Forwarded-For", from)
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	got, err := p.http.Do(r)
	if err != nil {
		return 0, nil, err.Error()
	}
	defer got.Body.Close()
	text, _ := io.ReadAll(got.Body)
	return got.StatusCode, got.Header, string(text)
}

// row is one thing that strangers do while others attack it.
type row struct {
	name   string
	honest func(from string, n int) error // n: the number of the person, from honestPeople on while there is an attack
	attack func(ctx context.Context, from string) (status int)

	parallel int // requests of the attacker under way; 0: attackers
}

// TestPrefixAttacker: for each row 20 honest people of other networks first act alone, then while the attacker asks without end. At least
// 19 succeed at the first try, and their median time is at most three times that of those who were alone. ROW names one row.
func TestPrefixAttacker(t *testing.T) {
	p := &prefixes{
		server: newServer(t, "CONSIGN_RATE_LIMIT=on", "CONSIGN_LOG_LEVEL=error", "CONSIGN_BCRYPT_COST=10",
			"CONSIGN_TRUSTED_PROXIES=127.0.0.0/8,::1/128", "CONSIGN_UPLOADS=192"),
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}},
	}
	p.start()
	people := make([]string, 2*honestPeople)
	for i := range people {
		people[i] = fmt.Sprintf("person%d@example.com", i)
		if err := p.want(http.StatusOK, p.honest(), "/id/v3/signup", signUp(people[i])); err != nil {
			t.Fatal(err)
		}
		verify := exec.CommandContext(t.Context(), p.program, "person", "verify", people[i])
		verify.Env = p.env
		if out, err := verify.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, r := range p.rows(t, people) {
		if only := os.Getenv("ROW"); only != "" && only != r.name {
			continue
		}
		alone := p.run(t, r, 0)
		attacked := p.run(t, r, honestPeople)
		ratio := float64(attacked.median) / float64(alone.median)
		fmt.Printf("row %-10s honest %d of %d, median %4d ms, alone %4d ms, ratio %.2f; attacker %d requests, %d let through\n", r.name,
			attacked.good, honestPeople, attacked.median.Milliseconds(), alone.median.Milliseconds(), ratio, attacked.requests, attacked.passed)
		if alone.good < honestPeople || attacked.good*100 < honestPeople*95 || ratio > slowest {
			t.Errorf("%s: alone %v, attacked %v", r.name, alone.failures, attacked.failures)
		}
	}
}

func signUp(address string) string {
	return fmt.Sprintf(`{"address":%q,"password":%q}`, address, password)
}

func logIn(email, key string) string {
	return fmt.Sprintf(`{"email":%q,"type":"bcrypt","key":%q}`, email, key)
}

// want sends a POST of JSON and expects a status.
func (p *prefixes) want(want int, from, path, body string) error {
	status, _, answer := p.ask(context.Background(), from, "", "POST", path, body)
	if status != want {
		return fmt.Errorf("%s answered %d: %s", path, status, answer)
	}
	return nil
}

// rows returns the rows of the campaign. The attacker aims at the people and the mailbox that are used during the attack.
func (p *prefixes) rows(t *testing.T, people []string) []row {
	victim := func() string { return people[honestPeople+rand.IntN(honestPeople)] }
	post := func(ctx context.Context, from, path, body string) int {
		status, _, _ := p.ask(ctx, from, "", "POST", path, body)
		return status
	}
	const mailbox = "/transfer/v2/public/mailbox/demo"
	deliver := func(from string, _ int) error { return p.deliver(from, 300_000) }
	return []row{
		{name: "login", honest: func(from string, n int) error {
			return p.want(http.StatusOK, from, "/id/v3/auth/login", logIn(people[n], password))
		}, attack: func(ctx context.Context, from string) int {
			return post(ctx, from, "/id/v3/auth/login", logIn(victim(), "wrong password"))
		}},
		{name: "reset", honest: func(from string, n int) error {
			return p.want(http.StatusNoContent, from, "/id/v3/auth/reset", fmt.Sprintf(`{"address":%q}`, people[n]))
		}, attack: func(ctx context.Context, from string) int {
			return post(ctx, from, "/id/v3/auth/reset", fmt.Sprintf(`{"address":%q}`, victim()))
		}},
		{name: "sign-up", honest: func(from string, n int) error {
			return p.want(http.StatusOK, from, "/id/v3/signup", signUp(fmt.Sprintf("new%d@example.com", n)))
		}, attack: func(ctx context.Context, from string) int {
			return post(ctx, from, "/id/v3/signup", signUp(fmt.Sprintf("x%d@example.com", rand.Int64())))
		}},
		{name: "uploads", honest: deliver, parallel: 192, attack: p.drip(t)},
		{name: "mailbox", honest: deliver, attack: func(ctx context.Context, from string) int { return post(ctx, from, mailbox, `{}`) }},
	}
}

// deliver hands a file over at the mailbox.
func (p *prefixes) deliver(from string, size int) error {
	ctx := context.Background()
	status, header, answer := p.ask(ctx, from, "", "POST", "/transfer/v2/public/mailbox/demo",
		`{"anonSender":"Sam Stranger","anonEmail":"sam@example.com"}`)
	if status != http.StatusCreated {
		return fmt.Errorf("the reservation answered %d: %s", status, answer)
	}
	var made struct{ UID string }
	if err := json.Unmarshal([]byte(answer), &made); err != nil {
		return err
	}
	token, path := strings.TrimPrefix(header.Get("Authorization"), "Bearer "), "/transfer/v2/reservations/"+made.UID
	for _, step := range []struct{ method, path, body string }{
		{"POST", "/objects", fmt.Sprintf(`{"clientId":"file","name":"file.bin","intendedSize":%d}`, size)},
		{"PUT", "/objects/file/content", strings.Repeat("x", size)}, {"POST", "/confirm", ""},
	} {
		if status, _, answer := p.ask(ctx, from, token, step.method, path+step.path, step.body); status >= 300 {
			return fmt.Errorf("%s %s answered %d: %s", step.method, step.path, status, answer)
		}
	}
	return nil
}

// drip returns an attack that holds uploads to reservations of its own, with two kilobytes a second each.
func (p *prefixes) drip(t *testing.T) func(ctx context.Context, from string) int {
	const size, files = 100_000_000, 16 // files of a reservation: as many uploads as it may have at once
	var objects []string
	owner, err := p.owner()
	if err != nil {
		t.Fatal(err)
	}
	for range 192 / files {
		var made struct{ UID string }
		if _, err := owner.call("POST", "/transfer/v2/reservations", map[string]any{}, &made); err != nil {
			t.Fatal(err)
		}
		for i := range files {
			path := "/transfer/v2/reservations/" + made.UID + "/objects"
			file := map[string]any{"clientId": fmt.Sprint(i), "name": "a.bin", "intendedSize": size}
			if _, err := owner.call("POST", path, file, nil); err != nil {
				t.Fatal(err)
			}
			objects = append(objects, path+"/"+fmt.Sprint(i)+"/content")
		}
	}
	free := make(chan string, len(objects))
	for _, o := range objects {
		free <- o
	}
	return func(ctx context.Context, from string) int {
		object := <-free
		defer func() { free <- object }()
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, p.url+object, &dripping{ctx: ctx})
		if err != nil {
			return 0
		}
		r.ContentLength = size
		r.Header.Set("X-Forwarded-For", from)
		r.Header.Set("Authorization", "Bearer "+owner.token)
		got, err := p.http.Do(r)
		if err != nil {
			return 0
		}
		_ = got.Body.Close()
		return got.StatusCode
	}
}

// dripping is a body that brings two kilobytes a second until its context ends.
type dripping struct{ ctx context.Context }

func (d *dripping) Read(b []byte) (int, error) {
	select {
	case <-d.ctx.Done():
		return 0, io.ErrUnexpectedEOF
	case <-time.After(time.Second):
		return copy(b, bytes.Repeat([]byte("x"), 2000)), nil
	}
}

// outcome is what honest people met.
type outcome struct {
	good     int
	median   time.Duration
	failures []string
	requests int64 // of the attacker
	passed   int64
}

// run lets honest people act one after the other. With first 0 they are alone.
func (p *prefixes) run(t *testing.T, r row, first int) (o outcome) {
	ctx, stop := context.WithCancel(t.Context())
	var attack sync.WaitGroup
	var requests, passed atomic.Int64
	if first > 0 {
		for range cmp.Or(r.parallel, attackers) {
			attack.Go(func() {
				for ctx.Err() == nil {
					status := r.attack(ctx, attacker())
					requests.Add(1)
					if status > 0 && status < 300 {
						passed.Add(1)
					}
					time.Sleep(attackerPause)
				}
			})
		}
		time.Sleep(warmUp)
	}
	var times []time.Duration
	for i := range honestPeople {
		began := time.Now()
		if err := r.honest(p.honest(), first+i); err != nil {
			o.failures = append(o.failures, err.Error())
		} else {
			times = append(times, time.Since(began))
		}
		time.Sleep(honestEvery)
	}
	stop()
	attack.Wait()
	slices.Sort(times)
	if o.good = len(times); o.good > 0 {
		o.median = times[o.good/2]
	}
	o.requests, o.passed = requests.Load(), passed.Load()
	return o
}
