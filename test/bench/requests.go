//go:build bench

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"
)

// against duels Consign with a reference that is started for it.
func (b *bench) against(ctx context.Context, name string, ours work, mode string, bare func(*process) (work, error), conns int, args ...string) (o, r figures, err error) {
	reference, err := b.startReference(ctx, mode, args...)
	if err != nil {
		return o, r, err
	}
	defer func() { _ = reference.stop() }()
	theirs, err := bare(reference)
	if err != nil {
		return o, r, err
	}
	return b.duel(ctx, name, &party{addr: b.consign.addr, pid: b.consign.pid, work: ours},
		&party{addr: reference.addr, pid: reference.pid, work: theirs}, conns)
}

// just is a reference's work that needs no preparation.
func just(w work) func(*process) (work, error) {
	return func(*process) (work, error) { return w, nil }
}

func environmentRow(ctx context.Context, b *bench) ([]result, error) {
	var answer json.RawMessage
	if _, err := b.call(ctx, b.consign, "GET", environmentPath, "", nil, &answer); err != nil {
		return nil, err
	}
	ours, size := same(request("GET", environmentPath, "", nil)), strconv.Itoa(len(answer))
	o, r, err := b.against(ctx, "environment", ours, "nothing", just(same(request("GET", "/", "", nil))), connections, "-bytes", size)
	if err != nil {
		return nil, err
	}
	whole := requestResult("GET /environment through the whole stack, with log", o, r, atLeast("requests/s", faster(o, r), 0.60))
	o, r, err = b.against(ctx, "stack", ours, "stack", just(ours), connections, "-bytes", size, "-dir", b.dir)
	stack := requestResult(fmt.Sprintf("the same against chi, a request id and a line by slog: %.2f× requests/s, CPU %.2f×", faster(o, r), costlier(o, r)), o, r)
	return []result{whole, stack}, err
}

// eachMailbox sends a request to one mailbox of makeMailboxes after the other: GET without a body, otherwise POST. There are too many for
// the microcache, and none collects many open reservations.
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

// mailboxRow compares with the statement alone: first for mailboxes that are each looked up, then for one that many look at.
func mailboxRow(ctx context.Context, b *bench) ([]result, error) {
	if err := b.makeMailboxes(ctx); err != nil {
		return nil, err
	}
	o, r, err := b.against(ctx, "mailbox", eachMailbox(200, publicMailboxes, nil), "mailbox", just(eachMailbox(200, "/", nil)), connections, "-database", b.database)
	if err != nil {
		return nil, err
	}
	looked := requestResult("GET /public/mailbox/{key} from the database", o, r, atLeast("requests/s", faster(o, r), 0.75))
	ours := same(request("GET", mailboxPath, "", nil))
	o, r, err = b.against(ctx, "cached", ours, "mailbox", just(same(request("GET", demoMailbox, "", nil))), connections, "-database", b.database)
	cached := requestResult("the same for one mailbox, from memory", o, r, atLeast("requests/s of the bare SELECT", faster(o, r), 2.0))
	return []result{looked, cached}, err
}

// reserveRow compares with looking up the mailbox and inserting the reservation. It spreads the reservations over many mailboxes, since
// the open reservations at one are capped (contract 4.2).
func reserveRow(ctx context.Context, b *bench) ([]result, error) {
	if err := b.makeMailboxes(ctx); err != nil {
		return nil, err
	}
	body := []byte(`{"subject":"Drawings","message":"The drawings that we talked about.","anonSender":"Sam Stranger","anonEmail":"sam@example.com"}`)
	ours, bare := eachMailbox(201, publicMailboxes, body), just(eachMailbox(200, "/", body))
	o, r, err := b.against(ctx, "reserve", ours, "reserve", bare, connections, "-database", b.database)
	if err != nil {
		return nil, err
	}
	inserted := requestResult("POST /public/mailbox/{key} with its ES256 token", o, r, atLeast("requests/s of the bare SELECT and INSERT", faster(o, r), 0.50))
	o, r, err = b.against(ctx, "signed", ours, "sign", bare, connections, "-database", b.database)
	signed := requestResult(fmt.Sprintf("the same against a SELECT, an INSERT and an ES256 token: %.2f× requests/s", faster(o, r)), o, r)
	return []result{inserted, signed}, err
}

const (
	people         = 60 // accounts that log in: each address has a bucket of 3 logins
	loginsOfPerson = 3
)

func loginRow(ctx context.Context, b *bench) ([]result, error) {
	requests := make([][]byte, people)
	for i := range requests {
		email := fmt.Sprintf("person%d@example.com", i)
		if _, err := b.call(ctx, b.consign, "POST", identityAPI+"/signup", "", map[string]string{"address": email, "password": password}, nil); err != nil {
			return nil, err
		}
		requests[i] = login(email)
	}
	var n atomic.Int64
	ours := work{want: 200, next: func(int) []byte { return requests[n.Add(1)%people] }}
	conns := max(1, runtime.NumCPU()-1) // as many as are compared at once
	sample, rounds := b.options.sample, b.options.rounds
	defer func() { b.options.sample, b.options.rounds = sample, rounds }()
	for b.options.rounds > 1 && float64(b.options.rounds)*b.options.sample.Seconds()*20*float64(conns) > people*(loginsOfPerson-1) {
		b.options.rounds-- // more logins than the buckets admit
	}
	o, r, err := b.against(ctx, "login", ours, "bcrypt", just(same(request("POST", "/", "", []byte(`{}`)))), conns)
	return []result{requestResult("POST /auth/login, bcrypt cost 10", o, r, atLeast("requests/s", faster(o, r), 0.95), atMost("CPU", costlier(o, r), 1.05))}, err
}

func login(email string) []byte {
	raw, _ := json.Marshal(map[string]string{"email": email, "type": "bcrypt", "key": password})
	return request("POST", identityAPI+"/auth/login", "", raw)
}

const logins = 32 // that press at once

// stormRow reads a mailbox in quiet and while as many logins press, in turns.
func stormRow(ctx context.Context, b *bench) ([]result, error) {
	reads := &party{addr: b.consign.addr, pid: b.consign.pid, work: same(request("GET", mailboxPath, "", nil))}
	// Addresses that nobody has take as long as others, and each has a bucket of its own.
	var n atomic.Int64
	storm := &party{addr: b.consign.addr, work: work{want: 401, next: func(int) []byte { return login(fmt.Sprintf("nobody%d@example.com", n.Add(1))) }}}
	defer reads.hangUp()
	defer storm.hangUp()
	if err := reads.connect(ctx, connections); err != nil {
		return nil, err
	}
	if err := storm.connect(ctx, logins); err != nil {
		return nil, err
	}
	if _, _, err := reads.press(ctx, warmUp); err != nil {
		return nil, err
	}
	var quiet, pressed tally
	read := func() (float64, []time.Duration, time.Duration, error) {
		took, elapsed, err := reads.press(ctx, b.options.sample)
		return float64(len(took)), took, elapsed, err
	}
	for range b.options.rounds {
		if err := quiet.sample(b, b.consign.pid, read); err != nil {
			return nil, err
		}
		ended := make(chan error, 1)
		go func() {
			_, _, err := storm.press(ctx, b.options.sample+warmUp)
			ended <- err
		}()
		time.Sleep(warmUp) // until the storm has begun
		if err := pressed.sample(b, b.consign.pid, read); err != nil {
			return nil, err
		}
		if err := <-ended; err != nil { // the last logins wait for their turn
			return nil, err
		}
	}
	o, r := pressed.figures(1), quiet.figures(1)
	o.cpu, o.postgres = 0, 0 // mostly of the logins
	res := requestResult("GET /public/mailbox/{key} while 32 logins press", o, r, atLeast("requests/s of undisturbed", faster(o, r), 0.30), atMost("p99 ms", o.p99.Seconds()*1e3, 80))
	res.bareIs = "undisturbed"
	return []result{res}, nil
}

// referenceToken has a reference make an ID token.
func (b *bench) referenceToken(ctx context.Context, p *process) (string, error) {
	var out struct{ Token string }
	_, err := b.call(ctx, p, "GET", "/token/"+b.owner, "", nil, &out)
	return out.Token, err
}

func accessRow(ctx context.Context, b *bench) ([]result, error) {
	ours := same(request("POST", identityAPI+"/auth/access", b.idToken, nil))
	bare := func(path string) func(*process) (work, error) {
		return func(p *process) (work, error) {
			token, err := b.referenceToken(ctx, p)
			return same(request("POST", path, token, nil)), err
		}
	}
	o, r, err := b.against(ctx, "access", ours, "tokens", bare("/access"), connections, "-database", b.database)
	if err != nil {
		return nil, err
	}
	uncached := requestResult("POST /auth/access", o, r, atLeast("requests/s of the uncached limit", faster(o, r), 1.2))
	o, r, err = b.against(ctx, "believed", ours, "tokens", bare("/believed"), connections, "-database", b.database)
	believed := requestResult(fmt.Sprintf("the same against a SELECT and an ES256 token, without verification: %.2f× requests/s", faster(o, r)), o, r)
	return []result{uncached, believed}, err
}

// chain is work in which each answer's token makes the next request of its connection.
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
		if _, err := b.call(ctx, b.consign, "POST", identityAPI+"/signup", "", map[string]string{"address": email, "password": password}, &out); err != nil {
			return nil, err
		}
		tokens[i] = out.Token
	}
	o, r, err := b.against(ctx, "upgrade", chain(identityAPI+"/auth/upgrade", tokens), "tokens", func(p *process) (work, error) {
		theirs := make([]string, connections)
		for i := range theirs {
			var err error
			if theirs[i], err = b.referenceToken(ctx, p); err != nil {
				return work{}, err
			}
		}
		return chain("/upgrade", theirs), nil
	}, connections, "-database", b.database)
	return []result{requestResult("POST /auth/upgrade", o, r, atLeast("requests/s", faster(o, r), 0.85))}, err
}

func profileRow(ctx context.Context, b *bench) ([]result, error) {
	o, r, err := b.against(ctx, "profile", same(request("GET", identityAPI+"/profile", b.accessToken, nil)), "tokens", func(p *process) (work, error) {
		token, err := b.referenceToken(ctx, p)
		return same(request("GET", "/profile", token, nil)), err
	}, connections, "-database", b.database)
	return []result{requestResult("GET /profile", o, r, atLeast("requests/s of the uncached limit", faster(o, r), 1.3))}, err
}
