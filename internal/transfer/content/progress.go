package content

import (
	"crypto/sha256"
	"encoding"
	"fmt"

	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// progress is what is known of an object's bytes from the first one on: their sums, and the type that they show. The writer of an object's
// only segment has one, and Seal. The writer that begins the first of several segments has one without sums, for the type only.
type progress struct {
	digests
	row      postgres.Upload // of the object
	first    bool            // it has the first bytes
	head     []byte          // them, up to transfer.SniffBytes
	mimeType string          // empty: not known yet
}

// newProgress goes on with what the row says. sums: it computes sums. first: it has the first bytes. The request states the digest of its
// own bytes; nil: it does not.
func newProgress(u postgres.Upload, sums, first bool, request []byte) *progress {
	p := &progress{row: u, first: first}
	if len(request) > 0 {
		p.request = hashOf(request)
	}
	if sums {
		p.whole, p.crc, p.head, p.mimeType = sha256.New(), u.CRC32, u.Head, u.MIMEType
	}
	return p
}

// restore continues with the sums that the row has.
func (p *progress) restore() error {
	if p.whole == nil || p.row.Held == 0 {
		return nil
	}
	if err := p.whole.(encoding.BinaryUnmarshaler).UnmarshalBinary(p.row.ShaState); err != nil {
		return fmt.Errorf("restore SHA-256 state: %w", err)
	}
	return nil
}

// add adds a piece of the buffer, which is another one afterwards.
func (p *progress) add(b []byte) {
	if p.first && p.mimeType == "" && len(p.head) < transfer.SniffBytes {
		p.head = append(p.head, b[:min(len(b), transfer.SniffBytes-len(p.head))]...)
	}
	p.digests.add(b)
}

// sniff finds the object's type as soon as enough bytes are there, which all of them always are.
// Errors: transfer.ErrMIMEType when the mailbox does not accept the type; then the object is to be deleted.
func (p *progress) sniff(all bool) error {
	if !p.first || p.mimeType != "" || len(p.head) < transfer.SniffBytes && !all {
		return nil
	}
	if f := transfer.MIMEFilter(p.row.MIMETypeFilter); !f.AllowsContent(p.head, p.row.Name) {
		return f.Rejection("content")
	}
	p.mimeType = transfer.TypeByContent(p.head, p.row.Name)
	return nil
}

// sums returns what is known of held bytes, which are those that were added; nil without sums. all: the object has no more.
func (p *progress) sums(held int64, all bool) (*postgres.Sums, error) {
	if p.whole == nil {
		return nil, nil //nolint:nilnil // others compute them
	}
	p.wait()
	state, err := p.whole.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("save SHA-256 state: %w", err)
	}
	k := &postgres.Sums{Held: held, ShaState: state, CRC32: p.crc, MIMEType: p.mimeType}
	if p.mimeType == "" {
		k.Head = p.head
	}
	if all {
		k.SHA256 = p.whole.Sum(nil)
	}
	return k, nil
}
