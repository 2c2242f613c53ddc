package handler_test

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"image/png"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

// codeOf returns the current TOTP code of a key that is written as a person types it.
func codeOf(t testing.TB, s *testkit.Server, key string) string {
	t.Helper()
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(key)
	if err != nil {
		t.Fatal(err)
	}
	return credential.TOTPCode(secret, s.Clock.Now().Unix()/30)
}

// registerTOTP registers and verifies TOTP over HTTP, and gives the person the new tokens. It returns the authenticator's path.
func registerTOTP(t testing.TB, p *testkit.Person) (path string) {
	t.Helper()
	s := p.Server
	resp := p.Post(s.Identity+"/profile/authenticators", map[string]any{"type": "totp"}).Want(http.StatusCreated)
	path = s.Identity + "/profile/authenticators/" + resp.String("uid")
	useTokens(p, p.Post(path+"/verify", credentials(p.Email, "totp", codeOf(t, s, resp.String("key")))).Want(http.StatusNoContent))
	return path
}

// passwordPath returns the path of a person's bcrypt authenticator.
func passwordPath(t testing.TB, p *testkit.Person) string {
	t.Helper()
	list := p.Get(p.Server.Identity + "/profile/authenticators").Want(http.StatusOK)
	if list.String("authenticators.0.type") != "bcrypt" {
		t.Fatalf("authenticators are %s", list.Body)
	}
	return p.Server.Identity + "/profile/authenticators/" + list.String("authenticators.0.uid")
}

func TestRegisterTOTP(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	other := ann.Login()
	all := s.Identity + "/profile/authenticators"
	list := ann.Get(all).Want(http.StatusOK)
	if len(list.Value("authenticators").([]any)) != 1 || list.Value("authenticators.0.verified") != true ||
		list.Number("authenticators.0.cardinality") != 1 {
		t.Errorf("authenticators are %s", list.Body)
	}
	resp := ann.Post(all, map[string]any{"type": "totp", "name": "Phone"}).Want(http.StatusCreated)
	one := all + "/" + resp.String("uid")
	if resp.Header.Get("Location") != s.URL+one || resp.Value("verified") != false || resp.String("name") != "Phone" ||
		resp.Number("cardinality") != 1 {
		t.Errorf("registered %s", resp.Body)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(resp.String("dataUri"), "data:image/png;base64,"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(raw)); err != nil {
		t.Errorf("dataUri holds no PNG: %v", err)
	}
	if uri := resp.String("otpauthUri"); !strings.HasPrefix(uri, "otpauth://totp/") || !strings.Contains(uri, "secret="+resp.String("key")) {
		t.Errorf("otpauthUri is %s", uri)
	}
	if got := ann.Get(one).Want(http.StatusOK); got.Value("key") != nil || got.Value("dataUri") != nil || got.Value("verified") != false {
		t.Errorf("GET shows %s", got.Body)
	}
	if list := ann.Get(all); len(list.Value("authenticators").([]any)) != 1 {
		t.Errorf("an authenticator that is not verified is listed: %s", list.Body)
	}
	// Until it is verified, the password is enough.
	s.Stranger().Post(s.Identity+"/auth/login", credentials("ann@example.com", "bcrypt", testkit.Password)).Want(http.StatusOK)

	code := codeOf(t, s, resp.String("key"))
	verify := one + "/verify"
	ann.Post(verify, credentials("ann@example.com", "totp", "00000x")).WantError(identity.ErrVerificationFailed)
	ann.Post(verify, credentials("bob@example.com", "totp", code)).WantError(identity.ErrVerificationFailed)
	ann.Post(verify, credentials("ann@example.com", "recovery", code)).WantError(fault.ErrInvalid)
	ann.Post(verify, credentials("ann@example.com", "sms", code)).WantError(identity.ErrUnsupportedType)
	ann.Post(verify, credentials("nonsense", "totp", code)).WantError(fault.ErrInvalid)
	ann.Post(verify, map[string]any{}).WantError(fault.ErrInvalid)
	s.SignUp("bob@example.com").Post(verify, credentials("bob@example.com", "totp", code)).WantError(identity.ErrAuthenticatorNotFound)
	before := claimsOf(t, ann.ID)
	verified := ann.Post(verify, credentials("ANN@example.com", "totp", code)).Want(http.StatusNoContent)
	after := claimsOf(t, bearer(verified))
	if after["authLevel"] != 2.0 || after["sid"] != before["sid"] || after["exp"] != before["exp"] ||
		after["auth_time"] != before["auth_time"] {
		t.Errorf("from %v to %v", before, after)
	}
	for _, p := range []*testkit.Person{ann, other} {
		poll.Until(t, "the end of access", func() bool { return p.Get(s.Identity+"/profile").Status == http.StatusUnauthorized })
	}
	ann.As(ann.ID).Post(s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	other.Refresh() // its session goes on
	useTokens(ann, verified)
	if m := s.Mail.Wait(t, "ann@example.com", "Phone", 1); !strings.Contains(m.Subject, "authenticator app was added") {
		t.Errorf("the mail says %q", m.Subject)
	}
	if list := ann.Get(all); len(list.Value("authenticators").([]any)) != 2 || list.Value("authenticators.1.verified") != true {
		t.Errorf("authenticators are %s", list.Body)
	}
	ann.Post(all, map[string]any{"type": "totp"}).WantError(identity.ErrTypeRegistered)

	// The step that verified is used up; a test of the authenticator uses one up too.
	s.Clock.Advance(15 * time.Second)
	first := s.Stranger().Post(s.Identity+"/auth/login", credentials("ann@example.com", "bcrypt", testkit.Password)).Want(http.StatusOK)
	if first.String("kind") != "mfa" {
		t.Errorf("the first of two steps answers a token of the kind %s", first.String("kind"))
	}
	mfa := s.Stranger().As(first.String("token"))
	mfa.Post(s.Identity+"/auth/login", credentials("ann@example.com", "totp", code)).WantError(identity.ErrCredentials)
	s.Clock.Advance(30 * time.Second)
	code = codeOf(t, s, resp.String("key"))
	if again := ann.Post(verify, credentials("ann@example.com", "totp", code)).Want(http.StatusNoContent); bearer(again) != "" {
		t.Error("a test of an authenticator returned a new token")
	}
	mfa.Post(s.Identity+"/auth/login", credentials("ann@example.com", "totp", code)).WantError(identity.ErrCredentials)
	s.Clock.Advance(30 * time.Second)
	mfa.Post(s.Identity+"/auth/login", credentials("ann@example.com", "totp", codeOf(t, s, resp.String("key")))).Want(http.StatusOK)
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	all := s.Identity + "/profile/authenticators"
	for _, kind := range []string{"sms", "u2f", "TOTP", "x"} {
		ann.Post(all, map[string]any{"type": kind}).WantError(identity.ErrUnsupportedType)
	}
	for _, body := range []map[string]any{{}, {"type": 1}, {"type": nil}, {"type": "totp", "name": "a\nb"},
		{"type": "totp", "pubKey": "quiet heron"}, {"type": "recovery", "pubKey": ""}} {
		ann.Post(all, body).WantError(fault.ErrInvalid)
	}
	ann.Post(all, map[string]any{"type": "bcrypt", "pubKey": "quiet-heron-17-lagoon"}).WantError(identity.ErrTypeRegistered)
	s.SignUpUnconfirmed("bob@example.com").Get(all).WantError(token.ErrUnverified)

	s.Clock.Advance(15*time.Minute - time.Second) // auth_time counts whole seconds
	ann.Refresh()
	ann.Post(all, map[string]any{"type": "totp"}).Want(http.StatusCreated)
	s.Clock.Advance(time.Second + time.Millisecond)
	ann.Post(all, map[string]any{"type": "totp"}).WantError(identity.ErrSessionNotYoung)
	ann.Post(all, map[string]any{"type": "recovery"}).WantError(identity.ErrSessionNotYoung)
	s.Clock.Advance(180 * 24 * time.Hour)
	ann = ann.Login()
	ann.Post(all, map[string]any{"type": "recovery"}).WantError(identity.ErrEmailNotRecent)
	// A reset proves the address anew.
	s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": "ann@example.com"}).Want(http.StatusNoContent)
	key := s.Mail.Wait(t, "ann@example.com", "/reset/", 1).Key(t, "/reset/")
	ann.ID = s.Stranger().Post(s.Identity+"/auth/reset/"+key, nil).Want(http.StatusOK).String("token")
	ann.Refresh()
	ann.Post(all, map[string]any{"type": "recovery"}).Want(http.StatusCreated)
	ann.Refresh()

	if _, err := s.App.DB.Pool.Exec(t.Context(),
		`UPDATE identity.persons SET federated_issuer = 'https://idp.example.com', federated_subject = uid::text`); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"bcrypt", "totp", "recovery"} {
		ann.Post(all, map[string]any{"type": kind}).WantError(identity.ErrFederated)
	}
}

// TestPrimaryVerifiedLongAgo: registering an authenticator needs a primary address that was verified recently.
func TestPrimaryVerifiedLongAgo(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	confirm(ann, addEmail(t, ann, "old@example.com")).Want(http.StatusNoContent)
	s.Clock.Advance(179 * 24 * time.Hour)
	ann = ann.Login()
	confirm(ann, addEmail(t, ann, "new@example.com")).Want(http.StatusNoContent)
	s.Clock.Advance(2 * 24 * time.Hour)
	for _, c := range []struct {
		address string
		want    int
	}{{"old@example.com", http.StatusForbidden}, {"new@example.com", http.StatusCreated}} {
		ann.Email = c.address
		ann = ann.Login()
		ann.Post(s.Identity+"/profile/emails/"+c.address+"/primary", nil).Want(http.StatusNoContent)
		ann.Post(s.Identity+"/profile/authenticators", map[string]any{"type": "totp"}).Want(c.want)
	}
}

func TestRegisterTOTPAgain(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	all := s.Identity + "/profile/authenticators"
	lost := ann.Post(all, map[string]any{"type": "totp"}).Want(http.StatusCreated)
	kept := ann.Post(all, map[string]any{"type": "totp"}).Want(http.StatusCreated)
	ann.Get(all + "/" + lost.String("uid")).WantError(identity.ErrAuthenticatorNotFound)
	ann.Post(all+"/"+lost.String("uid")+"/verify", credentials("ann@example.com", "totp", codeOf(t, s, lost.String("key")))).WantError(
		identity.ErrAuthenticatorNotFound)
	ann.Delete(all + "/" + kept.String("uid")).Want(http.StatusNoContent)
	ann.Get(s.Identity + "/profile").Want(http.StatusOK) // nothing has changed for access
	ann.Delete(all + "/" + kept.String("uid")).WantError(identity.ErrAuthenticatorNotFound)
	for _, path := range []string{"/" + id.New[id.Authenticator]().String(), "/nonsense"} {
		ann.Get(all + path).WantError(identity.ErrAuthenticatorNotFound)
		ann.Put(all+path, map[string]any{}).WantError(identity.ErrAuthenticatorNotFound)
		ann.Delete(all + path).WantError(identity.ErrAuthenticatorNotFound)
		ann.Post(all+path+"/verify", credentials("ann@example.com", "totp", "123456")).WantError(identity.ErrAuthenticatorNotFound)
	}
}

// TestVerifyRace sends one code many times at once: it verifies once. The codes that lose count as wrong, and may be delayed.
func TestVerifyRace(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	all := s.Identity + "/profile/authenticators"
	resp := ann.Post(all, map[string]any{"type": "totp"}).Want(http.StatusCreated)
	body := credentials("ann@example.com", "totp", codeOf(t, s, resp.String("key")))
	answers := make(chan *testkit.Response, 10)
	for range 10 {
		go func() {
			r, err := ann.Try(t.Context(), "POST", all+"/"+resp.String("uid")+"/verify", body)
			if err != nil {
				t.Error(err)
			}
			answers <- r
		}()
	}
	won := 0
	for range 10 {
		switch r := <-answers; {
		case r == nil:
		case r.Status == http.StatusNoContent && bearer(r) != "":
			won++
		case r.Status != http.StatusForbidden && r.Status != http.StatusUnauthorized && r.Status != 509:
			t.Errorf("status %d: %s", r.Status, r.Body)
		}
	}
	if won != 1 {
		t.Errorf("one code was accepted %d times, want once", won)
	}
}

// TestCredentialBucket: after ten guesses at a code, one guess is allowed every 15 s.
func TestCredentialBucket(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_RATE_LIMIT", "off"))
	ann := s.SignUp("ann@example.com")
	one := passwordPath(t, ann)
	for i := range 10 {
		if i%2 == 0 {
			ann.Post(one+"/verify", credentials("ann@example.com", "bcrypt", "guess")).WantError(identity.ErrVerificationFailed)
		} else {
			ann.Put(one, map[string]any{"pubKey": "quiet-heron-17-lagoon", "authKey": "guess"}).WantError(identity.ErrKeyChange)
		}
	}
	refused := ann.Post(one+"/verify", credentials("ann@example.com", "bcrypt", testkit.Password)).WantError(fault.ErrOverloaded)
	if refused.Header.Get("Retry-After") != "15" {
		t.Errorf("headers are %v", refused.Header)
	}
	ann.Put(one, map[string]any{"name": "Password"}).Want(http.StatusOK) // which guesses nothing
	s.Clock.Advance(15 * time.Second)
	ann.Post(one+"/verify", credentials("ann@example.com", "bcrypt", testkit.Password)).Want(http.StatusNoContent)
}

func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	all := s.Identity + "/profile/authenticators"
	first := ann.Post(all, map[string]any{"type": "recovery", "name": "Paper"}).Want(http.StatusCreated)
	codes := strings.Fields(first.String("key"))
	if len(codes) != 10 || len(codes[0]) != 10 || first.Value("verified") != true || first.Number("cardinality") != 10 ||
		first.Value("dataUri") != nil {
		t.Errorf("registered %s", first.Body)
	}
	s.Mail.Wait(t, "ann@example.com", "New recovery codes", 1)
	poll.Until(t, "the end of access", func() bool { return ann.Get(all).Status == http.StatusUnauthorized })
	ann.Refresh()
	// Recovery codes alone ask for no second factor.
	if c := claimsOf(t, ann.Login().ID); c["authLevel"] != 1.0 {
		t.Errorf("a login gives %v", c)
	}
	second := ann.Post(all, map[string]any{"type": "recovery"}).Want(http.StatusCreated)
	ann.Refresh()
	ann.Get(all + "/" + first.String("uid")).WantError(identity.ErrAuthenticatorNotFound)
	registerTOTP(t, ann)
	login := s.Identity + "/auth/login"
	mfa := func() *testkit.Person {
		s.Clock.Advance(time.Minute)
		resp := s.Stranger().Post(login, credentials("ann@example.com", "bcrypt", testkit.Password)).Want(http.StatusOK)
		if have := claimsOf(t, resp.String("token"))["authenticators"]; !slices.Equal(have.([]any), []any{"totp", "recovery"}) {
			t.Errorf("the mfa token names %v", have)
		}
		return s.Stranger().As(resp.String("token"))
	}
	one := mfa()
	one.Post(login, credentials("ann@example.com", "recovery", codes[0])).WantError(identity.ErrCredentials) // of the first set
	codes = strings.Fields(second.String("key"))
	spoken := strings.ToLower(codes[0][:5] + "-" + codes[0][5:])
	full := one.Post(login, credentials("ann@example.com", "recovery", spoken)).Want(http.StatusOK)
	if c := claimsOf(t, full.String("token")); c["authLevel"] != 2.0 {
		t.Errorf("a recovery code gives %v", c)
	}
	mfa().Post(login, credentials("ann@example.com", "recovery", codes[0])).WantError(identity.ErrCredentials)
	ann.Refresh()
	recovery := all + "/" + second.String("uid")
	if left := ann.Get(recovery).Number("cardinality"); left != 9 {
		t.Errorf("%v codes are left", left)
	}
	ann.Post(recovery+"/verify", credentials("ann@example.com", "recovery", codes[1])).Want(http.StatusNoContent)
	ann.Post(recovery+"/verify", credentials("ann@example.com", "recovery", codes[1])).WantError(identity.ErrVerificationFailed)
	s.Clock.Advance(2 * time.Minute)
	for _, c := range codes[2:] {
		ann.Post(recovery+"/verify", credentials("ann@example.com", "recovery", c)).Want(http.StatusNoContent)
	}
	ann.Get(recovery).WantError(identity.ErrAuthenticatorNotFound) // it goes with its last code
}

func TestRenameAuthenticator(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	one := passwordPath(t, ann)
	before := ann.Get(one)
	s.Clock.Advance(time.Minute)
	after := ann.Put(one, map[string]any{"name": "My password", "type": "bcrypt"}).Want(http.StatusOK)
	if after.String("name") != "My password" || after.String("updatedAt") != before.String("updatedAt") {
		t.Errorf("renamed to %s", after.Body)
	}
	if same := ann.With("Content-Type", "application/json").Put(one, after.Body).Want(http.StatusOK); !bytes.Equal(same.Body, after.Body) {
		t.Errorf("PUT of the answer of GET changed it to %s", same.Body)
	}
	if unset := ann.Put(one, map[string]any{"name": ""}).Want(http.StatusOK); unset.Value("name") != nil {
		t.Errorf("without name it is %s", unset.Body)
	}
	totp := registerTOTP(t, ann)
	ann.Put(totp, map[string]any{"name": "Phone"}).Want(http.StatusOK)
	for _, body := range []map[string]any{{"name": "a\nb"}, {"name": 1}, {"type": "bcrypt"},
		{"pubKey": "quiet-heron-17-lagoon", "authKey": testkit.Password}} {
		ann.Put(totp, body).WantError(fault.ErrInvalid)
	}
	s.SignUp("bob@example.com").Put(totp, map[string]any{"name": "Mine"}).WantError(identity.ErrAuthenticatorNotFound)
}
