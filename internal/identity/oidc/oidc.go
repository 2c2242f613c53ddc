// Package oidc is a client for external identity providers (OpenID Connect Core 1.0, contract 3.14). It reads the
// operator's list of clients, the providers' discovery documents and keys, verifies ID tokens, and exchanges
// authorization codes. Persons, sessions, the replay cache and routes belong to the layers above.
//
// A provider is trusted to identify its users, but not to direct requests into the operator's network. Response bodies
// are bounded, every call has a timeout, and endpoints must not redirect. The address that is dialled is checked, not
// the name. HTTP proxies of the environment are not used, because the check would see only the proxy's address.
//
// JOSE comes from go-jose, the token request from x/oauth2. The key set and the verifier of go-oidc do not fit: they
// keep keys without a lifetime, fetch keys for every unknown kid, ignore a key's own issuer (Microsoft), and leave
// leeway, iat, azp and exact claim names to the caller.
package oidc

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"time"
)

// The defaults of Options.
const (
	DefaultTimeout  = 5 * time.Second
	DefaultMaxBody  = 512 << 10
	DefaultLifetime = time.Hour
	DefaultRefetch  = 5 * time.Second
)

// Options are the dependencies and limits of Providers. The zero value of a limit selects its default.
type Options struct {
	Clients []Client
	Now     func() time.Time // required
	Log     *slog.Logger     // required; gets failures of providers, never tokens, codes or secrets

	Timeout  time.Duration // of reading discovery document and keys together, and of one code exchange
	MaxBody  int64         // bytes of one response
	Lifetime time.Duration // how long discovery document and keys are cached
	Refetch  time.Duration // least time between two refetches because of an unknown key, per issuer

	RootCAs  *x509.CertPool // nil: the system's
	Resolver *net.Resolver  // nil: the system's

	classify func(netip.Addr) reach // nil: classify; tests replace it
}

// Providers are the configured external identity providers. It is safe for concurrent use.
type Providers struct {
	clients []*registration
	now     func() time.Time
	timeout time.Duration
}

// registration is a client with its provider.
type registration struct {
	Client
	rule     issuerRule
	provider *provider
}

// New returns Providers for clients of Load. It makes no requests: a provider is read when it is first used. The error
// has one sentence for each mistake in the clients.
func New(o Options) (*Providers, error) {
	if err := validate(o.Clients); err != nil {
		return nil, fmt.Errorf("oidc clients: %w", err)
	}
	if o.Now == nil || o.Log == nil {
		return nil, errors.New("oidc clients: Now and Log are required")
	}
	o.defaults()
	p := &Providers{now: o.Now, timeout: o.Timeout}
	for _, c := range o.Clients {
		r := &registration{Client: c, rule: ruleOf(c)}
		if same := slices.IndexFunc(p.clients, func(other *registration) bool { return other.Issuer == c.Issuer }); same >= 0 {
			r.provider = p.clients[same].provider
		} else {
			r.provider = newProvider(o, r.rule)
		}
		p.clients = append(p.clients, r)
	}
	return p, nil
}

func (o *Options) defaults() {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.Lifetime <= 0 {
		o.Lifetime = DefaultLifetime
	}
	if o.Refetch <= 0 {
		o.Refetch = DefaultRefetch
	}
	if o.classify == nil {
		o.classify = classify
	}
}

// Clients returns the clients in the order of the file, without their secrets.
func (p *Providers) Clients() []Client {
	list := make([]Client, len(p.clients))
	for i, r := range p.clients {
		list[i] = r.public()
	}
	return list
}

// Client returns the client of an issuer and a client ID, without its secret, and whether it is configured.
func (p *Providers) Client(issuer, clientID string) (Client, bool) {
	r := p.registration(issuer, clientID)
	if r == nil {
		return Client{}, false
	}
	return r.public(), true
}

// Configured returns the configured issuer that covers the iss of a token, or iss itself if none does. They differ only
// for Microsoft's multi-tenant issuers.
func (p *Providers) Configured(iss string) string {
	found := iss
	for _, r := range p.clients {
		if r.Issuer == iss {
			return iss
		}
		if found == iss && r.rule.covers(iss) {
			found = r.Issuer
		}
	}
	return found
}

func (p *Providers) registration(issuer, clientID string) *registration {
	for _, r := range p.clients {
		if r.Issuer == issuer && r.ClientID == clientID {
			return r
		}
	}
	return nil
}

func (r *registration) public() Client {
	c := r.Client
	c.ClientSecret = ""
	return c
}
