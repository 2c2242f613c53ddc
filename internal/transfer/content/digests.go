// Hashes the bytes of an upload beside their writing.

package content

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"fmt"
	"hash"
	"hash/crc32"
	"sync"
)

// beside is the least number of bytes that are worth a goroutine: hashing them takes about 20 times as long as starting it.
const beside = 64 << 10

// digests are the digests of an upload's bytes. Those of large pieces are computed beside the reading and writing of the next piece, so
// one stream can use two cores. One goroutine uses it.
type digests struct {
	whole hash.Hash // SHA-256 of all bytes of the object; nil for a part of an object, whose bytes join hashes in order
	crc   uint32    // CRC-32 of the same, for archives
	part  hash.Hash // SHA-256 of this request's bytes; nil unless the request states it

	busy   sync.WaitGroup // the goroutine that reads hashed
	filled *[]byte        // the buffer of the next piece; nil: not taken yet
	hashed *[]byte        // the other one; streams of small pieces never take it
}

func newDigests(object, request bool, crc uint32) *digests {
	d := &digests{crc: crc}
	if object {
		d.whole = sha256.New()
	}
	if request {
		d.part = sha256.New()
	}
	return d
}

// restore continues with the state of an earlier request.
func (d *digests) restore(state []byte) error {
	if err := d.whole.(encoding.BinaryUnmarshaler).UnmarshalBinary(state); err != nil {
		return fmt.Errorf("restore SHA-256 state: %w", err)
	}
	return nil
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
	case d.whole == nil && d.part == nil:
	case len(p) < beside:
		d.update(p)
	default:
		d.filled, d.hashed = d.hashed, d.filled
		d.busy.Go(func() { d.update(p) })
	}
}

func (d *digests) update(p []byte) {
	if d.whole != nil {
		d.whole.Write(p)
		d.crc = crc32.Update(d.crc, crc32.IEEETable, p)
	}
	if d.part != nil {
		d.part.Write(p)
	}
}

func (d *digests) wait() { d.busy.Wait() }

// crc32 returns the CRC-32 of all bytes added.
func (d *digests) crc32() uint32 {
	d.wait()
	return d.crc
}

// sum returns the SHA-256 of the object.
func (d *digests) sum() []byte {
	d.wait()
	return d.whole.Sum(nil)
}

// state returns the state of the SHA-256, for restore.
func (d *digests) state() ([]byte, error) {
	d.wait()
	state, err := d.whole.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("save SHA-256 state: %w", err)
	}
	return state, nil
}

// differs reports whether the request's bytes have another SHA-256 than it states.
func (d *digests) differs(stated []byte) bool {
	d.wait()
	return d.part != nil && !bytes.Equal(d.part.Sum(nil), stated)
}
