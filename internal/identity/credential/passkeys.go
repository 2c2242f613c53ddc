// Passkeys (WebAuthn) over go-webauthn, which only this file imports: options for browsers, and the checks of their answers.

package credential

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
)

// The errors of a browser's answer about a passkey.
var (
	ErrPasskeyForm    = errors.New("is not the JSON of a public key credential")
	ErrPasskeyRefused = errors.New("the passkey's answer is not valid")
	ErrPasskeyCloned  = errors.New("the passkey's signature counter went back: there may be a copy of it")
)

// passkeyTimeout is how long a browser waits for the person, in milliseconds.
const passkeyTimeout = 300_000

// RelyingParty is whom a passkey signs for (WebAuthn, section 4).
type RelyingParty struct {
	ID     string // the hostname
	Name   string // shown to the person
	Origin string // of the pages: scheme://host[:port]
}

// Passkey is a public key credential (WebAuthn, section 4, "credential record").
type Passkey struct {
	ID             []byte
	PublicKey      []byte // COSE
	SignCount      int64
	Transports     []string
	BackupEligible bool
	BackedUp       bool
	AAGUID         []byte // the model of the authenticator; zero for most
}

// PasskeyOwner is the person of a passkey.
type PasskeyOwner struct {
	Handle []byte // user handle: the uid
	Name   string // the primary address
}

type passkeyUser struct {
	owner       PasskeyOwner
	credentials []webauthn.Credential
}

// WebAuthnID implements webauthn.User.
func (o passkeyUser) WebAuthnID() []byte { return o.owner.Handle }

// WebAuthnName implements webauthn.User.
func (o passkeyUser) WebAuthnName() string { return o.owner.Name }

// WebAuthnDisplayName implements webauthn.User.
func (o passkeyUser) WebAuthnDisplayName() string { return o.owner.Name }

// WebAuthnCredentials implements webauthn.User.
func (o passkeyUser) WebAuthnCredentials() []webauthn.Credential { return o.credentials }

// server returns the library's object for a relying party. It ignores outputs of extensions: none is asked for, and some browsers add them.
// Errors: ErrPasskeyRefused for a party that cannot have passkeys, such as an IP address.
func server(rp RelyingParty) (*webauthn.WebAuthn, error) {
	w, err := webauthn.New(&webauthn.Config{
		RPID: rp.ID, RPDisplayName: rp.Name, RPOrigins: []string{rp.Origin}, AttestationPreference: protocol.PreferNoAttestation,
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
	if err == nil {
		err = protocol.ValidateRPID(rp.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPasskeyRefused, err)
	}
	return w, nil
}

// PasskeyHost reports whether a hostname can have passkeys: an IP address cannot.
func PasskeyHost(host string) bool { return protocol.ValidateRPID(host) == nil }

func descriptors(list []Passkey) []protocol.CredentialDescriptor {
	out := make([]protocol.CredentialDescriptor, len(list))
	for i, k := range list {
		out[i] = protocol.CredentialDescriptor{Type: protocol.PublicKeyCredentialType, CredentialID: k.ID, Transport: transports(k)}
	}
	return out
}

func transports(k Passkey) []protocol.AuthenticatorTransport {
	var out []protocol.AuthenticatorTransport
	for _, t := range k.Transports {
		out = append(out, protocol.AuthenticatorTransport(t))
	}
	return out
}

// PasskeyCreation returns the options with which a browser makes a passkey, as JSON with the member publicKey. have lists the person's
// passkeys: an authenticator that has one of them makes no second one.
// Errors: ErrPasskeyRefused.
func PasskeyCreation(rp RelyingParty, owner PasskeyOwner, challenge []byte, have []Passkey) (json.RawMessage, error) {
	w, err := server(rp)
	if err != nil {
		return nil, err
	}
	creation, _, err := w.BeginRegistration(passkeyUser{owner: owner}, webauthn.WithExclusions(descriptors(have)),
		func(o *protocol.PublicKeyCredentialCreationOptions) error {
			required := false
			o.Challenge, o.Timeout = challenge, passkeyTimeout
			o.AuthenticatorSelection = protocol.AuthenticatorSelection{
				ResidentKey: protocol.ResidentKeyRequirementPreferred, RequireResidentKey: &required, UserVerification: protocol.VerificationPreferred,
			}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPasskeyRefused, err)
	}
	return json.Marshal(creation)
}

// PasskeyRequest returns the options with which a browser signs with a passkey, as JSON with the member publicKey. Without allowed passkeys
// the browser offers all that it has for the party, and verifies the person.
func PasskeyRequest(rpID string, challenge []byte, allowed []Passkey) (json.RawMessage, error) {
	o := protocol.PublicKeyCredentialRequestOptions{
		Challenge: challenge, Timeout: passkeyTimeout, RelyingPartyID: rpID, AllowedCredentials: descriptors(allowed),
		UserVerification: protocol.VerificationPreferred,
	}
	if len(allowed) == 0 {
		o.UserVerification = protocol.VerificationRequired
	}
	return json.Marshal(protocol.CredentialAssertion{Response: o})
}

// MadePasskey is a browser's answer to PasskeyCreation.
type MadePasskey struct {
	parsed    *protocol.ParsedCredentialCreationData
	Challenge []byte
}

// ParseMadePasskey reads the JSON of a new credential.
// Errors: ErrPasskeyForm.
func ParseMadePasskey(text string) (MadePasskey, error) {
	parsed, err := protocol.ParseCredentialCreationResponseBytes([]byte(text))
	if err != nil {
		return MadePasskey{}, ErrPasskeyForm
	}
	challenge, err := decodeChallenge(parsed.Response.CollectedClientData.Challenge)
	return MadePasskey{parsed: parsed, Challenge: challenge}, err
}

// Verify returns the passkey that a browser made for an owner. The caller has checked the challenge.
// Errors: ErrPasskeyRefused.
func (m MadePasskey) Verify(rp RelyingParty, owner PasskeyOwner) (Passkey, error) {
	w, err := server(rp)
	if err != nil {
		return Passkey{}, err
	}
	c, err := w.CreateCredential(passkeyUser{owner: owner}, webauthn.SessionData{
		Challenge: m.parsed.Response.CollectedClientData.Challenge, RelyingPartyID: rp.ID, UserID: owner.Handle,
		UserVerification: protocol.VerificationPreferred, CredParams: webauthn.CredentialParametersDefault(),
	}, m.parsed)
	if err != nil {
		return Passkey{}, fmt.Errorf("%w: %w", ErrPasskeyRefused, err)
	}
	k := Passkey{
		ID: c.ID, PublicKey: c.PublicKey, SignCount: int64(c.Authenticator.SignCount), BackupEligible: c.Flags.BackupEligible,
		BackedUp: c.Flags.BackupState, AAGUID: c.Authenticator.AAGUID,
	}
	for _, t := range c.Transport {
		switch t { // others are of no use, and the client chooses the text
		case protocol.USB, protocol.NFC, protocol.BLE, protocol.SmartCard, protocol.Hybrid, protocol.Internal:
			k.Transports = append(k.Transports, string(t))
		}
	}
	return k, nil
}

// PasskeyAnswer is a browser's answer to PasskeyRequest.
type PasskeyAnswer struct {
	parsed    *protocol.ParsedCredentialAssertionData
	Challenge []byte
	ID        []byte // of the passkey
	Handle    []byte // of its owner; nil when the authenticator did not send it
}

// ParsePasskeyAnswer reads the JSON of a credential with an assertion.
// Errors: ErrPasskeyForm.
func ParsePasskeyAnswer(text string) (PasskeyAnswer, error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(text))
	if err != nil {
		return PasskeyAnswer{}, ErrPasskeyForm
	}
	challenge, err := decodeChallenge(parsed.Response.CollectedClientData.Challenge)
	return PasskeyAnswer{parsed: parsed, Challenge: challenge, ID: parsed.RawID, Handle: parsed.Response.UserHandle}, err
}

// Verify checks the answer of a stored passkey and returns the passkey with its new counter and backup state. verified reports whether
// the authenticator verified the person, by a PIN or a finger for example. The caller has checked the challenge.
// Errors: ErrPasskeyRefused, ErrPasskeyCloned.
func (a PasskeyAnswer) Verify(rp RelyingParty, owner PasskeyOwner, k Passkey) (used Passkey, verified bool, err error) {
	w, err := server(rp)
	if err != nil {
		return k, false, err
	}
	stored := webauthn.Credential{
		ID: k.ID, PublicKey: k.PublicKey, Flags: webauthn.CredentialFlags{BackupEligible: k.BackupEligible, BackupState: k.BackedUp},
		Authenticator: webauthn.Authenticator{SignCount: uint32(k.SignCount), AAGUID: k.AAGUID}, //nolint:gosec // it was stored from one
	}
	c, err := w.ValidateLogin(passkeyUser{owner: owner, credentials: []webauthn.Credential{stored}}, webauthn.SessionData{
		Challenge: a.parsed.Response.CollectedClientData.Challenge, RelyingPartyID: rp.ID, UserID: owner.Handle,
		AllowedCredentialIDs: [][]byte{k.ID}, UserVerification: protocol.VerificationPreferred,
	}, a.parsed)
	switch {
	case err != nil:
		return k, false, fmt.Errorf("%w: %w", ErrPasskeyRefused, err)
	case c.Authenticator.CloneWarning:
		return k, false, ErrPasskeyCloned
	}
	k.SignCount, k.BackedUp = int64(c.Authenticator.SignCount), c.Flags.BackupState
	return k, a.parsed.Response.AuthenticatorData.Flags.UserVerified(), nil
}

// decodeChallenge reads the challenge that a browser signed.
// Errors: ErrPasskeyForm.
func decodeChallenge(text string) ([]byte, error) {
	c, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, ErrPasskeyForm
	}
	return c, nil
}
