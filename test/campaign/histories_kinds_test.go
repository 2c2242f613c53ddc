//go:build campaign

// What the clients of a history do: for each kind of object the way to make one, and operations at random.

package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// historyOp is an operation as test/histories reads it.
type historyOp struct {
	Client, At int
	Do         string
	From, To   int64
	Call       int64
	Return     int64 // 0: the outcome is unknown
	Got        string
	Value      int64
	Text       string
}

// history is what several clients did with one object.
type history struct {
	Kind string
	Ops  []historyOp

	h       *histories
	mu      sync.Mutex
	pause   time.Duration // the longest between two operations of a client
	actions func(client int) func()
}

// party makes histories, one after the other. It keeps the people that its histories share.
type party struct {
	h       *histories
	sender  person
	boss    person // of an organization that has invited so many people
	org     string
	invited int
}

// person is an account with a session.
type person struct{ email, uid, id, access string }

// kinds are weighted by how often they occur.
var kinds = []struct {
	name   string
	weight int
	begin  func(p *party, h *history) error
}{
	{"upload", 25, (*party).upload}, {"transfer", 20, (*party).transfer}, {"limit", 15, (*party).limit}, {"otk", 15, (*party).otk},
	{"invitation", 10, (*party).invitation}, {"session", 15, (*party).session},
}

// history makes an object, again when that fails, and lets three clients use it at the same time.
func (p *party) history() *history {
	n, kind := rand.IntN(100), kinds[0]
	for _, kind = range kinds {
		if n -= kind.weight; n < 0 {
			break
		}
	}
	for tries := 0; ; tries++ {
		h := &history{Kind: kind.name, h: p.h, pause: 200 * time.Millisecond}
		if p.h.stale != nil {
			h.pause = staleAge / 4
		}
		err := kind.begin(p, h)
		if err == nil {
			h.run()
			return h
		}
		if tries >= 50 {
			p.h.t.Errorf("%s: %v", kind.name, err)
			return h
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (h *history) run() {
	var all sync.WaitGroup
	for client := range 3 {
		act := h.actions(client)
		all.Go(func() {
			for range 4 + rand.IntN(3) {
				time.Sleep(rand.N(h.pause))
				act()
			}
		})
	}
	all.Wait()
}

// op does one operation at any replica and notes it. note adds what the answer says. An operation that certainly has not happened
// is left out, and so is a reading without an answer.
func (h *history) op(client int, do string, from, to int64, ask func(at int) reply, note func(reply, *historyOp)) reply {
	o := historyOp{Client: client, At: rand.IntN(3), Do: do, From: from, To: to}
	if h.h.stale != nil && rand.IntN(3) == 0 {
		o.At = staleReplica
	}
	o.Call = time.Since(h.h.began).Nanoseconds()
	a := ask(o.At)
	now := time.Since(h.h.began).Nanoseconds()
	reads := slices.Contains([]string{"held", "look", "mine", "read", "member", "use", "refresh"}, do)
	switch {
	case a.untaken, a.Status == http.StatusTooManyRequests, slices.Contains([]string{"409001", "409902", "409903", "509001"}, a.code):
		return a
	case a.Status == 0 || a.Status >= 500 || a.err != nil && (do != "download" && do != "start"): // downloads count when they begin
		if reads {
			return a
		}
	default:
		o.Return, o.Got = now, a.code
		if note != nil && a.Status < 500 {
			note(a, &o)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Ops = append(h.Ops, o)
	return a
}

// refused reports whether nothing listened.
func refused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// must makes a request to a replica without faults.
func (p *party) must(method, path, token string, in, out any) (http.Header, error) {
	return p.mustWith(method, path, token, nil, in, out)
}

func (p *party) mustWith(method, path, token string, header http.Header, in, out any) (http.Header, error) {
	a := p.h.ask(int(p.h.healthy.Load()), method, path, token, header, in)
	if a.err != nil || a.Status >= 300 {
		return nil, fmt.Errorf("%s %s: %d %s %w", method, path, a.Status, a.Body, a.err)
	}
	if out == nil {
		return a.Header, nil
	}
	return a.Header, json.Unmarshal(a.Body, out)
}

// signUp makes a person with a verified address.
func (p *party) signUp() (q person, err error) {
	q.email = fmt.Sprintf("person%d@example.com", p.h.names.Add(1))
	var out struct{ Token, UID string }
	_, err = p.must("POST", "/id/v3/signup", "", map[string]string{"address": q.email, "password": historyPassword, "name": "P"}, &out)
	if err != nil {
		return q, err
	}
	ctx := context.Background()
	db, err := pgx.Connect(ctx, p.h.db)
	if err != nil {
		return q, err
	}
	defer db.Close(ctx)
	if err := db.QueryRow(ctx, `UPDATE identity.addresses SET verified_at = now(), remove_at = NULL, key_hash = NULL, key_expires_at = NULL
		WHERE address = $1 RETURNING person::text`, q.email).Scan(&q.uid); err != nil {
		return q, err
	}
	header, err := p.must("POST", "/id/v3/auth/access", out.Token, nil, &out)
	q.id, q.access = strings.TrimPrefix(header.Get("Authorization"), "Bearer "), out.Token
	return q, err
}

const historyPassword = "correct horse battery"

// sign renews the sender's access token.
func (p *party) sign() (err error) {
	if p.sender.id == "" {
		p.sender, err = p.signUp()
		return err
	}
	var out struct{ Token string }
	_, err = p.must("POST", "/id/v3/auth/access", p.sender.id, nil, &out)
	p.sender.access = out.Token
	return err
}

// upload reserves, with one Idempotency-Key by two clients at once, and lets clients write, confirm and cancel.
func (p *party) upload(h *history) error {
	if err := p.sign(); err != nil {
		return err
	}
	key := http.Header{"Idempotency-Key": {fmt.Sprintf("history-%d", p.h.names.Add(1))}}
	access := p.sender.access
	var mu sync.Mutex
	var base, token string
	reserve := func(client int) {
		h.op(client, "reserve", 0, 0, func(at int) reply {
			return p.h.ask(at, "POST", "/transfer/v2/reservations", access, key, map[string]string{"subject": "s"})
		}, func(a reply, o *historyOp) {
			var out struct{ UID string }
			if json.Unmarshal(a.Body, &out) == nil && a.Status == http.StatusCreated {
				mu.Lock()
				o.Text, base, token = out.UID, "/transfer/v2/reservations/"+out.UID, strings.TrimPrefix(a.Header.Get("Authorization"), "Bearer ")
				mu.Unlock()
			}
		})
	}
	var both sync.WaitGroup
	for client := range 2 {
		both.Go(func() { reserve(client) })
	}
	both.Wait()
	if base == "" {
		return errors.New("no reservation")
	}
	_, err := p.must("POST", base+"/objects", token, map[string]any{"clientId": "file", "name": "file.bin", "intendedSize": 16}, nil)
	if err != nil {
		return err
	}
	content, data := base+"/objects/file/content", []byte("0123456789abcdef")
	cancels := rand.IntN(4) == 0
	h.actions = func(client int) func() {
		var at int64 // the bytes held, as this client knows
		return func() {
			switch n := rand.IntN(12); {
			case n < 7 && at < 16:
				to := at + 1 + rand.Int64N(16-at)
				a := h.op(client, "write", at, to, func(s int) reply {
					header := http.Header{"Content-Range": {fmt.Sprintf("bytes %d-%d/16", at, to-1)}}
					return p.h.ask(s, "PUT", content, token, header, data[at:to])
				}, func(a reply, o *historyOp) {
					if a.Status == http.StatusRequestedRangeNotSatisfiable {
						_, _ = fmt.Sscanf(a.Header.Get("Content-Range"), "bytes */%d", &o.Value)
						at = o.Value
					}
				})
				if a.Status == http.StatusOK {
					at = to
				}
			case n < 9 || at < 16:
				ask := func(s int) reply { return p.h.ask(s, "HEAD", content, token, nil, nil) }
				h.op(client, "held", 0, 0, ask, func(a reply, o *historyOp) {
					if a.Status == http.StatusOK {
						_, _ = fmt.Sscan(a.Header.Get("Content-Length"), &o.Value)
						at = o.Value
					}
				})
			case n == 11 && cancels:
				h.op(client, "cancel", 0, 0, func(s int) reply { return p.h.ask(s, "DELETE", base, token, nil, nil) }, nil)
			case n == 10:
				reserve(client)
			default:
				ask := func(s int) reply { return p.h.ask(s, "POST", base+"/confirm", token, nil, nil) }
				h.op(client, "confirm", 0, 0, ask, func(a reply, o *historyOp) {
					var out struct{ UID string }
					if o.Text = a.transfer; a.Status == http.StatusOK && json.Unmarshal(a.Body, &out) == nil {
						o.Text = out.UID
					}
				})
			}
		}
	}
	return nil
}

// link is a delivered transfer behind a link.
type link struct {
	mine, public string // paths for its sender and for others
	object       string // uid
	token        string // for its downloads
	expires      int64
}

// deliver makes a transfer behind a link. Its confirm is the first operation of a history of it.
func (p *party) deliver() (l link, err error) {
	if err := p.sign(); err != nil {
		return l, err
	}
	var out struct{ UID string }
	header, err := p.must("POST", "/transfer/v2/reservations", p.sender.access, map[string]string{"subject": "s"}, &out)
	if err != nil {
		return l, err
	}
	token, base := strings.TrimPrefix(header.Get("Authorization"), "Bearer "), "/transfer/v2/reservations/"+out.UID
	_, err = p.must("POST", base+"/objects", token, map[string]any{"clientId": "file", "name": "file.bin", "intendedSize": 4}, nil)
	if err != nil {
		return l, err
	}
	if _, err := p.must("PUT", base+"/objects/file/content", token, []byte("four"), nil); err != nil {
		return l, err
	}
	var t struct {
		UID, Link string
		ExpiresAt time.Time
		Objects   []struct{ UID string }
	}
	if _, err := p.must("POST", base+"/confirm", token, nil, &t); err != nil {
		return l, err
	}
	if len(t.Objects) != 1 || t.Link == "" {
		return l, fmt.Errorf("confirm answered %+v", t)
	}
	l = link{mine: "/transfer/v2/transfers/" + t.UID, public: "/transfer/v2/public/transfers/" + path.Base(t.Link), object: t.Objects[0].UID,
		expires: t.ExpiresAt.UnixMilli()}
	var access struct{ Token string }
	_, err = p.must("POST", l.public+"/access", "", nil, &access)
	l.token = access.Token
	return l, err
}

// transfer lets clients extend, revoke, look at and download a transfer.
func (p *party) transfer(h *history) error {
	l, err := p.deliver()
	if err != nil {
		return err
	}
	h.Ops = append(h.Ops, historyOp{Do: "confirm", Got: "200", Value: l.expires, Return: 1})
	sender := p.sender.access
	revokes := rand.IntN(3) > 0
	expiry := func(a reply, o *historyOp) {
		var out struct {
			State     string
			ExpiresAt time.Time
		}
		if a.Status == http.StatusOK && json.Unmarshal(a.Body, &out) == nil {
			o.Text, o.Value = out.State, out.ExpiresAt.UnixMilli()
		}
	}
	h.actions = func(client int) func() {
		return func() {
			switch n := rand.IntN(10); {
			case n < 3:
				to := time.Now().Add(time.Duration(24*60+rand.IntN(2000)) * time.Minute).Truncate(time.Millisecond)
				h.op(client, "extend", to.UnixMilli(), 0, func(s int) reply {
					return p.h.ask(s, "PATCH", l.mine, sender, nil, map[string]string{"expiresAt": to.UTC().Format("2006-01-02T15:04:05.000+00:00")})
				}, nil)
			case n < 5:
				h.op(client, "look", 0, 0, func(s int) reply { return p.h.ask(s, "GET", l.public, "", nil, nil) }, expiry)
			case n < 7:
				h.op(client, "mine", 0, 0, func(s int) reply { return p.h.ask(s, "GET", l.mine, sender, nil, nil) }, expiry)
			case n == 7 && revokes:
				h.op(client, "revoke", 0, 0, func(s int) reply { return p.h.ask(s, "DELETE", l.mine, sender, nil, nil) }, nil)
			default:
				h.download(client, l)
			}
		}
	}
	return nil
}

func (h *history) download(client int, l link) {
	h.op(client, "download", 0, 0, func(s int) reply {
		return h.h.ask(s, "GET", l.public+"/objects/"+l.object+"/content", l.token, nil, nil)
	}, nil)
}

// limit lets clients download a transfer whose sender limits and extends the number of downloads.
func (p *party) limit(h *history) error {
	l, err := p.deliver()
	if err != nil {
		return err
	}
	most := 1 + rand.Int64N(3)
	name := []string{"maxDownloads", "maxTotalDownloads"}[rand.IntN(2)]
	if _, err := p.must("PATCH", l.mine, p.sender.access, map[string]int64{name: most}, nil); err != nil {
		return err
	}
	h.Ops = append(h.Ops, historyOp{Do: "limit", Got: "200", From: most, Return: 1})
	sender := p.sender.access
	h.actions = func(client int) func() {
		return func() {
			switch n := rand.IntN(10); {
			case n == 0:
				to := 1 + rand.Int64N(8)
				h.op(client, "limit", to, 0, func(s int) reply { return p.h.ask(s, "PATCH", l.mine, sender, nil, map[string]int64{name: to}) }, nil)
			case n < 3:
				h.op(client, "look", 0, 0, func(s int) reply { return p.h.ask(s, "GET", l.public, l.token, nil, nil) }, func(a reply, o *historyOp) {
					var out map[string]any
					if json.Unmarshal(a.Body, &out) == nil {
						v, _ := out[name].(float64)
						o.Value = int64(v)
					}
				})
			default:
				h.download(client, l)
			}
		}
	}
	return nil
}

// otk lets clients start the download of one one-time key, while its sender may revoke the transfer.
func (p *party) otk(h *history) error {
	l, err := p.deliver()
	if err != nil {
		return err
	}
	var out struct{ Key string }
	if _, err := p.must("POST", l.public+"/otk", l.token, map[string]string{"objectUid": l.object}, &out); err != nil {
		return err
	}
	sender := p.sender.access
	revokes := rand.IntN(3) == 0
	h.pause *= 2
	h.actions = func(client int) func() {
		return func() {
			if revokes && client == 0 && rand.IntN(4) == 0 {
				h.op(client, "revoke", 0, 0, func(s int) reply { return p.h.ask(s, "DELETE", l.mine, sender, nil, nil) }, nil)
				return
			}
			h.op(client, "start", 0, 0, func(s int) reply {
				return p.h.ask(s, "GET", l.public+"/objects/"+l.object+"/content?otk="+out.Key, "", nil, nil)
			}, nil)
		}
	}
	return nil
}

// invitation lets an invited person accept from several places while the administrator revokes.
func (p *party) invitation(h *history) (err error) {
	if p.invited%40 == 0 { // an administrator invites up to 100 people a day
		if p.boss, err = p.signUp(); err != nil {
			return err
		}
		header, err := p.must("POST", "/id/v3/organizations", p.boss.access, map[string]string{"name": "Acme"}, nil)
		if err != nil {
			return err
		}
		p.org = "/id/v3/organizations/" + path.Base(header.Get("Location"))
		p.boss.id = strings.TrimPrefix(header.Get("Authorization"), "Bearer ")
	}
	p.invited++
	var out struct{ Token, Key string }
	if _, err := p.must("POST", "/id/v3/auth/access", p.boss.id, nil, &out); err != nil {
		return err
	}
	boss := out.Token
	guest, err := p.signUp()
	if err != nil {
		return err
	}
	if _, err := p.must("POST", p.org+"/invitations", boss, map[string]any{"address": guest.email, "roles": []string{}}, &out); err != nil {
		return err
	}
	revokes := rand.IntN(2) == 0
	h.actions = func(client int) func() {
		return func() {
			switch n := rand.IntN(10); {
			case n < 2 && client > 0 || n == 0 && client == 0:
				h.op(client, "accept", 0, 0, func(s int) reply {
					return p.h.ask(s, "POST", "/id/v3/invitations/"+out.Key+"/accept", guest.access, nil, nil)
				}, nil)
			case n < 3 && client == 0 && revokes:
				h.op(client, "revoke", 0, 0, func(s int) reply { return p.h.ask(s, "DELETE", p.org+"/invitations/"+out.Key, boss, nil, nil) }, nil)
			case n < 6:
				h.op(client, "member", 0, 0, func(s int) reply { return p.h.ask(s, "GET", p.org+"/members/"+guest.uid, boss, nil, nil) }, nil)
			default:
				h.op(client, "read", 0, 0, func(s int) reply { return p.h.ask(s, "GET", "/id/v3/public/invitations/"+out.Key, "", nil, nil) }, nil)
			}
		}
	}
	return nil
}

// session lets a person use two sessions and end one or all of them.
func (p *party) session(h *history) error {
	first, err := p.signUp()
	if err != nil {
		return err
	}
	second := person{email: first.email}
	var out struct{ Token string }
	login := map[string]string{"email": first.email, "type": "bcrypt", "key": historyPassword}
	if _, err := p.must("POST", "/id/v3/auth/login", "", login, &out); err != nil {
		return err
	}
	second.id = out.Token
	if _, err := p.must("POST", "/id/v3/auth/access", second.id, nil, &out); err != nil {
		return err
	}
	second.access = out.Token
	both := []person{first, second}
	use := []string{"/id/v3/profile", "/transfer/v2/usage"}[rand.IntN(2)]
	if h.pause = 600 * time.Millisecond; p.h.stale != nil { // what is a second old is allowed
		h.pause *= 2
	}
	h.actions = func(client int) func() {
		return func() {
			which := rand.IntN(2)
			q := both[which]
			ask := func(method, path, token string) func(int) reply {
				return func(s int) reply { return p.h.ask(s, method, path, token, nil, nil) }
			}
			switch n := rand.IntN(16); {
			case n == 0:
				h.op(client, "logout", int64(which), 0, ask("POST", "/id/v3/auth/logout", q.id), nil)
			case n == 1:
				h.op(client, "everywhere", int64(which), 0, ask("POST", "/id/v3/auth/logout?jti=all", q.id), nil)
			case n < 4:
				h.op(client, "refresh", int64(which), 0, ask("POST", "/id/v3/auth/access", q.id), nil)
			default:
				h.op(client, "use", int64(which), 0, ask("GET", use, q.access), nil)
			}
		}
	}
	return nil
}
