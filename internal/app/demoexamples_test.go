// The examples of a demo, its limits, and the webhook inspector.

package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// TestDemoExamples: a newcomer finds transfers, a request half done, a token that works and a webhook.
func TestDemoExamples(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Demo())
	value, _ := demoValues(t, s)
	owner := s.Stranger().As(value("token"))
	var inbox struct {
		Transfers []struct{ Subject string }
	}
	owner.Get(s.Transfer + "/transfers?location=received").Want(200).JSON(&inbox)
	subjects := fmt.Sprint(inbox.Transfers)
	if len(inbox.Transfers) != 3 || !strings.Contains(subjects, "Measurements") || !strings.Contains(subjects, "Logo") {
		t.Errorf("the inbox: %s", subjects)
	}
	owner.Get(s.Transfer + "/transfers?location=sent").Want(200).JSON(&inbox)
	if len(inbox.Transfers) != 1 {
		t.Errorf("sent: %v", inbox.Transfers)
	}
	var requests struct {
		Requests []struct{ PartyCount, HandedIn, Complete int }
	}
	owner.Get(s.Transfer + "/requests").Want(200).JSON(&requests)
	if len(requests.Requests) != 1 || requests.Requests[0].PartyCount != 2 || requests.Requests[0].HandedIn != 1 ||
		requests.Requests[0].Complete != 0 {
		t.Errorf("requests: %+v", requests)
	}
	owner.Get(s.Identity + "/webhooks").Want(200)
}

// TestDemoLimits: the limits of one network stop no newcomer. Other mailboxes take 60 transfers of a network.
func TestDemoLimits(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Demo(), testkit.Env("CONSIGN_RATE_LIMIT", "on"), testkit.Env("CONSIGN_STRANGER_SHARE", "25"))
	for range 70 {
		s.Clock.Advance(3 * time.Second) // for the bucket of all calls; 70 are more than the other buckets have and drain
		made := s.Stranger().Post(s.Transfer+"/public/mailbox/demo",
			map[string]any{"anonSender": "Sam", "anonEmail": "sam@example.com", "subject": "Again"}).Want(201)
		sam := s.Stranger().As(strings.TrimPrefix(made.Header.Get("Authorization"), "Bearer "))
		reservation := s.Transfer + "/reservations/" + made.String("uid")
		sam.Post(reservation+"/objects", map[string]any{"clientId": "a", "name": "empty.txt", "intendedSize": 0}).Want(201)
		sam.Post(reservation+"/confirm", nil).Want(200)
	}
}

// messages are what the inspector shows.
type messages struct {
	Messages []struct {
		ID, Body string
		Verified bool
		Headers  []struct{ Name, Value string }
	}
}

func inspect(t *testing.T, s *testkit.Server, token string) (status int, shown messages) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/demo/webhooks/messages", nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode == http.StatusOK {
		err = json.Unmarshal(body, &shown)
	}
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, shown
}

// TestWebhookInspector: the owner sees the messages of the demo's webhook with headers and body. Those of others are marked and displace
// none. Nobody else sees them, nobody can post to the page, and without a demo there is none.
func TestWebhookInspector(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Demo())
	value, _ := demoValues(t, s)
	token := value("token")
	s.Stranger().As(token).Get(s.Identity + "/webhooks").Want(200)
	var shown messages
	poll.Until(t, "a verified message", func() bool {
		_, shown = inspect(t, s, token)
		return len(shown.Messages) > 0
	})
	for _, m := range shown.Messages {
		headers := fmt.Sprint(m.Headers)
		if !m.Verified || !strings.Contains(m.Body, `"type":"`) || !strings.Contains(headers, "webhook-signature v1,") {
			t.Errorf("shown: %+v", m)
		}
	}

	ann := s.SignUp("ann@example.com")
	var hook struct{ UID string }
	ann.Post(s.Identity+"/webhooks", map[string]any{"url": s.URL + "/demo/webhooks", "events": []string{"TRANSFER_RECEIVED"}}).
		Want(201).JSON(&hook)
	for range 8 {
		ann.Post(s.Identity+"/webhooks/"+hook.UID+"/ping", nil).Want(202)
	}
	others := func() (verified, others int) {
		_, shown = inspect(t, s, token)
		for _, m := range shown.Messages {
			if m.Verified {
				verified++
			} else {
				others++
			}
		}
		return verified, others
	}
	poll.Until(t, "messages of Ann's webhook", func() bool { _, n := others(); return n == 5 })
	if verified, n := others(); verified == 0 || n != 5 {
		t.Errorf("%d verified, %d others", verified, n)
	}
	for name, c := range map[string]struct {
		token string
		want  int
	}{"nobody": {"", 401}, "another person": {ann.Access, 403}} {
		if status, _ := inspect(t, s, c.token); status != c.want {
			t.Errorf("%s: %d, want %d", name, status, c.want)
		}
	}
	if status, _ := fetch(t, s.URL+"/demo/webhooks"); status != http.StatusOK {
		t.Errorf("the page answers %d", status)
	}
	resp, err := http.Post(s.URL+"/demo/webhooks", "application/json", strings.NewReader("{}")) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a post from outside: %d", resp.StatusCode)
	}
	ann.Post(s.Identity+"/webhooks", map[string]any{"url": s.URL + "/demo/webhooks?", "events": []string{"TRANSFER_RECEIVED"}}).Want(400)

	plain := testkit.New(t)
	for _, path := range []string{"/demo/webhooks", "/demo/webhooks/messages"} {
		if status, _ := fetch(t, plain.URL+path); status != http.StatusNotFound {
			t.Errorf("without a demo %s answers %d", path, status)
		}
	}
}
