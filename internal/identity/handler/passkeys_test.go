package handler_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/securitykey"
)

// newKey returns an authenticator at the server's own host.
func newKey(s *testkit.Server) *securitykey.Key {
	return &securitykey.Key{Origin: s.URL, Verifies: true, Backup: true}
}

// beginPasskey asks for a passkey. It returns the path of its authenticator and the options of the browser.
func beginPasskey(p *testkit.Person, name string) (path string, options any) {
	all := p.Server.Identity + "/profile/authenticators"
	resp := p.Post(all, map[string]any{"type": "webauthn", "name": name}).Want(http.StatusCreated)
	return all + "/" + resp.String("uid"), resp.Value("options")
}

// addPasskey adds a passkey to a person's account and gives the person the new tokens. It returns the authenticator's path.
func addPasskey(t testing.TB, p *testkit.Person, k *securitykey.Key, name string) (path string) {
	t.Helper()
	path, options := beginPasskey(p, name)
	useTokens(p, p.Post(path+"/verify", credentials(p.Email, "webauthn", k.Create(t, options))).Want(http.StatusNoContent))
	return path
}

// passkeyOptions asks for the options of a login: without password for a stranger, as second factor with an mfa token.
func passkeyOptions(p *testkit.Person) any {
	return p.Post(p.Server.Identity+"/auth/passkey/options", nil).Want(http.StatusOK).Value("options")
}

func passkeyLogin(p *testkit.Person, answer string) *testkit.Response {
	return p.Post(p.Server.Identity+"/auth/login", map[string]any{"email": "", "type": "webauthn", "key": answer})
}

// firstStep logs in with the password and returns the holder of the mfa token.
func firstStep(s *testkit.Server, email string) *testkit.Person {
	first := s.Stranger().Post(s.Identity+"/auth/login", credentials(email, "bcrypt", testkit.Password)).Want(http.StatusOK)
	p := s.Stranger().As(first.String("token"))
	p.ID = first.String("token")
	return p
}

func TestPasskey(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	k := newKey(s)
	path, options := beginPasskey(ann, "Laptop")
	if list := ann.Get(s.Identity + "/profile/authenticators"); len(list.Value("authenticators").([]any)) != 1 {
		t.Errorf("a passkey that was not made is listed: %s", list.Body)
	}
	s.Stranger().Post(s.Identity+"/auth/login", credentials("ann@example.com", "bcrypt", testkit.Password)).Want(http.StatusOK)
	made := k.Create(t, options)
	before := ann.ID
	useTokens(ann, ann.Post(path+"/verify", credentials("ann@example.com", "webauthn", made)).Want(http.StatusNoContent))
	if was, is := claimsOf(t, before), claimsOf(t, ann.ID); is["authLevel"] != 2.0 || is["sid"] != was["sid"] {
		t.Errorf("from %v to %v", was, is)
	}
	one := ann.Get(path).Want(http.StatusOK)
	if one.Value("verified") != true || one.String("name") != "Laptop" || one.Value("backedUp") != true ||
		one.String("hostname") != "localhost" ||
		one.Value("options") != nil || one.Value("key") != nil {
		t.Errorf("the passkey is %s", one.Body)
	}
	if m := s.Mail.Wait(t, "ann@example.com", "Laptop", 1); !strings.Contains(m.Subject, "passkey was added") {
		t.Errorf("the mail says %q", m.Subject)
	}

	// Without password.
	in := passkeyLogin(s.Stranger(), k.Get(t, passkeyOptions(s.Stranger()))).Want(http.StatusOK)
	if got := claimsOf(t, in.String("token")); got["authLevel"] != 2.0 || got["scope"] != "idtoken" || got["email"] != "ann@example.com" {
		t.Errorf("the login without password has %v", got)
	}
	if used := ann.Get(path).Want(http.StatusOK); used.Value("lastUsedAt") == nil {
		t.Errorf("the last use is missing: %s", used.Body)
	}

	// After the password, also without verification of the person.
	mfa := firstStep(s, "ann@example.com")
	if list := claimsOf(t, mfa.ID)["authenticators"]; len(list.([]any)) != 1 || list.([]any)[0] != "webauthn" {
		t.Errorf("the mfa token offers %v", list)
	}
	k.Verifies = false
	in = passkeyLogin(mfa, k.Get(t, passkeyOptions(mfa))).Want(http.StatusOK)
	if got := claimsOf(t, in.String("token")); got["authLevel"] != 2.0 {
		t.Errorf("the login with both has %v", got)
	}
	passkeyLogin(mfa, k.Get(t, map[string]any{"publicKey": map[string]any{"rpId": "localhost", "challenge": "AAAA"}})).WantError(
		identity.ErrMFAToken)

	// Renamed and removed.
	ann.Put(path, map[string]any{"name": "Old laptop"}).Want(http.StatusOK)
	ann.Delete(path).Want(http.StatusNoContent)
	in = s.Stranger().Post(s.Identity+"/auth/login", credentials("ann@example.com", "bcrypt", testkit.Password)).Want(http.StatusOK)
	if got := claimsOf(t, in.String("token")); got["authLevel"] != 1.0 || got["scope"] != "idtoken" {
		t.Errorf("after the removal the password gives %v", got)
	}
	passkeyLogin(s.Stranger(), k.Get(t, passkeyOptions(s.Stranger()))).WantError(identity.ErrCredentials)
}

// TestAttackPasskey: each of these answers is refused with the same error, and none consumes anything.
func TestAttackPasskey(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	k, foreign, other := newKey(s), newKey(s), newKey(s)
	addPasskey(t, ann, k, "")
	addPasskey(t, bob, foreign, "")
	_, options := beginPasskey(s.SignUp("carl@example.com"), "")
	other.Create(t, options) // never sent: the server does not know it
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[at] ^= 1; return b }
	}
	own := *k
	for name, change := range map[string]func(*securitykey.Key){
		"wrong origin":         func(k *securitykey.Key) { k.Origin = "https://phishing.example" },
		"subdomain of it":      func(k *securitykey.Key) { k.Origin = strings.Replace(s.URL, "localhost", "evil.localhost", 1) },
		"another port":         func(k *securitykey.Key) { k.Origin = "http://localhost:1" },
		"within a frame":       func(k *securitykey.Key) { k.ClientData = func(d map[string]any) { d["crossOrigin"] = true } },
		"wrong RP":             func(k *securitykey.Key) { k.AuthData = flip(0) },
		"nobody present":       func(k *securitykey.Key) { k.AuthData = flip(32) },
		"person not verified":  func(k *securitykey.Key) { k.Verifies = false },
		"no longer backupable": func(k *securitykey.Key) { k.Backup = false },
		"a registration":       func(k *securitykey.Key) { k.ClientData = func(d map[string]any) { d["type"] = "webauthn.create" } },
		"a challenge made up": func(k *securitykey.Key) {
			k.ClientData = func(d map[string]any) { d["challenge"] = strings.Repeat("A", 60) }
		},
		"no owner":        func(k *securitykey.Key) { k.WithoutOwner = true },
		"unknown passkey": func(k *securitykey.Key) { k.Credentials = other.Credentials },
		"another key": func(k *securitykey.Key) {
			c := *k.Credentials[0]
			c.Private = other.Credentials[0].Private
			k.Credentials = []*securitykey.Credential{&c}
		},
		"another person": func(k *securitykey.Key) {
			k.Answer = func(a map[string]any) {
				a["response"].(map[string]any)["userHandle"] = base64.RawURLEncoding.EncodeToString(foreign.Credentials[0].Handle)
			}
		},
		"client data changed after the signature": func(k *securitykey.Key) {
			k.Answer = func(a map[string]any) {
				response := a["response"].(map[string]any)
				raw, _ := base64.RawURLEncoding.DecodeString(response["clientDataJSON"].(string))
				response["clientDataJSON"] = base64.RawURLEncoding.EncodeToString(append([]byte(" "), raw...))
			}
		},
		"a signature of another": func(k *securitykey.Key) {
			k.Answer = func(a map[string]any) { a["id"], a["rawId"] = idOf(foreign), idOf(foreign) }
		},
	} {
		tampered := own
		change(&tampered)
		got := passkeyLogin(s.Stranger(), tampered.Get(t, passkeyOptions(s.Stranger())))
		if got.Status != http.StatusUnauthorized || got.Number("error.code") != float64(identity.ErrCredentials.Code) {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	for _, answer := range []string{"x", "{}", "null", `{"id":"AA","rawId":"AA","type":"public-key","response":{}}`,
		strings.Repeat("[", 40000)} {
		passkeyLogin(s.Stranger(), answer).WantError(fault.ErrInvalid)
	}
	passkeyLogin(s.Stranger(), own.Get(t, passkeyOptions(s.Stranger()))).Want(http.StatusOK)
}

func idOf(k *securitykey.Key) string {
	return base64.RawURLEncoding.EncodeToString(k.Credentials[0].ID)
}

// TestAttackPasskeyChallenge: a challenge works once, for 5 minutes, at its host and for what it was made for.
func TestAttackPasskeyChallenge(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	k := newKey(s)
	addPasskey(t, ann, k, "")
	answer := k.Get(t, passkeyOptions(s.Stranger()))
	passkeyLogin(s.Stranger(), answer).Want(http.StatusOK)
	passkeyLogin(s.Stranger(), answer).WantError(identity.ErrCredentials) // replayed

	mfa, second := firstStep(s, "ann@example.com"), firstStep(s, "ann@example.com")
	proof := ann.Post(s.Identity+"/profile/passkey/options", nil).Want(http.StatusOK).Value("options")
	passkeyLogin(mfa, k.Get(t, passkeyOptions(s.Stranger()))).WantError(identity.ErrCredentials)
	passkeyLogin(mfa, k.Get(t, passkeyOptions(second))).WantError(identity.ErrCredentials)
	passkeyLogin(mfa, k.Get(t, proof)).WantError(identity.ErrCredentials)
	passkeyLogin(s.Stranger(), k.Get(t, passkeyOptions(mfa))).WantError(identity.ErrCredentials)
	passkeyLogin(s.Stranger(), k.Get(t, proof)).WantError(identity.ErrCredentials)

	old := k.Get(t, passkeyOptions(s.Stranger()))
	s.Clock.Advance(5*time.Minute - time.Second)
	passkeyLogin(s.Stranger(), k.Get(t, passkeyOptions(s.Stranger()))).Want(http.StatusOK)
	s.Clock.Advance(time.Second)
	passkeyLogin(s.Stranger(), old).WantError(identity.ErrCredentials)
	s.Stranger().As("x").Post(s.Identity+"/auth/passkey/options", nil).WantError(identity.ErrMFAToken)
	ann.As(ann.ID).Post(s.Identity+"/auth/passkey/options", nil).WantError(identity.ErrMFAToken)
	// the free organization's host counts
	s.Stranger().With("Host", "192.0.2.1").Post(s.Identity+"/auth/passkey/options", nil).Want(http.StatusOK)
}

// TestPasskeyRace: of parallel logins with one answer exactly one succeeds.
func TestPasskeyRace(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	k := newKey(s)
	addPasskey(t, s.SignUp("ann@example.com"), k, "")
	answer := k.Get(t, passkeyOptions(s.Stranger()))
	status := make([]int, 8)
	var all sync.WaitGroup
	for i := range status {
		all.Go(func() { status[i] = passkeyLogin(s.Stranger(), answer).Status })
	}
	all.Wait()
	succeeded := 0
	for _, code := range status {
		if code == http.StatusOK {
			succeeded++
		} else if code != http.StatusUnauthorized {
			t.Errorf("a login got %d", code)
		}
	}
	if succeeded != 1 {
		t.Errorf("%d logins with one answer succeeded", succeeded)
	}
}

// TestAttackClonedPasskey: a copy of a passkey whose counter went back is refused, and the owner is mailed once a day.
func TestAttackClonedPasskey(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	k := newKey(s)
	k.Counts = true
	addPasskey(t, ann, k, "Key ring")
	passkeyLogin(s.Stranger(), k.Get(t, passkeyOptions(s.Stranger()))).Want(http.StatusOK)
	copied := *k.Credentials[0]
	passkeyLogin(s.Stranger(), k.Get(t, passkeyOptions(s.Stranger()))).Want(http.StatusOK)
	thief := &securitykey.Key{Origin: s.URL, Verifies: true, Backup: true, Credentials: []*securitykey.Credential{&copied}}
	for range 3 {
		passkeyLogin(s.Stranger(), thief.Get(t, passkeyOptions(s.Stranger()))).WantError(identity.ErrCredentials)
	}
	if m := s.Mail.Wait(t, "ann@example.com", "counter went back", 1); !strings.Contains(m.Subject, "may have been copied") {
		t.Errorf("the mail says %q", m.Subject)
	}
	passkeyLogin(s.Stranger(), k.Get(t, passkeyOptions(s.Stranger()))).Want(http.StatusOK)
	s.Clock.Advance(24*time.Hour + time.Second)
	copied.Count = 0
	passkeyLogin(s.Stranger(), thief.Get(t, passkeyOptions(s.Stranger()))).WantError(identity.ErrCredentials)
	s.Mail.Wait(t, "ann@example.com", "counter went back", 2)
}

// TestPasskeyRegistration: what is refused when a passkey is added.
func TestPasskeyRegistration(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	all := s.Identity + "/profile/authenticators"
	k := newKey(s)
	verify := func(path, answer string) *testkit.Response {
		return ann.Post(path+"/verify", credentials("ann@example.com", "webauthn", answer))
	}
	for name, change := range map[string]func(*securitykey.Key){
		"wrong origin":   func(k *securitykey.Key) { k.Origin = "https://phishing.example" },
		"wrong RP":       func(k *securitykey.Key) { k.AuthData = func(b []byte) []byte { b[0] ^= 1; return b } },
		"a login":        func(k *securitykey.Key) { k.ClientData = func(d map[string]any) { d["type"] = "webauthn.get" } },
		"a challenge":    func(k *securitykey.Key) { k.ClientData = func(d map[string]any) { d["challenge"] = "AAAA" } },
		"nobody present": func(k *securitykey.Key) { k.AuthData = func(b []byte) []byte { b[32] &^= 1; return b } },
	} {
		wrong := newKey(s)
		change(wrong)
		path, options := beginPasskey(ann, "")
		if got := verify(path, wrong.Create(t, options)); got.Status != http.StatusForbidden ||
			got.Number("error.code") != float64(identity.ErrVerificationFailed.Code) {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	s.Clock.Advance(2 * time.Minute) // drains the bucket of guesses
	path, options := beginPasskey(ann, "")
	verify(path, "x").WantError(fault.ErrInvalid)
	old, oldOptions := path, options
	path, options = beginPasskey(ann, "") // replaces the first one
	verify(old, k.Create(t, oldOptions)).WantError(identity.ErrAuthenticatorNotFound)
	verify(path, k.Create(t, oldOptions)).WantError(identity.ErrVerificationFailed)
	s.Clock.Advance(5 * time.Minute)
	verify(path, k.Create(t, options)).WantError(identity.ErrVerificationFailed) // too late
	path, options = beginPasskey(ann, "")
	made := k.Create(t, options)
	useTokens(ann, verify(path, made).Want(http.StatusNoContent))
	verify(path, made).WantError(fault.ErrInvalid) // now the call tests the passkey
	proof := ann.Post(s.Identity+"/profile/passkey/options", nil).Want(http.StatusOK).Value("options")
	ann.Post(path+"/verify", credentials("ann@example.com", "webauthn", k.Get(t, proof))).Want(http.StatusNoContent)

	// Bob's passkey has a credential id that exists.
	bob := s.SignUp("bob@example.com")
	path, options = beginPasskey(bob, "")
	thief := newKey(s)
	thief.Create(t, options)
	thief.AuthData = func(b []byte) []byte { copy(b[55:87], k.Credentials[len(k.Credentials)-1].ID); return b }
	thief.Answer = func(a map[string]any) {
		a["id"] = base64.RawURLEncoding.EncodeToString(k.Credentials[len(k.Credentials)-1].ID)
		a["rawId"] = a["id"]
	}
	bob.Post(path+"/verify", credentials("bob@example.com", "webauthn", thief.Create(t, options))).WantError(identity.ErrVerificationFailed)

	for range identity.MaxPasskeys - 1 {
		s.Clock.Advance(15 * time.Second)
		addPasskey(t, ann, newKey(s), "")
	}
	ann.Post(all, map[string]any{"type": "webauthn"}).WantError(identity.ErrTooManyPasskeys)
	ann.Post(all, map[string]any{"type": "webauthn", "pubKey": "x"}).WantError(fault.ErrInvalid)
}

// TestPasskeyIsASecondFactor: a passkey turns multi-factor on, as TOTP does. Later changes of factors then need it.
func TestPasskeyIsASecondFactor(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	other := ann.Login() // with the password alone
	all := s.Identity + "/profile/authenticators"
	pending := other.Post(all, map[string]any{"type": "totp"}).Want(http.StatusCreated)
	k := newKey(s)
	path := addPasskey(t, ann, k, "")
	poll.Until(t, "the end of access", func() bool { return other.Get(s.Identity+"/profile").Status == http.StatusUnauthorized })
	other.Refresh()
	code := codeOf(t, s, pending.String("key"))
	other.Post(all+"/"+pending.String("uid")+"/verify",
		credentials("ann@example.com", "totp", code)).WantError(identity.ErrAuthenticatorNotFound)
	for _, kind := range []string{"totp", "recovery", "webauthn"} {
		other.Post(all, map[string]any{"type": kind}).WantError(identity.ErrFactorFirst)
	}
	other.Delete(path).WantError(identity.ErrFactorFirst)
	other.Post(s.Identity+"/profile/emails", map[string]any{"address": "two@example.com"}).WantError(identity.ErrFactorFirst)

	// The passkey in place.
	prove := func() map[string]any {
		options := other.Post(s.Identity+"/profile/passkey/options", nil).Want(http.StatusOK).Value("options")
		return map[string]any{"type": "webauthn", "key": k.Get(t, options)}
	}
	other.Post(s.Identity+"/profile/emails", map[string]any{"address": "two@example.com", "authFactor": prove()}).Want(http.StatusCreated)
	used := prove()
	other.Post(s.Identity+"/profile/emails", map[string]any{"address": "three@example.com", "authFactor": used}).Want(http.StatusCreated)
	other.Post(s.Identity+"/profile/emails", map[string]any{"address": "four@example.com", "authFactor": used}).WantError(
		identity.ErrVerificationFailed)
	s.Clock.Advance(16 * time.Minute)
	other.Refresh()
	other.Post(s.Identity+"/profile/emails", map[string]any{"address": "four@example.com"}).WantError(identity.ErrSessionNotYoung)
	k.Verifies = false
	other.Post(s.Identity+"/profile/emails", map[string]any{"address": "four@example.com", "authFactor": prove()}).WantError(
		identity.ErrSessionNotYoung)
	other.Post(s.Identity+"/profile/emails", map[string]any{"address": "four@example.com", "authKey": testkit.Password,
		"authFactor": prove()}).Want(http.StatusCreated)
	k.Verifies = true
	other.Post(s.Identity+"/profile/emails", map[string]any{"address": "five@example.com", "authFactor": prove()}).Want(http.StatusCreated)
	other.Post(all, map[string]any{"type": "recovery", "authFactor": prove()}).Want(http.StatusCreated)
	other.Refresh()

	// A reset asks for it too.
	s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": "ann@example.com"}).Want(http.StatusNoContent)
	mfa := s.Stranger().As(s.Stranger().Post(s.Identity+"/auth/reset/"+s.Mail.Wait(t, "ann@example.com", "/reset/", 1).Key(t, "/reset/"),
		nil).Want(http.StatusOK).String("token"))
	in := passkeyLogin(mfa, k.Get(t, passkeyOptions(mfa))).Want(http.StatusOK)
	if got := claimsOf(t, in.String("token")); got["authLevel"] != 2.0 {
		t.Errorf("after the reset %v", got)
	}
}

// TestUndoPasskey: the link of a mail removes a passkey that somebody else added, and brings back one that somebody else removed.
func TestUndoPasskey(t *testing.T) {
	t.Parallel()
	w := newTakeover(t)
	evil, own := newKey(w.Server), newKey(w.Server)
	own.Counts = true
	addPasskey(t, w.hand, evil, "Mine")
	key := w.key(annsAddress, "passkey was added")
	if !w.undone(key) {
		t.Error("the link undoes nothing")
	}
	passkeyLogin(w.Stranger(), evil.Get(t, passkeyOptions(w.Stranger()))).WantError(identity.ErrCredentials)

	ann := w.reset(annsAddress, 1)
	ann.Put(passwordPath(t, ann), map[string]any{"pubKey": testkit.Password}).Want(http.StatusOK)
	ann.Refresh()
	w.Clock.Advance(2 * time.Minute)
	path := addPasskey(t, ann, own, "Own")
	w.Clock.Advance(2 * time.Minute)
	passkeyLogin(w.Stranger(), own.Get(t, passkeyOptions(w.Stranger()))).Want(http.StatusOK)
	ann.Refresh()
	ann.Delete(path).Want(http.StatusNoContent)
	passkeyLogin(w.Stranger(), own.Get(t, passkeyOptions(w.Stranger()))).WantError(identity.ErrCredentials)
	if !w.undone(w.key(annsAddress, "passkey was removed")) {
		t.Error("the link brings nothing back")
	}
	back := w.Stranger()
	back.Email = annsAddress
	back.ID = passkeyLogin(back, own.Get(t, passkeyOptions(w.Stranger()))).Want(http.StatusOK).String("token")
	back.Refresh()
	if list := back.Get(w.Identity + "/profile/authenticators").Want(http.StatusOK); list.String("authenticators.1.name") != "Own" ||
		list.String("authenticators.1.hostname") != "localhost" {
		t.Errorf("the authenticators are %s", list.Body)
	}
}
