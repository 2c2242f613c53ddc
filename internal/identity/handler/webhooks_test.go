package handler_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/webhook"
	webhookservice "github.com/consign-dev/consign/internal/webhook/service"
)

// receiver is a program that gets webhooks.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []received
	status int // of the answers; 0: 204
}

type received struct {
	id     string
	header http.Header
	body   []byte
	Type   string
	Data   struct {
		UID, Subject string
		Receivers    []string
	}
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		m := received{id: req.Header.Get("webhook-id"), header: req.Header, body: body}
		if err := json.Unmarshal(body, &m); err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, m)
		if r.status != 0 {
			w.WriteHeader(r.status)
			_, _ = io.WriteString(w, "no")
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) answer(status int) { r.mu.Lock(); defer r.mu.Unlock(); r.status = status }

func (r *receiver) all() []received { r.mu.Lock(); defer r.mu.Unlock(); return slices.Clone(r.got) }

// wait returns the first n messages.
func (r *receiver) wait(t *testing.T, n int) []received {
	t.Helper()
	poll.Until(t, fmt.Sprintf("%d messages", n), func() bool { return len(r.all()) >= n })
	return r.all()
}

func (m received) verify(t *testing.T, secret string) {
	t.Helper()
	key, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := key.Verify(m.body, m.header); err != nil {
		t.Error(err)
	}
}

// hooked starts a server whose webhooks may lead to this machine.
func hooked(t *testing.T, options ...testkit.Option) *testkit.Server {
	t.Helper()
	return testkit.New(t, append(options, testkit.Env("CONSIGN_WEBHOOK_ALLOW", "127.0.0.0/8"))...)
}

// happen appends n events to a person's feed, in one transaction.
func happen(t *testing.T, s *testkit.Server, p *testkit.Person, n int) (uids []string) {
	t.Helper()
	err := s.App.DB.InTx(t.Context(), func(tx database.Tx) error {
		uids = nil
		for range n {
			subject := id.New[id.Transfer]().String()
			uids = append(uids, subject)
			if err := events.Append(t.Context(), tx, s.Clock.Now(),
				events.Event{Kind: events.TransferReceived, Subject: subject, Receivers: []id.Person{uid(t, p.ID)}}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return uids
}

func hook(url string, kinds ...string) map[string]any {
	return map[string]any{"url": url, "events": kinds}
}

func says(r *testkit.Response, text string) bool { return bytes.Contains(r.Body, []byte(text)) }

// TestWebhook: a person's webhook, its messages, its log, rotation, pause and end.
func TestWebhook(t *testing.T) {
	t.Parallel()
	s := hooked(t)
	r, ann := newReceiver(t), s.SignUp("ann@example.com")
	made := ann.Post(s.Identity+"/webhooks", hook(r.URL+"/in", events.TransferReceived)).Want(http.StatusCreated)
	path := made.Header.Get("Location")[len(s.URL):]
	if list := ann.Get(s.Identity + "/webhooks").Want(http.StatusOK); bytes.Contains(list.Body, []byte("whsec_")) ||
		list.String("webhooks.0.uid") != made.String("uid") {
		t.Errorf("the list is %s", list.Body)
	}
	ann.Get(path).Want(http.StatusOK)

	subject := happen(t, s, ann, 1)[0]
	m := r.wait(t, 1)[0]
	m.verify(t, made.String("secret"))
	if m.Type != events.TransferReceived || m.Data.Subject != subject || !slices.Equal(m.Data.Receivers, []string{uid(t, ann.ID).String()}) {
		t.Errorf("the message is %s", m.body)
	}
	poll.Until(t, "the log", func() bool { return says(ann.Get(path+"/deliveries"), `"state":"delivered"`) })
	entry := ann.Get(path + "/deliveries?state=delivered").Want(http.StatusOK)
	if entry.String("deliveries.0.uid") != m.id || entry.String("deliveries.0.event") != m.Data.UID ||
		entry.Value("deliveries.0.status").(float64) != http.StatusNoContent {
		t.Errorf("the log is %s", entry.Body)
	}
	ann.Get(path + "/deliveries?state=x").WantError(fault.ErrInvalid)

	rotated := ann.Post(path+"/rotate", nil).Want(http.StatusOK)
	ping := ann.Post(path+"/ping", nil).Want(http.StatusAccepted)
	m = r.wait(t, 2)[1]
	if m.Type != webhook.Ping || m.id != ping.String("uid") {
		t.Errorf("the test is %s", m.body)
	}
	m.verify(t, made.String("secret"))
	m.verify(t, rotated.String("secret"))
	s.Clock.Advance(webhook.SecretOverlap)
	ann = ann.Login()
	ann.Post(path+"/deliveries/"+m.id+"/send", nil).Want(http.StatusAccepted)
	again := r.wait(t, 3)[2]
	if again.id != m.id || !bytes.Equal(again.body, m.body) || strings.Contains(again.header.Get("webhook-signature"), " ") {
		t.Errorf("sent again: %s %s, before: %s %s", again.header, again.body, m.header, m.body)
	}
	ann.Post(path+"/deliveries/"+id.New[id.Message]().String()+"/send", nil).WantError(webhook.ErrDeliveryNotFound)

	paused := hook(r.URL, events.TransferReceived)
	paused["active"] = false
	ann.Put(path, paused).Want(http.StatusOK)
	happen(t, s, ann, 1)
	ann.Put(path, hook(r.URL, events.TransferRevoked)).Want(http.StatusOK)
	happen(t, s, ann, 1)
	ann.Post(path+"/ping", nil).Want(http.StatusAccepted)
	if got := r.wait(t, 4); got[3].Type != webhook.Ping {
		t.Errorf("a paused webhook got %s", got[3].body)
	}
	r.mu.Lock() // the receiver does not answer
	var waiting atomic.Int64
	var tests sync.WaitGroup
	for range 4 * webhook.MaxPendingPings { // in parallel
		tests.Go(func() {
			if got := ann.Post(path+"/ping", nil); got.Status == http.StatusAccepted {
				waiting.Add(1)
			} else {
				got.WantError(webhook.ErrPingsWaiting)
			}
		})
	}
	tests.Wait()
	if n := waiting.Load(); n != webhook.MaxPendingPings {
		t.Errorf("%d tests wait", n)
	}
	r.mu.Unlock()
	ann.Delete(path).Want(http.StatusNoContent)
	ann.Get(path).WantError(webhook.ErrNotFound)
	ann.Delete(path).WantError(webhook.ErrNotFound)
}

// TestWebhookOfOthers: nobody else sees or changes a webhook, and a program needs the scope.
func TestWebhookOfOthers(t *testing.T) {
	t.Parallel()
	s := hooked(t)
	ann, eve := s.SignUp("ann@example.com"), s.SignUp("eve@example.com")
	path := s.Identity + "/webhooks/" + ann.Post(s.Identity+"/webhooks",
		hook("https://hooks.example.com/", events.TransferReceived)).Want(http.StatusCreated).String("uid")
	eve.Get(path).WantError(webhook.ErrNotFound)
	eve.Put(path, hook("https://evil.example.com/", events.TransferReceived)).WantError(webhook.ErrNotFound)
	eve.Delete(path).WantError(webhook.ErrNotFound)
	eve.Get(path + "/deliveries").WantError(webhook.ErrNotFound)
	for _, call := range []string{"/rotate", "/ping", "/deliveries/" + id.New[id.Message]().String() + "/send"} {
		eve.Post(path+call, nil).WantError(webhook.ErrNotFound)
	}
	reader, _ := apiToken(ann, reading("Archive"))
	reader.Get(path).WantError(token.ErrScope)
	program, _ := apiToken(ann, map[string]any{"name": "Hooks", "scopes": []string{"webhooks"}})
	program.Get(path).Want(http.StatusOK)

	organization := ann.Post(s.Identity+"/organizations", map[string]any{"name": "Archers"}).Want(http.StatusCreated).String("uid")
	ann = ann.Login()
	shared := hook("https://hooks.example.com/", events.TransferReceived)
	shared["organization"] = organization
	of := s.Identity + "/webhooks/" + ann.Post(s.Identity+"/webhooks", shared).Want(http.StatusCreated).String("uid")
	eve.Post(s.Identity+"/webhooks", shared).WantError(identity.ErrNotMember)
	eve.Get(s.Identity + "/webhooks?organization=" + organization).WantError(identity.ErrNotMember)
	eve.Get(of).WantError(webhook.ErrNotFound)
	if list := ann.Get(s.Identity + "/webhooks?organization=" + organization).Want(http.StatusOK); len(list.Value("webhooks").([]any)) != 1 {
		t.Errorf("the list is %s", list.Body)
	}
}

// TestWebhookMembers: refused addresses and kinds, and the bound.
func TestWebhookMembers(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	s.SendUndocumented()
	for _, body := range []map[string]any{
		hook("https://hooks.example.com/"), hook("https://hooks.example.com/", "PING"),
		hook("http://hooks.example.com/", events.TransferReceived),
		hook("https://127.0.0.1/", events.TransferReceived), hook("https://[::ffff:10.0.0.1]/", events.TransferReceived),
		hook("https://localhost/", events.TransferReceived),
		hook("x", events.TransferReceived), hook("https://a:b@hooks.example.com/", events.TransferReceived),
	} {
		ann.Post(s.Identity+"/webhooks", body).WantError(fault.ErrInvalid)
	}
	for range webhook.MaxOfPerson {
		ann.Post(s.Identity+"/webhooks", hook("https://hooks.example.com/", events.TransferReceived)).Want(http.StatusCreated)
	}
	ann.Post(s.Identity+"/webhooks", hook("https://hooks.example.com/", events.TransferReceived)).WantError(webhook.ErrTooMany)
}

// TestWebhookOfOrganization: an event of several members is one message; who is no member causes none.
func TestWebhookOfOrganization(t *testing.T) {
	t.Parallel()
	s := hooked(t)
	r, ann, eve := newReceiver(t), s.SignUp("ann@example.com"), s.SignUp("eve@example.com")
	organization := ann.Post(s.Identity+"/organizations", map[string]any{"name": "Archers"}).Want(http.StatusCreated).String("uid")
	ann = ann.Login()
	body := hook(r.URL, events.TransferReceived, events.OrganizationProfileUpdated)
	body["organization"] = organization
	ann.Post(s.Identity+"/webhooks", body).Want(http.StatusCreated)
	happen(t, s, eve, 1)
	subject := happen(t, s, ann, 1)[0]
	if m := r.wait(t, 1)[0]; m.Data.Subject != subject {
		t.Errorf("got %s", m.body)
	}
	ann.Delete(s.Identity + "/organizations/" + organization).Want(http.StatusNoContent)
	if n, err := database.Scalar[int](t.Context(), s.App.DB.Pool, "count", nil, "SELECT count(*) FROM webhook.webhooks"); err != nil ||
		n != 0 {
		t.Errorf("%d webhooks of a deleted organization, %v", n, err)
	}
}

// TestWebhookFails: repeated for three days, then dead and inactive, with a mail; sent again after it is activated.
func TestWebhookFails(t *testing.T) {
	t.Parallel()
	s := hooked(t)
	r, ann := newReceiver(t), s.SignUp("ann@example.com")
	r.answer(http.StatusInternalServerError)
	path := s.Identity + "/webhooks/" + ann.Post(s.Identity+"/webhooks",
		hook(r.URL, events.TransferReceived)).Want(http.StatusCreated).String("uid")
	happen(t, s, ann, 1)
	begin := s.Clock.Now()
	for n := 1; ; n++ {
		var state struct {
			State    string
			Attempts int
			Next     time.Time
		}
		poll.Until(t, fmt.Sprintf("attempt %d", n), func() (settled bool) {
			got, err := database.One[struct {
				State    string
				Attempts int
				Next     time.Time
				Reason   *string
			}](t.Context(), s.App.DB.Pool, "delivery", nil, "SELECT state, attempts, next_attempt_at AS next, reason FROM webhook.deliveries")
			state.State, state.Attempts, state.Next = got.State, got.Attempts, got.Next
			return err == nil && got.Attempts == n && got.Reason != nil &&
				(got.State == webhook.DeliveryDead || got.Next.Sub(s.Clock.Now()) != 30*time.Second)
		})
		if state.State == webhook.DeliveryDead {
			break
		}
		s.Clock.Advance(state.Next.Sub(s.Clock.Now()))
	}
	if lasted := s.Clock.Now().Sub(begin); lasted < 72*time.Hour || len(r.all()) != 10 {
		t.Errorf("%d attempts within %s", len(r.all()), lasted)
	}
	ann = ann.Login()
	poll.Until(t, "the webhook ending", func() bool { return says(ann.Get(path), webhook.DisabledFailing) })
	mailed := s.Mail.Wait(t, "ann@example.com", "webhook", 1)
	if !strings.Contains(mailed.Text, "127.0.0.1") || !strings.Contains(mailed.Text, "/account") {
		t.Errorf("the mail is %s", mailed.Text)
	}
	dead := ann.Get(path + "/deliveries?state=dead").Want(http.StatusOK)
	if dead.String("deliveries.0.reason") != "STATUS" || dead.String("deliveries.0.answer") != "no" {
		t.Errorf("the log is %s", dead.Body)
	}
	r.answer(0)
	ann.Put(path, hook(r.URL, events.TransferReceived)).Want(http.StatusOK)
	ann.Post(path+"/deliveries/"+dead.String("deliveries.0.uid")+"/send", nil).Want(http.StatusAccepted)
	messages := r.wait(t, 11)
	for _, m := range messages {
		if m.id != messages[0].id || !bytes.Equal(m.body, messages[0].body) {
			t.Errorf("%s %s differs from %s %s", m.id, m.body, messages[0].id, messages[0].body)
		}
	}
}

// TestWebhookGone: a receiver that answers 410 gets no more.
func TestWebhookGone(t *testing.T) {
	t.Parallel()
	s := hooked(t)
	r, ann := newReceiver(t), s.SignUp("ann@example.com")
	r.answer(http.StatusGone)
	path := s.Identity + "/webhooks/" + ann.Post(s.Identity+"/webhooks",
		hook(r.URL, events.TransferReceived)).Want(http.StatusCreated).String("uid")
	happen(t, s, ann, 20)
	poll.Until(t, "the webhook ending", func() bool { return says(ann.Get(path), webhook.DisabledGone) })
	s.Mail.Wait(t, "ann@example.com", "webhook", 1)
	if n := len(r.all()); n > 8 {
		t.Errorf("%d messages after 410", n)
	}
}

// TestWebhookReplicas: two replicas send each of many deliveries once; a rolled-back transaction causes none.
func TestWebhookReplicas(t *testing.T) {
	t.Parallel()
	s := hooked(t)
	hooked(t, testkit.Beside(s))
	r, ann := newReceiver(t), s.SignUp("ann@example.com")
	ann.Post(s.Identity+"/webhooks", hook(r.URL, events.TransferReceived)).Want(http.StatusCreated)
	var want []string
	for range 20 {
		want = append(want, happen(t, s, ann, 10)...)
		_ = s.App.DB.InTx(t.Context(), func(tx database.Tx) error {
			err := events.Append(t.Context(), tx, s.Clock.Now(),
				events.Event{Kind: events.TransferReceived, Subject: "rolled back", Receivers: []id.Person{uid(t, ann.ID)}})
			if err != nil {
				t.Error(err)
			}
			return fault.ErrConflict
		})
	}
	var got []string
	for _, m := range r.wait(t, len(want)) {
		got = append(got, m.Data.Subject)
	}
	poll.Until(t, "the outcomes", func() bool {
		n, err := database.Scalar[int](t.Context(), s.App.DB.Pool, "count", nil,
			"SELECT count(*) FROM webhook.deliveries WHERE state <> 'delivered'")
		return err == nil && n == 0
	})
	if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) || len(r.all()) != len(want) {
		t.Errorf("%d messages for %d events", len(r.all()), len(want))
	}
}

// TestWebhookSlowReceiver: a receiver that never answers does not delay another one, of the same person.
func TestWebhookSlowReceiver(t *testing.T) {
	t.Parallel()
	s := hooked(t)
	r, ann := newReceiver(t), s.SignUp("ann@example.com")
	var parallel, most int
	var mu sync.Mutex
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		mu.Lock()
		parallel++
		most = max(most, parallel)
		mu.Unlock()
		_, _ = io.Copy(io.Discard, req.Body)
		select {
		case <-req.Context().Done():
		case <-t.Context().Done():
		}
		mu.Lock()
		parallel--
		mu.Unlock()
	}))
	t.Cleanup(slow.Close)
	ann.Post(s.Identity+"/webhooks", hook(slow.URL, events.TransferReceived)).Want(http.StatusCreated)
	ann.Post(s.Identity+"/webhooks", hook(r.URL, events.TransferReceived)).Want(http.StatusCreated)
	happen(t, s, ann, 100)
	begin := time.Now()
	r.wait(t, 100)
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("100 messages took %s beside a slow receiver", took)
	}
	mu.Lock()
	defer mu.Unlock()
	if most > 4 {
		t.Errorf("%d messages at the same time to one webhook", most)
	}
}

// TestWebhookBounds: of too many waiting deliveries the oldest are given up, and logs are cut.
func TestWebhookBounds(t *testing.T) {
	t.Parallel()
	s := hooked(t)
	r, ann := newReceiver(t), s.SignUp("ann@example.com")
	r.answer(http.StatusInternalServerError)
	path := s.Identity + "/webhooks/" + ann.Post(s.Identity+"/webhooks",
		hook(r.URL, events.TransferReceived)).Want(http.StatusCreated).String("uid")
	happen(t, s, ann, webhook.MaxPendingDeliveries+150)
	count := func(condition string) int {
		n, err := database.Scalar[int](t.Context(), s.App.DB.Pool, "count", nil, "SELECT count(*) FROM webhook.deliveries WHERE "+condition)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range 2 {
		if err := s.App.Jobs.RunOnce(t.Context(), webhookservice.TidyJob); err != nil {
			t.Fatal(err)
		}
	}
	if pending, dead := count("state = 'pending'"), count("state = 'dead' AND reason = 'TOO_MANY'"); pending != webhook.MaxPendingDeliveries ||
		dead != webhook.LoggedDeliveries {
		t.Errorf("%d pending, %d dead", pending, dead)
	}
	ann.Delete(path).Want(http.StatusNoContent)
	if err := s.App.Jobs.RunOnce(t.Context(), webhookservice.TidyJob); err != nil || count("true") != 0 {
		t.Errorf("%d deliveries of a deleted webhook, %v", count("true"), err)
	}
}

// TestWebhookEndsWithPerson: the webhooks of a deleted person are deleted.
func TestWebhookEndsWithPerson(t *testing.T) {
	t.Parallel()
	s := hooked(t)
	ann := s.SignUp("ann@example.com")
	ann.Post(s.Identity+"/webhooks", hook("https://hooks.example.com/", events.TransferReceived)).Want(http.StatusCreated)
	ann.Do("DELETE", s.Identity+"/profile", nil).Want(http.StatusNoContent)
	if n, err := database.Scalar[int](t.Context(), s.App.DB.Pool, "count", nil, "SELECT count(*) FROM webhook.webhooks"); err != nil ||
		n != 0 {
		t.Errorf("%d webhooks of a deleted person, %v", n, err)
	}
}
