// Package client is the Go client of a Consign server. It signs in, sends files in parts that resume, receives files with their
// SHA-256 checked, and repeats what a server or a network refuses for a moment.
//
//	c, err := client.New(ctx, "https://files.example.com", client.WithAPIToken("cns_…"))
//	u, err := c.Reserve(ctx, client.Delivery{Mailbox: "demo", SenderName: "Sam", SenderEmail: "sam@example.com"})
//	file, err := client.LocalFile("pictures.zip", "pictures.zip")
//	err = u.Attach(ctx, file)
//	err = u.Upload(ctx, client.UploadOptions{})
//	transfer, err := u.Confirm(ctx)
//
// The whole APIs are in the generated packages identityapi and transferapi: [Client.Identity] and [Client.Transfer] hold their
// clients, with tokens, retries and errors of this package. An error of the server is an [*Error].
//
// A Client can be used by several goroutines.
package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/consign-dev/consign/client/identityapi"
	"github.com/consign-dev/consign/client/internal/call"
	"github.com/consign-dev/consign/client/transferapi"
)

// Client talks to one Consign server, as one person, with an API token, or as a stranger.
type Client struct {
	// Identity and Transfer call the operations of the two APIs. Their methods return an *Error for a status of 400 and more.
	Identity *identityapi.Client
	Transfer *transferapi.Client

	plain                    *identityapi.Client // without the token
	identityURL, transferURL string
	http                     *http.Client
	userAgent                string
	patience                 time.Duration
	onSession                func(Session) error
	onWait                   func(err error, pause time.Duration)

	apiToken string
	mu       sync.Mutex // guards the session and its access token
	session  Session
	access   string
	until    time.Time // when access is replaced
}

// An Option of New.
type Option func(*Client)

// WithAPIToken authorizes calls with an API token (cns_…).
func WithAPIToken(token string) Option { return func(c *Client) { c.apiToken = token } }

// WithSession continues a session of an earlier Login.
func WithSession(s Session) Option { return func(c *Client) { c.session = s } }

// WithOnSession calls save whenever the session has another ID token, which replaces the one before. Store it.
func WithOnSession(save func(Session) error) Option { return func(c *Client) { c.onSession = save } }

// WithHTTPClient uses h for all requests. Its Timeout must be 0: uploads take long.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithUserAgent names the program in requests and in the person's list of sessions.
func WithUserAgent(name string) Option { return func(c *Client) { c.userAgent = name } }

// WithPatience sets how long requests are repeated that fail for a moment. The default is 10 minutes; uploads and downloads count from
// the last byte that got through.
func WithPatience(d time.Duration) Option { return func(c *Client) { c.patience = d } }

// WithOnWait calls report before each pause that follows a failure, from several goroutines.
func WithOnWait(report func(err error, pause time.Duration)) Option {
	return func(c *Client) { c.onWait = report }
}

// connectPatience bounds how long New tries to reach the server.
const connectPatience = 20 * time.Second

// New returns a client of the server at address, as https://files.example.com. It asks the server where its APIs are.
func New(ctx context.Context, address string, options ...Option) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(address, "/"))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("%q is not the address of a server, as https://files.example.com", address)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // ranges and lengths are those of files
	transport.ResponseHeaderTimeout = 5 * time.Minute
	c := &Client{http: &http.Client{Transport: transport}, userAgent: "consign-go", patience: 10 * time.Minute}
	for _, o := range options {
		o(c)
	}
	patience := c.patience
	c.patience = min(patience, connectPatience)
	e, err := identityapi.NewClient(base.String(), doer{c, nil}).GetWellKnownEnvironment(ctx, nil)
	c.patience = patience
	if err != nil {
		return nil, fmt.Errorf("%s is not a Consign server, or cannot be reached: %w", base, err)
	}
	c.identityURL, c.transferURL = e.BaseURLID, e.BaseURLSkp
	c.plain = identityapi.NewClient(c.identityURL, doer{c, nil})
	c.Identity = identityapi.NewClient(c.identityURL, doer{c, c.token})
	c.Transfer = transferapi.NewClient(c.transferURL, doer{c, c.token})
	return c, nil
}

// ErrNotModified is returned by an operation that was called with If-None-Match, when the caller's copy is still valid.
var ErrNotModified = call.ErrNotModified

// Answered returns an editor for a call of Identity or Transfer. It stores status and header of the answer in into, as the ETag.
func Answered(into *http.Response) func(context.Context, *http.Request) error {
	return call.Answered(into)
}

// SignedIn reports whether calls are made as a person: with an API token or in a session.
func (c *Client) SignedIn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.apiToken != "" || c.session.IDToken != ""
}
