// Exchanges an authorization code at the token endpoint of a provider.

package oidc

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/oauth2"

	"github.com/consign-dev/consign/internal/text"
)

// maxCode is how many bytes code, code_verifier and redirect_uri may have, each.
const maxCode = 4 << 10

// Exchange exchanges an authorization code for an ID token (RFC 6749, section 4.1.3) and verifies the token.
// codeVerifier may be empty (RFC 7636). A nonce in the token must be base64url(SHA-256(codeVerifier)), without padding.
// The keys are read first, so that the code stays unused if the provider is down.
// Errors: ErrUnknownProvider before any request, ErrInvalidCode, ErrInteractionFailed, ErrCommunicationFailed, and
// ErrEmailMissing or ErrEmailNotVerified together with the Identity, as Verify returns them.
func (p *Providers) Exchange(ctx context.Context, issuer, clientID, code, codeVerifier, redirectURI string) (Identity, error) {
	r := p.registration(issuer, clientID)
	if r == nil {
		return Identity{}, ErrUnknownProvider
	}
	if text.Required(code, maxCode) != nil {
		return Identity{}, ErrInvalidCode.with("code: is missing or has no form of one")
	}
	if text.Line(codeVerifier, maxCode) != nil || text.Line(redirectURI, maxCode) != nil {
		return Identity{}, ErrInvalidCode.with("code_verifier: has no form of one")
	}
	ctx, cancel := withTimeout(ctx, p.timeout)
	defer cancel()
	docs, err := r.provider.documents(ctx)
	if err != nil {
		return Identity{}, err
	}
	raw, err := r.redeem(ctx, docs, code, codeVerifier, redirectURI)
	if err != nil {
		return Identity{}, err
	}
	t, err := parseToken(raw)
	if err != nil {
		return Identity{}, ErrInteractionFailed.because(fmt.Errorf("ID token of the token endpoint: %w", err))
	}
	if p.addressee(t.claims, clientID) != r {
		return Identity{}, ErrInteractionFailed.because(errors.New("ID token of the token endpoint: it is for another client"))
	}
	challenge := sha256.Sum256([]byte(codeVerifier))
	identity, err := p.verify(ctx, r, t, Expectation{
		ClientID: clientID, Nonce: base64.RawURLEncoding.EncodeToString(challenge[:]), nonceMayMiss: true,
	})
	if errors.Is(err, ErrInvalidToken) {
		return Identity{}, ErrInteractionFailed.because(fmt.Errorf("ID token of the token endpoint: %w", err))
	}
	return identity, err
}

// redeem requests the ID token from the token endpoint.
func (r *registration) redeem(ctx context.Context, docs *documents, code, codeVerifier, redirectURI string) (string, error) {
	if docs.tokenURL == "" {
		return "", ErrInteractionFailed.because(errors.New("the discovery document names no token_endpoint"))
	}
	config := oauth2.Config{
		ClientID: r.ClientID, ClientSecret: r.ClientSecret, RedirectURL: redirectURI,
		Endpoint: oauth2.Endpoint{TokenURL: docs.tokenURL, AuthStyle: oauth2.AuthStyleInParams},
	}
	// Set explicitly: AuthStyleAutoDetect may send the code twice.
	if r.ClientSecret != "" && docs.basicAuth {
		config.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	}
	var options []oauth2.AuthCodeOption
	if codeVerifier != "" {
		options = append(options, oauth2.VerifierOption(codeVerifier))
	}
	answer, err := config.Exchange(context.WithValue(ctx, oauth2.HTTPClient, r.provider.network.endpoints), code, options...)
	if err != nil {
		return "", refusal(err)
	}
	raw, ok := answer.Extra("id_token").(string)
	if !ok || raw == "" {
		return "", ErrInteractionFailed.because(errors.New("the token endpoint returned no id_token"))
	}
	return raw, nil
}

// refusal classifies an error response of a token endpoint (RFC 6749, section 5.2). It leaves out the text of the
// response, which may contain the code.
func refusal(err error) error {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) {
		return ErrCommunicationFailed.because(err)
	}
	status := answer.Response.StatusCode
	cause := fmt.Errorf("the token endpoint answered %d %.40q", status, answer.ErrorCode)
	switch {
	case status < 200, status >= 300 && status < 400, status == http.StatusTooManyRequests, status >= 500,
		answer.ErrorCode == "temporarily_unavailable", answer.ErrorCode == "server_error":
		return ErrCommunicationFailed.because(cause)
	case answer.ErrorCode == "invalid_grant":
		return ErrInvalidCode.because(cause)
	}
	return ErrInteractionFailed.because(cause)
}
