// The client of ICAP services (RFC 3507): requests, previews, and what their answers say of a file.

package scan

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
)

const (
	maxHead    = 64 << 10  // bytes of a head of ICAP or HTTP in an answer
	maxPreview = 64 << 10  // bytes of a preview, whatever the service asks for
	icapChunk  = 256 << 10 // bytes of a chunk
)

// icap is a client of an ICAP service (RFC 3507). Each request has a connection of its own.
type icap struct {
	dialer
	url, host string
	limit     int64
}

func newICAP(d dialer, u *url.URL, limit int64) icap { return icap{d, u.String(), u.Host, limit} }

// icapHead is the first part of an answer.
type icapHead struct {
	status int
	header textproto.MIMEHeader
}

// Version implements Scanner. The ISTag changes with the signatures (RFC 3507, section 4.7).
func (c icap) Version(ctx context.Context) (Version, error) {
	head, err := c.options(ctx)
	if err != nil {
		return Version{}, err
	}
	return c.version(head), nil
}

func (c icap) version(head icapHead) Version {
	engine := name(head.header.Get("Service"))
	if engine == "" {
		engine = "ICAP"
	}
	return Version{Engine: engine, Signatures: name(strings.Trim(head.header.Get("Istag"), `"`))}
}

// options asks what the service can do.
func (c icap) options(ctx context.Context) (icapHead, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	conn, err := c.dial(ctx)
	if err != nil {
		return icapHead{}, err
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "OPTIONS %s ICAP/1.0\r\nHost: %s\r\nConnection: close\r\nEncapsulated: null-body=0\r\n\r\n", c.url,
		c.host); err != nil {
		return icapHead{}, fmt.Errorf("ask the ICAP service: %w", err)
	}
	head, err := readHead(bufio.NewReader(conn))
	if err != nil {
		return icapHead{}, err
	}
	if head.status != 200 {
		return icapHead{}, fmt.Errorf("%w: OPTIONS was answered with %d", ErrProtocol, head.status)
	}
	if methods := head.header.Get("Methods"); methods != "" && !strings.Contains(strings.ToUpper(methods), "RESPMOD") {
		return icapHead{}, fmt.Errorf("%w: the service has no RESPMOD", ErrProtocol)
	}
	return head, nil
}

// Warnings implements Scanner.
func (c icap) Warnings(ctx context.Context) ([]string, error) {
	_, err := c.options(ctx)
	return nil, err
}

// Scan implements Scanner: the file goes as the body of a response to a GET, after a preview if the service wants one. 204 means that
// the service has nothing to change. A service may also send the same bytes back.
func (c icap) Scan(ctx context.Context, r io.Reader, size int64) (Verdict, error) {
	options, err := c.options(ctx)
	if err != nil {
		return Verdict{}, err
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return Verdict{}, err
	}
	defer conn.Close()
	length := min(size, c.limit)
	x := exchange{conn: conn, in: bufio.NewReader(conn), source: &source{r: io.LimitReader(r, length)}, sent: sha256.New(), left: length}
	v, err := x.run(c.request(length, previewOf(options, length)), previewOf(options, length))
	if x.source.err != nil {
		return Verdict{}, fmt.Errorf("read the file for the ICAP service: %w", x.source.err)
	}
	if err != nil {
		return Verdict{}, err
	}
	return partlyOver(v, size, c.limit), nil
}

// previewOf returns how many bytes the service wants to see first, -1 when it wants no preview.
func previewOf(options icapHead, size int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(options.header.Get("Preview")), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return min(n, maxPreview, size)
}

// request returns the heads of a RESPMOD request for a body of size bytes.
func (c icap) request(size, preview int64) string {
	get := "GET http://consign.invalid/file HTTP/1.1\r\nHost: consign.invalid\r\n\r\n"
	response := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n", size)
	var b strings.Builder
	fmt.Fprintf(&b, "RESPMOD %s ICAP/1.0\r\nHost: %s\r\nAllow: 204\r\nConnection: close\r\n", c.url, c.host)
	if preview >= 0 {
		fmt.Fprintf(&b, "Preview: %d\r\n", preview)
	}
	fmt.Fprintf(&b, "Encapsulated: req-hdr=0, res-hdr=%d, res-body=%d\r\n\r\n", len(get), len(get)+len(response))
	return b.String() + get + response
}

// exchange is one RESPMOD request with its answer.
type exchange struct {
	conn   io.WriteCloser
	in     *bufio.Reader
	source *source
	sent   hash.Hash // of the bytes that were sent
	left   int64     // bytes that were not sent
}

func (x *exchange) run(request string, preview int64) (Verdict, error) {
	if _, err := io.WriteString(x.conn, request); err != nil {
		return Verdict{}, fmt.Errorf("send to the ICAP service: %w", err)
	}
	if preview >= 0 {
		whole := preview == x.left
		if err := x.send(preview, whole); err != nil {
			return Verdict{}, err
		}
		head, err := readHead(x.in)
		if err != nil {
			return Verdict{}, err
		}
		if head.status != 100 {
			return x.verdict(head, whole)
		}
		if whole {
			return Verdict{}, fmt.Errorf("%w: 100 after the whole content", ErrProtocol)
		}
	}
	return x.concurrently()
}

// concurrently sends the rest and reads the answer at the same time: a service may send bytes back before it has all.
func (x *exchange) concurrently() (Verdict, error) {
	var sent error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		sent = x.send(x.left, false)
	}()
	defer func() { <-ended }() // the file is not read after the return
	defer x.conn.Close()       // ends a write
	head, err := readHead(x.in)
	if err != nil {
		return Verdict{}, err
	}
	if v, found := infection(head.header); found {
		return v, nil
	}
	var judge func() Verdict
	switch head.status {
	case 200:
		if judge, err = x.received(head); err != nil {
			return Verdict{}, err
		}
	case 204:
		judge = func() Verdict { return Verdict{State: Clean} }
	default:
		return Verdict{}, unexpected(head)
	}
	<-ended // an answer before all bytes were sent is about a part
	return judge(), sent
}

// send sends the next n bytes as chunks and the last chunk. ieof tells that a preview is the whole content.
func (x *exchange) send(n int64, ieof bool) error {
	buffer := make([]byte, min(n, icapChunk))
	for n > 0 {
		part := buffer[:min(n, icapChunk)]
		if _, err := io.ReadFull(x.source, part); err != nil {
			return fmt.Errorf("read the file for the ICAP service: %w", err)
		}
		x.sent.Write(part)
		message := append(fmt.Appendf(make([]byte, 0, len(part)+16), "%x\r\n", len(part)), part...)
		if _, err := x.conn.Write(append(message, "\r\n"...)); err != nil {
			return fmt.Errorf("send to the ICAP service: %w", err)
		}
		n -= int64(len(part))
		x.left -= int64(len(part))
	}
	end := "0\r\n\r\n"
	if ieof {
		end = "0; ieof\r\n\r\n"
	}
	if _, err := io.WriteString(x.conn, end); err != nil {
		return fmt.Errorf("send to the ICAP service: %w", err)
	}
	return nil
}

// verdict returns the verdict of an answer after which nothing is sent. whole: the service has seen all bytes.
func (x *exchange) verdict(head icapHead, whole bool) (Verdict, error) {
	if v, found := infection(head.header); found {
		return v, nil
	}
	switch head.status {
	case 204:
		if !whole { // it has judged by the preview
			return Verdict{State: Partly, Finding: "ICAP.PreviewOnly"}, nil
		}
		return Verdict{State: Clean}, nil
	case 200:
		same, err := x.received(head)
		if err != nil {
			return Verdict{}, err
		}
		return same(), nil
	}
	return Verdict{}, unexpected(head)
}

func unexpected(head icapHead) error {
	return fmt.Errorf("%w: RESPMOD was answered with %d", ErrProtocol, head.status)
}

// received reads the response in a 200. The function returned compares its body with what was sent: a service that sends something
// else has blocked the file.
func (x *exchange) received(head icapHead) (func() Verdict, error) {
	blocked := func() Verdict { return Verdict{State: Infected, Finding: replaced(head.header)} }
	encapsulated := strings.ReplaceAll(strings.ToLower(head.header.Get("Encapsulated")), " ", "")
	if strings.HasPrefix(encapsulated, "req-hdr") {
		if _, err := readLines(x.in); err != nil {
			return nil, err
		}
	}
	if !strings.Contains(encapsulated, "res-hdr") || !strings.Contains(encapsulated, "res-body") {
		return blocked, nil
	}
	lines, err := readLines(x.in)
	if err != nil {
		return nil, err
	}
	if fields := strings.Fields(string(lines)); len(fields) < 2 || fields[1] != "200" {
		return blocked, nil
	}
	got := sha256.New()
	if _, err := io.Copy(got, httputil.NewChunkedReader(x.in)); err != nil {
		return nil, fmt.Errorf("read the answer of the ICAP service: %w", err)
	}
	return func() Verdict {
		if x.left > 0 || !bytes.Equal(got.Sum(nil), x.sent.Sum(nil)) {
			return blocked()
		}
		return Verdict{State: Clean}
	}, nil
}

// replaced names a finding of a service that has sent other content without a name.
func replaced(h textproto.MIMEHeader) string {
	if said := name(h.Get("X-Response-Desc")); said != "" {
		return said
	}
	return "ICAP.ContentReplaced"
}

// infection returns what the headers of an answer say. Type 0 is malware; 1 and 2 are violations of a policy, as of encrypted or too
// deep archives.
func infection(h textproto.MIMEHeader) (Verdict, bool) {
	found, virus := h.Get("X-Infection-Found"), name(h.Get("X-Virus-Id"))
	if found == "" && virus == "" && h.Get("X-Violations-Found") == "" {
		return Verdict{}, false
	}
	v := Verdict{State: Infected, Finding: virus}
	for part := range strings.SplitSeq(found, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch strings.ToLower(key) {
		case "type":
			if value = strings.TrimSpace(value); value == "1" || value == "2" {
				v.State = Partly
			}
		case "threat":
			if threat := name(value); threat != "" {
				v.Finding = threat
			}
		}
	}
	if v.Finding == "" {
		v.Finding = "ICAP.Unnamed"
	}
	if v.State == Partly && strings.Contains(strings.ToLower(v.Finding), "encrypt") {
		v.Content = []Rule{Encrypted}
	}
	return v, true
}

// readHead reads the status line and the headers of an ICAP answer.
func readHead(r *bufio.Reader) (icapHead, error) {
	lines, err := readLines(r)
	if err != nil {
		return icapHead{}, err
	}
	in := textproto.NewReader(bufio.NewReader(bytes.NewReader(lines)))
	status, err := in.ReadLine()
	if err != nil {
		return icapHead{}, fmt.Errorf("read the answer of the ICAP service: %w", err)
	}
	fields := strings.Fields(status)
	if len(fields) < 2 || !strings.HasPrefix(fields[0], "ICAP/1.") || len(fields[1]) != 3 {
		return icapHead{}, fmt.Errorf("%w: %q", ErrProtocol, name(status))
	}
	code, err := strconv.Atoi(fields[1])
	if err != nil || code < 100 {
		return icapHead{}, fmt.Errorf("%w: %q", ErrProtocol, name(status))
	}
	header, err := in.ReadMIMEHeader()
	if err != nil {
		return icapHead{}, fmt.Errorf("%w: malformed header", ErrProtocol)
	}
	return icapHead{code, header}, nil
}

// readLines reads lines up to an empty one, at most maxHead bytes.
func readLines(r *bufio.Reader) ([]byte, error) {
	var lines []byte
	for {
		part, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		lines = append(lines, part...)
		switch {
		case err != nil:
			return nil, fmt.Errorf("read the answer of the ICAP service: %w", err)
		case len(lines) > maxHead:
			return nil, fmt.Errorf("%w: a head of more than %d bytes", ErrProtocol, maxHead)
		case bytes.HasSuffix(lines, []byte("\n\r\n")) || bytes.HasSuffix(lines, []byte("\n\n")) || bytes.Equal(lines, []byte("\r\n")) ||
			bytes.Equal(lines, []byte("\n")):
			return lines, nil
		}
	}
}
