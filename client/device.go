// The login of a program that a person approves in a browser (RFC 8628).

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/consign-dev/consign/client/identityapi"
)

// DeviceCode is what a person needs to approve the login of a program.
type DeviceCode struct {
	UserCode    string // as BCDF-GHJK
	URL         string // where the person enters it
	CompleteURL string // the same with the code in it, for a QR code
	Expires     time.Time
}

// Errors of LoginByDevice.
var (
	ErrLoginRefused = errors.New("the login was refused in the browser")
	ErrCodeExpired  = errors.New("nobody approved the login in time")
)

// LoginByDevice begins a session that a person approves in a browser (RFC 8628). name is what the page calls this program. show shows
// the code to the person; then LoginByDevice waits. Errors: ErrLoginRefused, ErrCodeExpired, *Error, those of show.
func (c *Client) LoginByDevice(ctx context.Context, name string, show func(DeviceCode) error) error {
	codes, err := c.plain.BeginDeviceLogin(ctx, identityapi.BeginDeviceLoginFormdataRequestBody{ClientID: name})
	if err != nil {
		return err
	}
	expires := time.Now().Add(time.Duration(codes.ExpiresIn) * time.Second)
	if err := show(DeviceCode{codes.UserCode, codes.VerificationURI, codes.VerificationURIComplete, expires}); err != nil {
		return err
	}
	interval := time.Duration(max(codes.Interval, 1)) * time.Second
	for {
		timer := time.NewTimer(interval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
		token, refusal, err := c.deviceToken(ctx, name, codes.DeviceCode)
		switch {
		case token != "":
			c.mu.Lock()
			defer c.mu.Unlock()
			c.access = ""
			return c.keep(token)
		case refusal == "slow_down":
			interval += 5 * time.Second
		case refusal == "access_denied":
			return ErrLoginRefused
		case refusal == "expired_token" || refusal == "invalid_grant" || time.Now().After(expires):
			return ErrCodeExpired
		}
		if _, passes := passing(err); err != nil && !passes {
			return err
		}
	}
}

// deviceToken asks once for the ID token. refusal is the error of the grant, as authorization_pending.
func (c *Client) deviceToken(ctx context.Context, name, code string) (token, refusal string, err error) {
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {code}, "client_id": {name}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.identityURL+"/device/token", strings.NewReader(form.Encode()))
	if err != nil {
		return "", "", err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("User-Agent", c.userAgent)
	resp, err := c.http.Do(r)
	if err != nil {
		return "", "", err
	}
	if resp.StatusCode >= 400 && resp.StatusCode != http.StatusBadRequest {
		return "", "", problem(resp)
	}
	defer resp.Body.Close()
	var answer struct {
		IDToken string          `json:"session_token"`
		Error   json.RawMessage `json:"error"` // a text as RFC 6749 has it
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer); err != nil {
		return "", "", err
	}
	if answer.IDToken == "" && json.Unmarshal(answer.Error, &refusal) != nil {
		return "", "", fmt.Errorf("the device authorization answered %s: %s", resp.Status, answer.Error)
	}
	return answer.IDToken, refusal, nil
}
