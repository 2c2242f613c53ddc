package config

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// Load reads and validates the settings. Without CONSIGN_SECRET_KEY it reads the secret key in DataDir, or creates it. The
// error has one line for each problem.
func Load(environ []string) (Config, error) {
	c, err := Parse(environ)
	if err != nil {
		return Config{}, err
	}
	if len(c.SecretKey) == 0 {
		c.SecretKey, err = ensureSecretKey(c.DataDir)
		if err != nil {
			return Config{}, fmt.Errorf("%sSECRET_KEY is not set and cannot be kept in %sDATA_DIR: %w", Prefix, Prefix, err)
		}
	}
	return c, nil
}

// Parse is Load without access to the disk: SecretKey stays empty when it would come from DataDir. environ has the form of
// os.Environ. Variables without Prefix are ignored. An empty variable counts as unset.
func Parse(environ []string) (Config, error) {
	given, problems := collect(environ)
	c := Config{Constants: constants}
	err := env.ParseWithOptions(&c, env.Options{Environment: given, Prefix: Prefix, DefaultValueTagName: "default", FuncMap: parsers})
	problems = append(problems, sentences(err)...)
	if len(problems) > 0 { // values that do not parse cannot be validated
		return Config{}, errors.Join(problems...)
	}
	_, publicGiven := given[Prefix+"PUBLIC_URL"]
	c.PublicURL.Host = strings.ToLower(c.PublicURL.Host)
	c.PublicURL.Path = strings.TrimSuffix(c.PublicURL.Path, "/")
	if problems := c.validate(publicGiven); len(problems) > 0 {
		return Config{}, errors.Join(problems...)
	}
	if err := c.complete(given); err != nil {
		return Config{}, err
	}
	c.given = make(map[string]bool, len(given))
	for name := range given {
		c.given[name] = true
	}
	return c, nil
}

// collect returns the variables with Prefix that are not empty, and a problem for each that is no setting.
func collect(environ []string) (given map[string]string, problems []error) {
	given = map[string]string{}
	var names []string
	for _, s := range Reference() {
		names = append(names, s.Name)
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, Prefix) {
			continue
		}
		if !slices.Contains(names, name) {
			problems = append(problems, errors.New(name+" is not a setting"+suggestion(name, names)))
			continue
		}
		if value != "" {
			given[name] = value
		}
	}
	return given, problems
}

// suggestion returns the end of a sentence that names the most similar setting, if one is similar.
func suggestion(name string, names []string) string {
	best, least := "", 4
	for _, candidate := range names {
		if d := distance(name, candidate); d < least {
			best, least = candidate, d
		}
	}
	if best == "" {
		return "; `consign config` lists them."
	}
	return "; did you mean " + best + "?"
}

// distance returns the Levenshtein distance of a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// sentences converts the library's errors, which name struct fields, to errors that name variables.
func sentences(err error) []error {
	var all env.AggregateError
	if err == nil {
		return nil
	}
	if !errors.As(err, &all) {
		return []error{err}
	}
	var list []error
	for _, e := range all.Errors {
		var p env.ParseError
		if !errors.As(e, &p) {
			list = append(list, e)
			continue
		}
		field, _ := reflect.TypeFor[Config]().FieldByName(p.Name)
		list = append(list, errors.New(Prefix+field.Tag.Get("env")+" "+p.Err.Error()+"."))
	}
	return list
}

// proxyDelay is the shutdown delay behind a proxy: proxies that ask /readyz every second or two notice in it.
const proxyDelay = 5 * time.Second

// complete sets the defaults that depend on other settings.
func (c *Config) complete(given map[string]string) error {
	dir, err := filepath.Abs(c.DataDir)
	if err != nil {
		return fmt.Errorf("%sDATA_DIR: %w", Prefix, err)
	}
	c.DataDir = dir
	if _, is := given[Prefix+"REQUIRE_HTTPS"]; !is {
		c.RequireHTTPS = c.PublicURL.Scheme != "http" || c.PublicURL.Hostname() != "localhost"
	}
	if _, is := given[Prefix+"SHUTDOWN_DELAY"]; !is && len(c.TrustedProxies) > 0 {
		c.ShutdownDelay = proxyDelay
	}
	fallback := func(value *string, other string) {
		if *value == "" {
			*value = other
		}
	}
	fallback(&c.ListenDatabaseURL, c.DatabaseURL)
	fallback(&c.StorageURL, (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(dir, "objects"))}).String())
	if _, is := given[Prefix+"STORAGE_ENCRYPTION"]; !is {
		c.StorageEncryption = strings.HasPrefix(c.StorageURL, "s3:")
	}
	fallback(&c.ProductURL, c.PublicURL.String())
	fallback(&c.ProviderName, c.ProductName)
	fallback(&c.ProviderURL, c.ProductURL)
	sender := mail.Address{Name: c.ProductName, Address: "noreply@" + c.PublicURL.Hostname()}
	if strings.ContainsAny(c.PublicURL.Hostname(), ":") { // an IPv6 address is no mail domain
		sender.Address = "noreply@localhost"
	}
	fallback(&c.MailFrom, sender.String())
	c.EnumerationStrict = c.Enumeration == "strict"
	c.SigningKeyLead = c.SigningKeyLifetime / 720 // an hour of 30 days
	return nil
}
