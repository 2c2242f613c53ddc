//go:build bench

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"
)

// compareWith starts a reference and compares Consign with it.
func (b *bench) compareWith(ctx context.Context, name string, ours work, mode string, bare func(*process) (work, error), conns int,
	args ...string) (o, r figures, err error) {
	reference, err := b.startReference(ctx, mode, args...)
	if err != nil {
		return o, r, err
	}
	defer func() { _ = reference.stop() }()
	theirs, err := bare(reference)
	if err != nil {
		return o, r, err
	}
	return b.compare(ctx, name, &side{addr: b.consign.addr, pid: b.consign.pid, work: ours},
		&side{addr: reference.addr, pid: reference.pid, work: theirs}, conns)
}

// fixed returns work that does not depend on the reference.
func fixed(w work) func(*process) (work, error) {
	return func(*process) (work, error) { return w, nil }
}

func environmentRow(ctx context.Context, b *bench) ([]result, error) {
	var answer json.RawMessage
	if _, err := b.call(ctx, b.consign, "GET", environmentPath, "", nil, &answer); err != nil {
		return nil, err
	}
	ours, size := repeat(request("GET", environmentPath, "", nil)), strconv.Itoa(len(answer))
	o, r, err := b.compareWith(ctx, "environment", ours, "nothing", fixed(repeat(request("GET", "/", "", nil))), connections, "-bytes", size)
	if err != nil {
		return nil, err
	}
	whole := requestResult("GET /environment through the whole stack, with log", o, r, atLeast("requests/s", speedRatio(o, r), 0.60))
	o, r, err = b.compareWith(ctx, "stack", ours, "stack", fixed(ours), connections, "-bytes", size, "-dir", b.dir)
	stack := requestResult(fmt.Sprintf("the same against chi, a request id and a line by slog: %.2f× requests/s, CPU %.2f×", speedRatio(o, r),
		cpuRatio(o, r)), o, r)
	return []result{whole, stack}, err
}

// eachMailbox sends requests to the mailboxes of makeMailboxes in turn: GET without a body, otherwise POST. There are more mailboxes than
// the microcache holds, and no mailbox reaches its limit of open reservations.
func eachMailbox(want int, prefix string, body []byte) work {
	method := "GET"
	if body != nil {
		method = "POST"
	}
	requests := make([][]byte, manyMailboxes)
	for i := range requests {
		requests[i] = request(method, fmt.Sprintf("%sbox%d", prefix, i+1), "", body)
	}
	var n atomic.Int64
	return work{want: want, next: func(int) []byte { return requests[n.Add(1)%manyMailboxes] }}
}

// mailboxRow compares with the SQL statement alone: first for many mailboxes, each read from the database, then for one mailbox in the
// microcache.
func mailboxRow(ctx context.Context, b *bench) ([]result, error) {
	if err := b.makeMailboxes(ctx); err != nil {
		return nil, err
	}
	o, r, err := b.compareWith(ctx, "mailbox", eachMailbox(200, publicMailboxes, nil), "mailbox", fixed(eachMailbox(200, "/", nil)),
		connections, "-database", b.database)
	if err != nil {
		return nil, err
	}
	uncached := requestResult("GET /public/mailbox/{key} from the database", o, r, atLeast("requests/s", speedRatio(o, r), 0.75))
	ours := repeat(request("GET", mailboxPath, "", nil))
	o, r, err = b.compareWith(ctx, "cached", ours, "mailbox", fixed(repeat(request("GET", demoMailbox, "", nil))), connections, "-database",
		b.database)
	cached := requestResult("the same for one mailbox, from memory", o, r, atLeast("requests/s of the bare SELECT", speedRatio(o, r), 2.0))
	return []result{uncached, cached}, err
}

// reserveRow compares with a SELECT of the mailbox and an INSERT of the reservation. It spreads the reservations over many mailboxes,
// because a mailbox accepts a limited number of open reservations (contract 4.2).
func reserveRow(ctx context.Context, b *bench) ([]result, error) {
	if err := b.makeMailboxes(ctx); err != nil {
		return nil, err
	}
	body := []byte(`{"subject":"Drawings","message":"The drawings that we talked about.","anonSender":"Sam Stranger","anonEmail":"sam@example.com"}`)
	ours, bare := eachMailbox(201, publicMailboxes, body), fixed(eachMailbox(200, "/", body))
	o, r, err := b.compareWith(ctx, "reserve", ours, "reserve", bare, connections, "-database", b.database)
	if err != nil {
		return nil, err
	}
	inserted := requestResult("POST /public/mailbox/{key} with its ES256 token", o, r,
		atLeast("requests/s of the bare SELECT and INSERT", speedRatio(o, r), 0.50))
	o, r, err = b.compareWith(ctx, "signed", ours, "sign", bare, connections, "-database", b.database)
	signed := requestResult(fmt.Sprintf("the same against a SELECT, an INSERT and an ES256 token: %.2f× requests/s", speedRatio(o, r)), o, r)
	return []result{inserted, signed}, err
}

const (
	people         = 60 // accounts that log in; each address has a bucket of 3 logins
	loginsOfPerson = 3
)

func loginRow(ctx context.Context, b *bench) ([]result, error) {
	requests := make([][]byte, people)
	for i := range requests {
		email := fmt.Sprintf("person%d@example.com", i)
		if _, err := b.call(ctx, b.consign, "POST", identityAPI+"/signup", "", map[string]string{"address": email, "password": password},
			nil); err != nil {
			return nil, err
		}
		requests[i] = login(email)
	}
	var n atomic.Int64
	ours := work{want: 200, next: func(int) []byte { return requests[n.Add(1)%people] }}
	conns := max(1, runtime.NumCPU()-1) // as many as the server compares in parallel
	sample, rounds := b.options.sample, b.options.rounds
	defer func() { b.options.sample, b.options.rounds = sample, rounds }()
	for b.options.rounds > 1 && float64(b.options.rounds)*b.options.sample.Seconds()*20*float64(conns) > people*(loginsOfPerson-1) {
		b.options.rounds-- // more logins than the buckets admit
	}
	o, r, err := b.compareWith(ctx, "login", ours, "bcrypt", fixed(repeat(request("POST", "/", "", []byte(`{}`)))), conns)
	return []result{requestResult("POST /auth/login, bcrypt cost 10", o, r, atLeast("requests/s", speedRatio(o, r), 0.95),
		atMost("CPU", cpuRatio(o, r), 1.05))}, err
}

func login(email string) []byte {
	raw, _ := json.Marshal(map[string]string{"email": email, "type": "bcrypt", "key": password})
	return request("POST", identityAPI+"/auth/login", "", raw)
}

const logins = 32 // clients that log in at once

// stormRow reads a mailbox alternately without other load and while clients log in.
func stormRow(ctx context.Context, b *bench) ([]result, error) {
	reads := &side{addr: b.consign.addr, pid: b.consign.pid, work: repeat(request("GET", mailboxPath, "", nil))}
	// Logins with unknown addresses take as long as others. Each email address and each client has a bucket of its own.
	var n atomic.Int64
	logging := &side{addr: b.consign.addr, work: work{want: 401, next: func(int) []byte {
		i := n.Add(1)
		from := fmt.Sprintf("Host: localhost\r\nX-Forwarded-For: 10.%d.%d.%d\r\n", i>>16&255, i>>8&255, i&255)
		return bytes.Replace(login(fmt.Sprintf("nobody%d@example.com", i)), []byte("Host: localhost\r\n"), []byte(from), 1)
	}}}
	defer reads.close()
	defer logging.close()
	if err := reads.connect(ctx, connections); err != nil {
		return nil, err
	}
	if err := logging.connect(ctx, logins); err != nil {
		return nil, err
	}
	if _, _, err := reads.saturate(ctx, warmUp); err != nil {
		return nil, err
	}
	var quiet, loaded tally
	read := func() (float64, []time.Duration, time.Duration, error) {
		took, elapsed, err := reads.saturate(ctx, b.options.sample)
		return float64(len(took)), took, elapsed, err
	}
	for range b.options.rounds {
		if err := quiet.sample(b, b.consign.pid, read); err != nil {
			return nil, err
		}
		ended := make(chan error, 1)
		go func() {
			_, _, err := logging.saturate(ctx, b.options.sample+warmUp)
			ended <- err
		}()
		time.Sleep(warmUp) // until the logins have begun
		if err := loaded.sample(b, b.consign.pid, read); err != nil {
			return nil, err
		}
		if err := <-ended; err != nil { // the last logins wait in the semaphore
			return nil, err
		}
	}
	o, r := loaded.figures(1), quiet.figures(1)
	o.cpu, o.postgres = 0, 0 // mostly used by the logins
	res := requestResult("GET /public/mailbox/{key} while 32 clients log in", o, r,
		atLeast("requests/s of undisturbed", speedRatio(o, r), 0.30), atMost("p99 ms", o.p99.Seconds()*1e3, 80))
	res.bareIs = "undisturbed"
	return []result{res}, nil
}

// referenceToken returns an ID token of a reference.
func (b *bench) referenceToken(ctx context.Context, p *process) (string, error) {
	var out struct{ Token string }
	_, err := b.call(ctx, p, "GET", "/token/"+b.owner, "", nil, &out)
	return out.Token, err
}

func accessRow(ctx context.Context, b *bench) ([]result, error) {
	ours := repeat(request("POST", identityAPI+"/auth/access", b.idToken, nil))
	bare := func(path string) func(*process) (work, error) {
		return func(p *process) (work, error) {
			token, err := b.referenceToken(ctx, p)
			return repeat(request("POST", path, token, nil)), err
		}
	}
	o, r, err := b.compareWith(ctx, "access", ours, "tokens", bare("/access"), connections, "-database", b.database)
	if err != nil {
		return nil, err
	}
	uncached := requestResult("POST /auth/access", o, r, atLeast("requests/s of the uncached limit", speedRatio(o, r), 1.2))
	o, r, err = b.compareWith(ctx, "unverified", ours, "tokens", bare("/unverified"), connections, "-database", b.database)
	unverified := requestResult(fmt.Sprintf("the same against a SELECT and an ES256 token, without verification: %.2f× requests/s",
		speedRatio(o, r)), o, r)
	return []result{uncached, unverified}, err
}

// chain is work in which each answer contains the token for the connection's next request.
func chain(path string, tokens []string) work {
	return work{
		want: 200,
		next: func(worker int) []byte { return request("POST", path, tokens[worker], nil) },
		took: func(worker int, body []byte) error {
			var out struct{ Token string }
			if err := json.Unmarshal(body, &out); err != nil {
				return err
			}
			tokens[worker] = out.Token
			return nil
		},
	}
}

func upgradeRow(ctx context.Context, b *bench) ([]result, error) {
	tokens := make([]string, connections)
	var out struct{ Token string }
	for i := range tokens {
		email := fmt.Sprintf("upgrader%d@example.com", i)
		if _, err := b.call(ctx, b.consign, "POST", identityAPI+"/signup", "", map[string]string{"address": email, "password": password},
			&out); err != nil {
			return nil, err
		}
		tokens[i] = out.Token
	}
	o, r, err := b.compareWith(ctx, "upgrade", chain(identityAPI+"/auth/upgrade", tokens), "tokens", func(p *process) (work, error) {
		theirs := make([]string, connections)
		for i := range theirs {
			var err error
			if theirs[i], err = b.referenceToken(ctx, p); err != nil {
				return work{}, err
			}
		}
		return chain("/upgrade", theirs), nil
	}, connections, "-database", b.database)
	return []result{requestResult("POST /auth/upgrade", o, r, atLeast("requests/s", speedRatio(o, r), 0.85))}, err
}

func profileRow(ctx context.Context, b *bench) ([]result, error) {
	o, r, err := b.compareWith(ctx, "profile", repeat(request("GET", identityAPI+"/profile", b.accessToken, nil)), "tokens",
		func(p *process) (work, error) {
			token, err := b.referenceToken(ctx, p)
			return repeat(request("GET", "/profile", token, nil)), err
		}, connections, "-database", b.database)
	return []result{requestResult("GET /profile", o, r, atLeast("requests/s of the uncached limit", speedRatio(o, r), 1.3))}, err
}
