// The format of an encrypted run: segments, nonces, and the key that is bound to object and offset.

package sealed

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/consign-dev/consign/internal/id"
)

// The sizes of a run in bytes. The construction is Tink's streaming AEAD "AES-GCM-HKDF" with 256-bit keys, HKDF-SHA-256 and ciphertext
// segments of 64 KiB:
//
//	run     = header || segment 0 || segment 1 ...
//	header  = length of the header (1) || salt (32) || nonce prefix (7)
//	key     = HKDF-SHA-256(key of the object, salt, info: binding)
//	segment = AES-256-GCM(key, nonce prefix || number (4) || 1 for the last segment of the run, else 0)
//
// Source: https://developers.google.com/tink/streaming-aead/aes_gcm_hkdf_streaming. A test compares it with the library.
const (
	keySize    = 32
	prefixSize = 7
	headerSize = 1 + keySize + prefixSize
	tagSize    = 16
	cipherSize = 64 << 10             // of a segment; that of the first one includes the header
	plainSize  = cipherSize - tagSize // of a segment
	firstSize  = plainSize - headerSize
	nonceSize  = prefixSize + 4 + 1
)

// ErrDamaged means that stored bytes were changed, cut off, or moved from another place.
var ErrDamaged = errors.New("the stored bytes are damaged: they do not decrypt")

// segmentAt returns the number of the segment that has the byte at an offset of a run.
func segmentAt(offset int64) int64 {
	if offset < firstSize {
		return 0
	}
	return 1 + (offset-firstSize)/plainSize
}

// plainStart returns the offset of a segment's first byte in its run.
func plainStart(segment int64) int64 {
	if segment == 0 {
		return 0
	}
	return firstSize + (segment-1)*plainSize
}

// cipherStart returns the offset of a segment in the stored run.
func cipherStart(segment int64) int64 {
	if segment == 0 {
		return headerSize
	}
	return segment * cipherSize
}

// cipherLength returns the stored length of a run of n > 0 bytes.
func cipherLength(n int64) int64 {
	return headerSize + n + tagSize*(segmentAt(n-1)+1)
}

// runCipher encrypts or decrypts the segments of one run.
type runCipher struct {
	aead   cipher.AEAD
	prefix [prefixSize]byte
}

// newRun makes the cipher and the header of a new run that begins at an offset of an object.
func newRun(key []byte, object id.Object, offset int64) (runCipher, []byte, error) {
	header := make([]byte, headerSize)
	header[0] = headerSize
	rand.Read(header[1:]) // never fails
	c, err := openRun(key, header, object, offset)
	return c, header, err
}

// openRun makes the cipher of a stored run from its header.
// Errors: ErrDamaged.
func openRun(key, header []byte, object id.Object, offset int64) (runCipher, error) {
	var c runCipher
	if len(header) != headerSize || header[0] != headerSize {
		return c, ErrDamaged
	}
	derived, err := hkdf.Key(sha256.New, key, header[1:1+keySize], binding(object, offset), keySize)
	if err != nil {
		return c, fmt.Errorf("derive key: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return c, fmt.Errorf("derive key: %w", err)
	}
	if c.aead, err = cipher.NewGCM(block); err != nil {
		return c, fmt.Errorf("derive key: %w", err)
	}
	copy(c.prefix[:], header[1+keySize:])
	return c, nil
}

// binding binds a run to its place: neither the runs of an object nor those of two objects can be exchanged.
func binding(object id.Object, offset int64) string {
	b := append([]byte("consign object"), object.UUID[:]...)
	return string(binary.BigEndian.AppendUint64(b, uint64(offset)))
}

func (c runCipher) nonce(segment int64, last bool) []byte {
	n := make([]byte, nonceSize)
	copy(n, c.prefix[:])
	binary.BigEndian.PutUint32(n[prefixSize:], uint32(segment))
	if last {
		n[nonceSize-1] = 1
	}
	return n
}

// seal appends an encrypted segment to out.
func (c runCipher) seal(out, plain []byte, segment int64, last bool) []byte {
	return c.aead.Seal(out, c.nonce(segment, last), plain, nil)
}

// open decrypts a segment in place.
// Errors: ErrDamaged.
func (c runCipher) open(stored []byte, segment int64, last bool) ([]byte, error) {
	plain, err := c.aead.Open(stored[:0], c.nonce(segment, last), stored, nil)
	if err != nil {
		return nil, ErrDamaged
	}
	return plain, nil
}
