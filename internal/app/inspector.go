// The webhook inspector of the demo: it receives the messages of webhooks to /demo/webhooks without the network, and shows the last ones.

package app

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/token"
)

const (
	inspectorPath = "/demo/webhooks" // the page, and the address that webhooks of the demo post to
	messagesPath  = inspectorPath + "/messages"

	keptVerified = 20       // messages whose signature verifies
	keptOthers   = 5        // messages of webhooks of others, which anybody may make: they displace no verified one
	keptBody     = 16 << 10 // bytes of a body
)

// inspector keeps the last messages in memory, each replica those that it has sent.
type inspector struct {
	secret func() string // of the demo's webhook
	now    func() time.Time

	mu               sync.Mutex
	verified, others []inspectedMessage // the newest first
}

type inspectedMessage struct {
	ID       string          `json:"id"`
	Received httpapi.Time    `json:"timestamp"`
	Headers  []messageHeader `json:"headers"`
	Body     string          `json:"body"`
	Verified bool            `json:"verified"`
	at       time.Time
}

type messageHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// RoundTrip implements http.RoundTripper for the sender of webhooks: it receives the message, and answers 204.
func (i *inspector) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err //nolint:wrapcheck // of net/http
	}
	at := i.now()
	m := inspectedMessage{ID: r.Header.Get(standardwebhooks.HeaderWebhookID), Received: httpapi.Time(at), at: at,
		Body: strings.ToValidUTF8(string(body[:min(len(body), keptBody)]), "�")}
	for name, values := range r.Header {
		m.Headers = append(m.Headers, messageHeader{strings.ToLower(name), strings.Join(values, ", ")})
	}
	slices.SortFunc(m.Headers, func(a, b messageHeader) int { return strings.Compare(a.Name, b.Name) })
	if key, err := standardwebhooks.NewWebhook(i.secret()); err == nil {
		m.Verified = key.Verify(body, r.Header) == nil
	}
	i.keep(m)
	return &http.Response{Status: "204 No Content", StatusCode: http.StatusNoContent, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil)), Request: r}, nil
}

func (i *inspector) keep(m inspectedMessage) {
	i.mu.Lock()
	defer i.mu.Unlock()
	kept, most := &i.others, keptOthers
	if m.Verified {
		kept, most = &i.verified, keptVerified
	}
	*kept = slices.Insert(*kept, 0, m)
	*kept = (*kept)[:min(len(*kept), most)]
}

// messages returns the kept messages, the newest first.
func (i *inspector) messages() []inspectedMessage {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := append(make([]inspectedMessage, 0, len(i.verified)+len(i.others)), i.verified...)
	all = append(all, i.others...)
	slices.SortStableFunc(all, func(a, b inspectedMessage) int { return b.at.Compare(a.at) })
	return all
}

// inspectorRoutes returns the routes that exist only in a demo.
func (a *App) inspectorRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: messagesPath, Auth: token.NeedAccess.For(token.ScopeWebhooks), Handler: a.listMessages},
	}
}

var errNotOwner = fault.ErrForbidden.With("this is for the owner of the demo")

// listMessages shows the messages to the owner of the demo.
func (a *App) listMessages(w http.ResponseWriter, r *http.Request) error {
	owner, err := a.Identity.ShowPerson(r.Context(), demoEmail)
	switch {
	case err != nil && !errors.Is(err, identity.ErrPersonNotFound):
		return err
	case err != nil || owner.UID != token.CallerFrom(r.Context()).Person:
		return errNotOwner
	}
	return httpapi.JSON(w, http.StatusOK, map[string]any{"messages": a.inspector.messages()})
}
