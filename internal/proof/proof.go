// Package proof holds the formats with which a statement is proved to be in a transparency log, and verifies them offline: the file
// receipt.consign, the inclusion proof (C2SP tlog-proof), checkpoints (C2SP tlog-checkpoint, signed-note) and cosignatures of
// witnesses (C2SP tlog-cosignature). docs/use/receipts.md describes them.
//
// It knows neither database nor network, and not what a statement says. Package translog keeps the log.
package proof

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/consign-dev/consign/internal/text"
)

// MediaType is the type of a proof file, and FileName its usual name.
const (
	MediaType = "application/vnd.consign.receipt"
	FileName  = "receipt.consign"
)

// magic is the first line of an inclusion proof.
const magic = "c2sp.org/tlog-proof@v1"

// maxHashes is the most hashes of an inclusion proof: the height of the largest tree.
const maxHashes = 63

// ErrMalformed means that a file or proof does not have the documented form.
var ErrMalformed = errors.New("the proof is malformed")

// Entry returns the log's entry for a statement: its SHA-256. The log holds and publishes nothing else of it.
func Entry(statement []byte) []byte {
	sum := sha256.Sum256(statement)
	return sum[:]
}

// Proof is the inclusion proof of one entry with the checkpoint that it leads to.
type Proof struct {
	Index      int64
	Hashes     tlog.RecordProof
	Checkpoint []byte // a signed note, with all its signatures
	Extra      []byte // a time stamp (RFC 3161) of the checkpoint, or nil
}

// Format returns the proof in the format tlog-proof.
func (p Proof) Format() []byte {
	var b bytes.Buffer
	b.WriteString(magic + "\n")
	if len(p.Extra) > 0 {
		b.WriteString("extra " + base64.StdEncoding.EncodeToString(p.Extra) + "\n")
	}
	fmt.Fprintf(&b, "index %d\n", p.Index)
	for _, h := range p.Hashes {
		b.WriteString(h.String() + "\n")
	}
	b.WriteString("\n")
	b.Write(p.Checkpoint)
	return b.Bytes()
}

// Parse reads a proof. It accepts only what Format writes.
// Errors: ErrMalformed.
func Parse(file []byte) (Proof, error) {
	head, checkpoint, found := bytes.Cut(file, []byte("\n\n"))
	if !found {
		return Proof{}, fmt.Errorf("%w: the empty line before the checkpoint is missing", ErrMalformed)
	}
	lines := strings.Split(string(head), "\n")
	if lines[0] != magic {
		return Proof{}, fmt.Errorf("%w: it does not begin with %s", ErrMalformed, magic)
	}
	p, lines := Proof{Checkpoint: checkpoint}, lines[1:]
	var err error
	if extra, ok := cut(lines, "extra "); ok {
		if p.Extra, err = text.Base64(extra); err != nil || len(p.Extra) == 0 {
			return Proof{}, fmt.Errorf("%w: the line extra is not base64", ErrMalformed)
		}
		lines = lines[1:]
	}
	index, ok := cut(lines, "index ")
	if !ok {
		return Proof{}, fmt.Errorf("%w: the line index is missing", ErrMalformed)
	}
	if p.Index, err = decimal(index); err != nil {
		return Proof{}, err
	}
	if lines = lines[1:]; len(lines) > maxHashes {
		return Proof{}, fmt.Errorf("%w: too many hashes", ErrMalformed)
	}
	for _, line := range lines {
		h, err := text.Base64(line)
		if err != nil || len(h) != tlog.HashSize {
			return Proof{}, fmt.Errorf("%w: %q is not a hash", ErrMalformed, line)
		}
		p.Hashes = append(p.Hashes, tlog.Hash(h))
	}
	return p, nil
}

func cut(lines []string, prefix string) (string, bool) {
	if len(lines) == 0 {
		return "", false
	}
	return strings.CutPrefix(lines[0], prefix)
}

// decimal reads a number that is not negative and has no leading zeros.
func decimal(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, fmt.Errorf("%w: %q is not a number", ErrMalformed, s)
	}
	return n, nil
}

// Join returns the file of a statement and its proof: the statement, an empty line, the proof.
func Join(statement []byte, p Proof) []byte {
	return append(append(append([]byte{}, statement...), '\n'), p.Format()...)
}

// Split returns the statement of a file, which ends before the first empty line, and its proof.
// Errors: ErrMalformed.
func Split(file []byte) (statement []byte, p Proof, err error) {
	i := bytes.Index(file, []byte("\n\n"))
	if i < 0 {
		return nil, Proof{}, fmt.Errorf("%w: the empty line after the statement is missing", ErrMalformed)
	}
	p, err = Parse(file[i+2:])
	return file[:i+1], p, err
}
