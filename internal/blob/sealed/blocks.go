// The format of an encrypted run: blocks, nonces, and the key that is bound to segment and offset.

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
// blocks of 64 KiB:
//
//	run     = header || block 0 || block 1 ...
//	header  = length of the header (1) || salt (32) || nonce prefix (7)
//	key     = HKDF-SHA-256(key of the segment, salt, info: binding)
//	block = AES-256-GCM(key, nonce prefix || number (4) || 1 for the last block of the run, else 0)
//
// Source: https://developers.google.com/tink/streaming-aead/aes_gcm_hkdf_streaming. A test compares it with the library.
const (
	keySize    = 32
	prefixSize = 7
	headerSize = 1 + keySize + prefixSize
	tagSize    = 16
	cipherSize = 64 << 10             // of a block; that of the first one includes the header
	plainSize  = cipherSize - tagSize // of a block
	firstSize  = plainSize - headerSize
	nonceSize  = prefixSize + 4 + 1
)

// ErrDamaged means that stored bytes were changed, cut off, or moved from another place.
var ErrDamaged = errors.New("the stored bytes are damaged: they do not decrypt")

// blockAt returns the number of the block that has the byte at an offset of a run.
func blockAt(offset int64) int64 {
	if offset < firstSize {
		return 0
	}
	return 1 + (offset-firstSize)/plainSize
}

// plainStart returns the offset of a block's first byte in its run.
func plainStart(block int64) int64 {
	if block == 0 {
		return 0
	}
	return firstSize + (block-1)*plainSize
}

// cipherStart returns the offset of a block in the stored run.
func cipherStart(block int64) int64 {
	if block == 0 {
		return headerSize
	}
	return block * cipherSize
}

// cipherLength returns the stored length of a run of n > 0 bytes.
func cipherLength(n int64) int64 {
	return headerSize + n + tagSize*(blockAt(n-1)+1)
}

// runCipher encrypts or decrypts the blocks of one run.
type runCipher struct {
	aead   cipher.AEAD
	prefix [prefixSize]byte
}

// newRun makes the cipher and the header of a new run that begins at an offset of a segment.
func newRun(key []byte, segment id.Segment, offset int64) (runCipher, []byte, error) {
	header := make([]byte, headerSize)
	header[0] = headerSize
	rand.Read(header[1:]) // never fails
	c, err := openRun(key, header, segment, offset)
	return c, header, err
}

// openRun makes the cipher of a stored run from its header.
// Errors: ErrDamaged.
func openRun(key, header []byte, segment id.Segment, offset int64) (runCipher, error) {
	var c runCipher
	if len(header) != headerSize || header[0] != headerSize {
		return c, ErrDamaged
	}
	derived, err := hkdf.Key(sha256.New, key, header[1:1+keySize], binding(segment, offset), keySize)
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

// binding binds a run to its place: neither the runs of a segment nor those of two segments can be exchanged.
func binding(segment id.Segment, offset int64) string {
	b := append([]byte("consign segment"), segment.UUID[:]...)
	return string(binary.BigEndian.AppendUint64(b, uint64(offset)))
}

func (c runCipher) nonce(block int64, last bool) []byte {
	n := make([]byte, nonceSize)
	copy(n, c.prefix[:])
	binary.BigEndian.PutUint32(n[prefixSize:], uint32(block))
	if last {
		n[nonceSize-1] = 1
	}
	return n
}

// seal appends an encrypted block to out.
func (c runCipher) seal(out, plain []byte, block int64, last bool) []byte {
	return c.aead.Seal(out, c.nonce(block, last), plain, nil)
}

// open decrypts a block in place.
// Errors: ErrDamaged.
func (c runCipher) open(stored []byte, block int64, last bool) ([]byte, error) {
	plain, err := c.aead.Open(stored[:0], c.nonce(block, last), stored, nil)
	if err != nil {
		return nil, ErrDamaged
	}
	return plain, nil
}
