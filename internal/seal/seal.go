// Package seal encrypts secrets for the database, authenticates values that clients carry (MACs), and generates and hashes
// random keys. Every purpose has its own key, derived from CONSIGN_SECRET_KEY, so that a value sealed for one purpose
// cannot be opened for another.
//
// It stores nothing, and does not know which rows hold sealed values or when a secret expires. Package password hashes
// passwords.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// MinSecret is the minimum length of a secret key in bytes.
const MinSecret = 32

// A sealed value consists of version, key id, nonce and ciphertext with tag. Version and key id are authenticated too.
const (
	version     = 1
	keyIDLength = 4
	header      = 1 + keyIDLength
	nonceLength = 12
	tagLength   = 16
	newKeyBytes = 24
)

// ErrOpen is returned by Open for a value that was modified or truncated, sealed for another purpose or with other
// additional data, or sealed under a secret key that this process does not have.
var ErrOpen = errors.New("cannot decrypt a sealed value with the secret keys of this process")

// Sealer holds the current secret key and, during a key change, the previous one. It is safe for concurrent use.
type Sealer struct {
	roots []root   // the current one first
	macs  sync.Map // [][]byte by purpose, derived on first use; purposes are a few constants
}

// root is a secret key, extracted into the pseudorandom key of RFC 5869.
type root struct {
	prk []byte
	id  [keyIDLength]byte
}

// New returns a Sealer. secret seals and opens. previous, which may be empty, only opens and checks.
// Errors: when a key is shorter than MinSecret.
func New(secret, previous []byte) (*Sealer, error) {
	secrets := [][]byte{secret}
	if len(previous) > 0 {
		secrets = append(secrets, previous)
	}
	s := &Sealer{}
	for _, b := range secrets {
		if len(b) < MinSecret {
			return nil, fmt.Errorf("secret key has %d bytes, at least %d are needed", len(b), MinSecret)
		}
		prk, err := hkdf.Extract(sha256.New, b, []byte("consign"))
		if err != nil {
			return nil, fmt.Errorf("extract secret key: %w", err)
		}
		r := root{prk: prk}
		copy(r.id[:], r.expand("key id"))
		s.roots = append(s.roots, r)
	}
	return s, nil
}

// expand derives 32 bytes for info with HKDF-Expand (RFC 5869, 2.3), which is a single HMAC for one block of output.
func (r root) expand(info string) []byte {
	mac := hmac.New(sha256.New, r.prk)
	mac.Write([]byte(info))
	mac.Write([]byte{1})
	return mac.Sum(nil)
}

// Box seals and opens values of one purpose with AES-256-GCM. It is safe for concurrent use.
type Box struct {
	keys []boxKey // the current one first
}

type boxKey struct {
	id   [keyIDLength]byte
	aead cipher.AEAD
}

// Box returns the box of a purpose, such as "signing key". Deriving its key takes a few microseconds; callers keep the box.
func (s *Sealer) Box(purpose string) Box {
	var b Box
	for _, r := range s.roots {
		b.keys = append(b.keys, boxKey{id: r.id, aead: newAEAD(r.expand("seal:" + purpose))})
	}
	return b
}

// Or returns a box that seals as b does, and also opens what older has sealed.
func (b Box) Or(older Box) Box { return Box{keys: append(slices.Clone(b.keys), older.keys...)} }

func newAEAD(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // only for a key that is not 16, 24 or 32 bytes; an HMAC-SHA-256 has 32
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // only for a block size other than 16; AES has 16
	}
	return aead
}

// Seal encrypts plain under the current secret key. aad is not part of the result but is needed to open it: with the row's
// identifier as aad, a value cannot be moved to another row.
func (b Box) Seal(plain, aad []byte) []byte {
	k := b.keys[0]
	out := make([]byte, header+nonceLength, header+nonceLength+len(plain)+tagLength)
	out[0] = version
	copy(out[1:], k.id[:])
	rand.Read(out[header:]) // never fails
	return k.aead.Seal(out, out[header:], plain, bind(out[:header], aad))
}

// Open decrypts a value that Seal returned under the current or the previous secret key.
// Errors: ErrOpen.
func (b Box) Open(sealed, aad []byte) ([]byte, error) {
	if len(sealed) < header+nonceLength+tagLength || sealed[0] != version {
		return nil, ErrOpen
	}
	for _, k := range b.keys {
		if [keyIDLength]byte(sealed[1:header]) != k.id {
			continue
		}
		plain, err := k.aead.Open(nil, sealed[header:header+nonceLength], sealed[header+nonceLength:], bind(sealed[:header], aad))
		if err == nil {
			return plain, nil
		}
	}
	return nil, ErrOpen
}

// Current reports whether sealed is encrypted under the current secret key. A key change re-encrypts all other values.
func (b Box) Current(sealed []byte) bool {
	return len(sealed) >= header && sealed[0] == version && [keyIDLength]byte(sealed[1:header]) == b.keys[0].id
}

// Renew returns a value sealed under the current secret key, and nil for one that is already.
// Errors: ErrOpen.
func (b Box) Renew(sealed, aad []byte) ([]byte, error) {
	if b.Current(sealed) {
		return nil, nil
	}
	plain, err := b.Open(sealed, aad)
	if err != nil {
		return nil, err
	}
	return b.Seal(plain, aad), nil
}

func bind(head, aad []byte) []byte {
	return append(append(make([]byte, 0, len(head)+len(aad)), head...), aad...)
}

// MAC returns the 32-byte HMAC-SHA-256 of parts under the purpose's key. Each part is prefixed with its length: ("ab", "c")
// and ("a", "bc") differ.
func (s *Sealer) MAC(purpose string, parts ...[]byte) []byte {
	return macOf(s.macKeys(purpose)[0], parts)
}

// MACs returns the MAC under the current secret key, and then the one under the previous secret key, if there is one, for
// values that were handed out before a key change.
func (s *Sealer) MACs(purpose string, parts ...[]byte) [][]byte {
	keys := s.macKeys(purpose)
	macs := make([][]byte, len(keys))
	for i, key := range keys {
		macs[i] = macOf(key, parts)
	}
	return macs
}

// CheckMAC reports in constant time whether mac is the MAC of parts under the current or the previous secret key.
func (s *Sealer) CheckMAC(mac []byte, purpose string, parts ...[]byte) bool {
	ok := false
	for _, key := range s.macKeys(purpose) {
		if hmac.Equal(mac, macOf(key, parts)) {
			ok = true
		}
	}
	return ok
}

// macKeys returns the keys of a purpose, one per root.
func (s *Sealer) macKeys(purpose string) [][]byte {
	if keys, ok := s.macs.Load(purpose); ok {
		return keys.([][]byte)
	}
	keys := make([][]byte, len(s.roots))
	for i, r := range s.roots {
		keys[i] = r.expand("mac:" + purpose)
	}
	s.macs.Store(purpose, keys)
	return keys
}

func macOf(key []byte, parts [][]byte) []byte {
	mac := hmac.New(sha256.New, key)
	var length [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(p)))
		mac.Write(length[:])
		mac.Write(p)
	}
	return mac.Sum(nil)
}

// NewKey returns a random key for a link or a code: 192 bits as 32 characters of base64url (contract 1.5).
func NewKey() string {
	var b [newKeyBytes]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// IsKey reports whether s has the form of a key of NewKey.
func IsKey(s string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	return err == nil && len(raw) == newKeyBytes
}

// Hash returns the SHA-256 of a key of NewKey, the only form in which keys are stored. It is not for passwords.
func Hash(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}
