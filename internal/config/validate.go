package config

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// checks collects the problems of a configuration, one sentence each.
type checks struct{ problems []error }

func (k *checks) add(name, sentence string) {
	k.problems = append(k.problems, errors.New(Prefix+name+" "+sentence+"."))
}

func (k *checks) must(holds bool, name, sentence string) {
	if !holds {
		k.add(name, sentence)
	}
}

// validate checks the given values, before complete sets the defaults that depend on them.
func (c *Config) validate(publicGiven bool) []error {
	k := &checks{}
	k.tags(c)
	k.serving(c)
	k.storage(c, publicGiven)
	for name, value := range map[string]string{"TLS_CERT": c.TLSCert, "TLS_KEY": c.TLSKey, "OIDC_CLIENTS": c.OIDCClients} {
		k.must(!content.MatchString(value), name, "must be the name of a file, not what is in it")
	}
	_, err := mail.ParseAddress(c.MailFrom)
	k.must(c.MailFrom == "" || err == nil, "MAIL_FROM", "must be a mail address like Consign <noreply@example.com>")
	k.must(c.BaseDomain == "" || hostname(c.BaseDomain), "BASE_DOMAIN", "must be a domain in lower case, like example.com")
	namespace := webURL(c.ClaimNamespace)
	k.must(namespace != nil, "CLAIM_NAMESPACE", "must be a URL like https://example.com/")
	for name, value := range map[string]string{"PRODUCT_URL": c.ProductURL, "PROVIDER_URL": c.ProviderURL, "BASE_URL_DRIVE": c.BaseURLDrive} {
		k.must(value == "" || webURL(value) != nil, name, "must be a URL that begins with https:// or http://")
	}
	_, err = mail.ParseAddress(c.SecurityContact)
	page := strings.HasPrefix(c.SecurityContact, "https://") && webURL(c.SecurityContact) != nil
	k.must(c.SecurityContact == "" || err == nil || page, "SECURITY_CONTACT", "must be a mail address or a URL that begins with https://")
	k.must(c.AccentColor == "" || colour.MatchString(c.AccentColor), "ACCENT_COLOR", "must be a colour like #0d6e62")
	k.must(slices.Contains(c.AvailableTTL, c.DefaultTTL), "DEFAULT_TTL", "must be one of CONSIGN_AVAILABLE_TTL")
	sort.SliceStable(k.problems, func(i, j int) bool { return k.problems[i].Error() < k.problems[j].Error() })
	return slices.CompactFunc(k.problems, func(a, b error) bool { return a.Error() == b.Error() })
}

// tags checks the allowed words and bounds in the tags of Config.
func (k *checks) tags(c *Config) {
	for field, value := range c.fields() {
		name := field.Tag.Get("env")
		if words := field.Tag.Get("oneof"); words != "" {
			list := strings.Split(words, ",")
			last := len(list) - 1
			k.must(slices.Contains(list, value.String()), name, "must be "+strings.Join(list[:last], ", ")+" or "+list[last])
		}
		switch v := value.Interface().(type) {
		case int:
			k.bounds(field, v)
		case []int:
			for _, n := range v {
				k.bounds(field, n)
			}
		case time.Duration:
			least, err := ParseDuration(field.Tag.Get("min"))
			if v == 0 {
				k.must(strings.HasSuffix(field.Tag.Get("otherwise"), "none"), name, errDuration.Error())
			} else if err == nil {
				k.must(v >= least, name, "must be at least "+formatDuration(least))
			}
		}
	}
}

func (k *checks) bounds(field reflect.StructField, n int) {
	least, errLeast := strconv.Atoi(field.Tag.Get("min"))
	most, errMost := strconv.Atoi(field.Tag.Get("max"))
	if errLeast == nil && errMost == nil {
		k.must(n >= least && n <= most, field.Tag.Get("env"), fmt.Sprintf("must be between %d and %d", least, most))
	}
}

func (k *checks) serving(c *Config) {
	u := c.PublicURL
	k.must(webURL(u.String()) != nil && u.Path == "" && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && publicHost(u),
		"PUBLIC_URL", "must be a scheme, a host and perhaps a port, like https://files.example.com")
	k.must(listenAddress(c.Listen), "LISTEN", "must be an address like :8080 or 127.0.0.1:8080")
	k.must(listenAddress(c.AdminListen), "ADMIN_LISTEN", "must be an address like 127.0.0.1:9090")
	k.must(c.AdminListen != c.Listen, "ADMIN_LISTEN", "must not be CONSIGN_LISTEN: what it serves is not for the public")
	for _, name := range c.AdminHosts {
		k.must(hostname(name) && name == strings.ToLower(name), "ADMIN_HOSTS",
			"must be names like metrics.example.com in lower case, without ports, separated by commas")
	}
	k.must(c.TLSCert == "" || c.TLSKey != "", "TLS_KEY", "is missing: CONSIGN_TLS_CERT needs it")
	k.must(c.TLSKey == "" || c.TLSCert != "", "TLS_CERT", "is missing: CONSIGN_TLS_KEY needs it")
	for name, list := range map[string][]string{"CORS_ORIGINS": c.CORSOrigins, "REDIRECT_ORIGINS": c.RedirectOrigins} {
		for _, item := range list {
			u := webURL(item)
			k.must(u != nil && u.Scheme+"://"+u.Host == item, name,
				"must be origins like https://app.example.com, without path, separated by commas")
			k.must(name == "CORS_ORIGINS" || u == nil || u.Scheme == "https" || strings.EqualFold(u.Hostname(), "localhost"), name,
				"must be https, or http on localhost: nobody is sent anywhere else")
		}
	}
}

func (k *checks) storage(c *Config, publicGiven bool) {
	for name, value := range map[string]string{"DATABASE_URL": c.DatabaseURL, "LISTEN_DATABASE_URL": c.ListenDatabaseURL} {
		k.service(name, value, "a URL like postgres://user:password@host/name",
			func(u *url.URL) bool { return hasScheme(u, "postgres", "postgresql") })
	}
	if c.DatabaseURL != "" {
		k.must(publicGiven, "PUBLIC_URL", "is missing: with CONSIGN_DATABASE_URL there is no default for it")
		k.must(len(c.SecretKey) > 0, "SECRET_KEY",
			"is missing: CONSIGN_DATABASE_URL needs one that all replicas share; `openssl rand -base64 32` makes it")
	} else {
		k.must(c.ListenDatabaseURL == "", "LISTEN_DATABASE_URL", "is of no use without CONSIGN_DATABASE_URL")
	}
	for _, s := range [][2]string{{"STORAGE_URL", c.StorageURL}, {"STORAGE_SECOND_URL", c.StorageSecondURL}} {
		k.service(s[0], s[1], "file:///directory or s3://KEY:SECRET@bucket?endpoint=URL&region=NAME", func(u *url.URL) bool {
			return u.Scheme == "file" && u.Host == "" && path.IsAbs(u.Path) || u.Scheme == "s3" && u.Host != ""
		})
	}
	k.must(c.StorageSecondURL == "" || c.StorageSecondURL != c.StorageURL, "STORAGE_SECOND_URL", "must differ from CONSIGN_STORAGE_URL")
	k.service("REDIS_URL", c.RedisURL, "a URL like redis://host:6379/0",
		func(u *url.URL) bool { return hasScheme(u, "redis", "rediss", "unix") })
	k.service("TSA_URL", c.TSAURL, "a URL like https://tsa.example.com/",
		func(u *url.URL) bool { return hasScheme(u, "http", "https") && u.Host != "" })
	k.service("AUDIT_STREAM", c.AuditStream, "a URL like syslog+tls://host:6514 or file:///var/log/audit.jsonl", func(u *url.URL) bool {
		return u.Scheme == "file" && u.Host == "" && path.IsAbs(u.Path) || u.Scheme == "syslog+tls" && u.Hostname() != "" && u.User == nil
	})
	k.service("SMTP_URL", c.SMTPURL, "a URL like smtp://user:password@host:587 or smtps://host", func(u *url.URL) bool {
		return hasScheme(u, "smtp", "smtps") && u.Host != ""
	})
}

// service checks the URL of a service. A / or # in its password must be percent-encoded, otherwise the URL does not parse.
func (k *checks) service(name, value, form string, good func(u *url.URL) bool) {
	u, err := url.Parse(value)
	sentence := "must be " + form
	if err != nil && strings.Contains(value, "@") {
		sentence += "; in user and password all but letters and digits must be percent-encoded"
	}
	k.must(value == "" || err == nil && good(u), name, sentence)
}

// content matches the begin of PEM or JSON, plain or in base64. Opening a file of such a name would put a secret in the error.
var content = regexp.MustCompile(`^\s*(?:-----BEGIN|LS0tLS1|[\[{])`)

var colour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

var label = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$`)

// hostname accepts names in lower case and ASCII (RFC 1123, 2.1).
func hostname(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if len(part) > 63 || !label.MatchString(part) {
			return false
		}
	}
	return len(s) <= 253
}

// publicHost accepts names, IP addresses and a valid port.
func publicHost(u *url.URL) bool {
	host := u.Hostname()
	if port := u.Port(); strings.HasSuffix(u.Host, ":") || port != "" && !validPort(port) {
		return false
	}
	return net.ParseIP(host) != nil || hostname(host)
}

// webURL returns the parsed URL if it is http or https, has a host and no credentials.
func webURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" {
		return nil
	}
	return u
}

func hasScheme(u *url.URL, schemes ...string) bool {
	return slices.Contains(schemes, u.Scheme) && u.Opaque == ""
}

func listenAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	return err == nil && (port == "0" || validPort(port))
}

func validPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n > 0 && n <= 65535
}
