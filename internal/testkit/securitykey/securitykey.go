// Package securitykey is a browser with an authenticator of passkeys in memory, for tests: it makes credentials and signs with them as
// WebAuthn says, and can be told to do it wrongly.
package securitykey

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// Key is an authenticator, and the browser in front of it.
type Key struct {
	Origin       string // of the page
	Verifies     bool   // asks for a PIN or a finger
	Backup       bool   // its credentials can be backed up, and are
	Counts       bool   // has a signature counter
	WithoutOwner bool   // does not send the user handle
	Credentials  []*Credential

	ClientData func(map[string]any)            // changes what the browser signs
	AuthData   func(data []byte) []byte        // changes what the authenticator signs
	Answer     func(map[string]any)            // changes the answer after the signature
	Choose     func([]*Credential) *Credential // chooses among Credentials; nil: by the options
}

// Credential is one passkey.
type Credential struct {
	ID      []byte
	RPID    string
	Handle  []byte
	Private *ecdsa.PrivateKey
	Count   uint32
}

type descriptor struct {
	ID string `json:"id"`
}

type options struct {
	PublicKey struct {
		Challenge string `json:"challenge"`
		RP        struct {
			ID string `json:"id"`
		} `json:"rp"`
		User struct {
			ID string `json:"id"`
		} `json:"user"`
		RPID    string       `json:"rpId"`
		Allowed []descriptor `json:"allowCredentials"`
	} `json:"publicKey"`
}

// The flags of authenticator data.
const (
	present  = 1 << 0
	verified = 1 << 2
	eligible = 1 << 3
	backedUp = 1 << 4
	attested = 1 << 6
)

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func parse(t testing.TB, raw any) options {
	t.Helper()
	b, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	var o options
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// authData returns authenticator data without extensions.
func (k *Key) authData(rpID string, count uint32, more byte) []byte {
	hash := sha256.Sum256([]byte(rpID))
	flags := present | more
	if k.Verifies {
		flags |= verified
	}
	if k.Backup {
		flags |= eligible | backedUp
	}
	return binary.BigEndian.AppendUint32(append(hash[:], flags), count)
}

func (k *Key) clientData(t testing.TB, kind, challenge string) []byte {
	t.Helper()
	data := map[string]any{"type": kind, "challenge": challenge, "origin": k.Origin, "crossOrigin": false}
	if k.ClientData != nil {
		k.ClientData(data)
	}
	b, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Create makes a credential for creation options, and returns the JSON of the answer.
func (k *Key) Create(t testing.TB, raw any) string {
	t.Helper()
	o := parse(t, raw).PublicKey
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	handle, err := base64.RawURLEncoding.DecodeString(o.User.ID)
	if err != nil {
		t.Fatal(err)
	}
	c := &Credential{ID: make([]byte, 32), RPID: o.RP.ID, Handle: handle, Private: private}
	_, _ = rand.Read(c.ID)
	k.Credentials = append(k.Credentials, c)
	point, err := private.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	public := encodeCBOR(t, map[int]any{1: 2, 3: -7, -1: 1, -2: point[1:33], -3: point[33:]})
	data := append(k.authData(c.RPID, c.Count, attested), make([]byte, 16)...) // the AAGUID
	data = append(append(binary.BigEndian.AppendUint16(data, uint16(len(c.ID))), c.ID...), public...)
	if k.AuthData != nil {
		data = k.AuthData(data)
	}
	object := encodeCBOR(t, map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": data})
	return k.answer(t, c, map[string]any{
		"clientDataJSON": encode(k.clientData(t, "webauthn.create", o.Challenge)), "attestationObject": encode(object),
		"transports": []string{"internal", "hybrid"},
	})
}

// Get signs for request options, and returns the JSON of the answer.
func (k *Key) Get(t testing.TB, raw any) string {
	t.Helper()
	o := parse(t, raw).PublicKey
	c := k.choose(o.RPID, o.Allowed)
	if c == nil {
		t.Fatalf("no credential for %+v", o)
	}
	if k.Counts {
		c.Count++
	}
	data := k.authData(c.RPID, c.Count, 0)
	if k.AuthData != nil {
		data = k.AuthData(data)
	}
	client := k.clientData(t, "webauthn.get", o.Challenge)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, c.Private, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	response := map[string]any{"clientDataJSON": encode(client), "authenticatorData": encode(data), "signature": encode(signature)}
	if !k.WithoutOwner {
		response["userHandle"] = encode(c.Handle)
	}
	return k.answer(t, c, response)
}

// choose returns the first credential that the options allow.
func (k *Key) choose(rpID string, allowed []descriptor) *Credential {
	if k.Choose != nil {
		return k.Choose(k.Credentials)
	}
	for _, c := range k.Credentials {
		fits := len(allowed) == 0 && c.RPID == rpID
		for _, a := range allowed {
			fits = fits || a.ID == encode(c.ID)
		}
		if fits {
			return c
		}
	}
	return nil
}

func (k *Key) answer(t testing.TB, c *Credential, response map[string]any) string {
	t.Helper()
	out := map[string]any{
		"type": "public-key", "id": encode(c.ID), "rawId": encode(c.ID), "response": response, "authenticatorAttachment": "platform",
		"clientExtensionResults": map[string]any{},
	}
	if k.Answer != nil {
		k.Answer(out)
	}
	b, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func encodeCBOR(t testing.TB, v any) []byte {
	t.Helper()
	mode, err := cbor.CTAP2EncOptions().EncMode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := mode.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
