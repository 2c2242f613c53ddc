// Reads and caches the discovery document and the keys of a provider, with one request for all who wait.

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
	"golang.org/x/sync/singleflight"
)

const wellKnown = "/.well-known/openid-configuration"

// provider caches the documents of one issuer. Concurrent reads share one flight.
type provider struct {
	rule     issuerRule
	network  *network
	now      func() time.Time
	log      *slog.Logger
	timeout  time.Duration
	lifetime time.Duration
	refetch  time.Duration

	mu        sync.Mutex
	current   *documents // nil until the first read
	refetched time.Time  // of the last refetch because of an unknown key
	where     reach      // of the issuer; nowhere until the first read of its discovery document

	flights singleflight.Group // reads of the documents, under the key ""
}

// documents is the content of an issuer's discovery document and key set. It is immutable.
type documents struct {
	tokenURL  string // empty: the provider does not exchange codes
	basicAuth bool   // the client secret goes into the Authorization header, not into the body
	keys      []key
	read      time.Time
}

func newProvider(o Options, rule issuerRule) *provider {
	p := &provider{rule: rule, now: o.Now, log: o.Log, timeout: o.Timeout, lifetime: o.Lifetime, refetch: o.Refetch}
	p.network = newNetwork(o, p.nearest)
	return p
}

// nearest returns the nearest reach that an address of the provider may have: that of the address that served the first
// discovery document.
func (p *provider) nearest() reach {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.where, loopback)
}

// documents returns the documents from the cache, or reads them if they are older than the lifetime.
// Errors: ErrCommunicationFailed, also when ctx ends.
func (p *provider) documents(ctx context.Context) (*documents, error) {
	p.mu.Lock()
	if p.current != nil && p.now().Sub(p.current.read) < p.lifetime {
		defer p.mu.Unlock()
		return p.current, nil
	}
	flight := p.start()
	p.mu.Unlock()
	return wait(ctx, flight)
}

// newer fetches the documents again, because than lacks the key of a signature. It returns than itself if the last
// refetch was within the refetch time. Failed refetches do not count, so that a provider is asked again as soon as it
// is back.
// Errors: ErrCommunicationFailed.
func (p *provider) newer(ctx context.Context, than *documents) (*documents, error) {
	p.mu.Lock()
	if p.current != nil && p.current != than {
		defer p.mu.Unlock()
		return p.current, nil
	}
	if !p.refetched.IsZero() && p.now().Sub(p.refetched) < p.refetch {
		defer p.mu.Unlock()
		return than, nil
	}
	flight := p.start()
	p.mu.Unlock()
	docs, err := wait(ctx, flight)
	if err == nil {
		p.mu.Lock()
		p.refetched = docs.read
		p.mu.Unlock()
	}
	return docs, err
}

// start joins the flight under way or begins one. The caller holds the lock, so that a flight that has not stored its
// documents yet is always joined. A flight ends with the timeout, not with the context of a caller: others may wait for
// it.
func (p *provider) start() <-chan singleflight.Result {
	return p.flights.DoChan("", func() (any, error) {
		ctx, cancel := withTimeout(context.Background(), p.timeout)
		defer cancel()
		docs, err := p.read(ctx)
		if err != nil {
			p.log.Warn("identity provider cannot be read", "issuer", p.rule.configured, "error", err)
			return nil, err
		}
		p.mu.Lock()
		p.current = docs
		p.mu.Unlock()
		return docs, nil
	})
}

func wait(ctx context.Context, flight <-chan singleflight.Result) (*documents, error) {
	select {
	case <-ctx.Done():
		return nil, ErrCommunicationFailed.because(ctx.Err())
	case result := <-flight:
		if result.Err != nil {
			return nil, ErrCommunicationFailed.because(result.Err)
		}
		return result.Val.(*documents), nil //nolint:forcetypeassert // start returns nothing else
	}
}

// discovered has the members of a discovery document that are used (OpenID Connect Discovery 1.0, section 3).
type discovered struct {
	Issuer      string   `json:"issuer"`
	KeysURL     string   `json:"jwks_uri"`
	TokenURL    string   `json:"token_endpoint"`
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
}

// read requests the issuer's documents.
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
	// Both methods are equally safe over TLS. The body is preferred, since not every provider decodes the form-encoded
	// secret in the header.
	basic := !slices.Contains(d.AuthMethods, "client_secret_post")
	return &documents{tokenURL: d.TokenURL, basicAuth: basic, keys: keys, read: started}, nil
}

func (p *provider) checkDiscovered(d discovered, from reach) error {
	if !p.rule.documented(d.Issuer) {
		return fmt.Errorf("it names the issuer %.200q; if that is right, configure this issuer", d.Issuer)
	}
	if from == nowhere || strings.HasPrefix(p.rule.configured, "http:") && from != loopback {
		return errors.New("it was served from an address that is not allowed")
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

// mayCall reports whether the URL of an endpoint has an allowed form. Its address is checked when it is dialled.
func (p *provider) mayCall(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && loopbackName(u.Hostname()) && strings.HasPrefix(p.rule.configured, "http:")
}

// locate records the reach of the issuer at the first read.
func (p *provider) locate(from reach) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.where == nowhere {
		p.where = from
	}
}
