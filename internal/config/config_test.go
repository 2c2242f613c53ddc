// Tests of settings: defaults, values, problems, durations and printing.

package config

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=" // 0123456789abcdef twice

func parse(t *testing.T, environ ...string) Config {
	t.Helper()
	c, err := Parse(environ)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := parse(t, "PATH=/bin", "CONSIGN_LISTEN=", "NOEQUALS")
	dir, err := filepath.Abs("var")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{
		"PublicURL": c.PublicURL.String(), "Listen": c.Listen, "AdminListen": c.AdminListen, "DataDir": c.DataDir,
		"StorageURL": c.StorageURL, "RequireHTTPS": c.RequireHTTPS, "MailFrom": c.MailFrom, "RateLimit": c.RateLimit,
		"IDTokenLifetime": c.IDTokenLifetime, "PickupTokenLifetime": c.PickupTokenLifetime, "AvailableTTL": c.AvailableTTL,
		"NewTransferBucket": c.NewTransferBucket.PerSecond * 60, "EnumerationStrict": c.EnumerationStrict, "SecretKey": len(c.SecretKey),
		"ProviderName": c.ProviderName, "ProviderURL": c.ProviderURL, "IdentityBasePath": c.IdentityBasePath,
		"ListenDatabaseURL": c.ListenDatabaseURL,
	}
	want := map[string]any{
		"PublicURL": "http://localhost:8080", "Listen": ":8080", "AdminListen": "127.0.0.1:9090", "DataDir": dir,
		"StorageURL": "file://" + dir + "/objects", "RequireHTTPS": false, "MailFrom": `"Consign" <noreply@localhost>`, "RateLimit": true,
		"IDTokenLifetime": 720 * time.Hour, "PickupTokenLifetime": time.Minute, "AvailableTTL": []int{1, 3, 7, 14, 30},
		"NewTransferBucket": 6.0, "EnumerationStrict": false, "SecretKey": 0,
		"ProviderName": "Consign", "ProviderURL": "http://localhost:8080", "IdentityBasePath": "/id/v3", "ListenDatabaseURL": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	c := parse(t,
		"CONSIGN_PUBLIC_URL=https://Files.Example.com:8443/", "CONSIGN_DATABASE_URL=postgres://u:p@db/consign", "CONSIGN_SECRET_KEY="+key,
		"CONSIGN_TRUSTED_PROXIES=10.0.0.7, 192.168.5.4/16,2001:db8::/32", "CONSIGN_CORS_ORIGINS=https://a.example, http://localhost:3000",
		"CONSIGN_EVENT_RETENTION=1d12h", "CONSIGN_ENUMERATION=strict", "CONSIGN_RATE_LIMIT=off", "CONSIGN_ADDRESS_BUCKET=10,3/2s")
	if got := c.PublicURL.String(); got != "https://files.example.com:8443" {
		t.Errorf("PublicURL = %s", got)
	}
	if string(c.SecretKey) != "0123456789abcdef0123456789abcdef" || c.ListenDatabaseURL != c.DatabaseURL {
		t.Errorf("SecretKey %q, ListenDatabaseURL %q", c.SecretKey, c.ListenDatabaseURL)
	}
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.7/32"), netip.MustParsePrefix("192.168.0.0/16"),
		netip.MustParsePrefix("2001:db8::/32")}
	if !slices.Equal(c.TrustedProxies, want) {
		t.Errorf("TrustedProxies = %v", c.TrustedProxies)
	}
	if !slices.Equal(c.CORSOrigins, []string{"https://a.example", "http://localhost:3000"}) {
		t.Errorf("CORSOrigins = %q", c.CORSOrigins)
	}
	if c.EventRetention != 36*time.Hour || !c.EnumerationStrict || c.RateLimit || !c.RequireHTTPS {
		t.Errorf("%v %v %v %v", c.EventRetention, c.EnumerationStrict, c.RateLimit, c.RequireHTTPS)
	}
	if c.AddressBucket.Capacity != 10 || c.AddressBucket.PerSecond != 1.5 {
		t.Errorf("AddressBucket = %+v", c.AddressBucket)
	}
}

// TestStorageEncryption: files in a bucket are encrypted unless the operator says otherwise.
func TestStorageEncryption(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environ []string
		want    bool
	}{
		{nil, false}, {[]string{"CONSIGN_STORAGE_URL=file:///data"}, false}, {[]string{"CONSIGN_STORAGE_URL=s3://a:b@bucket"}, true},
		{[]string{"CONSIGN_STORAGE_ENCRYPTION=on"}, true},
		{[]string{"CONSIGN_STORAGE_URL=s3://a:b@bucket", "CONSIGN_STORAGE_ENCRYPTION=off"}, false},
	} {
		if got := parse(t, c.environ...).StorageEncryption; got != c.want {
			t.Errorf("%q: %v", c.environ, got)
		}
	}
}

func TestRequireHTTPS(t *testing.T) {
	t.Parallel()
	for public, want := range map[string]bool{
		"http://localhost": false, "http://localhost:1234": false, "https://localhost": true, "http://LOCALHOST:80": false,
		"http://localhost.example.com": true, "http://127.0.0.1": true, "https://files.example.com": true,
	} {
		if c := parse(t, "CONSIGN_PUBLIC_URL="+public); c.RequireHTTPS != want {
			t.Errorf("%s: RequireHTTPS = %v", public, c.RequireHTTPS)
		}
		for text, forced := range map[string]bool{"on": true, "off": false} {
			if c := parse(t, "CONSIGN_PUBLIC_URL="+public, "CONSIGN_REQUIRE_HTTPS="+text); c.RequireHTTPS != forced {
				t.Errorf("%s: RequireHTTPS = %v although %s", public, c.RequireHTTPS, text)
			}
		}
	}
}

// TestSettingsAreFew: a setting that nobody can judge is a constant. The reference begins with those that people set.
func TestSettingsAreFew(t *testing.T) {
	t.Parallel()
	all := Reference()
	if len(all) > 90 {
		t.Errorf("%d settings: make one that nobody can judge a member of Constants", len(all))
	}
	for i, s := range all[:16] {
		if first := s.Group == all[0].Group; first != (i < 15) {
			t.Errorf("setting %d is %s, of the group %s", i+1, s.Name, s.Group)
		}
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	database := []string{"CONSIGN_DATABASE_URL=postgres://u:hidden@db/x", "CONSIGN_PUBLIC_URL=https://x.example", "CONSIGN_SECRET_KEY=" + key}
	cases := []struct {
		environ []string
		want    []string // beginnings of the sentences, in any order
	}{
		{[]string{"CONSIGN_PUBLIC_ULR=x"}, []string{"CONSIGN_PUBLIC_ULR is not a setting; did you mean CONSIGN_PUBLIC_URL?"}},
		{[]string{"CONSIGN_SOMETHING_ELSE="}, []string{"CONSIGN_SOMETHING_ELSE is not a setting; `consign config` lists them."}},
		{[]string{"CONSIGN_RATE_LIMIT=true", "CONSIGN_BCRYPT_COST=x", "CONSIGN_SESSION_IDLE=7 days"},
			[]string{"CONSIGN_RATE_LIMIT must be on or off.", "CONSIGN_BCRYPT_COST must be a whole number.",
				"CONSIGN_SESSION_IDLE must be a duration like"}},
		{[]string{"CONSIGN_BCRYPT_COST=3", "CONSIGN_LOG_LEVEL=loud", "CONSIGN_SESSION_IDLE=1m"},
			[]string{"CONSIGN_BCRYPT_COST must be between 4 and 20.", "CONSIGN_LOG_LEVEL must be debug, info, warn or error.",
				"CONSIGN_SESSION_IDLE must be at least 1h."}},
		{database[:1], []string{"CONSIGN_PUBLIC_URL is missing", "CONSIGN_SECRET_KEY is missing"}},
		{database[:2], []string{"CONSIGN_SECRET_KEY is missing"}},
		{append(slices.Clone(database), "CONSIGN_SECRET_KEY=c2hvcnQ="), []string{"CONSIGN_SECRET_KEY must be 32 bytes"}},
		{[]string{"CONSIGN_LISTEN_DATABASE_URL=postgres://db/x"}, []string{"CONSIGN_LISTEN_DATABASE_URL is of no use"}},
		{append(slices.Clone(database), "CONSIGN_DATABASE_URL=mysql://u:hidden@db/x"), []string{"CONSIGN_DATABASE_URL must be a URL like"}},
		{append(slices.Clone(database), "CONSIGN_DATABASE_URL=postgres://u:hid/den@db/x"), []string{"CONSIGN_DATABASE_URL must"}},
		{[]string{"CONSIGN_TRUSTED_PROXIES=10.0.0.1,ten"},
			[]string{`CONSIGN_TRUSTED_PROXIES must be addresses and CIDRs separated by commas, and "ten" is neither.`}},
		{[]string{"CONSIGN_LISTEN=127.0.0.1:9090"}, []string{"CONSIGN_ADMIN_LISTEN must not be CONSIGN_LISTEN"}},
		{[]string{"CONSIGN_TLS_CERT=a.pem"}, []string{"CONSIGN_TLS_KEY is missing"}},
		{[]string{"CONSIGN_TLS_KEY=a.pem"}, []string{"CONSIGN_TLS_CERT is missing"}},
		{[]string{"CONSIGN_REDIRECT_ORIGINS=https://app.example,http://127.0.0.1:3000"},
			[]string{"CONSIGN_REDIRECT_ORIGINS must be https, or http on localhost"}},
		{[]string{"CONSIGN_CORS_ORIGINS=https://a.example/,https://b.example/x", "CONSIGN_LISTEN=8080"},
			[]string{"CONSIGN_CORS_ORIGINS must be origins", "CONSIGN_LISTEN must be an address"}},
		{[]string{"CONSIGN_STORAGE_URL=ftp://x", "CONSIGN_SMTP_URL=smtp:host", "CONSIGN_REDIS_URL=host:6379"},
			[]string{"CONSIGN_STORAGE_URL must", "CONSIGN_SMTP_URL must", "CONSIGN_REDIS_URL must"}},
		{[]string{"CONSIGN_AVAILABLE_TTL=1,2", "CONSIGN_MAIL_FROM=nobody", "CONSIGN_SIGNING_KEY_LIFETIME=5m"},
			[]string{"CONSIGN_DEFAULT_TTL must", "CONSIGN_MAIL_FROM must", "CONSIGN_SIGNING_KEY_LIFETIME must"}},
		{[]string{"CONSIGN_TLS_CERT=-----BEGIN CERTIFICATE-----\nhid", "CONSIGN_TLS_KEY=LS0tLS1CRUdJTiBhid",
			`CONSIGN_OIDC_CLIENTS= [{"clientSecret":"hid"}]`},
			[]string{"CONSIGN_OIDC_CLIENTS must be the name of a file", "CONSIGN_TLS_CERT must be the name of a file",
				"CONSIGN_TLS_KEY must be the name of a file"}},
		{[]string{"CONSIGN_SMTP_URL=smtp://me:hid/den@mail", "CONSIGN_REDIS_URL=redis://:hid#den@cache",
			"CONSIGN_STORAGE_URL=s3://key:hid%zz@bucket", "CONSIGN_LISTEN_DATABASE_URL=postgres://me:hid?den@db/x",
			"CONSIGN_DATABASE_URL=postgres://me:hid/den@db/x", "CONSIGN_PUBLIC_URL=http://localhost", "CONSIGN_SECRET_KEY=" + key},
			[]string{"CONSIGN_DATABASE_URL must be a URL like postgres://user:password@host/name; in user and password all but letters and digits " +
				"must be percent-encoded.",
				"CONSIGN_LISTEN_DATABASE_URL must be a URL like postgres://user:password@host/name; in",
				"CONSIGN_REDIS_URL must be a URL like redis://host:6379/0; in",
				"CONSIGN_SMTP_URL must be a URL like smtp://user:password@host:587 or smtps://host; in",
				"CONSIGN_STORAGE_URL must be file:///directory or s3://KEY:SECRET@bucket?endpoint=URL&region=NAME; in"}},
		{[]string{"CONSIGN_PUBLIC_URL= https://a.example"}, []string{"CONSIGN_PUBLIC_URL must be a scheme, a host and perhaps a port, like"}},
		{[]string{"CONSIGN_NEW_TRANSFER_BUCKET=20"}, []string{"CONSIGN_NEW_TRANSFER_BUCKET must be a capacity"}},
		{[]string{"CONSIGN_SECURITY_CONTACT=http://example.com/"}, []string{"CONSIGN_SECURITY_CONTACT must be a mail address or a URL"}},
		{[]string{"CONSIGN_BASE_DOMAIN=Example", "CONSIGN_PRODUCT_URL=javascript:alert(1)", "CONSIGN_CLAIM_NAMESPACE=x"},
			[]string{"CONSIGN_BASE_DOMAIN must", "CONSIGN_PRODUCT_URL must", "CONSIGN_CLAIM_NAMESPACE must"}},
	}
	for _, public := range []string{"localhost:8080", "http://", "https://a.example/path", "https://a.example?x", "https://u@a.example",
		"ftp://a.example",
		"https://a_b.example", "https://a.example:", "https://a.example:99999", "https://a.example/#x", "https://-a.example"} {
		cases = append(cases, struct{ environ, want []string }{[]string{"CONSIGN_PUBLIC_URL=" + public}, []string{"CONSIGN_PUBLIC_URL "}})
	}
	for _, c := range cases {
		_, err := Parse(c.environ)
		if err == nil {
			t.Errorf("%q was accepted", c.environ)
			continue
		}
		got := strings.Split(err.Error(), "\n")
		matched := len(got) == len(c.want)
		for _, want := range c.want {
			matched = matched && slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) })
		}
		if !matched {
			t.Errorf("%q: got\n%s\nwant beginnings %q", c.environ, err, c.want)
		}
		if strings.Contains(err.Error(), "hid") {
			t.Errorf("a password is shown: %s", err)
		}
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "15m": 15 * time.Minute, "48h": 48 * time.Hour, "30d": 720 * time.Hour, "1d12h": 36 * time.Hour,
		"1h30m": 90 * time.Minute,
		"":      0, "d": 0, "7": 0, "-1h": 0, "0s": 0, "-1d": 0, "1d-1h": 0, "1.5d": 0, "99999999999d": 0, "36501d": 0, "2d1d": 0, "9999999h": 0,
	} {
		got, err := ParseDuration(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("ParseDuration(%q) = %v, %v", text, got, err)
		}
		if again, err := ParseDuration(formatDuration(got)); want > 0 && (err != nil || again != want) {
			t.Errorf("formatDuration(%v) = %q", got, formatDuration(got))
		}
	}
}

// TestNoDuration checks that 0 is accepted for a setting whose default is no duration and refused for others. An empty value means
// the default.
func TestNoDuration(t *testing.T) {
	t.Parallel()
	for _, none := range []string{"0", "0s", ""} {
		if c, err := Parse([]string{"CONSIGN_SHUTDOWN_DELAY=" + none}); err != nil || c.ShutdownDelay != 0 {
			t.Errorf("%q: %v, %v", none, c.ShutdownDelay, err)
		}
		if _, err := Parse([]string{"CONSIGN_ACCESS_TOKEN_LIFETIME=" + none}); none != "" &&
			(err == nil || !strings.Contains(err.Error(), "CONSIGN_ACCESS_TOKEN_LIFETIME must be a duration")) {
			t.Errorf("%q: %v", none, err)
		}
	}
}

func FuzzDuration(f *testing.F) {
	f.Add("1d12h")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err != nil {
			return
		}
		if again, err := ParseDuration(formatDuration(d)); d <= 0 || err != nil || again != d {
			t.Errorf("%q → %v → %q → %v, %v", s, d, formatDuration(d), again, err)
		}
	})
}

func TestPrint(t *testing.T) {
	t.Parallel()
	environ := []string{
		"CONSIGN_PUBLIC_URL=https://files.example.com", "CONSIGN_SECRET_KEY=" + key, "CONSIGN_SECRET_KEY_PREVIOUS=" + key,
		"CONSIGN_DATABASE_URL=postgres://u:hidden@db/x?sslpassword=hidden&sslmode=require", "CONSIGN_REDIS_URL=redis://:hid@den@cache:6379/0",
		"CONSIGN_STORAGE_URL=s3://id:hidden@bucket?region=eu&access_key=hidden&secretKey=hidden",
		"CONSIGN_SMTP_URL=smtp://me%40x:hidden@mail:587",
		"CONSIGN_TRUSTED_PROXIES=10.0.0.0/8", "CONSIGN_ID_TOKEN_LIFETIME=90m",
	}
	c := parse(t, environ...)
	var out bytes.Buffer
	if err := c.Print(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, secret := range []string{"hidden", "hid@", key, "0123456789abcdef"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is shown in\n%s", secret, text)
		}
	}
	for _, line := range []string{
		"CONSIGN_SECRET_KEY=********", "CONSIGN_DATABASE_URL=postgres://u:********@db/x?sslpassword=********&sslmode=require",
		"CONSIGN_LISTEN_DATABASE_URL=postgres://u:********@db/x?sslpassword=********&sslmode=require",
		"CONSIGN_REDIS_URL=redis://:********@cache:6379/0",
		"CONSIGN_STORAGE_URL=s3://id:********@bucket?region=eu&access_key=********&secretKey=********",
		"CONSIGN_SMTP_URL=smtp://me%40x:********@mail:587",
		"CONSIGN_TRUSTED_PROXIES=10.0.0.0/8", "CONSIGN_ID_TOKEN_LIFETIME=1h30m", "CONSIGN_REQUIRE_HTTPS=on", "CONSIGN_ADDRESS_BUCKET=600,10/s",
		"CONSIGN_AVAILABLE_TTL=1,3,7,14,30",
		"# Serving",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%q is missing in\n%s", line, text)
		}
	}
}

// The printed settings can be read back: each setting occurs once, and parsing the defaults gives the defaults.
func TestPrintedDefaultsParse(t *testing.T) {
	t.Parallel()
	first := parse(t)
	var out, again bytes.Buffer
	if err := first.Print(&out); err != nil {
		t.Fatal(err)
	}
	second := parse(t, strings.Split(out.String(), "\n")...)
	if err := second.Print(&again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(out.String(), again.String()); diff != "" {
		t.Error(diff)
	}
	for _, s := range Reference() {
		if n := strings.Count(out.String(), s.Name+"="); n != 1 {
			t.Errorf("%s is printed %d times", s.Name, n)
		}
	}
}

func TestReference(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := Markdown(&out); err != nil {
		t.Fatal(err)
	}
	for _, s := range Reference() {
		if s.Doc == "" || !strings.HasSuffix(s.Doc, ".") && !strings.HasSuffix(s.Doc, ")") || s.Group == "" {
			t.Errorf("%s: group %q, doc %q", s.Name, s.Group, s.Doc)
		}
		if !strings.Contains(out.String(), "| `"+s.Name+"` | "+s.Type+" |") {
			t.Errorf("%s is missing in the table", s.Name)
		}
	}
}

func TestSecretKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "var")
	environ := []string{"CONSIGN_DATA_DIR=" + dir}
	keys := make([]string, 20)
	var group sync.WaitGroup
	for i := range keys {
		group.Go(func() {
			c, err := Load(environ)
			if err != nil {
				t.Error(err)
			}
			keys[i] = string(c.SecretKey)
		})
	}
	group.Wait()
	if distinct := slices.Compact(slices.Sorted(slices.Values(keys))); len(distinct) != 1 || len(distinct[0]) != 32 {
		t.Errorf("%d different keys", len(distinct))
	}
	info, err := os.Stat(filepath.Join(dir, SecretFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v beside the key", entries, err)
	}
	if c, err := Load(append(environ, "CONSIGN_SECRET_KEY="+key)); err != nil || string(c.SecretKey) == keys[0] {
		t.Errorf("a configured key does not override the file: %v", err)
	}
}

func TestSecretKeyProblems(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, SecretFile), []byte("hidden\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load([]string{"CONSIGN_DATA_DIR=" + dir})
	if err == nil || !strings.Contains(err.Error(), SecretFile) || strings.Contains(err.Error(), "hidden") {
		t.Errorf("damaged key: %v", err)
	}
	if _, err := Load([]string{"CONSIGN_DATA_DIR=" + filepath.Join(dir, SecretFile)}); err == nil {
		t.Error("a file was accepted as data directory")
	}
}

func TestParseTouchesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "var")
	parse(t, "CONSIGN_DATA_DIR="+dir)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the data directory was made: %v", err)
	}
}

// TestTemplate: all settings are comments; without the # they are the defaults.
func TestTemplate(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := Template(&b); err != nil {
		t.Fatal(err)
	}
	var environ []string
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			t.Errorf("%q is no comment", line)
		}
		if setting, ok := strings.CutPrefix(line, "#"+Prefix); ok {
			environ = append(environ, Prefix+setting)
		}
	}
	if len(environ) != len(Reference()) {
		t.Errorf("%d settings, want %d", len(environ), len(Reference()))
	}
	if diff := cmp.Diff(printed(t, parse(t)), printed(t, parse(t, environ...))); diff != "" {
		t.Error(diff)
	}
}

func printed(t *testing.T, c Config) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
