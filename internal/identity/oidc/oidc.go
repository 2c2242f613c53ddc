// Package oidc owns the client side of external identity providers (OpenID Connect Core 1.0, contract 3.14): the
// operator's list of clients, the providers' discovery documents and keys, the check of their ID tokens, and the
// exchange of an authorization code. It speaks to providers and to nobody else: persons, sessions, replayed tokens and
// routes belong to the layers above.
//
// A provider is trusted with who its people are, not with our network: bodies are bounded, every call has a time
// limit, endpoints may not redirect, and the address that is dialled is checked, not the name. HTTP proxies of the
// environment are not used, since behind one that check would see the proxy only.
//
// JOSE comes from go-jose and the token request from x/oauth2. go-oidc's verifier and key set are not used: they flatten
// a failed key request into the same error as a bad signature, fetch keys for every unknown kid, and leave leeway, iat,
// azp and exact claim names to the caller.
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

// Options says what Providers needs. The zero value of each limit selects its default.
type Options struct {
	Clients []Client
	Now     func() time.Time // required
	Log     *slog.Logger     // required; hears of providers that cannot be read, never of tokens, codes or secrets

	Timeout  time.Duration // of reading discovery document and keys together, and of one code exchange
	MaxBody  int64         // bytes of one answer of a provider
	Lifetime time.Duration // how long discovery document and keys are used without asking again
	Refetch  time.Duration // least time between two refetches that unverifiable signatures cause, per issuer

	RootCAs  *x509.CertPool // nil: the system's
	Resolver *net.Resolver  // nil: the system's

	classify func(netip.Addr) reach // tests make a loopback address count as public
}

// Providers is the configured external identity providers. It is safe for concurrent use.
type Providers struct {
	clients []*registration
	now     func() time.Time
	timeout time.Duration
}

// registration is one client at its provider.
type registration struct {
	Client
	rule     issuerRule
	provider *provider
}

// New makes Providers of clients as Load returns them. It calls nobody: a provider is read when it is first needed.
// The error has one sentence per mistake in the clients.
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

// Clients lists the clients in the order of the file, without their secrets.
func (p *Providers) Clients() []Client {
	list := make([]Client, len(p.clients))
	for i, r := range p.clients {
		list[i] = r.public()
	}
	return list
}

// Client returns the configured pair, without its secret, and whether there is one.
func (p *Providers) Client(issuer, clientID string) (Client, bool) {
	r := p.registration(issuer, clientID)
	if r == nil {
		return Client{}, false
	}
	return r.public(), true
}

// Configured returns the configured issuer that issued a token's iss, or iss itself if none does any more. They differ for
// Microsoft's issuers of many tenants only.
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
