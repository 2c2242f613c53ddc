package scanner

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"net/textproto"
	"strings"
	"testing"
)

// ICAP is a service that speaks OPTIONS and RESPMOD.
type ICAP struct {
	Preview  string // asked for in OPTIONS; empty: none
	Early    bool   // answers 204 after the preview, without having seen the rest
	Echo     bool   // sends the content back instead of a 204
	Replaces bool   // sends another page for Eicar, without headers about it
	Headers  string // of the answer about Eicar
}

// Start serves until the test ends and returns the service's URL. Change nothing afterwards.
func (s ICAP) Start(t testing.TB) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				s.answer(conn)
			}()
		}
	}()
	return "icap://" + l.Addr().String() + "/avscan"
}

const icapTag = "ISTag: \"sig-7\"\r\n"

func (s ICAP) answer(conn net.Conn) {
	in := bufio.NewReader(conn)
	r := textproto.NewReader(in)
	request, err := r.ReadLine()
	if err != nil {
		return
	}
	header, err := r.ReadMIMEHeader()
	if err != nil {
		return
	}
	if strings.HasPrefix(request, "OPTIONS ") {
		fmt.Fprintf(conn, "ICAP/1.0 200 OK\r\nMethods: RESPMOD\r\nService: Test scanner\r\n%sAllow: 204\r\nEncapsulated: null-body=0\r\n",
			icapTag)
		if s.Preview != "" {
			fmt.Fprintf(conn, "Preview: %s\r\n", s.Preview)
		}
		fmt.Fprint(conn, "\r\n")
		return
	}
	for range 2 { // the encapsulated heads
		if _, err := r.ReadLine(); err != nil {
			return
		}
		if _, err := r.ReadMIMEHeader(); err != nil {
			return
		}
	}
	content, whole, err := readBody(in, header.Get("Preview") != "")
	if err != nil {
		return
	}
	if !whole && s.Early {
		fmt.Fprintf(conn, "ICAP/1.0 204 No Content\r\n%s\r\n", icapTag)
		return
	}
	if !whole {
		fmt.Fprint(conn, "ICAP/1.0 100 Continue\r\n\r\n")
		rest, _, err := readBody(in, false)
		if err != nil {
			return
		}
		content = append(content, rest...)
	}
	s.judge(conn, content)
}

func (s ICAP) judge(w io.Writer, content []byte) {
	found := bytes.Contains(content, Eicar)
	headers, status := "", "200 OK"
	switch {
	case found && s.Replaces:
		content, status = []byte("<p>blocked</p>"), "403 Forbidden"
	case found:
		headers, status = s.Headers, "403 Forbidden"
	case !s.Echo:
		fmt.Fprintf(w, "ICAP/1.0 204 No Content\r\n%s\r\n", icapTag)
		return
	}
	head := "HTTP/1.1 " + status + "\r\nContent-Type: text/html\r\n\r\n"
	fmt.Fprintf(w, "ICAP/1.0 200 OK\r\n%s%sEncapsulated: res-hdr=0, res-body=%d\r\n\r\n%s", icapTag, headers, len(head), head)
	out := httputil.NewChunkedWriter(w)
	out.Write(content) //nolint:errcheck // the client may have left
	out.Close()
	fmt.Fprint(w, "\r\n")
}

// readBody reads chunks up to the last one. whole is false for a preview that more follows.
func readBody(in *bufio.Reader, preview bool) (content []byte, whole bool, err error) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, false, err
		}
		var n int64
		if _, err := fmt.Sscanf(line, "%x", &n); err != nil {
			return nil, false, err
		}
		part := make([]byte, n+2)
		if _, err := io.ReadFull(in, part); err != nil {
			return nil, false, err
		}
		if n == 0 {
			return content, !preview || strings.Contains(line, "ieof"), nil
		}
		content = append(content, part[:n]...)
	}
}
