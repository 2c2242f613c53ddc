package handler_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// behindProxy makes the server trust X-Forwarded-For, and sets the strangers' limits to the defaults.
func behindProxy(options ...testkit.Option) []testkit.Option {
	return append([]testkit.Option{
		testkit.Env("CONSIGN_TRUSTED_PROXIES", "127.0.0.0/8,::1/128"), testkit.Env("CONSIGN_STRANGER_SHARE", ""),
	}, options...)
}

// ofTwenty makes the bucket of new transfers small.
var ofTwenty = testkit.Env("CONSIGN_NEW_TRANSFER_BUCKET", "20,1/60s")

// strangerAt returns a stranger with a client address.
func strangerAt(s *testkit.Server, address string) *testkit.Person {
	return s.Stranger().With("X-Forwarded-For", address)
}

// TestStrangersCannotCloseAMailbox: 20 anonymous requests of one address neither close the mailbox for other addresses nor keep
// the owner from sending.
func TestStrangersCannotCloseAMailbox(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t, behindProxy(ofTwenty)...)
	public := s.Transfer + "/public/mailbox/ann"
	var mu sync.Mutex
	var wait sync.WaitGroup
	made := 0
	for i := range 40 {
		wait.Go(func() {
			got := strangerAt(s, fmt.Sprintf("2001:db8::%x", i+1)).Post(public, nil) // one /64 is one client
			mu.Lock()
			defer mu.Unlock()
			if got.Status == http.StatusCreated {
				made++
				return
			}
			got.WantError(transfer.ErrClientTransfers)
			if limit, rest := got.Header.Get("X-RateLimit-Limit"), got.Header.Get("X-RateLimit-Remaining"); limit != "5" || rest != "0" {
				t.Errorf("a refusal names a bucket of %s with room for %s", limit, rest)
			}
			if got.Header.Get("Retry-After") != "240" {
				t.Errorf("Retry-After %s", got.Header.Get("Retry-After"))
			}
		})
	}
	wait.Wait()
	if made != 5 {
		t.Errorf("one client network made %d of 20 reservations", made)
	}
	for i := range 15 {
		strangerAt(s, fmt.Sprintf("192.0.2.%d", i+1)).Post(public, nil).Want(http.StatusCreated)
	}
	for i := range 60 { // what is kept for networks that have taken little lately
		strangerAt(s, fmt.Sprintf("198.51.%d.7", i)).Post(public, nil).Want(http.StatusCreated)
	}
	full := strangerAt(s, "198.51.100.99").Post(public, nil).WantError(transfer.ErrNewTransfers)
	if limit := full.Header.Get("X-RateLimit-Limit"); limit != "20" {
		t.Errorf("the strangers' bucket has a capacity of %s", limit)
	}
	for range 20 {
		ann.Post(s.Transfer+"/reservations", nil).Want(http.StatusCreated)
	}
	ann.Post(s.Transfer+"/reservations", nil).WantError(transfer.ErrNewTransfers)
}

// TestAttackMailboxPrefix: somebody with a /48, and with all addresses of a /24, leaves a quarter of a mailbox's bucket to other networks.
func TestAttackMailboxPrefix(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		format string
		most   int
	}{
		"a home line": {"2001:db8:0:%x::1", 10}, "a site": {"2001:db8:0:%x00::1", 15}, "an IPv4 network": {"203.0.113.%d", 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newMailbox(t, behindProxy(ofTwenty)...)
			made := 0
			for i := range 40 {
				if strangerAt(s, fmt.Sprintf(c.format, i+1)).Post(s.Transfer+"/public/mailbox/ann", nil).Status == http.StatusCreated {
					made++
				}
			}
			if made != c.most {
				t.Errorf("the prefix took %d of 20", made)
			}
			for i := range 5 {
				strangerAt(s, fmt.Sprintf("198.51.%d.7", i)).Post(s.Transfer+"/public/mailbox/ann", nil).Want(http.StatusCreated)
			}
		})
	}
}

// TestUnusedReservationsReturnTheirToken: a stranger's reservation that is cancelled, or expires, without bytes does not count as
// a new transfer. One with bytes does.
func TestUnusedReservationsReturnTheirToken(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t, behindProxy(testkit.Env("CONSIGN_NEW_TRANSFER_BUCKET", "4,1/8760h"),
		testkit.Constants(func(c *config.Constants) { c.ReservationLifetime = time.Hour }))...)
	public := s.Transfer + "/public/mailbox/ann"
	post := func() (draft, *testkit.Response) {
		got := strangerAt(s, "192.0.2.1").Post(public, map[string]any{"anonSender": "Sam", "anonEmail": "sam@example.com"})
		raw := strings.TrimPrefix(got.Header.Get("Authorization"), "Bearer ")
		if got.Status != http.StatusCreated {
			return draft{}, got
		}
		return draft{Person: s.Stranger().As(raw), uid: got.String("uid"), path: s.Transfer + "/reservations/" + got.String("uid")}, got
	}
	for range 10 {
		d, got := post()
		got.Want(http.StatusCreated)
		d.attach("a", 3) // attached, not uploaded
		d.Delete(d.path).Want(http.StatusNoContent)
	}
	d, got := post()
	got.Want(http.StatusCreated)
	ann.Delete(s.Transfer + "/mailbox/reservations/" + d.uid).Want(http.StatusNoContent)
	if _, got = post(); got.Status != http.StatusCreated { // expires below
		got.Want(http.StatusCreated)
	}
	s.Clock.Advance(2 * time.Hour)
	if err := s.App.Jobs.RunOnce(t.Context(), service.ExpireReservationsJob); err != nil {
		t.Fatal(err)
	}
	if d, got = post(); got.Status != http.StatusCreated {
		got.Want(http.StatusCreated)
	}
	d.send("a", []byte("abc"))
	d.Delete(d.path).Want(http.StatusNoContent)
	_, got = post()
	got.WantError(transfer.ErrClientTransfers)
}

// crowd lets two client networks reserve twelve times each, in parallel and at the mailboxes in turn. It checks that seven
// reservations come about, at most four of each network.
func crowd(s *testkit.Server, mailboxes ...string) {
	s.T.Helper()
	var mu sync.Mutex
	var wait sync.WaitGroup
	made := map[string]int{}
	for i := range 24 {
		wait.Go(func() {
			client := fmt.Sprintf("192.0.%d.1", i%2)
			got := strangerAt(s, client).Post(mailboxes[i/2%len(mailboxes)], nil)
			mu.Lock()
			defer mu.Unlock()
			if got.Status == http.StatusCreated {
				made[client]++
			} else if code := int(got.Number("error.code")); code != transfer.ErrMailboxBusy.Code && code != transfer.ErrClientBusy.Code {
				s.T.Errorf("answered %d %d", got.Status, code)
			}
		})
	}
	wait.Wait()
	if made["192.0.0.1"] > 4 || made["192.0.1.1"] > 4 || made["192.0.0.1"]+made["192.0.1.1"] != 7 {
		s.T.Errorf("made %v", made)
	}
}

// TestOpenReservationsOfStrangersAreBounded: parallel requests do not exceed the limits of open reservations of a mailbox and of a
// client network.
func TestOpenReservationsOfStrangersAreBounded(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t, behindProxy(testkit.Env("CONSIGN_NEW_TRANSFER_BUCKET", "1000,1/s"),
		testkit.Env("CONSIGN_STRANGER_RESERVATIONS", "7"),
		testkit.Env("CONSIGN_STRANGER_SHARE", "58"), testkit.Constants(func(c *config.Constants) { c.StrangerMaxFiles = 2 }))...)
	public := s.Transfer + "/public/mailbox/ann"
	crowd(s, public)
	for i := range 14 { // above the bound one of each other network, twice as many in all
		strangerAt(s, honest(i)).Post(public, nil).Want(http.StatusCreated)
	}
	strangerAt(s, "192.0.2.3").Post(public, nil).WantError(transfer.ErrMailboxBusy)
	list := ann.Get(s.Transfer + "/mailbox/reservations").Want(http.StatusOK).Value("reservations").([]any)
	ann.Delete(s.Transfer + "/mailbox/reservations/" + list[0].(map[string]any)["uid"].(string)).Want(http.StatusNoContent)
	if got := strangerAt(s, "192.0.2.3").Post(public, nil).Want(http.StatusCreated); got.Value("maxFiles") != 2.0 {
		t.Errorf("a stranger may attach %v files", got.Value("maxFiles"))
	}
	if got := s.Stranger().Get(public).Want(http.StatusOK); got.Value("maxFiles") != 2.0 {
		t.Errorf("the mailbox takes %v files", got.Value("maxFiles"))
	}
	if got := ann.Post(s.Transfer+"/reservations", nil).Want(http.StatusCreated); got.Value("maxFiles") != 10_000.0 {
		t.Errorf("a member may attach %v files", got.Value("maxFiles"))
	}
}

// TestAttackStrangersAtAnOrganization: the open reservations of a client network, and of all networks, at all mailboxes of an organization
// have limits that parallel requests do not exceed.
func TestAttackStrangersAtAnOrganization(t *testing.T) {
	t.Parallel()
	s, _, _, _, _ := newOffice(t, behindProxy(testkit.Env("CONSIGN_NEW_TRANSFER_BUCKET", "1000,1/s"),
		testkit.Env("CONSIGN_STRANGER_ORGANIZATION_RESERVATIONS", "7"),
		testkit.Env("CONSIGN_STRANGER_SHARE", "58"))...)
	crowd(s, s.Transfer+"/public/mailbox/ann", s.Transfer+"/public/mailbox/bob")
	eve := s.Transfer + "/public/mailbox/eve" // belongs to nobody's organization
	for range 4 {
		strangerAt(s, "192.0.2.5").Post(eve, nil).Want(http.StatusCreated)
	}
	if got := strangerAt(s, "192.0.2.5").Post(eve, nil).WantError(transfer.ErrClientBusy); !strings.Contains(got.Details(), "organization") {
		t.Errorf("%s", got.Body)
	}
	for i := range 6 {
		strangerAt(s, fmt.Sprintf("198.51.%d.7", i)).Post(eve, nil).Want(http.StatusCreated)
	}
}

// TestHouseOfAnOwner: a class behind one address hands in, whatever the bounds of one network are, once the owner has listed the address.
// What all strangers share stays bounded, and other networks still find room.
func TestHouseOfAnOwner(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t, behindProxy(ofTwenty, testkit.Env("CONSIGN_STRANGER_RESERVATIONS", "18"))...)
	public, mailbox := s.Transfer+"/public/mailbox/ann", s.Transfer+"/mailbox"
	taken := func(address string, most int) (n int) {
		t.Helper()
		for n < most && strangerAt(s, address).Post(public, nil).Status == http.StatusCreated {
			n++
		}
		return n
	}
	if n := taken("198.51.100.7", 10); n != 4 { // a quarter of 18 open ones
		t.Errorf("a network that is not the house's took %d", n)
	}
	put := map[string]any{"vanityLink": "ann", "ownNetworks": []string{"198.51.100.9/24", "198.51.100.0/24", "2001:db8:1:2::5"}}
	own := ann.Put(mailbox, put).Want(http.StatusOK)
	if got := fmt.Sprint(own.Value("ownNetworks")); got != "[198.51.100.0/24 2001:db8:1:2::/64]" {
		t.Errorf("the house is %s", got)
	}
	if s.Stranger().Get(public).Want(http.StatusOK).Value("ownNetworks") != nil {
		t.Error("strangers see the networks of the house")
	}
	if n := taken("198.51.100.7", 9) + taken("2001:db8:1:2::77", 2); n != 11 {
		t.Errorf("the house took %d of 11", n)
	}
	if n := taken("203.0.113.5", 3); n != 3 {
		t.Errorf("another network took %d of 3", n)
	}
	strangerAt(s, "198.51.100.7").Post(public, nil).WantError(transfer.ErrMailboxBusy)
}

// TestHouseOfAnOwnerDelivers: the reception of a clinic sends all unconfirmed bytes that a mailbox takes, and causes all mails of a day to
// its owner. Another network has its part of both, and what all strangers share stays bounded.
func TestHouseOfAnOwnerDelivers(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t, behindProxy(testkit.Env("CONSIGN_STRANGER_UNCONFIRMED_GB", "1"),
		testkit.Env("CONSIGN_STRANGER_MAILS_PER_DAY", "8"))...)
	const house, other = "198.51.100.7", "203.0.113.5"
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann", "ownNetworks": []string{"198.51.100.0/24"}}).Want(http.StatusOK)
	holding := func(address string, bytes int) draft {
		t.Helper()
		d := reserveAs(strangerAt(s, address), "sam@example.org")
		if _, err := s.App.DB.Pool.Exec(t.Context(), `UPDATE transfer.stranger_reservations SET bytes = $2 WHERE reservation = $1`,
			d.path[strings.LastIndex(d.path, "/")+1:], bytes); err != nil {
			t.Fatal(err)
		}
		return d
	}
	one := holding(other, 249_900_000)
	one.Put(one.attach("a", 1_000_000), random(1_000_000)).WantError(transfer.ErrClientUnconfirmed)
	two := holding(house, 500_000_000)
	two.send("a", random(1_000_000))
	holding(house, 248_900_000)
	two.Put(two.attach("b", 1_000_000), random(1_000_000)).WantError(transfer.ErrMailboxUnconfirmed)

	unmailed := func() (n int) {
		list, _ := ann.Get(s.Transfer + "/transfers?location=received").Want(http.StatusOK).Value("transfers").([]any)
		for _, entry := range list {
			if one, _ := entry.(map[string]any); one["unmailed"] == true {
				n++
			}
		}
		return n
	}
	s.Clock.Advance(24*time.Hour - s.Clock.Now().Sub(s.Clock.Now().Truncate(24*time.Hour))) // a day begins
	ann.Refresh()
	hand := func(address string, n int) {
		t.Helper()
		for range n {
			d := reserveAs(strangerAt(s, address), "sam@example.org")
			d.Post(d.path+"/confirm", nil).Want(http.StatusOK)
		}
	}
	hand(other, 3)
	if n := unmailed(); n != 1 {
		t.Errorf("%d of 3 deliveries of another network were not mailed", n)
	}
	hand(house, 6)
	if n := unmailed(); n != 1 {
		t.Errorf("%d deliveries were not mailed after 6 of the house", n)
	}
	hand(house, 1)
	if n := unmailed(); n != 2 {
		t.Errorf("%d deliveries were not mailed after the day's 8", n)
	}
}

// TestOwnNetworks: what cannot be a house is refused.
func TestOwnNetworks(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	many := make([]string, transfer.MaxOwnNetworks+1)
	for i := range many {
		many[i] = fmt.Sprintf("10.%d.0.0/16", i)
	}
	for _, list := range [][]string{{"0.0.0.0/0"}, {"10.0.0.0/15"}, {"::/0"}, {"2001:db8::/31"}, {"2001:db8::/96"}, {"::ffff:10.0.0.0/112"},
		{"example.org"}, {""}, {"fe80::1%eth0/64"}, many} {
		ann.Put(s.Transfer+"/mailbox", map[string]any{"ownNetworks": list}).WantError(fault.ErrInvalid)
	}
	got := ann.Put(s.Transfer+"/mailbox", map[string]any{"ownNetworks": many[1:]}).Want(http.StatusOK)
	if n := len(got.Value("ownNetworks").([]any)); n != transfer.MaxOwnNetworks {
		t.Errorf("the mailbox has %d networks", n)
	}
	if ann.Put(s.Transfer+"/mailbox", map[string]any{}).Want(http.StatusOK).Value("ownNetworks") != nil {
		t.Error("networks that were left out stay")
	}
}

// TestAClassHandsIn: with the settings of a new installation thirty people behind one address hand in at once.
func TestAClassHandsIn(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t, behindProxy()...)
	for range 30 {
		strangerAt(s, "198.51.100.7").Post(s.Transfer+"/public/mailbox/ann", nil).Want(http.StatusCreated)
	}
	strangerAt(s, "198.51.100.8").Post(s.Transfer+"/public/mailbox/ann", nil).Want(http.StatusCreated)
}
