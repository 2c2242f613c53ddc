// The client of clamd: which answers mean malware, and which a limit.

package scan

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// clamdMost is the size from which clamd skips a file, whatever its configuration says (MaxFileSize is cut to 2 GiB - 1).
	clamdMost = 2<<30 - 1
	// clamdChunk is how many bytes go in one chunk of INSTREAM.
	clamdChunk = 256 << 10
	// maxReply bounds an answer of clamd.
	maxReply = 4 << 10
)

// clamd is a client of the ClamAV daemon. Each command has a connection of its own.
type clamd struct {
	dialer
	limit int64
}

func newClamd(d dialer, limit int64) clamd { return clamd{d, min(limit, clamdMost)} }

// Version implements Scanner.
func (c clamd) Version(ctx context.Context) (Version, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	conn, err := c.dial(ctx)
	if err != nil {
		return Version{}, err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "zVERSION\x00"); err != nil {
		return Version{}, fmt.Errorf("ask clamd for its version: %w", err)
	}
	reply, err := readReply(conn)
	if err != nil {
		return Version{}, err
	}
	return parseVersion(reply)
}

// parseVersion parses "ClamAV 1.0.9/27500/Mon Jan 6 09:30:00 2025". Without official signatures the answer ends after the engine.
func parseVersion(reply string) (Version, error) {
	engine, signatures, _ := strings.Cut(reply, "/")
	if !strings.HasPrefix(engine, "ClamAV ") {
		return Version{}, fmt.Errorf("%w: %q", ErrProtocol, name(reply))
	}
	return Version{Engine: name(engine), Signatures: name(signatures)}, nil
}

// Scan implements Scanner.
func (c clamd) Scan(ctx context.Context, r io.Reader, size int64) (Verdict, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return Verdict{}, err
	}
	defer conn.Close()
	source := &source{r: io.LimitReader(r, min(size, c.limit))}
	sent := sendChunks(conn, source)
	if source.err != nil {
		return Verdict{}, fmt.Errorf("read the file for clamd: %w", source.err)
	}
	// clamd answers and closes while bytes still arrive when they are over StreamMaxLength: the answer says more than the failed write.
	reply, err := readReply(conn)
	if err != nil {
		return Verdict{}, errors.Join(sent, err)
	}
	v, err := parseVerdict(reply)
	if err != nil {
		return Verdict{}, err
	}
	if sent != nil && v.State == Clean {
		return Verdict{}, sent
	}
	return partlyOver(v, size, c.limit), nil
}

// partlyOver returns the verdict about a file of which only the first limit bytes were sent.
func partlyOver(v Verdict, size, limit int64) Verdict {
	if v.State == Clean && size > limit {
		v.State, v.Finding = Partly, "Size.OverLimit"
	}
	return v
}

// source keeps the error of a reader apart from that of the connection.
type source struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// sendChunks sends the command INSTREAM and the bytes of r: each chunk after its length, and an empty one at the end.
func sendChunks(w io.Writer, r io.Reader) error {
	if _, err := io.WriteString(w, "zINSTREAM\x00"); err != nil {
		return fmt.Errorf("send to clamd: %w", err)
	}
	chunk := make([]byte, 4+clamdChunk)
	for {
		n, err := io.ReadFull(r, chunk[4:])
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return err
		}
		binary.BigEndian.PutUint32(chunk, uint32(n))
		message := chunk[:4+n]
		if ended && n > 0 {
			message = append(message[:4+n:4+n], 0, 0, 0, 0)
		}
		if _, err := w.Write(message); err != nil {
			return fmt.Errorf("send to clamd: %w", err)
		}
		if ended {
			return nil
		}
	}
}

// readReply reads an answer up to its zero byte.
func readReply(r io.Reader) (string, error) {
	var reply []byte
	part := make([]byte, 512)
	for len(reply) < maxReply {
		n, err := r.Read(part)
		reply = append(reply, part[:n]...)
		if end := bytes.IndexByte(reply, 0); end >= 0 {
			return string(reply[:end]), nil
		}
		if err != nil {
			return "", fmt.Errorf("read the answer of clamd: %w", err)
		}
	}
	return "", fmt.Errorf("%w: no end within %d bytes", ErrProtocol, maxReply)
}

// parseVerdict parses an answer to INSTREAM. Names of limits and of encryption are no malware: AlertExceedsMax and
// AlertEncryptedArchive of clamd.conf report them.
func parseVerdict(reply string) (Verdict, error) {
	text := strings.TrimSpace(strings.TrimPrefix(reply, "stream: "))
	switch found, isFound := strings.CutSuffix(text, " FOUND"); {
	case text == "OK":
		return Verdict{State: Clean}, nil
	case strings.HasPrefix(text, "INSTREAM size limit exceeded"):
		return Verdict{State: Partly, Finding: "StreamMaxLength"}, nil
	case isFound:
		return judge(name(found)), nil
	}
	return Verdict{}, fmt.Errorf("%w: %q", ErrProtocol, name(reply))
}

// judge returns the verdict that a name of clamd stands for. Some versions report a limit without a name.
func judge(finding string) Verdict {
	v := Verdict{State: Infected, Finding: finding}
	switch {
	case strings.HasPrefix(finding, "Heuristics.Limits.Exceeded") || finding == "(null)":
		v.State = Partly
	case strings.HasPrefix(finding, "Heuristics.Encrypted."):
		v.State, v.Content = Partly, []Rule{Encrypted}
	case strings.HasPrefix(finding, "Heuristics.OLE2.ContainsMacros"):
		v.State, v.Content = Clean, []Rule{Macros}
	}
	return v
}

// probeLevels is deeper than the deepest MaxRecursion that clamd takes.
const probeLevels = 110

// Warnings implements Scanner. It sends a file whose nesting is over every limit: a daemon that calls it clean does not report limits.
func (c clamd) Warnings(ctx context.Context) ([]string, error) {
	probe, err := nestedZip(probeLevels)
	if err != nil {
		return nil, err
	}
	v, err := c.Scan(ctx, bytes.NewReader(probe), int64(len(probe)))
	if err != nil {
		return nil, err
	}
	if v.State != Clean {
		return nil, nil
	}
	return []string{"clamd calls an archive clean that it has not opened to the end: set AlertExceedsMax yes in clamd.conf"}, nil
}

func nestedZip(levels int) ([]byte, error) {
	content := []byte("probe")
	for range levels {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		f, err := w.CreateHeader(&zip.FileHeader{Name: "a.zip", Method: zip.Store})
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(content); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		content = b.Bytes()
	}
	return content, nil
}
