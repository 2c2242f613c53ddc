package handler_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

// apiToken makes an API token of p and returns a client with it, and its uid.
func apiToken(p *testkit.Person, body map[string]any) (program *testkit.Person, uid string) {
	p.Server.T.Helper()
	made := p.As(p.ID).Post(p.Server.Identity+"/tokens", body).Want(http.StatusCreated)
	return p.Server.Stranger().As(made.String("token")), made.String("uid")
}

func reading(name string) map[string]any {
	return map[string]any{"name": name, "scopes": []string{"transfers:read"}}
}

// TestAPIToken: what an API token opens, how it is listed, and how it ends.
func TestAPIToken(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	program, uid := apiToken(ann, reading("Archive"))
	program.Get(s.Transfer + "/transfers").Want(http.StatusOK)
	if got := program.Get(s.Identity + "/profile").Want(http.StatusOK); got.String("uid") != ann.Get(s.Identity+"/profile").String("uid") {
		t.Errorf("the program acts as %s", got.Body)
	}
	refused := program.Post(s.Transfer+"/reservations", map[string]any{}).WantError(token.ErrScope)
	if want := `Bearer error="insufficient_scope", scope="transfers:send"`; refused.Header.Get("WWW-Authenticate") != want {
		t.Errorf("WWW-Authenticate is %q, want %q", refused.Header.Get("WWW-Authenticate"), want)
	}
	program.Get(s.Identity + "/tokens").WantError(token.ErrNoScope)
	program.Post(s.Identity+"/auth/access", nil).WantError(token.ErrNoScope)
	program.Put(s.Identity+"/profile", map[string]any{}).WantError(token.ErrNoScope)

	list := ann.As(ann.ID).Get(s.Identity + "/tokens").Want(http.StatusOK)
	if len(list.Value("tokens").([]any)) != 1 || list.String("tokens.0.name") != "Archive" || list.String("tokens.0.lastIp") != "127.0.0.1" ||
		strings.Contains(string(list.Body), "cns_") {
		t.Errorf("the list is %s", list.Body)
	}
	mailed := s.Mail.Wait(t, "ann@example.com", "API token", 1)
	if !strings.Contains(mailed.Text, "transfers:read") || !strings.Contains(mailed.Text, "/undo/") {
		t.Errorf("the mail is %s", mailed.Text)
	}
	ann.As(ann.ID).Delete(s.Identity + "/tokens/" + uid).Want(http.StatusNoContent)
	poll.Until(t, "the token ending", func() bool { return program.Get(s.Transfer+"/transfers").Status == http.StatusUnauthorized })
	program.Get(s.Transfer + "/transfers").WantError(token.ErrInvalid)
	ann.As(ann.ID).Delete(s.Identity + "/tokens/" + uid).WantError(identity.ErrAPITokenNotFound)
}

// TestAPITokenMembers: the rules of the members, and a token whose checksum is wrong.
func TestAPITokenMembers(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	post := func(body map[string]any) *testkit.Response {
		return ann.As(ann.ID).With("X-Test", "1").Post(s.Identity+"/tokens", body)
	}
	for _, body := range []map[string]any{
		{"scopes": []string{"transfers:read"}},
		{"name": "x", "scopes": []string{}},
		{"name": "x", "scopes": []string{"mailbox:drop"}},
		{"name": "x", "scopes": []string{"mailbox:drop"}, "mailboxes": []string{"nobody"}},
		{"name": "x", "scopes": []string{"transfers:read"}, "mailboxes": []string{"ann"}},
		{"name": "x", "scopes": []string{"transfers:read"}, "expirationTimestamp": "2020-01-01T00:00:00Z"},
		{"name": "x", "scopes": []string{"transfers:read"}, "expirationTimestamp": s.Clock.Now().Add(367 * 24 * time.Hour).Format(time.RFC3339)},
		{"name": strings.Repeat("x", 101), "scopes": []string{"transfers:read"}},
	} {
		post(body).WantError(fault.ErrInvalid)
	}
	ann.As(ann.ID).Do("POST", s.Identity+"/tokens", `{"name":"x","scopes":["everything"]}`).Want(http.StatusUnsupportedMediaType)
	post(map[string]any{"name": "x", "scopes": []string{"organization:read"}, "organization": id.New[id.Organization]().String()}).WantError(
		identity.ErrOrganizationNotFound)
	ann.Post(s.Identity+"/tokens", reading("x")).WantError(token.ErrKind)

	program, _ := apiToken(ann, reading("x"))
	for _, raw := range []string{program.Access[:len(program.Access)-1] + "_", program.Access + "0", "cns_", "cns_" + strings.Repeat("0", 49),
		strings.ToUpper(program.Access)} {
		s.Stranger().As(raw).Get(s.Transfer + "/transfers").WantError(token.ErrInvalid)
	}
	s.Clock.Advance(identity.APITokenLifetime)
	program.Get(s.Transfer + "/transfers").WantError(token.ErrExpired)
	if err := s.App.Jobs.RunOnce(t.Context(), service.CleanJob); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the token being purged", func() bool {
		return strings.Contains(string(program.Get(s.Transfer+"/transfers").Body), "401902")
	})
}

// TestAPITokenNeedsYoungSession: an old session needs the password, and a person with a second factor needs it.
func TestAPITokenNeedsYoungSession(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	s.Clock.Advance(time.Hour)
	ann.As(ann.ID).Post(s.Identity+"/tokens", reading("x")).WantError(identity.ErrSessionNotYoung)
	with := reading("x")
	with["authKey"] = testkit.Password
	ann.As(ann.ID).Post(s.Identity+"/tokens", with).Want(http.StatusCreated)
	young := ann.Login()
	totp := withTOTP(t, s, ann)
	young.As(young.ID).Post(s.Identity+"/tokens", reading("y")).WantError(identity.ErrFactorFirst)
	with = reading("y")
	with["authFactor"] = map[string]any{"type": "totp", "key": totp()}
	young.As(young.ID).Post(s.Identity+"/tokens", with).Want(http.StatusCreated)
}

// TestAPITokenBound: of parallel requests those succeed that the bound leaves room for.
func TestAPITokenBound(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	for i := range identity.MaxAPITokens - 3 {
		apiToken(ann, reading(fmt.Sprint("token ", i)))
	}
	var calls []func() (*testkit.Response, error)
	for range 10 {
		calls = append(calls, func() (*testkit.Response, error) {
			return ann.As(ann.ID).Try(t.Context(), "POST", s.Identity+"/tokens", reading("one more"))
		})
	}
	if got := parallel(t, calls...); got[http.StatusCreated] != 3 || got[http.StatusForbidden] != 7 {
		t.Errorf("the answers are %v, want 3 created", got)
	}
	ann.As(ann.ID).Post(s.Identity+"/tokens", reading("x")).WantError(identity.ErrTooManyAPITokens.AtMost(int64(identity.MaxAPITokens)))
}

// TestAPITokenDrop: mailbox:drop opens the named mailboxes only, and what was begun with it ends with the token.
func TestAPITokenDrop(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	for name, p := range map[string]*testkit.Person{"ann": ann, "bob": bob} {
		p.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": name}).Want(http.StatusCreated)
	}
	program, uid := apiToken(ann, map[string]any{"name": "Scanner", "scopes": []string{"mailbox:drop"}, "mailboxes": []string{"bob"}})
	body := map[string]any{"anonSender": "Scanner", "anonEmail": "ann@example.com"}
	program.Post(s.Transfer+"/public/mailbox/ann", body).WantError(token.ErrScope)
	made := program.Post(s.Transfer+"/public/mailbox/bob", body).Want(http.StatusCreated)
	path := s.Transfer + "/reservations/" + made.String("uid")
	drop := s.Stranger().As(bearer(made))
	drop.Post(path+"/objects", map[string]any{"clientId": "a", "name": "a.txt", "intendedSize": 5}).Want(http.StatusCreated)
	drop.Put(path+"/objects/a/content", []byte("hello")).Want(http.StatusOK)
	program.Get(path).WantError(token.ErrScope)
	ann.As(ann.ID).Delete(s.Identity + "/tokens/" + uid).Want(http.StatusNoContent)
	poll.Until(t, "the reservation's token ending", func() bool { return drop.Get(path).Status == http.StatusUnauthorized })
	drop.Post(path+"/confirm", nil).WantError(token.ErrEnded)
}

// TestAPITokenEndsEverywhere: a revocation at one server ends requests, a stream, a download and an upload at another within a second.
func TestAPITokenEndsEverywhere(t *testing.T) {
	t.Parallel()
	first := testkit.New(t)
	second := testkit.New(t, testkit.Beside(first))
	ann := first.SignUp("ann@example.com")
	made := ann.As(ann.ID).Post(first.Identity+"/tokens",
		map[string]any{"name": "Everything", "scopes": []string{"transfers:read", "transfers:send"}}).Want(http.StatusCreated)
	program := second.Stranger().As(made.String("token"))
	program.Get(second.Transfer + "/transfers").Want(http.StatusOK)

	stream, err := program.Open(t.Context(), "GET", second.Identity+"/events", nil) //nolint:bodyclose // closed below
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	streamed := make(chan time.Time, 1)
	go func() {
		_, _ = io.Copy(io.Discard, stream.Body)
		streamed <- time.Now()
	}()
	uploads := make(chan upload, 2)
	reservation := program.Post(second.Transfer+"/reservations", map[string]any{"subject": "x"}).Want(http.StatusCreated)
	holder := second.Stranger().As(bearer(reservation))
	for i, p := range []*testkit.Person{program, holder} {
		stalledUpload(t, p, second.Transfer+"/reservations/"+reservation.String("uid"), fmt.Sprint("f", i), uploads)
	}
	out := time.Now()
	ann.As(ann.ID).Delete(first.Identity + "/tokens/" + made.String("uid")).Want(http.StatusNoContent)
	for range 2 {
		select {
		case u := <-uploads:
			if took := u.at.Sub(out); took > 2*revocationLimit || u.status != http.StatusUnauthorized {
				t.Errorf("the upload ended after %v with %d, %v", took, u.status, u.err)
			}
		case <-time.After(10 * time.Second):
			t.Error("an upload was not ended")
		}
	}
	select {
	case at := <-streamed:
		if took := at.Sub(out); took > 2*revocationLimit {
			t.Errorf("the stream ended after %v", took)
		}
	case <-time.After(10 * time.Second):
		t.Error("the stream was not ended")
	}
	program.Get(second.Transfer + "/transfers").WantError(token.ErrInvalid)
	holder.Get(second.Transfer + "/reservations/" + reservation.String("uid")).WantError(token.ErrEnded)
	ann.At(second).Get(second.Transfer + "/transfers").Want(http.StatusOK)
}

type upload struct {
	at     time.Time
	status int
	err    error
}

// stalledUpload begins an upload whose body does not end by itself, and reports its answer. It returns once the server writes the object:
// a request that is refused before waits for its body.
func stalledUpload(t *testing.T, p *testkit.Person, reservation, file string, done chan<- upload) {
	t.Helper()
	p.Post(reservation+"/objects", map[string]any{"clientId": file, "name": file, "intendedSize": 1 << 20}).Want(http.StatusCreated)
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	go func() { _, _ = w.Write(make([]byte, 256<<10)) }()
	go func() {
		got, err := p.With("Content-Range", "bytes 0-1048575/1048576").Try(t.Context(), "PUT", reservation+"/objects/"+file+"/content", r)
		u := upload{at: time.Now(), err: err}
		if got != nil {
			u.status = got.Status
		}
		done <- u
	}()
	poll.Until(t, "the upload beginning", func() bool {
		var begun bool
		err := p.Server.App.DB.Pool.QueryRow(t.Context(), `
			SELECT s.lease_until IS NOT NULL FROM transfer.segments s JOIN transfer.objects o ON o.uid = s.object
				WHERE o.client_id = $1`, file).Scan(&begun)
		return err == nil && begun
	})
}

// TestAPITokenEndsWithMembership: a removed or demoted member's tokens end, also when the person returns.
func TestAPITokenEndsWithMembership(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	second := testkit.New(t, testkit.Beside(s))
	boss := s.SignUp("boss@example.com")
	r := boss.Post(s.Identity+"/organizations", map[string]any{"name": "Acme"}).Want(http.StatusCreated)
	boss.ID = bearer(r)
	boss.Refresh()
	acme := r.String("uid")
	ann := s.SignUp("ann@example.com")
	before, _ := apiToken(ann, reading("before"))
	invited := boss.Post(s.Identity+"/organizations/"+acme+"/invitations",
		map[string]any{"address": "ann@example.com", "roles": []string{"Organization.Admin"}}).Want(http.StatusCreated)
	joined := ann.Post(s.Identity+"/invitations/"+invited.String("key")+"/accept", nil)
	if raw := bearer(joined); raw != "" {
		ann.ID = raw
	}
	ann.Refresh()
	own, _ := apiToken(ann, reading("own"))
	machine, _ := apiToken(ann, map[string]any{"name": "machine", "scopes": []string{"organization:read"}, "organization": acme})
	machine.At(second).Get(s.Identity + "/organizations/" + acme + "/members").Want(http.StatusOK)
	ended := func(p *testkit.Person, path string) {
		t.Helper()
		out := time.Now()
		poll.Until(t, "the token ending", func() bool { return p.At(second).Get(path).Status == http.StatusUnauthorized })
		if took := time.Since(out); took > 2*revocationLimit {
			t.Errorf("the token ended after %v", took)
		}
	}
	ended(before, s.Transfer+"/transfers")
	list := boss.As(boss.ID).Get(s.Identity + "/tokens?organization=" + acme).Want(http.StatusOK)
	if list.String("tokens.0.owner.name") != "Ann" {
		t.Errorf("the organization's tokens are %s", list.Body)
	}
	member := s.Identity + "/organizations/" + acme + "/members/" + uid(t, ann.ID).String()
	boss.Put(member, map[string]any{"roles": []string{}}).Want(http.StatusOK)
	ended(machine, s.Identity+"/organizations/"+acme+"/members")
	own.Get(s.Transfer + "/transfers").Want(http.StatusOK)
	boss.Delete(member).Want(http.StatusNoContent)
	ended(own, s.Transfer+"/transfers")
}

// TestAPITokensOfOrganization: any administrator revokes them, nobody else sees them.
func TestAPITokensOfOrganization(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	boss, eve := s.SignUp("boss@example.com"), s.SignUp("eve@example.com")
	r := boss.Post(s.Identity+"/organizations", map[string]any{"name": "Acme"}).Want(http.StatusCreated)
	boss.ID = bearer(r)
	boss.Refresh()
	acme := r.String("uid")
	machine, token1 := apiToken(boss, map[string]any{"name": "machine", "scopes": []string{"organization:manage"}, "organization": acme})
	eve.As(eve.ID).Get(s.Identity + "/tokens?organization=" + acme).WantError(identity.ErrNotMember)
	eve.As(eve.ID).Delete(s.Identity + "/tokens/" + token1).WantError(identity.ErrAPITokenNotFound)
	eve.As(eve.ID).Post(s.Identity+"/tokens", map[string]any{"name": "x", "scopes": []string{"organization:read"},
		"organization": acme}).WantError(identity.ErrNotMember)
	if own := boss.As(boss.ID).Get(s.Identity + "/tokens"); len(own.Value("tokens").([]any)) != 0 {
		t.Errorf("the person's tokens are %s", own.Body)
	}
	machine.Post(s.Identity+"/organizations/"+acme+"/invitations",
		map[string]any{"address": "new@example.com", "roles": []string{}}).Want(http.StatusCreated)
	machine.Do("DELETE", s.Identity+"/organizations/"+acme, nil).Want(http.StatusForbidden)
	boss.As(boss.ID).Delete(s.Identity + "/tokens/" + token1).Want(http.StatusNoContent)
}

// TestAPITokenUndone: the link in the mail about a token ends the token. Signing out everywhere does not.
func TestAPITokenUndone(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	program, _ := apiToken(ann, reading("Archive"))
	key := s.Mail.Wait(t, "ann@example.com", "/undo/", 1).Key(t, "/undo/")
	ann.As(ann.ID).Post(s.Identity+"/auth/logout?jti=all", nil).Want(http.StatusNoContent)
	program.Get(s.Transfer + "/transfers").Want(http.StatusOK)
	s.Stranger().Post(s.Identity+"/auth/undo/"+key, nil).Want(http.StatusOK)
	poll.Until(t, "the token ending", func() bool { return program.Get(s.Transfer+"/transfers").Status == http.StatusUnauthorized })
}

// TestAPITokenWarnings: one mail a week before the expiry, and the first use from a network in the audit.
func TestAPITokenWarnings(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_TRUSTED_PROXIES", "127.0.0.1"))
	ann := s.SignUp("ann@example.com")
	program, uid := apiToken(ann, reading("Archive"))
	warn := func() {
		if err := s.App.Jobs.RunOnce(t.Context(), service.APITokensJob); err != nil {
			t.Fatal(err)
		}
	}
	warn()
	s.Clock.Advance(identity.APITokenLifetime - identity.APITokenWarning)
	warn()
	warn()
	s.Mail.Wait(t, "ann@example.com", "expires soon", 1)
	var mails, uses int
	must(t, s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM mails WHERE template = 'api-token-expiring'`).Scan(&mails))
	for _, address := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.1"} {
		program.With("X-Forwarded-For", address).Get(s.Transfer + "/transfers").Want(http.StatusOK)
	}
	must(t, s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM audit WHERE action = 'token.network' AND object = $1`, uid).Scan(&uses))
	if mails != 1 || uses != 2 {
		t.Errorf("%d mails, %d uses in the audit, want 1 and 2", mails, uses)
	}
}

// TestAttackSendingTokenReads: a token that may send neither reads received transfers by a change nor passes them on.
func TestAttackSendingTokenReads(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	unknown := s.Transfer + "/transfers/" + id.New[id.Transfer]().String()
	for scopes, open := range map[string]bool{"transfers:send": false, "transfers:read": false, "transfers:read transfers:send": true} {
		program, _ := apiToken(ann, map[string]any{"name": "program", "scopes": strings.Fields(scopes)})
		for _, got := range []*testkit.Response{program.Patch(unknown, map[string]any{"read": true}),
			program.Post(unknown+"/forward", map[string]any{"recipients": []any{}})} {
			if refused := got.Number("error.code") == float64(token.ErrScope.Code); refused == open {
				t.Errorf("%s: %d %s", scopes, got.Status, got.Body)
			}
		}
	}
	made := ann.As(ann.ID).Post(s.Identity+"/tokens", reading("named")).Want(http.StatusCreated)
	if made.String("owner.name") != "Ann" {
		t.Errorf("the owner is %s", made.Body)
	}
}
