// Package seal owns secrets: it encrypts those that lie in the database, authenticates values that travel through
// clients, and makes and fingerprints random keys. Every use has a purpose, and each purpose a key of its own derived
// from CONSIGN_SECRET_KEY, so that what was sealed for one use cannot be opened in another.
//
// It stores nothing, and knows neither which rows hold sealed values nor when a secret expires. Passwords are no
// business of it: those are hashed with bcrypt in package credential.
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
	"sync"
)

// MinSecret is the least length in bytes of a secret key.
const MinSecret = 32

// The form of a sealed value: version, key id, nonce, ciphertext with tag. Version and key id are authenticated too.
const (
	version     = 1
	keyIDLength = 4
	header      = 1 + keyIDLength
	nonceLength = 12
	tagLength   = 16
	newKeyBytes = 24
)

// ErrOpen is what Open returns for a value that was changed, cut short, sealed for another purpose or with other
// additional data, or sealed under a secret key that this process does not have.
var ErrOpen = errors.New("sealed value does not open with the secret keys of this process")

// Sealer holds the current secret key and, during a change, the one before it. It is safe for concurrent use.
type Sealer struct {
	roots []root   // the current one first
	macs  sync.Map // keys [][]byte by purpose, derived when first asked for: purposes are few, and words of our own
}

// root is one secret key, extracted into the pseudorandom key of RFC 5869.
type root struct {
	prk []byte
	id  [keyIDLength]byte
}

// New makes a Sealer. secret seals and opens; previous, which may be empty, only opens and checks. Each has at least
// MinSecret bytes.
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

// expand derives 32 bytes for info: HKDF-Expand (RFC 5869, 2.3), which for one block of output is a single HMAC.
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

// Box returns the box of a purpose, such as "signing key". Deriving costs a few microseconds: keep it.
func (s *Sealer) Box(purpose string) Box {
	var b Box
	for _, r := range s.roots {
		b.keys = append(b.keys, boxKey{id: r.id, aead: newAEAD(r.expand("seal:" + purpose))})
	}
	return b
}

func newAEAD(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // only for a key that is not 16, 24 or 32 bytes; an HMAC-SHA-256 has 32
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // only for a block size other than 16, which is that of AES
	}
	return aead
}

// Seal encrypts plain under the current secret key. aad is not contained in the result but needed to open it: the row's
// identifier there keeps a value from being moved to another row.
func (b Box) Seal(plain, aad []byte) []byte {
	k := b.keys[0]
	out := make([]byte, header+nonceLength, header+nonceLength+len(plain)+tagLength)
	out[0] = version
	copy(out[1:], k.id[:])
	rand.Read(out[header:]) // never fails
	return k.aead.Seal(out, out[header:], plain, bind(out[:header], aad))
}

// Open decrypts what Seal made under the current or the previous secret key. It returns ErrOpen.
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

// Current reports whether sealed was made under the current secret key, so that a change of keys knows what is left.
func (b Box) Current(sealed []byte) bool {
	return len(sealed) >= header && sealed[0] == version && [keyIDLength]byte(sealed[1:header]) == b.keys[0].id
}

func bind(head, aad []byte) []byte {
	return append(append(make([]byte, 0, len(head)+len(aad)), head...), aad...)
}

// MAC returns the 32-byte HMAC-SHA-256 of parts under the purpose's key. Each part counts with its length: ("ab", "c")
// and ("a", "bc") differ.
func (s *Sealer) MAC(purpose string, parts ...[]byte) []byte {
	return macOf(s.macKeys(purpose)[0], parts)
}

// MACs returns what MAC does, and after it the same under the previous secret key, if there is one: for what was handed out before.
func (s *Sealer) MACs(purpose string, parts ...[]byte) [][]byte {
	keys := s.macKeys(purpose)
	macs := make([][]byte, len(keys))
	for i, key := range keys {
		macs[i] = macOf(key, parts)
	}
	return macs
}

// CheckMAC reports in constant time whether mac is that of parts, under the current or the previous secret key.
func (s *Sealer) CheckMAC(mac []byte, purpose string, parts ...[]byte) bool {
	ok := false
	for _, key := range s.macKeys(purpose) {
		if hmac.Equal(mac, macOf(key, parts)) {
			ok = true
		}
	}
	return ok
}

// macKeys returns the keys of a purpose, one of each root.
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

// NewKey makes the random part of a link or a code: 192 bits as 32 characters of base64url (contract 1.5).
func NewKey() string {
	var b [newKeyBytes]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Hash returns the SHA-256 of a key made by NewKey, the only form in which one is stored. It is not for passwords.
func Hash(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}
