// Verifies a receipt's proof: the signed checkpoint, its witnesses, and the way from the entry to its root.

package proof

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/consign-dev/consign/internal/text"
)

// The reasons why Verify refuses a proof.
var (
	ErrUnsigned = errors.New("no key that you trust has signed the checkpoint")
	ErrForged   = errors.New("a signature of the checkpoint is wrong")
	ErrNotIn    = errors.New("the statement is not in the log that the checkpoint describes")
)

// Tree is what a checkpoint says.
type Tree struct {
	Origin string
	tlog.Tree
}

// CheckpointText returns the text of a checkpoint, which its signatures cover.
func CheckpointText(t Tree) string {
	return fmt.Sprintf("%s\n%d\n%s\n", t.Origin, t.N, t.Hash)
}

// ParseCheckpointText reads the text of a checkpoint. Lines of extensions are refused: our logs write none.
// Errors: ErrMalformed.
func ParseCheckpointText(s string) (Tree, error) {
	lines := strings.Split(s, "\n")
	if len(lines) != 4 || lines[0] == "" || lines[3] != "" {
		return Tree{}, fmt.Errorf("%w: a checkpoint has three lines", ErrMalformed)
	}
	size, err := decimal(lines[1])
	if err != nil {
		return Tree{}, err
	}
	root, err := text.Base64(lines[2])
	if err != nil || len(root) != tlog.HashSize {
		return Tree{}, fmt.Errorf("%w: %q is not a hash", ErrMalformed, lines[2])
	}
	return Tree{Origin: lines[0], Tree: tlog.Tree{N: size, Hash: tlog.Hash(root)}}, nil
}

// Policy is whom a verifier trusts.
type Policy struct {
	Logs      []note.Verifier // keys of logs; the name of each is the origin of its log
	Witnesses []*Cosigner
	Quorum    int // how many of the witnesses must have cosigned
}

// Verified is what a verified checkpoint or proof says.
type Verified struct {
	Tree
	Index        int64         // of the entry; 0 for a checkpoint alone
	SignedBy     []string      // the keys of the log, as name+hash
	Cosignatures []Cosignature // of known witnesses
	Unknown      int           // signatures of unknown keys, which prove nothing
	Text         string        // of the checkpoint
	Extra        []byte        // of the proof; not verified
}

// Cosignature is a witness's statement that it saw the checkpoint, and no contradicting one, at that time.
type Cosignature struct {
	Witness string
	At      time.Time
}

// OpenCheckpoint verifies the signatures of a checkpoint.
// Errors: ErrMalformed, ErrUnsigned, ErrForged.
func OpenCheckpoint(signed []byte, policy Policy) (Verified, error) {
	if err := strictSignatures(string(signed)); err != nil {
		return Verified{}, err
	}
	known := append([]note.Verifier{}, policy.Logs...)
	for _, w := range policy.Witnesses {
		known = append(known, w)
	}
	n, err := note.Open(signed, note.VerifierList(known...))
	switch {
	case errors.As(err, new(*note.UnverifiedNoteError)):
		return Verified{}, ErrUnsigned
	case errors.As(err, new(*note.InvalidSignatureError)):
		return Verified{}, fmt.Errorf("%w: %w", ErrForged, err)
	case err != nil:
		return Verified{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	tree, err := ParseCheckpointText(n.Text)
	if err != nil {
		return Verified{}, err
	}
	v := Verified{Tree: tree, Text: n.Text, Unknown: len(n.UnverifiedSigs)}
	for _, s := range n.Sigs {
		v.add(s, policy)
	}
	if len(v.SignedBy) == 0 {
		return Verified{}, ErrUnsigned
	}
	if len(v.Cosignatures) < policy.Quorum {
		return Verified{}, fmt.Errorf("%w: %d of %d required witnesses have cosigned", ErrUnsigned, len(v.Cosignatures), policy.Quorum)
	}
	return v, nil
}

// add records a valid signature of a known key. A log's key counts only for its own origin.
func (v *Verified) add(s note.Signature, policy Policy) {
	for _, l := range policy.Logs {
		if l.Name() == s.Name && l.KeyHash() == s.Hash && s.Name == v.Origin {
			v.SignedBy = append(v.SignedBy, fmt.Sprintf("%s+%08x", s.Name, s.Hash))
		}
	}
	for _, w := range policy.Witnesses {
		if w.Name() == s.Name && w.KeyHash() == s.Hash {
			v.Cosignatures = append(v.Cosignatures, Cosignature{Witness: s.Name, At: cosignedAt(s.Base64)})
		}
	}
}

// strictSignatures refuses base64 with unused bits set, which package note accepts: each signature has one spelling.
func strictSignatures(signed string) error {
	i := strings.LastIndex(signed, "\n\n")
	if i < 0 {
		return fmt.Errorf("%w: the checkpoint has no signatures", ErrMalformed)
	}
	for line := range strings.Lines(signed[i+2:]) {
		at := strings.LastIndexByte(line, ' ')
		if _, err := text.Base64(strings.TrimSuffix(line[at+1:], "\n")); err != nil {
			return fmt.Errorf("%w: a signature is not base64", ErrMalformed)
		}
	}
	return nil
}

// Verify checks that the statement with this entry is in the log, as of the checkpoint of the proof.
// Errors: ErrMalformed, ErrUnsigned, ErrForged, ErrNotIn.
func Verify(p Proof, entry []byte, policy Policy) (Verified, error) {
	v, err := OpenCheckpoint(p.Checkpoint, policy)
	if err != nil {
		return Verified{}, err
	}
	if p.Index >= v.N {
		return Verified{}, ErrNotIn
	}
	if err := tlog.CheckRecord(p.Hashes, v.N, v.Hash, p.Index, tlog.RecordHash(entry)); err != nil {
		return Verified{}, ErrNotIn
	}
	v.Index, v.Extra = p.Index, p.Extra
	return v, nil
}
