// Checks a file of lines: one JSON object a line, alone or at the end of a line that a syslog server has written.

package stream

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Checked is what Verify found.
type Checked struct {
	First, Last int64 // sequences; 0: no entry
	At          time.Time
	Repeated    int      // lines that are there more than once, as after a crash
	Restarts    []string // lines at which a new chain begins (Stream.Restart), in words
	hashes      [][sha256.Size]byte
}

// Broken says in a sentence where a chain is broken.
type Broken string

// Error implements error.
func (b Broken) Error() string { return string(b) }

// broken returns where the chain is broken.
func broken(sentence string, values ...any) error { return Broken(fmt.Sprintf(sentence, values...)) }

// Verify checks the chain of the lines in r.
// Errors: Broken; those of r.
func Verify(r io.Reader) (Checked, error) {
	var c Checked
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := c.line(n, lines.Text()); err != nil {
			return c, err
		}
	}
	err := lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = broken("A line is longer than any entry.")
	}
	return c, err
}

// line checks line n of the file.
func (c *Checked) line(n int, text string) error {
	_, text, ok := strings.Cut(strings.TrimSpace(text), `{"sequence":`)
	text = `{"sequence":` + text
	hashed, own, err := split(text)
	var f fields
	if !ok || err != nil || json.Unmarshal([]byte(text), &f) != nil || f.Sequence < 1 {
		return broken("Line %d is no entry, or was cut off.", n)
	}
	if sum := sha256.Sum256([]byte(hashed)); !bytes.Equal(sum[:], own) {
		return broken("Line %d, entry %d of %s, was changed: its hash is not that of its text.", n, f.Sequence, stamp(f.At))
	}
	hash := [sha256.Size]byte(own)
	unlike := f.Sequence == 1 && f.Previous == strings.Repeat("0", 2*sha256.Size) && c.Last > 0 && (c.First > 1 || c.hashes[0] != hash)
	if unlike {
		c.Restarts = append(c.Restarts, fmt.Sprintf("A new chain begins with line %d, of %s, after entry %d.", n, stamp(f.At), c.Last))
		c.Last, c.hashes = 0, nil
	}
	switch last := c.Last; {
	case last == 0:
		if f.Sequence == 1 && f.Previous != strings.Repeat("0", 2*sha256.Size) {
			return broken("Line %d, entry 1, names an entry before it.", n)
		}
		c.First = f.Sequence
	case f.Sequence < c.First:
		return broken("Line %d, entry %d, stands after entry %d.", n, f.Sequence, last)
	case f.Sequence <= last:
		if c.hashes[f.Sequence-c.First] != hash {
			return broken("Line %d, entry %d of %s, is there before with another text: one of them was forged, or the database was restored "+
				"from a backup.", n, f.Sequence, stamp(f.At))
		}
		c.Repeated++
		return nil
	case f.Sequence == last+2:
		return broken("Line %d: entry %d is missing.", n, last+1)
	case f.Sequence > last+1:
		return broken("Line %d: entries %d to %d are missing.", n, last+1, f.Sequence-1)
	case f.Previous != hex.EncodeToString(c.hashes[len(c.hashes)-1][:]):
		return broken("Line %d: entry %d does not continue entry %d: what stands before was replaced.", n, f.Sequence, last)
	}
	c.Last, c.At, c.hashes = f.Sequence, f.At, append(c.hashes, hash)
	return nil
}

// Compare compares the end of the chain with what the server has sent last.
// Errors: Broken.
func (c Checked) Compare(sent int64, hash []byte) error {
	switch {
	case c.Last < sent:
		return broken("The tail is missing: the last entry is %d of %s, and the server has sent %d.", c.Last, stamp(c.At), sent)
	case sent >= c.First && sent > 0 && !bytes.Equal(c.hashes[sent-c.First][:], hash):
		return broken("Entry %d is not the one that this server has sent: the file, from an earlier entry on, was forged, or is another "+
			"installation's.", sent)
	}
	return nil
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "no time"
	}
	return t.UTC().Format(time.RFC3339)
}
