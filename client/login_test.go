package client_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/consign-dev/consign/client"
	"github.com/consign-dev/consign/client/transferapi"
)

// TestAPIToken: a program with an API token does what its scopes allow, follows the events, and ends with the token.
func TestAPIToken(t *testing.T) {
	t.Parallel()
	s, _, ann := behindCutter(t)
	url := s.Config.PublicURL.String()
	made := ann.As(ann.ID).Post(s.Identity+"/tokens",
		map[string]any{"name": "nightly", "scopes": []string{"transfers:read"}}).Want(http.StatusCreated)
	c := connect(t, url, client.WithAPIToken(made.String("token")))
	if _, err := c.Reserve(t.Context(), client.Delivery{Subject: "x"}); !client.HasCode(err, 403904) {
		t.Errorf("without the scope: %v", err)
	}
	events := make(chan client.Event, 8)
	ended := make(chan error, 1)
	go func() { ended <- c.Follow(t.Context(), func(e client.Event) { events <- e }) }()
	if e := <-events; e.Kind != "" {
		t.Errorf("the stream begins with %v", e)
	}
	u := reserve(t, connect(t, url), file("a", []byte("x")))
	if err := u.Upload(t.Context(), client.UploadOptions{}); err != nil {
		t.Fatal(err)
	}
	sent, err := u.Confirm(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if e := <-events; e.Kind != "TRANSFER_RECEIVED" || e.Subject != sent.UID {
		t.Errorf("the event is %v", e)
	}
	ann.As(ann.ID).Delete(s.Identity + "/tokens/" + made.String("uid")).Want(http.StatusNoContent)
	if err := <-ended; !client.HasStatus(err, http.StatusUnauthorized) {
		t.Errorf("the stream of a revoked token: %v", err)
	}
	if _, err := c.Transfer.ListTransfers(t.Context(), &transferapi.ListTransfersParams{}); !client.HasStatus(err, http.StatusUnauthorized) {
		t.Errorf("with a revoked token: %v", err)
	}
}

// TestLoginByDevice: Ann approves a program in her browser, and refuses another one.
func TestLoginByDevice(t *testing.T) {
	t.Parallel()
	s, _, ann := behindCutter(t)
	answer := func(verb string) func(client.DeviceCode) error {
		return func(code client.DeviceCode) error {
			if code.URL == "" || code.CompleteURL == "" || code.Expires.Before(time.Now()) {
				t.Errorf("shown: %+v", code)
			}
			s.Clock.Advance(6 * time.Second)
			ann.Post(s.Identity+"/device/"+code.UserCode+"/"+verb, nil).Want(http.StatusNoContent)
			return nil
		}
	}
	c := connect(t, s.Config.PublicURL.String())
	if err := c.LoginByDevice(t.Context(), "nightly", answer("refuse")); !errors.Is(err, client.ErrLoginRefused) {
		t.Errorf("refused: %v", err)
	}
	if err := c.LoginByDevice(t.Context(), "nightly", answer("approve")); err != nil {
		t.Fatal(err)
	}
	if p, err := c.Identity.GetProfile(t.Context()); err != nil || p.Name == nil || *p.Name != "Ann" {
		t.Errorf("the profile: %v, %v", p, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.LoginByDevice(ctx, "nightly", func(client.DeviceCode) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
