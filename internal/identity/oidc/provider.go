package oidc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4/json"
)

const wellKnown = "/.well-known/openid-configuration"

// provider is one issuer: what its documents said last, and the one request for them that may be under way.
type provider struct {
	rule     issuerRule
	network  *network
	now      func() time.Time
	log      *slog.Logger
	timeout  time.Duration
	lifetime time.Duration
	refetch  time.Duration

	mu        sync.Mutex
	current   *documents // nil until read once
	refetched time.Time  // when an unverifiable signature last made us read again
	flight    *flight    // nil: no request under way
	where     reach      // how far away the issuer is; nowhere until its document was read once
}

// documents is what discovery document and key set of an issuer say. It does not change.
type documents struct {
	tokenURL  string // empty: the provider exchanges no codes
	basicAuth bool   // the client secret goes into the Authorization header, not into the body
	keys      []key
	read      time.Time
}

// flight is a request for the documents that several callers wait for.
type flight struct {
	done chan struct{} // closed when documents and err are set
	docs *documents
	err  error
}

func newProvider(o Options, rule issuerRule) *provider {
	p := &provider{rule: rule, now: o.Now, log: o.Log, timeout: o.Timeout, lifetime: o.Lifetime, refetch: o.Refetch}
	p.network = newNetwork(o, p.nearest)
	return p
}

// nearest is how near an address the provider's endpoints may have. Where the issuer is, is decided once, by the machine
// that gave its document under its certificate (or on loopback): a provider on the Internet has none of our machines.
func (p *provider) nearest() reach {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.where, loopback)
}

// documents returns what was read within the lifetime, or reads. It returns ErrCommunicationFailed, or the error of ctx.
func (p *provider) documents(ctx context.Context) (*documents, error) {
	p.mu.Lock()
	if p.current != nil && p.now().Sub(p.current.read) < p.lifetime {
		defer p.mu.Unlock()
		return p.current, nil
	}
	f := p.start()
	p.mu.Unlock()
	return f.wait(ctx)
}

// newer returns documents read after those that held no key for a signature; the same ones if that was tried within the
// refetch time. Only refetches that succeed count, so that a provider that was down is asked again at once.
func (p *provider) newer(ctx context.Context, than *documents) (*documents, error) {
	p.mu.Lock()
	if p.current != nil && p.current != than {
		defer p.mu.Unlock()
		return p.current, nil
	}
	if p.flight == nil && !p.refetched.IsZero() && p.now().Sub(p.refetched) < p.refetch {
		defer p.mu.Unlock()
		return than, nil
	}
	f := p.start()
	p.mu.Unlock()
	docs, err := f.wait(ctx)
	if err == nil {
		p.mu.Lock()
		p.refetched = docs.read
		p.mu.Unlock()
	}
	return docs, err
}

// start joins the request under way or begins one. The caller holds the lock. The request outlives a caller that goes
// away, since others may wait for it, but not the time limit.
func (p *provider) start() *flight {
	if p.flight != nil {
		return p.flight
	}
	f := &flight{done: make(chan struct{})}
	p.flight = f
	go func() {
		ctx, cancel := withTimeout(context.Background(), p.timeout)
		defer cancel()
		docs, err := p.read(ctx)
		if err != nil {
			p.log.Warn("identity provider cannot be read", "issuer", p.rule.configured, "error", err)
		}
		p.mu.Lock()
		if f.docs, f.err = docs, err; err == nil {
			p.current = docs
		}
		p.flight = nil
		p.mu.Unlock()
		close(f.done)
	}()
	return f
}

func (f *flight) wait(ctx context.Context) (*documents, error) {
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, ErrCommunicationFailed.because(ctx.Err())
	}
	if f.err != nil {
		return nil, ErrCommunicationFailed.because(f.err)
	}
	return f.docs, nil
}

// discovered is the part of a discovery document that matters here (OpenID Connect Discovery 1.0, section 3).
type discovered struct {
	Issuer      string   `json:"issuer"`
	KeysURL     string   `json:"jwks_uri"`
	TokenURL    string   `json:"token_endpoint"`
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
}

// read asks the issuer for its documents.
func (p *provider) read(ctx context.Context) (*documents, error) {
	started := p.now()
	body, from, err := p.network.get(ctx, p.network.discovery, strings.TrimSuffix(p.rule.configured, "/")+wellKnown)
	if err != nil {
		return nil, fmt.Errorf("read discovery document: %w", err)
	}
	var d discovered
	if err := json.Unmarshal(body, &d); err != nil {
		return nil, fmt.Errorf("read discovery document: %w", err)
	}
	if err := p.checkDiscovered(d, from); err != nil {
		return nil, fmt.Errorf("read discovery document: %w", err)
	}
	p.locate(from)
	if body, _, err = p.network.get(ctx, p.network.endpoints, d.KeysURL); err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	keys, err := parseKeys(body)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	// Both forms are equally safe over TLS; the body needs no form-encoding of the secret, which not all decode.
	basic := !slices.Contains(d.AuthMethods, "client_secret_post")
	return &documents{tokenURL: d.TokenURL, basicAuth: basic, keys: keys, read: started}, nil
}

func (p *provider) checkDiscovered(d discovered, from reach) error {
	if !p.rule.documented(d.Issuer) {
		return fmt.Errorf("it is that of issuer %.200q; if that is right, configure the issuer so", d.Issuer)
	}
	if from == nowhere || strings.HasPrefix(p.rule.configured, "http:") && from != loopback {
		return errors.New("it came from an address that no provider may have")
	}
	if d.KeysURL == "" {
		return errors.New("jwks_uri is missing")
	}
	for _, endpoint := range []string{d.KeysURL, d.TokenURL} {
		if endpoint != "" && !p.mayCall(endpoint) {
			return fmt.Errorf("endpoint %.200q is not an https URL", endpoint)
		}
	}
	return nil
}

// mayCall reports whether an endpoint has the form of one; where it leads is decided when it is dialled.
func (p *provider) mayCall(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && loopbackName(u.Hostname()) && strings.HasPrefix(p.rule.configured, "http:")
}

func (p *provider) locate(from reach) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.where == nowhere {
		p.where = from
	}
}
