// Hashes the bytes of an upload beside their writing.

package content

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"hash"
	"hash/crc32"
	"sync"
)

// beside is the least number of bytes that are worth a goroutine: hashing them takes about 20 times as long as starting it.
const beside = 64 << 10

// digests are the digests of bytes as they are read. Those of large pieces are computed beside the reading and writing of the next piece,
// so one stream can use two cores. One goroutine uses it.
type digests struct {
	whole   hash.Hash // SHA-256 of all bytes of the object; nil: not computed
	crc     uint32    // CRC-32 of the same, for archives
	request hash.Hash // of this request's bytes; nil unless the request states their digest

	busy   sync.WaitGroup // the goroutine that reads hashed
	filled *[]byte        // the buffer of the next piece; nil: not taken yet
	hashed *[]byte        // the other one; streams of small pieces never take it
}

// hashOf returns the hash whose sums are as long as a stated one: SHA-256, or the SHA-1 of tus.
func hashOf(stated []byte) hash.Hash {
	if len(stated) == sha1.Size {
		return sha1.New() //nolint:gosec // tus asks for it; it finds accidents, and the object's own sum is SHA-256
	}
	return sha256.New()
}

// buffer returns the buffer for the next piece.
func (d *digests) buffer() []byte {
	if d.filled == nil {
		d.filled = buffers.Get().(*[]byte)
	}
	return *d.filled
}

// release gives the buffers back.
func (d *digests) release() {
	d.wait()
	for _, b := range []*[]byte{d.filled, d.hashed} {
		if b != nil {
			buffers.Put(b)
		}
	}
	d.filled, d.hashed = nil, nil
}

// add adds a piece of the buffer. The buffer is another one afterwards, when the piece is still being read.
func (d *digests) add(p []byte) {
	d.wait()
	switch {
	case d.whole == nil && d.request == nil:
	case len(p) < beside:
		d.update(p)
	default:
		d.filled, d.hashed = d.hashed, d.filled
		d.busy.Go(func() { d.update(p) })
	}
}

// update computes the sums over a piece.
func (d *digests) update(p []byte) {
	if d.whole != nil {
		d.whole.Write(p)
		d.crc = crc32.Update(d.crc, crc32.IEEETable, p)
	}
	if d.request != nil {
		d.request.Write(p)
	}
}

func (d *digests) wait() { d.busy.Wait() }

// sum returns the SHA-256 of the object.
func (d *digests) sum() []byte {
	d.wait()
	return d.whole.Sum(nil)
}

// differs reports whether the request's bytes have another sum than it states.
func (d *digests) differs(stated []byte) bool {
	d.wait()
	return d.request != nil && !bytes.Equal(d.request.Sum(nil), stated)
}
