package handler_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
)

// office is Ann, who asks people for documents.
type office struct {
	*testkit.Person
	base string
}

func newOffice(t *testing.T, options ...testkit.Option) (*testkit.Server, office) {
	t.Helper()
	s := testkit.New(t, options...)
	return s, office{s.SignUp("ann@example.com"), s.Transfer + "/requests"}
}

// in returns a time from the clock's as JSON.
func in(s *testkit.Server, d time.Duration) string {
	return s.Clock.Now().Add(d).UTC().Format(time.RFC3339Nano)
}

// ask makes a request with members for the given addresses.
func (o office) ask(members map[string]any, addresses ...string) *testkit.Response {
	o.Server.T.Helper()
	body := map[string]any{"title": "Statement 2026", "items": []any{
		map[string]any{"name": "Identity card", "maxFiles": 2}, map[string]any{"name": "Lease", "required": false},
	}}
	for name, value := range members {
		body[name] = value
	}
	parties := []any{}
	for _, a := range addresses {
		name, _, _ := strings.Cut(a, "@")
		parties = append(parties, map[string]any{"email": a, "name": strings.ToUpper(name[:1]) + name[1:] + " Miller"})
	}
	if len(parties) > 0 {
		body["parties"] = parties
	}
	return o.Post(o.base, body).Want(http.StatusCreated)
}

// party is somebody who is asked, with the link in the mail.
type party struct {
	*testkit.Person
	key   string
	link  string // path of the API
	draft string // path of the reservation
	items []string
}

// partyOf returns the party of an address, as the owner's view of its link leads to it.
func (o office) partyOf(made *testkit.Response, index string) *party {
	o.Server.T.Helper()
	link := made.String("parties." + index + ".link")
	key := link[strings.LastIndex(link, "/")+1:]
	p := &party{Person: o.Server.Stranger(), key: key, link: o.Server.Transfer + "/public/requests/" + key}
	list, _ := made.Value("items").([]any)
	for _, one := range list {
		uid, _ := one.(map[string]any)["uid"].(string)
		p.items = append(p.items, uid)
	}
	return p
}

// open gets a token for the reservation.
func (p *party) open() *party {
	p.Server.T.Helper()
	made := p.Server.Stranger().Post(p.link, nil).Want(http.StatusOK)
	raw, ok := strings.CutPrefix(made.Header.Get("Authorization"), "Bearer ")
	if !ok {
		p.Server.T.Fatal("no reservation token")
	}
	p.Person = p.Server.Stranger().As(raw)
	p.draft = p.Server.Transfer + "/reservations/" + made.String("reservation")
	return p
}

// announce announces a file for an item.
func (p *party) announce(item int, name string, size int) *testkit.Response {
	p.Server.T.Helper()
	return p.Post(p.draft+"/objects?item="+url.QueryEscape(p.items[item]),
		map[string]any{"clientId": name, "name": name, "intendedSize": size})
}

// send uploads a file for an item.
func (p *party) send(item int, name, content string) {
	p.Server.T.Helper()
	p.announce(item, name, len(content)).Want(http.StatusCreated)
	p.Put(p.draft+"/objects/"+name+"/content", []byte(content)).Want(http.StatusOK)
}

// handIn hands in what was uploaded.
func (p *party) handIn(partly bool) *testkit.Response {
	p.Server.T.Helper()
	return p.Server.Stranger().Post(p.link+"/handin", map[string]any{"partly": partly})
}

// decide accepts an item, or returns it with a reason.
func (o office) decide(uid, party, item, reason string) *testkit.Response {
	o.Server.T.Helper()
	body := map[string]any{"state": "accepted"}
	if reason != "" {
		body = map[string]any{"state": "returned", "reason": reason}
	}
	return o.Patch(o.base+"/"+uid+"/parties/"+party+"/items/"+item, body)
}
