// Package outbound signs messages as Standard Webhooks 1.0 says, and sends them to addresses that people choose. It owns the form of
// messages and secrets, the pauses between attempts, and the guard against requests to private addresses. It stores nothing: the queue of
// deliveries is the domain webhook's.
package outbound

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	timeout    = 10 * time.Second // of an attempt, from the first look-up to the last byte
	readBytes  = 64 << 10         // of an answer
	keptAnswer = 1000             // bytes of an answer that are kept
)

// The reasons of a failed attempt.
const (
	ReasonStatus  = "STATUS"  // the receiver answered, but not with 2xx
	ReasonTimeout = "TIMEOUT" // no whole answer within 10 s
	// ReasonFailed: no connection, no TLS, no HTTP, or an address in a network where webhooks must not lead. One word, since two would
	// tell which names exist in the server's network.
	ReasonFailed = "FAILED"
)

// Message is a delivery to one receiver.
type Message struct {
	ID      string // the same at each attempt
	URL     string
	Secrets []string // of NewSecret; the message has a signature of each
	Body    []byte
}

// Result is the outcome of an attempt.
type Result struct {
	Reason     string // empty: delivered
	Status     int    // 0: no answer
	Duration   time.Duration
	Answer     string // the first bytes of the answer's body
	RetryAfter time.Duration
}

// Gone reports whether the receiver wants no more messages.
func (r Result) Gone() bool { return r.Status == http.StatusGone }

// Sender sends messages. It is safe for concurrent use.
type Sender struct {
	guard  *Guard
	client *http.Client
	inside *http.Client // of Inside; nil: there is none
	agent  string
	now    func() time.Time
}

// NewSender returns a Sender. version is this server's, for User-Agent.
func NewSender(guard *Guard, version string, now func() time.Time) *Sender {
	return &Sender{guard: guard, agent: "Consign-Webhooks/" + cmp.Or(version, "dev"), now: now, client: &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{ // no Proxy: the guard must see the receiver's address
			DialContext: guard.Dial, ForceAttemptHTTP2: true, DisableCompression: true, MaxResponseHeaderBytes: readBytes,
			TLSHandshakeTimeout: timeout, MaxIdleConnsPerHost: 2, MaxIdleConns: 100, IdleConnTimeout: 30 * time.Second,
		},
	}}
}

// Inside makes address, one of this installation, a receiver that is reached by transport and not by the network. Call it before Send.
func (s *Sender) Inside(address string, transport http.RoundTripper) {
	s.guard.inside = address
	s.inside = &http.Client{Timeout: timeout, Transport: transport}
}

// Send makes one attempt. An error means that it was not made.
func (s *Sender) Send(ctx context.Context, m Message) (Result, error) {
	request, err := s.request(ctx, m)
	if err != nil {
		return Result{}, err
	}
	if _, err := s.guard.Check(m.URL); err != nil { // the operator may have changed what is allowed
		return Result{Reason: ReasonFailed}, nil
	}
	client := s.client
	if s.inside != nil && m.URL == s.guard.inside {
		client = s.inside
	}
	begin := time.Now()
	answer, err := client.Do(request)
	if err != nil {
		return Result{Reason: Reason(err), Duration: time.Since(begin)}, nil
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, readBytes))
	r := Result{Status: answer.StatusCode, Duration: time.Since(begin), Answer: Excerpt(body)}
	switch {
	case err != nil:
		r.Reason = Reason(err)
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		r.Reason = ReasonStatus
	}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 {
		r.RetryAfter = time.Duration(min(seconds, 24*60*60)) * time.Second
	}
	return r, nil
}

// request returns the signed request of a message.
func (s *Sender) request(ctx context.Context, m Message) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return nil, fmt.Errorf("request of webhook: %w", err)
	}
	at, signatures := s.now(), make([]string, len(m.Secrets))
	for i, secret := range m.Secrets {
		key, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return nil, fmt.Errorf("secret of webhook: %w", err)
		}
		if signatures[i], err = key.Sign(m.ID, at, m.Body); err != nil {
			return nil, fmt.Errorf("sign webhook: %w", err)
		}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", s.agent)
	r.Header.Set(standardwebhooks.HeaderWebhookID, m.ID)
	r.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	r.Header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return r, nil
}

// Reason returns the word for an error of an attempt. It says no more, so that the log of deliveries does not describe the server's
// network.
func Reason(err error) string {
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return ReasonTimeout
	}
	return ReasonFailed
}

// Excerpt returns the first bytes of an answer as text without control characters.
func Excerpt(body []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(body[:min(len(body), keptAnswer)]), ""))
}
