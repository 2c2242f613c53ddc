// Tests of where webhooks lead, how they are sent, and their signatures.

package outbound

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"golang.org/x/net/dns/dnsmessage"
)

func TestGuardAddresses(t *testing.T) {
	t.Parallel()
	g := NewGuard([]string{"10.1.0.0/16", "192.168.7.7", "intern.example"}, "files.example.com", nil)
	for _, text := range []string{
		"127.0.0.1", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255",
		"192.0.2.1",
		"198.18.0.1", "::", "::1", "fe80::1", "fc00::1", "ff02::1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "fe80::1%eth0", "fec0::1",
	} {
		if err := g.control("tcp6", netip.AddrPortFrom(netip.MustParseAddr(text), 443).String(), nil); err == nil {
			t.Errorf("%s may be dialled", text)
		}
	}
	for _, text := range []string{"93.184.216.34", "10.1.2.3", "192.168.7.7", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:10.1.2.3"} {
		if err := g.control("tcp4", netip.AddrPortFrom(netip.MustParseAddr(text), 443).String(), nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	installation := netip.MustParseAddr("93.184.216.34")
	if g.control("tcp4", "93.184.216.34:443", []netip.Addr{installation}) == nil {
		t.Error("the address of the installation may be dialled")
	}
	if g.control("udp4", "93.184.216.34:443", nil) == nil || g.control("tcp4", "nonsense", nil) == nil {
		t.Error("something else than TCP to an address may be dialled")
	}
	own, err := net.InterfaceAddrs()
	if err != nil || len(own) == 0 {
		t.Fatal("no interface has an address", err)
	}
}

func TestGuardURLs(t *testing.T) {
	t.Parallel()
	g := NewGuard([]string{"10.1.0.0/16", "intern.example"}, "files.example.com", nil)
	for _, text := range []string{
		"", "x", "http://hooks.example.com/", "ftp://hooks.example.com/", "https://", "https:hooks", "https://user:secret@hooks.example.com/",
		"https://hooks.example.com/#f",
		"https://127.0.0.1/", "https://[::1]/", "https://10.0.0.1/", "http://10.0.0.1/", "https://localhost/", "https://a.localhost/",
		"https://Files.Example.com/id/v3",
		"https://hooks.example.com/ x", "https://hooks.example.com/" + strings.Repeat("x", maxURL),
	} {
		if u, err := g.Check(text); err == nil {
			t.Errorf("%.60s is accepted as %v", text, u)
		}
	}
	for _, text := range []string{
		"https://hooks.example.com", "https://hooks.example.com:8443/a/b?key=x", "http://10.1.2.3:9000/", "http://intern.example/",
		"https://INTERN.example/x",
	} {
		if _, err := g.Check(text); err != nil {
			t.Errorf("%s %v", text, err)
		}
	}
}

// names is a DNS server whose answers a test chooses. It returns a resolver that asks it, and the number of questions.
func names(t *testing.T, answer func(name string) netip.Addr) (*net.Resolver, *atomic.Int64) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0") //nolint:noctx // closed with the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	asked := new(atomic.Int64)
	go func() {
		for buffer := make([]byte, 4096); ; {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil {
				continue
			}
			q := m.Questions[0]
			m.Response, m.Additionals = true, nil
			if q.Type == dnsmessage.TypeA {
				asked.Add(1)
				header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
				m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: answer(q.Name.String()).As4()}}}
			}
			if packed, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(packed, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}, asked
}

// TestAttackRebinding: a name that leads to a public address when somebody looks, and to this machine when the server connects.
func TestAttackRebinding(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(receiver.Close)
	port := receiver.URL[strings.LastIndex(receiver.URL, ":"):]
	var turn atomic.Int64
	resolver, asked := names(t, func(string) netip.Addr {
		if turn.Add(1)%2 == 1 {
			return netip.MustParseAddr("192.0.2.7") // refused, too: nothing leaves this machine
		}
		return netip.MustParseAddr("127.0.0.1")
	})
	s := NewSender(NewGuard(nil, "", resolver), "", time.Now)
	for i := range 6 {
		r, err := s.Send(t.Context(), Message{ID: "m", URL: "https://rebind.example" + port, Secrets: []string{NewSecret()}, Body: []byte("{}")})
		if err != nil || r.Reason != ReasonFailed {
			t.Errorf("attempt %d: %+v %v", i, r, err)
		}
	}
	if reached.Load() != 0 || asked.Load() != 6 {
		t.Errorf("reached %d times with %d look-ups, want none with one for each attempt", reached.Load(), asked.Load())
	}
	allowed := NewSender(NewGuard([]string{"rebind.example"}, "", resolver), "", time.Now)
	turn.Store(1)
	r, err := allowed.Send(t.Context(), Message{ID: "m", URL: "http://rebind.example" + port, Secrets: []string{NewSecret()},
		Body: []byte("{}")})
	if err != nil || r.Status != http.StatusOK || reached.Load() != 1 {
		t.Errorf("to an allowed host: %+v %v", r, err)
	}
}

// TestAttackPrivateNames: the log does not tell a name of the operator's network from one that does not exist.
func TestAttackPrivateNames(t *testing.T) {
	t.Parallel()
	resolver, _ := names(t, func(string) netip.Addr { return netip.MustParseAddr("10.1.2.3") })
	nothing := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
	}}
	var reasons []string
	for _, r := range []*net.Resolver{resolver, nothing} {
		s := NewSender(NewGuard(nil, "", r), "", time.Now)
		got, err := s.Send(t.Context(), Message{ID: "m", URL: "https://db.internal.example", Secrets: []string{NewSecret()}, Body: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		reasons = append(reasons, got.Reason)
	}
	if reasons[0] != ReasonFailed || reasons[1] != ReasonFailed {
		t.Errorf("a private name and one that does not exist: %v", reasons)
	}
}

// send posts a message to a handler on this machine.
func send(t *testing.T, handler http.HandlerFunc) Result {
	t.Helper()
	receiver := httptest.NewServer(handler)
	t.Cleanup(receiver.Close)
	s := NewSender(NewGuard([]string{"127.0.0.0/8"}, "", nil), "test", time.Now)
	r, err := s.Send(t.Context(), Message{ID: "m1", URL: receiver.URL, Secrets: []string{NewSecret()}, Body: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSendFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(inside.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		r := send(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside.URL, status) })
		if r.Reason != ReasonStatus || r.Status != status {
			t.Errorf("%d: %+v", status, r)
		}
	}
	if reached.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

func TestSendBoundsAnswers(t *testing.T) {
	t.Parallel()
	var written atomic.Int64
	r := send(t, func(w http.ResponseWriter, _ *http.Request) {
		for chunk := strings.Repeat("x", 32<<10); ; {
			n, err := io.WriteString(w, chunk)
			written.Add(int64(n))
			if err != nil || written.Load() > 1<<30 {
				return
			}
		}
	})
	if r.Reason != "" || len(r.Answer) != keptAnswer || r.Duration > 5*time.Second {
		t.Errorf("%d bytes of the answer, %+v", len(r.Answer), r.Reason)
	}
	r = send(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "busy\x00\x1b[31m\xff\nlater")
	})
	if r.Reason != ReasonStatus || r.Answer != "busy[31m\nlater" || r.RetryAfter != 2*time.Minute {
		t.Errorf("%+v", r)
	}
	if r = send(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }); !r.Gone() {
		t.Errorf("%+v", r)
	}
}

// TestSendIsBoundedInTime: a receiver that sends a byte now and then holds an attempt for ten seconds.
func TestSendIsBoundedInTime(t *testing.T) {
	t.Parallel()
	r := send(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	if r.Reason != ReasonTimeout || r.Duration < timeout || r.Duration > timeout+5*time.Second {
		t.Errorf("%+v", r)
	}
}

func TestSendIgnoresProxies(t *testing.T) {
	t.Parallel()
	s := NewSender(NewGuard(nil, "", nil), "", time.Now)
	if s.client.Transport.(*http.Transport).Proxy != nil {
		t.Error("webhooks may go through a proxy of the environment")
	}
}

// TestSignatures: the library of Standard Webhooks verifies a message with either secret of a rotation.
func TestSignatures(t *testing.T) {
	t.Parallel()
	secrets := []string{NewSecret(), NewSecret()}
	body, err := Body(Event{Kind: "TRANSFER_RECEIVED", UID: "e", Subject: "s", Receivers: []string{"p"}, At: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"type":"TRANSFER_RECEIVED","timestamp":"1970-01-01T00:00:00.000+00:00","data":{"uid":"e","subject":"s","receivers":["p"]}}`; string(body) != want {
		t.Errorf("body %s", body)
	}
	s := NewSender(NewGuard(nil, "", nil), "", time.Now)
	r, err := s.request(t.Context(), Message{ID: "m1", URL: "https://hooks.example.com", Secrets: secrets, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range append(secrets, NewSecret()) {
		key, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := key.Verify(body, r.Header); (err == nil) != (secret == secrets[0] || secret == secrets[1]) {
			t.Errorf("verification: %v", err)
		}
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	var total time.Duration
	attempts := 1
	for {
		pause, ok := Retry(attempts, 0)
		if !ok {
			break
		}
		total += pause
		attempts++
	}
	if attempts != 10 || total < 72*time.Hour || total > 80*time.Hour {
		t.Errorf("%d attempts within %s", attempts, total)
	}
	if pause, _ := Retry(1, time.Minute); pause != time.Minute {
		t.Errorf("pause %s although the receiver asks for a minute", pause)
	}
	if pause, _ := Retry(1, 1000*time.Hour); pause > 24*time.Hour {
		t.Errorf("pause %s because the receiver asks for it", pause)
	}
}

func FuzzGuardCheck(f *testing.F) {
	for _, seed := range []string{"https://hooks.example.com", "https://[::1]:443/", "https://2130706433/", "https://0x7f.1/",
		"http://127.1"} {
		f.Add(seed)
	}
	g := NewGuard(nil, "files.example.com", nil)
	f.Fuzz(func(t *testing.T, text string) {
		u, err := g.Check(text)
		if err != nil {
			return
		}
		if u.Scheme != "https" || u.Host == "" || u.User != nil {
			t.Error(fmt.Sprint(u))
		}
		if _, err := url.Parse(u.String()); err != nil {
			t.Error(err)
		}
	})
}
