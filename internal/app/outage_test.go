package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/relay"
	"github.com/consign-dev/consign/internal/token"
)

// TestPostgresOutage: while Postgres is unreachable, everything that needs it answers 503 with Retry-After and nothing
// answers 500. Connections are refused in one case and time out in the other. Afterwards the same process serves
// again, and uploads continue.
func TestPostgresOutage(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		name := "refused"
		if silent {
			name = "silent"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outage(t, silent)
		})
	}
}

func outage(t *testing.T, silent bool) {
	first := testkit.New(t)
	hop := relay.New(t, first.DatabaseURL)
	s := testkit.New(t, testkit.Beside(first), testkit.Through(hop.URL))
	ann := first.SignUp("ann@example.com").At(s)
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "dr-ann"}).Want(http.StatusCreated)
	sam, reservation := reserve(s.Stranger(), "dr-ann", 200_000)
	data := bytes.Repeat([]byte("consign "), 25_000)
	sam.With("Content-Range", "bytes 0-99999/200000").Put(reservation+"/objects/a/content", data[:100_000]).Want(http.StatusOK)

	// An upload is in flight when the database goes away.
	body := newTap()
	uploaded := make(chan *testkit.Response, 1)
	go func() {
		got, _ := sam.With("Content-Range", "bytes 100000-199999/200000").With("Content-Length", "100000").
			Try(context.WithoutCancel(t.Context()), http.MethodPut, reservation+"/objects/a/content", body)
		uploaded <- got
	}()
	body.give(data[100_000:150_000])
	body.drained()

	if silent {
		hop.Freeze()
	} else {
		hop.Down()
	}
	body.give(data[150_000:])
	body.end()
	calls := []struct {
		who          *testkit.Person
		method, path string
		body         any
	}{
		{s.Stranger(), "GET", s.Transfer + "/public/mailbox/dr-ann", nil},
		{s.Stranger(), "POST", s.Transfer + "/public/mailbox/dr-ann", map[string]any{"subject": "x"}},
		{s.Stranger(), "POST", s.Identity + "/auth/login", map[string]any{"email": "ann@example.com", "type": "bcrypt", "key": testkit.Password}},
		{s.Stranger(), "POST", s.Identity + "/signup", map[string]any{"address": "bob@example.com", "password": testkit.Password}},
		{ann, "GET", s.Identity + "/profile", nil},
		{ann, "GET", s.Transfer + "/transfers", nil},
		{ann.As(ann.ID), "POST", s.Identity + "/auth/access", nil},
		{sam, "GET", reservation, nil},
		{sam, "POST", reservation + "/confirm", nil},
		{sam.With("Content-Range", "bytes 100000-199999/200000"), "PUT", reservation + "/objects/a/content", data[100_000:]},
	}
	answers := make(chan *testkit.Response, len(calls))
	for _, c := range calls {
		go func() {
			got, err := c.who.Try(context.WithoutCancel(t.Context()), c.method, c.path, c.body)
			if err != nil {
				t.Errorf("%s %s: %v", c.method, c.path, err)
			} else {
				checkUnavailable(t, c.method+" "+c.path, got)
			}
			answers <- got
		}()
	}
	for range calls {
		<-answers
	}
	if got := <-uploaded; got == nil {
		t.Error("the upload got no answer")
	} else {
		checkUnavailable(t, "the upload under way", got)
	}
	s.Stranger().Get("/readyz").Want(http.StatusServiceUnavailable)
	s.Stranger().Get("/healthz").Want(http.StatusOK)
	s.Stranger().Get(s.Identity + "/auth/keys").Want(http.StatusOK) // nothing of it is in the database

	hop.Up()
	poll.Until(t, "the server is ready again", func() bool { return s.Stranger().Get("/readyz").Status == http.StatusOK })
	ann.Get(s.Identity + "/profile").Want(http.StatusOK)
	finish(t, sam, reservation, data)
	if strings.Contains(s.Log(), `"status":500`) {
		t.Error("something answered 500")
	}
}

// TestOverviewInOutage: the console's overview answers without the database, and says that it does not work; every other route of operators
// answers 503, and nobody gets in who was no operator before. Libraries that try again write a line a minute.
func TestOverviewInOutage(t *testing.T) {
	t.Parallel()
	first := testkit.New(t)
	hop := relay.New(t, first.DatabaseURL)
	s := testkit.New(t, testkit.Beside(first), testkit.Through(hop.URL))
	operator, _ := first.SignUpOperator("olga@example.com")
	olga, other := operator.At(s), first.SignUp("ann@example.com").At(s)
	unseen, _ := first.SignUpOperator("otto@example.com")
	olga.Get(overview).Want(http.StatusOK)
	other.Get(overview).WantError(token.ErrNotOperator)

	hop.Down()
	poll.Until(t, "the replica is not ready", func() bool { return s.Stranger().Get("/readyz").Status == http.StatusServiceUnavailable })
	s.Clock.Advance(time.Minute) // caches have ended
	got := olga.Get(overview).Want(http.StatusOK)
	if got.String("database.state") != "failed" || got.String("storage.state") == "failed" {
		t.Errorf("the overview is %s", got.Body)
	}
	checkUnavailable(t, "the mails", olga.Get("/admin/v1/mails"))
	other.Get(overview).WantError(token.ErrNotOperator)
	checkUnavailable(t, "an operator who was not here before", unseen.At(s).Get(overview))
	for range 30 {
		olga.Get(overview).Want(http.StatusOK)
	}
	time.Sleep(3 * time.Second) // libraries try again several times a second
	counts := map[string]int{}
	for line := range strings.Lines(s.Log()) {
		var l struct{ Level, Msg, Route string }
		if err := json.Unmarshal([]byte(line), &l); err == nil && (l.Level == "ERROR" || l.Level == "WARN") && l.Route == "" {
			counts[l.Msg]++
		}
	}
	for message, n := range counts {
		if n > 2 {
			t.Errorf("%d lines within seconds: %s", n, message)
		}
	}
	hop.Up()
	poll.Until(t, "the server is ready again", func() bool { return s.Stranger().Get("/readyz").Status == http.StatusOK })
	olga.Get("/admin/v1/mails").Want(http.StatusOK)
}

// checkUnavailable reports an answer that is not a 503 with Retry-After.
func checkUnavailable(t *testing.T, what string, got *testkit.Response) {
	t.Helper()
	if got.Status != http.StatusServiceUnavailable || number(got.Header, "Retry-After") < 1 {
		t.Errorf("%s answered %d, Retry-After %q: %s", what, got.Status, got.Header.Get("Retry-After"), got.Body)
		return
	}
	checkError(t, what, got)
}

// finish uploads what is missing of the object, confirms, and checks that the owner gets exactly data.
func finish(t *testing.T, sam *testkit.Person, reservation string, data []byte) {
	t.Helper()
	content := reservation + "/objects/a/content"
	held := number(sam.Head(content).Want(http.StatusOK).Header, "Content-Length")
	if held < len(data) {
		sam.With("Content-Range", contentRange(held, len(data))).Put(content, data[held:]).Want(http.StatusOK)
	}
	transfer := sam.Post(reservation+"/confirm", nil).Want(http.StatusOK).String("uid")
	sam.Server.Clock.Advance(15 * time.Second)
	ann := signIn(sam.Server.Stranger(), "ann@example.com")
	got := ann.Get(sam.Server.Transfer + "/transfers/" + transfer).Want(http.StatusOK)
	file := ann.Get(sam.Server.Transfer + "/transfers/" + transfer + "/objects/" + got.String("objects.0.uid") + "/content").Want(
		http.StatusOK)
	if !bytes.Equal(file.Body, data) {
		t.Error("the file differs from what was sent")
	}
}
