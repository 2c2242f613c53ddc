// Tests of sign-up, and of attacks with its mails.

package handler_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

func TestSignUpToProfile(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	resp := s.Stranger().With("Accept-Language", "fr-CA, de;q=0.5").Post(s.Identity+"/signup", map[string]any{
		"address": "Ann.Archer@Bücher.Example", "password": testkit.Password, "name": "Ann Archer", "uid": "ignored",
	}).Want(http.StatusOK)
	if resp.Header.Get("Authorization") != "Bearer "+resp.String("token") {
		t.Error("header and body contain different tokens")
	}
	ann := s.Stranger().As(resp.String("token"))
	ann.ID = ann.Access
	claims := claimsOf(t, ann.ID)
	if resp.String("kind") != "idtoken" || claims["scope"] != "idtoken" {
		t.Errorf("the kind is %s, the scope %v", resp.String("kind"), claims["scope"])
	}
	if claims["authLevel"] != 0.0 || claims["scope"] != "idtoken" || claims["ver"] != "3.0" || claims["email_verified"] != false ||
		claims["email"] != "ann.archer@xn--bcher-kva.example" || claims["locale"] != "fr_FR" || claims["zoneinfo"] != "UTC" {
		t.Errorf("claims are %v", claims)
	}
	if life := claims["exp"].(float64) - claims["iat"].(float64); life != 3600 {
		t.Errorf("the lifetime of a signup token is %v s", life)
	}
	ann.Refresh()
	profile := ann.Get(s.Identity + "/profile").Want(http.StatusOK)
	removeAt := s.Clock.Now().Add(7 * 24 * time.Hour).Format("2006-01-02T15:04:05.000-07:00")
	if profile.String("name") != "Ann Archer" || profile.String("uid") != claims["sub"] || profile.Value("membership") != nil ||
		profile.Value("emails.0.primary") != true || profile.Value("emails.0.verified") != false ||
		profile.String("emails.0.removeAt") != strings.Replace(removeAt, "Z", "+00:00", 1) {
		t.Errorf("profile is %s", profile.Body)
	}
	mail := s.Mail.Wait(t, "ann.archer@xn--bcher-kva.example", "/confirm/", 1)
	if !strings.HasPrefix(mail.Link(t, "/confirm/"), s.Config.PublicURL.String()+"/confirm/") {
		t.Errorf("the link is %s", mail.Link(t, "/confirm/"))
	}
}

func TestSignUpRefuses(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	body := func(change map[string]any) map[string]any {
		b := map[string]any{"address": "ann@example.com", "password": testkit.Password}
		for k, v := range change {
			if v == nil {
				delete(b, k)
			} else {
				b[k] = v
			}
		}
		return b
	}
	for name, c := range map[string]struct {
		body   any
		detail string
	}{
		"nothing":           {map[string]any{}, "address: is required\npassword: is required"},
		"no address":        {body(map[string]any{"address": nil}), "address: is required"},
		"wrong types":       {`{"address": 1, "password": ["x"], "name": {}}`, "address"},
		"no address at all": {body(map[string]any{"address": "ann"}), "address: is not an email address"},
		"two ats":           {body(map[string]any{"address": "a@b@example.com"}), "address"},
		"a space":           {body(map[string]any{"address": "ann archer@example.com"}), "address"},
		"a name around":     {body(map[string]any{"address": "Ann <ann@example.com>"}), "address"},
		"quotes":            {body(map[string]any{"address": `"ann"@example.com`}), "address"},
		"line break":        {body(map[string]any{"address": "ann@example.com\r\nBcc: eve@example.com"}), "address"},
		"255 bytes": {body(map[string]any{"address": strings.Repeat("a", 60) + "@" + strings.Repeat(strings.Repeat("b", 60)+".", 4) +
			"example.com"}), "address"},
		"11 characters": {body(map[string]any{"password": "xk7-plumbag"}), "password: needs 12 characters"},
		"73 bytes": {body(map[string]any{"password": "xk7-plumbago!" + strings.Repeat("é", 30)}),
			"password: is longer than 72 bytes"},
		"common":                {body(map[string]any{"password": "password1234"}), "password: is among the most common"},
		"name with line feed":   {body(map[string]any{"name": "Ann\nArcher"}), "name: contains a control character"},
		"name of 256 bytes":     {body(map[string]any{"name": strings.Repeat("x", 256)}), "name: is longer than 255 bytes"},
		"locale":                {body(map[string]any{"locale": "en"}), "locale"},
		"time zone":             {body(map[string]any{"timeZone": "Middle/Earth"}), "timeZone"},
		"empty locale":          {body(map[string]any{"locale": ""}), "locale: is empty"},
		"empty time zone":       {body(map[string]any{"timeZone": ""}), "timeZone: is empty"},
		"local time zone":       {body(map[string]any{"timeZone": "Local"}), "timeZone"},
		"time zone with dots":   {body(map[string]any{"timeZone": "../../etc/passwd"}), "timeZone"},
		"no JSON":               {`{"address"`, ""},
		"no object":             {`null`, ""},
		"the same member twice": {`{"address":"ann@example.com","address":"bob@example.com","password":"correct horse battery"}`, ""},
	} {
		resp := s.Stranger().With("Content-Type", "application/json").Post(s.Identity+"/signup", c.body).WantError(fault.ErrInvalid)
		if !strings.Contains(resp.Details(), c.detail) {
			t.Errorf("%s: details are %q, want %q", name, resp.Details(), c.detail)
		}
	}
	s.Stranger().With("Content-Type", "text/plain").Post(s.Identity+"/signup", "{}").Want(http.StatusUnsupportedMediaType)
	longest := "ä" + strings.Repeat("x7", 35) // 72 bytes
	s.Stranger().Post(s.Identity+"/signup", body(map[string]any{"password": longest})).Want(http.StatusOK)
	s.Stranger().Post(s.Identity+"/auth/login", map[string]any{"email": "ann@example.com", "type": "bcrypt", "key": longest + "y"}).WantError(
		identity.ErrCredentials)
	s.Stranger().Post(s.Identity+"/auth/login", map[string]any{"email": "ANN@example.com", "type": "bcrypt", "key": longest}).Want(
		http.StatusOK)
	s.Stranger().Post(s.Identity+"/signup", body(map[string]any{"address": "ANN@EXAMPLE.COM"})).WantError(identity.ErrSignupAddressInUse)
}

func TestUnverifiedIsRestricted(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUpUnconfirmed("ann@example.com")
	ann.Get(s.Identity + "/profile").Want(http.StatusOK)
	ann.Get(s.Identity + "/events").WantError(token.ErrUnverified)
	for _, call := range []string{"/auth/uid", "/auth/park?redirect_uri=" + url.QueryEscape(s.Config.PublicURL.String())} {
		resp := ann.As(ann.ID).Post(s.Identity+call, nil).WantError(token.ErrUnverified)
		if resp.Details() != "verify your primary email address first" {
			t.Errorf("%s: %s", call, resp.Details())
		}
	}
	ann.As(ann.ID).Get(s.Identity + "/auth").WantError(token.ErrUnverified)
	ann.As(ann.ID).Post(s.Identity+"/auth/logout", nil).Want(http.StatusNoContent)
}

func TestExists(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	s.SignUp("ann@example.com")
	resp := s.Stranger().Post(s.Identity+"/auth/exists", map[string]any{"address": "ANN@example.com"}).Want(http.StatusOK)
	if resp.String("provider") != s.Config.PublicURL.String()+s.Identity {
		t.Errorf("the provider is %s", resp.Body)
	}
	s.Stranger().Post(s.Identity+"/auth/exists", map[string]any{"address": "nobody@example.com"}).WantError(identity.ErrPersonNotFound)
	for _, body := range []string{"", "null", "{}", `{"address":null}`, `{"address":"x"}`, `{"address":7}`} {
		s.Stranger().With("Content-Type", "application/json").Post(s.Identity+"/auth/exists", body).WantError(fault.ErrInvalid)
	}
}

func TestSignupBucket(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_RATE_LIMIT", "on"))
	for range 20 {
		s.Stranger().Post(s.Identity+"/auth/exists", map[string]any{"address": "nobody@example.com"}).Want(http.StatusNotFound)
	}
	resp := s.Stranger().Post(s.Identity+"/auth/exists", map[string]any{"address": "nobody@example.com"}).WantError(fault.ErrOverloaded)
	if resp.Header.Get("Retry-After") != "10" || resp.Header.Get("X-RateLimit-Limit") != "20" ||
		resp.Header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("headers are %v", resp.Header)
	}
	s.SignUpUnconfirmed("ann@example.com")
}

// TestAttackVerificationMails: several accounts together send an address ten verification mails a day.
func TestAttackVerificationMails(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	const victim = "victim@example.org"
	mallory, eve := s.SignUp("mallory@example.com"), s.SignUp("eve@example.com")
	everybody := []*testkit.Person{mallory, eve, s.SignUp("trudy@example.com")}
	add := func(p *testkit.Person) *testkit.Response {
		s.T.Helper()
		return p.Post(s.Identity+"/profile/emails", map[string]any{"address": "Victim@Example.org"})
	}
	for i := range 7 {
		for _, p := range everybody[:min(3, 20-3*i)] {
			add(p).Want(http.StatusCreated)
			p.Delete(s.Identity + "/profile/emails/" + victim).Want(http.StatusNoContent)
			p.Post(s.Identity+"/profile/emails", map[string]any{"address": "x"}).WantError(fault.ErrInvalid) // takes no token
		}
	}
	for _, refused := range []*testkit.Response{add(eve), add(mallory),
		s.Stranger().Post(s.Identity+"/signup", map[string]any{"address": victim, "password": testkit.Password})} {
		if refused.WantError(fault.ErrOverloaded); refused.Header.Get("Retry-After") != "4320" {
			t.Errorf("Retry-After is %q", refused.Header.Get("Retry-After"))
		}
	}
	s.Clock.Advance(24 * time.Hour / 20)
	s.Stranger().Post(s.Identity+"/signup", map[string]any{"address": victim, "password": testkit.Password}).Want(http.StatusOK)
}

// TestAttackMailsOfAVictim: one client network cannot use up the verification mails or resets that the owner of an address needs,
// nor flood the address with them. A browser in which the owner has signed in before can always reset.
func TestAttackMailsOfAVictim(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_TRUSTED_PROXIES", "127.0.0.0/8,::1/128"), testkit.Env("CONSIGN_STRANGER_SHARE", ""))
	at := func(client string) *testkit.Person { return s.Stranger().With("X-Forwarded-For", client) }
	const victim, ann = "victim@example.org", "ann@example.com"
	mallory := s.SignUp("mallory@example.com").With("X-Forwarded-For", "203.0.113.7")
	added := 0
	for range 10 {
		if got := mallory.Post(s.Identity+"/profile/emails", map[string]any{"address": victim}); got.Status == http.StatusCreated {
			added++
			mallory.Delete(s.Identity + "/profile/emails/" + victim).Want(http.StatusNoContent)
		} else if got.WantError(fault.ErrOverloaded); got.Header.Get("X-RateLimit-Limit") != "5" {
			t.Errorf("the refusing bucket has %s tokens", got.Header.Get("X-RateLimit-Limit"))
		}
	}
	if added != 5 {
		t.Errorf("one client network caused %d verification mails", added)
	}
	at("198.51.100.4").Post(s.Identity+"/signup", map[string]any{"address": victim, "password": testkit.Password}).Want(http.StatusOK)

	s.SignUp(ann)
	known := deviceOf(t, signIn(s, "", ann, testkit.Password).Want(http.StatusOK))
	reset := func(p *testkit.Person) int {
		return p.Post(s.Identity+"/auth/reset", map[string]any{"address": ann}).Status
	}
	flood := func(client string) (mailed int) {
		for range 24 { // every hour of a day
			if reset(at(client)) == http.StatusNoContent {
				mailed++
			}
			s.Clock.Advance(time.Hour)
		}
		return mailed
	}
	if n := flood("203.0.113.7"); n < 5 || n > 10 {
		t.Errorf("one client network caused %d resets on a day", n)
	}
	if got := reset(at("198.51.100.4")); got != http.StatusNoContent {
		t.Errorf("another client network's reset answers %d", got)
	}
	for i := range 40 {
		reset(at(fmt.Sprintf("192.0.%d.1", i)))
	}
	keys := func() (n int) {
		t.Helper()
		if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM identity.reset_keys`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	mailed := keys()
	if got := reset(at("198.51.100.5")); got != http.StatusNoContent || keys() != mailed {
		t.Errorf("beyond the bound of the address a reset answers %d, and mails again", got)
	}
	if got := reset(at("198.51.100.5").With("Cookie", known)); got != http.StatusNoContent {
		t.Errorf("a known device's reset answers %d", got)
	}
	s.Clock.Advance(time.Hour) // the link that was mailed last has ended
	for i := range 5 {
		reset(at(fmt.Sprintf("198.51.%d.5", i)))
	}
	tried := map[string]bool{}
	poll.Until(t, "a link that works", func() bool { // mails come in any order
		for _, m := range s.Mail.To(ann) {
			if !strings.Contains(m.Text, "/reset/") || tried[m.Key(t, "/reset/")] {
				continue
			}
			tried[m.Key(t, "/reset/")] = true
			if at("198.51.100.6").Post(s.Identity+"/auth/reset/"+m.Key(t, "/reset/"), nil).Status == http.StatusOK {
				return true
			}
		}
		return false
	})
}

// TestAttackInvitations: anybody can make an organization. Its invitations neither flood an address nor reach many.
func TestAttackInvitations(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_STRANGER_SHARE", ""))
	mallory := s.SignUp("mallory@example.com")
	spam := createOrganization(mallory, "Buy at spam.example")
	invite := func(address string) int {
		return mallory.Post(spam.path+"/invitations", map[string]any{"address": address, "roles": []string{}}).Status
	}
	mailed := func(address func(i int) string, n int) (sum int) {
		for i := range n {
			if invite(address(i)) == http.StatusCreated {
				sum++
			}
			s.Clock.Advance(time.Second)
		}
		return sum
	}
	if n := mailed(func(int) string { return "victim@example.org" }, 12); n != 5 {
		t.Errorf("one address got %d invitations", n)
	}
	if n := mailed(func(i int) string { return fmt.Sprintf("victim%d@example.org", i) }, 120); n > 90 || n < 80 {
		t.Errorf("%d further addresses got an invitation", n)
	}
}

// TestSignupMailsAreLimited: repeated signups with another person's address send it a limited number of mails, in any
// spelling. A refused signup sends none and takes no token.
func TestSignupMailsAreLimited(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	const victim = "victim@example.com"
	signUp := func(address string) *testkit.Response {
		return s.Stranger().Post(s.Identity+"/signup", map[string]any{"address": address, "password": testkit.Password})
	}
	mailed := 0
	for range 25 {
		resp := signUp("Victim@example.com")
		if resp.Status != http.StatusOK {
			resp.WantError(fault.ErrOverloaded)
			continue
		}
		if mailed++; mailed == 1 {
			for range 10 {
				signUp(victim).WantError(identity.ErrSignupAddressInUse)
			}
		}
		eve := s.Stranger().As(resp.String("token"))
		eve.ID = eve.Access
		eve.Refresh()
		eve.Delete(s.Identity + "/profile").Want(http.StatusNoContent)
	}
	if mailed != 20 {
		t.Errorf("%d signups sent a mail, want 20", mailed)
	}
	signUp("bob@example.com").Want(http.StatusOK)
	s.Clock.Advance(24 * time.Hour / 20)
	signUp(victim).Want(http.StatusOK)
}

// TestAttackNameInVerification: the text of a stranger is not mailed to an address that nobody has verified, as the name of a sign-up.
func TestAttackNameInVerification(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	const text = "Your account is locked! Verify at evil"
	s.Stranger().Post(s.Identity+"/signup", map[string]any{
		"address": "victim@example.org", "password": testkit.Password, "name": text, "locale": "en_US", "timeZone": "UTC",
	}).Want(http.StatusOK)
	m := s.Mail.Wait(t, "victim@example.org", "/confirm/", 1)
	if all := m.Subject + m.Text + m.HTML + fmt.Sprint(m.Header); strings.Contains(all, "locked") {
		t.Errorf("the mail says %s", all)
	}
}

// TestAttackWrongProof: a proof that is given is checked, also in a young session, which needs none.
func TestAttackWrongProof(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	ann.Do("DELETE", s.Identity+"/profile", map[string]any{"authKey": "wrong"}).WantError(identity.ErrKeyChange)
	ann.Do("DELETE", s.Identity+"/profile", map[string]any{"authKey": testkit.Password}).Want(http.StatusNoContent)
}
