package app_test

import (
	"crypto/tls"
	"crypto/x509"
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/testkit"
)

// TestPprofIsOff: profiles expose memory contents, so the admin listener serves none unless the operator enables them.
func TestPprofIsOff(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline", "/debug/pprof/profile"} {
		if status, _ := fetch(t, s.Admin+path); status != http.StatusNotFound {
			t.Errorf("GET %s answers %d", path, status)
		}
	}
}

// TestAttackAdminRebinding: a site whose name leads to the admin listener reads nothing there that needs no login. Probes ask for any
// name.
func TestAttackAdminRebinding(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_PPROF", "on"), testkit.Env("CONSIGN_ADMIN_HOSTS", "metrics.example.com"))
	ask := func(host, path string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Admin+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	for _, path := range []string{"/metrics", "/debug/pprof/cmdline"} {
		for _, host := range []string{"evil.example", "evil.example:9090", "localhost.evil.example", "127.0.0.1.evil.example"} {
			if status := ask(host, path); status != http.StatusMisdirectedRequest {
				t.Errorf("GET %s of %s answers %d", path, host, status)
			}
		}
	}
	for _, host := range []string{"localhost:9090", "LOCALHOST", "10.0.0.7:9090", "[::1]:9090", "metrics.example.com"} {
		if status := ask(host, "/metrics"); status != http.StatusOK {
			t.Errorf("GET /metrics of %s answers %d", host, status)
		}
	}
	if status := ask("evil.example", "/readyz"); status != http.StatusOK {
		t.Errorf("a probe of another name gets %d", status)
	}
}

// TestAPIAnswersHaveAPolicy: an API answer that a browser opens as a page loads nothing and cannot be framed.
func TestAPIAnswersHaveAPolicy(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	for _, path := range []string{s.Identity + "/profile", s.Transfer + "/environment", "/.well-known/openid-configuration",
		s.Transfer + "/nowhere", "/healthz"} {
		if got := s.Stranger().Get(path).Header.Get("Content-Security-Policy"); path != "/healthz" &&
			got != "default-src 'none'; frame-ancestors 'none'" {
			t.Errorf("GET %s: %q", path, got)
		}
	}
}

// TestAnswersTellNoVersion: no header says which program answers, or in which version.
func TestAnswersTellNoVersion(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	for _, path := range []string{s.Transfer + "/environment", "/", "/login", "/nowhere", "/healthz"} {
		for name := range s.Stranger().Get(path).Header {
			if slices.Contains([]string{"Server", "Via", "X-Powered-By", "X-Generator", "X-Version"}, name) {
				t.Errorf("GET %s carries %s", path, name)
			}
		}
	}
}

// TestHSTSSubdomains: HSTS covers subdomains where the operator says that they all speak HTTPS.
func TestHSTSSubdomains(t *testing.T) {
	t.Parallel()
	chain, key := certificate(t)
	s := testkit.New(t, testkit.Env("CONSIGN_TLS_CERT", chain), testkit.Env("CONSIGN_TLS_KEY", key),
		testkit.Env("CONSIGN_HSTS_SUBDOMAINS", "on"))
	if got := s.Stranger().Get(s.Transfer + "/environment").Header.Get(
		"Strict-Transport-Security"); got != "max-age=31536000; includeSubDomains" {
		t.Errorf("HSTS is %q", got)
	}
}

// handshake returns the server's certificate, or the error of the TLS handshake.
func handshake(t *testing.T, s *testkit.Server, c *tls.Config) (*x509.Certificate, error) {
	t.Helper()
	c.InsecureSkipVerify = true
	conn, err := (&tls.Dialer{Config: c}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "https://"))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// TestTLSSuites: in TLS 1.2 the server accepts suites with forward secrecy and AEAD only: none with CBC or RSA key exchange.
func TestTLSSuites(t *testing.T) {
	t.Parallel()
	chain, key := certificate(t)
	s := testkit.New(t, testkit.Env("CONSIGN_TLS_CERT", chain), testkit.Env("CONSIGN_TLS_KEY", key))
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if !slices.Contains(suite.SupportedVersions, tls.VersionTLS12) || strings.Contains(suite.Name, "_RSA_") {
			continue // the test's certificate is ECDSA
		}
		_, err := handshake(t, s, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}}) //nolint:gosec // the test is about suites
		if good := !strings.Contains(suite.Name, "CBC") && !strings.Contains(suite.Name, "RC4"); (err == nil) != good {
			t.Errorf("%s: %v", suite.Name, err)
		}
	}
}

// TestCertificateIsReloaded: a renewed certificate is served without a restart. While chain and key do not match, the
// former certificate stays.
func TestCertificateIsReloaded(t *testing.T) {
	t.Parallel()
	chain, key := certificate(t)
	s := testkit.New(t, testkit.Env("CONSIGN_TLS_CERT", chain), testkit.Env("CONSIGN_TLS_KEY", key))
	served := func() string {
		t.Helper()
		c, err := handshake(t, s, &tls.Config{}) //nolint:gosec // the test's certificate is its own
		if err != nil {
			t.Fatal(err)
		}
		return string(c.Raw)
	}
	replace := func(name, by string) {
		t.Helper()
		if err := os.Rename(by, name); err != nil {
			t.Fatal(err)
		}
	}
	first := served()
	newChain, newKey := certificate(t)
	replace(chain, newChain)
	if served() != first {
		t.Error("a chain without its key is served")
	}
	replace(key, newKey)
	if served() == first {
		t.Error("the renewed certificate is not served")
	}
	if !strings.Contains(s.Log(), "the former certificate stays") || !strings.Contains(s.Log(), "certificate loaded again") {
		t.Error("the log does not tell of the change")
	}
}

// TestLowBcryptCostIsReported: the default is safe. A lower cost is for tests, and the start says so.
func TestLowBcryptCostIsReported(t *testing.T) {
	t.Parallel()
	if defaults, err := config.Load([]string{"CONSIGN_DATA_DIR=" + t.TempDir()}); err != nil || defaults.BcryptCost < config.SafeBcryptCost {
		t.Errorf("the default is %d, %v", defaults.BcryptCost, err)
	}
	const warning = "CONSIGN_BCRYPT_COST is so low"
	for cost, warned := range map[string]bool{"9": true, "10": false} {
		if s := testkit.New(t, testkit.Env("CONSIGN_BCRYPT_COST", cost)); strings.Contains(s.Log(), warning) != warned {
			t.Errorf("cost %s: %t", cost, !warned)
		}
	}
}

// TestTokensAreNotInURLs: no query parameter takes a token of a session, and the documents list no parameter that could. What a query
// takes works once: the key of a download.
func TestTokensAreNotInURLs(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	for _, name := range []string{"access_token", "token", "authorization", "Authorization", "bearer", "jwt", "acct", "id_token", "session"} {
		for _, token := range []string{ann.Access, ann.ID, "Bearer " + ann.Access} {
			for _, path := range []string{s.Identity + "/profile", s.Identity + "/profile/avatar", s.Identity + "/auth", s.Transfer + "/transfers"} {
				s.Stranger().Get(path + "?" + url.Values{name: {token}}.Encode()).Want(http.StatusUnauthorized)
			}
		}
	}
	secret := regexp.MustCompile(`(?i)token|auth|key|otk|claim|session|sid|secret|password`)
	var found []string
	for _, doc := range testkit.LoadDocuments(t, s.Identity, s.Transfer) {
		for _, scheme := range doc.Components.SecuritySchemes {
			if scheme.Value.In == "query" {
				found = append(found, scheme.Value.Name)
			}
		}
		for _, path := range doc.Paths.Map() {
			for _, operation := range path.Operations() {
				for _, p := range slices.Concat(path.Parameters, operation.Parameters) {
					if p.Value.In == "query" && secret.MatchString(p.Value.Name) && !slices.Contains(found, p.Value.Name) {
						found = append(found, p.Value.Name)
					}
				}
			}
		}
	}
	slices.Sort(found)
	if want := []string{"keep_session", "otk", "sid"}; !slices.Equal(found, want) { // sid: of the provider, to end a session
		t.Errorf("query parameters are %v, want %v", found, want)
	}
}

// TestEveryScript: names in any script are the same in the API, in pages' data, in file names and in mails.
func TestEveryScript(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	for i, name := range []string{"Łukasz Żółć", "日本語の名前", "שלום עולם", "مرحبا بالعالم", "Ωμέγα", "Привет", "हिन्दी", "👩‍🚀 Ada",
		"Ål & <b>Ö</b> \"q\""} {
		profile := ann.Get(s.Identity + "/profile").Want(http.StatusOK)
		ann.Put(s.Identity+"/profile", map[string]any{"name": name, "locale": profile.String("locale"),
			"timeZone": profile.String("timeZone")}).Want(http.StatusOK)
		if got := ann.Get(s.Identity + "/profile").String("name"); got != name {
			t.Errorf("the profile has %q, want %q", got, name)
		}
		made := ann.Post(s.Transfer+"/reservations",
			map[string]any{"recipients": []any{map[string]any{"email": "bob@example.org", "destinationType": "to"}}, "subject": name,
				"message": name}).Want(http.StatusCreated)
		at := s.Transfer + "/reservations/" + made.String("uid")
		ann.Post(at+"/objects", map[string]any{"clientId": "a", "name": name + ".txt", "intendedSize": 1}).Want(http.StatusCreated)
		ann.Put(at+"/objects/a/content", []byte("x")).Want(http.StatusOK)
		sent := ann.Post(at+"/confirm", nil).Want(http.StatusOK)
		if got := ann.Get(s.Transfer + "/transfers/" + sent.String("uid")); got.String("subject") != name ||
			got.String("objects.0.name") != name+".txt" {
			t.Errorf("the transfer is %s", got.Body)
		}
		m := s.Mail.Wait(t, "bob@example.org", "/t/", i+1)
		if !strings.Contains(m.Subject, name) || !strings.Contains(m.Text, name) || !strings.Contains(m.HTML, html.EscapeString(name)) {
			t.Errorf("the mail about %q: %q\n%s\n%s", name, m.Subject, m.Text, m.HTML)
		}
	}
}
