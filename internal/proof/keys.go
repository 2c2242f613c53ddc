// The keys of logs and witnesses, and what they sign.

package proof

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// The algorithms of signed notes that are known here.
const (
	algorithmEd25519     = 0x01
	algorithmCosignature = 0x04
)

var errKey = errors.New("is not a key of the form name+hash+base64")

// keyHash returns the key ID of a note's signature.
func keyHash(name string, algorithm byte, public ed25519.PublicKey) uint32 {
	h := sha256.New()
	h.Write([]byte(name + "\n"))
	h.Write([]byte{algorithm})
	h.Write(public)
	return binary.BigEndian.Uint32(h.Sum(nil))
}

// Signer signs checkpoints of a log with an Ed25519 key. It implements note.Signer.
type Signer struct {
	name    string
	hash    uint32
	private ed25519.PrivateKey
}

// NewSigner returns the signer of the log with this origin.
func NewSigner(origin string, private ed25519.PrivateKey) *Signer {
	return &Signer{name: origin, hash: keyHash(origin, algorithmEd25519, private.Public().(ed25519.PublicKey)), private: private}
}

// Name implements note.Signer.
func (s *Signer) Name() string { return s.name }

// KeyHash implements note.Signer.
func (s *Signer) KeyHash() uint32 { return s.hash }

// Sign implements note.Signer.
func (s *Signer) Sign(msg []byte) ([]byte, error) { return ed25519.Sign(s.private, msg), nil }

// VerifierKey returns the public key of a log in the form of signed notes: origin+hash+base64.
func VerifierKey(origin string, public ed25519.PublicKey) (string, error) {
	key, err := note.NewEd25519VerifierKey(origin, public)
	if err != nil {
		return "", fmt.Errorf("encode verifier key: %w", err)
	}
	return key, nil
}

// Cosigner verifies the cosignatures of a witness. It implements note.Verifier.
type Cosigner struct {
	name   string
	hash   uint32
	public ed25519.PublicKey
}

// NewCosigner returns the verifier of a witness's key: name+hash+base64 of the byte 4 and the Ed25519 key.
func NewCosigner(key string) (*Cosigner, error) {
	name, rest, _ := strings.Cut(key, "+")
	hashText, encoded, _ := strings.Cut(rest, "+")
	hash, err := strconv.ParseUint(hashText, 16, 32)
	raw, decodeErr := base64.StdEncoding.DecodeString(encoded)
	if err != nil || decodeErr != nil || len(hashText) != 8 || len(raw) != 1+ed25519.PublicKeySize || raw[0] != algorithmCosignature ||
		name == "" {
		return nil, errKey
	}
	c := &Cosigner{name: name, hash: keyHash(name, algorithmCosignature, raw[1:]), public: raw[1:]}
	if c.hash != uint32(hash) {
		return nil, errKey
	}
	return c, nil
}

// NewCosignerKey returns the key of a witness in the form that NewCosigner reads.
func NewCosignerKey(name string, public ed25519.PublicKey) string {
	return fmt.Sprintf("%s+%08x+%s", name, keyHash(name, algorithmCosignature, public),
		base64.StdEncoding.EncodeToString(append([]byte{algorithmCosignature}, public...)))
}

// Name implements note.Verifier.
func (c *Cosigner) Name() string { return c.name }

// KeyHash implements note.Verifier.
func (c *Cosigner) KeyHash() uint32 { return c.hash }

// Verify implements note.Verifier.
func (c *Cosigner) Verify(msg, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize || sig[0] >= 0x80 {
		return false
	}
	return ed25519.Verify(c.public, cosigned(msg, binary.BigEndian.Uint64(sig)), sig[8:])
}

// cosigned returns the message of a cosignature.
func cosigned(text []byte, at uint64) []byte {
	return append(fmt.Appendf(nil, "cosignature/v1\ntime %d\n", at), text...)
}

// Cosign returns a witness's signature line for a checkpoint's text.
func Cosign(name string, private ed25519.PrivateKey, text string, at time.Time) string {
	seconds := uint64(at.Unix())
	raw := binary.BigEndian.AppendUint32(nil, keyHash(name, algorithmCosignature, private.Public().(ed25519.PublicKey)))
	raw = binary.BigEndian.AppendUint64(raw, seconds)
	raw = append(raw, ed25519.Sign(private, cosigned([]byte(text), seconds))...)
	return "— " + name + " " + base64.StdEncoding.EncodeToString(raw) + "\n"
}

// cosignedAt returns the time in a verified cosignature.
func cosignedAt(encoded string) time.Time {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) < 12 {
		return time.Time{}
	}
	return time.Unix(int64(binary.BigEndian.Uint64(raw[4:12])), 0).UTC()
}
