// Tests of the file of identity providers.

package oidc_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity/oidc"
)

const organization = "0190d2f4-7c1e-7b44-8d6a-3f1f6f0e2c11"

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "clients.json")
	content := `[
	 {"type":"keycloak","issuer":"https://sso.example.com/realms/a","clientId":"c1","clientSecret":"` + secret + `",
	  "name":"Sign in with A","organizationUid":"` + organization + `","domains":["a.example"],"emailTrusted":true},
	 {"type":"microsoft","issuer":"https://login.microsoftonline.com/common/v2.0","clientId":"c2"},
	 {"type":"google","issuer":"https://accounts.google.com","clientId":"c3","emailTrusted":false},
	 {"type":"apple","issuer":"https://appleid.apple.com","clientId":"c4"},
	 {"type":"keycloak","issuer":"http://localhost:8081/realms/a","clientId":"c5"},
	 {"type":"keycloak","issuer":"http://[::1]:8081","clientId":"c5"}]`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := oidc.Load(path)
	want(t, err, nil)
	uid, err := id.Parse[id.Organization](organization)
	want(t, err, nil)
	expected := []oidc.Client{
		{Type: oidc.Keycloak, Issuer: "https://sso.example.com/realms/a", ClientID: "c1", ClientSecret: secret, Name: "Sign in with A",
			Organization: uid, Domains: []string{"a.example"}, EmailTrusted: true},
		{Type: oidc.Microsoft, Issuer: "https://login.microsoftonline.com/common/v2.0", ClientID: "c2"},
		{Type: oidc.Google, Issuer: "https://accounts.google.com", ClientID: "c3"},
		{Type: oidc.Apple, Issuer: "https://appleid.apple.com", ClientID: "c4"},
		{Type: oidc.Keycloak, Issuer: "http://localhost:8081/realms/a", ClientID: "c5"},
		{Type: oidc.Keycloak, Issuer: "http://[::1]:8081", ClientID: "c5"},
	}
	if d := cmp.Diff(expected, got); d != "" {
		t.Error(d)
	}
	asJSON, err := json.Marshal(got)
	want(t, err, nil)
	if all := fmt.Sprintf("%v %+v %s %s", got, got[0], got[0], asJSON); strings.Contains(all, secret) {
		t.Errorf("the secret is printed: %s", all)
	}
	p, err := oidc.New(oidc.Options{Clients: got, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	want(t, err, nil)
	c, ok := p.Client("https://sso.example.com/realms/a", "c1")
	if !ok || c.Name != "Sign in with A" || c.ClientSecret != "" || len(p.Clients()) != 6 || cmp.Diff(p.Clients()[0], c) != "" {
		t.Errorf("Client = %v, %v", c, ok)
	}
	if _, ok := p.Client("https://sso.example.com/realms/a", "c2"); ok {
		t.Error("the client ID of another issuer is accepted")
	}
	none, err := oidc.Load("")
	if err != nil || len(none) != 0 {
		t.Errorf("without a file: %v, %v", none, err)
	}
	if _, err := oidc.Load(path + "x"); err == nil || !strings.Contains(err.Error(), path+"x") {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(path, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := oidc.Load(path); err == nil || !strings.Contains(err.Error(), "longer") {
		t.Errorf("a huge file: %v", err)
	}
}

func TestLoadMistakes(t *testing.T) {
	t.Parallel()
	const good = `"type":"keycloak","issuer":"https://sso.example.com","clientId":"c"`
	one := func(members string) string { return `[{` + members + `}]` }
	issuer := func(kind, issuer, more string) string {
		return one(`"type":"` + kind + `","issuer":"` + issuer + `","clientId":"c"` + more)
	}
	for content, expected := range map[string]string{
		``:           "the file is not JSON: line 1: unexpected end of JSON input",
		"[\n{\n]":    "the file is not JSON: line 3: invalid character ']' looking for beginning of object key string",
		`{}`:         "the file must hold a JSON array of objects",
		`null`:       "the file must hold a JSON array of objects",
		"[\"\xff\"]": "the file is not valid UTF-8",
		`[7]`:        "clients[0] must be an object that names no member twice",
		`[null]`:     "clients[0] must be an object that names no member twice",
		`[{}]`: "clients[0].type: must be microsoft, google, apple or " +
			"keycloak\nclients[0].issuer: is required\nclients[0].clientId: is empty",
		`[]`:                                "",
		one(good):                           "",
		"\ufeff" + one(good):                "",
		one(good + `,"type":"keycloak"`):    "clients[0] must be an object that names no member twice",
		one(good + `,"emailTrusted":"yes"`): "clients[0].emailTrusted: must be true or false",
		one(good + `,"name":null`):          "clients[0].name: must be a string",
		one(good + `,"name":"a\u0000"`):     "clients[0].name: contains a control character",
		one(good + `,"clientSecret":["` + secret +
			`"]`): "clients[0].clientSecret: must be a string",
		one(good + `,"clientSecret":"` + secret +
			`\n"`): "clients[0].clientSecret: contains a control character",
		one(good + `,"organizationUid":"acme"`): "clients[0].organizationUid: is not a UUID like " +
			"0190d2f4-7c1e-7b44-8d6a-3f1f6f0e2c11",
		one(good + `,"ClientSecret":"x"`): "clients[0] has an unknown member " +
			"\"ClientSecret\"; known are type, issuer, clientId, clientSecret, name, organizationUid, domains and emailTrusted",
		`[{` + good + `},{` + good + `}]`: "clients[1].clientId: the pair of issuer and " +
			"clientId is that of clients[0]",
		`[{` + good + `},{"type":"apple","issuer":"https://sso.example.com","clientId":"d"}]`: "clients[1].type: clients[0] has the same " +
			"issuer, so its type must be the same",
		issuer("oidc", "https://a.example",
			""): "clients[0].type: must be microsoft, google, apple or keycloak",
		issuer("keycloak", "http://sso.example.com",
			""): "clients[0].issuer: must be an https URL; http is possible on loopback only",
		issuer("keycloak", "http://10.0.0.1",
			""): "clients[0].issuer: must be an https URL; http is possible on loopback only",
		issuer("keycloak", "http://127.0.0.1.example.com",
			""): "clients[0].issuer: must be an https URL; http is possible on loopback only",
		issuer("keycloak", "ftp://127.0.0.1",
			""): "clients[0].issuer: must be an https URL; http is possible on loopback only",
		issuer("keycloak", "sso.example.com",
			""): "clients[0].issuer: must be a URL like https://login.example.com",
		issuer("keycloak", "https://", ""): "clients[0].issuer: must be a URL like https://login.example.com",
		issuer("keycloak", "https://a.example/?x=1",
			""): "clients[0].issuer: must be without user information, query and fragment",
		issuer("keycloak", "https://a.example/?",
			""): "clients[0].issuer: must be without user information, query and fragment",
		issuer("keycloak", "https://a.example/#",
			""): "clients[0].issuer: must be without user information, query and fragment",
		issuer("keycloak", "https://u:p@a.example/",
			""): "clients[0].issuer: must be without user information, query and fragment",
		issuer("google", "https://a.example",
			`,"emailTrusted":true`): trusted,
		issuer("apple", "https://a.example",
			`,"emailTrusted":true`): trusted,
		issuer("microsoft", "https://login.microsoftonline.com/common/v2.0",
			`,"emailTrusted":true`): trusted,
		issuer("microsoft", "https://login.microsoftonline.com/organizations/v2.0",
			`,"emailTrusted":true`): trusted,
		issuer("microsoft", "https://login.microsoftonline.com/consumers",
			`,"emailTrusted":true`): trusted,
		issuer("microsoft", "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0",
			`,"emailTrusted":true`): trusted,
		issuer("microsoft", "https://login.microsoftonline.com/3aa4a235-b6e2-48d5-9195-7fcf05b459b0/v2.0", `,"emailTrusted":true`): "",
		issuer("microsoft", "https://login.microsoftonline.com/common/v2.0",
			`,"organizationUid":"`+organization+
				`","domains":["a.example"]`): "clients[0].organizationUid: needs the issuer of one tenant; with this one, anybody with a Microsoft " +
			"account would become a member",
	} {
		_, err := oidc.ParseClients([]byte(content))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != expected {
			t.Errorf("%s\n got %s\nwant %s", content, got, expected)
		}
		if strings.Contains(got, secret) {
			t.Errorf("the error repeats the secret: %s", got)
		}
	}
}

const trusted = "clients[0].emailTrusted: needs an issuer that one organization runs for itself: a keycloak realm or the issuer of one " +
	"Microsoft tenant"

func TestUserName(t *testing.T) {
	t.Parallel()
	for user, name := range map[string]string{
		`{"name":{"firstName":"Ann","lastName":"Lee"},"email":"ann@example.com"}`: "Ann Lee",
		`{"name":{"firstName":"Ann"}}`:                                            "Ann",
		`{"name":{"firstName":" A\u0000nn\n","lastName":"\u202eLee"}}`:            "A nn Lee",
		`{"name":{"firstName":"` + strings.Repeat("ä", 200) + `"}}`:               strings.Repeat("ä", 127),
		`{"name":"Ann"}`: "", `{}`: "", ``: "", `null`: "", `[`: "", `{"name":{"firstName":7}}`: "",
		`{"name":{"firstName":"` + strings.Repeat("a", 40<<10) + `"}}`: "",
	} {
		if got := oidc.UserName(user); got != name {
			t.Errorf("UserName(%.60s) = %q, want %q", user, got, name)
		}
	}
}

// TestConfigured: Configured returns the issuer of the client environment for the iss of a person.
func TestConfigured(t *testing.T) {
	t.Parallel()
	const tenant = "https://login.microsoftonline.com/6d1f0b5e-7f3c-4f6a-9f6e-0d6a1c2b3e4f/v2.0"
	const personal = "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0"
	const common, work = "https://login.microsoftonline.com/common/v2.0", "https://login.microsoftonline.com/organizations/v2.0"
	of := func(clients ...oidc.Client) *oidc.Providers {
		t.Helper()
		p, err := oidc.New(oidc.Options{Clients: clients, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	microsoft := func(issuer string) oidc.Client {
		return oidc.Client{Type: oidc.Microsoft, Issuer: issuer, ClientID: clientID}
	}
	realm := oidc.Client{Type: oidc.Keycloak, Issuer: "https://login.example.com/realms/staff", ClientID: clientID}
	for name, c := range map[string]struct {
		providers *oidc.Providers
		iss, want string
	}{
		"the issuer itself":       {of(realm), realm.Issuer, realm.Issuer},
		"not configured any more": {of(realm), tenant, tenant},
		"nothing configured":      {new(oidc.Providers), tenant, tenant},
		"a tenant of many":        {of(realm, microsoft(common)), tenant, common},
		"its own before many":     {of(microsoft(common), microsoft(tenant)), tenant, tenant},
		"personal is no tenant":   {of(microsoft(work)), personal, personal},
		"personal is one of all":  {of(microsoft(work), microsoft(common)), personal, common},
		"no tenant at all": {of(microsoft(common)), "https://login.microsoftonline.com/evil/v2.0",
			"https://login.microsoftonline.com/evil/v2.0"},
	} {
		if got := c.providers.Configured(c.iss); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
