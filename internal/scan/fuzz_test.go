package scan

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"strings"
	"testing"
)

// FuzzClamdReply: no answer is clean but "OK", and no name is longer than its bound.
func FuzzClamdReply(f *testing.F) {
	for _, seed := range []string{"stream: OK", "stream: Eicar FOUND", "INSTREAM size limit exceeded. ERROR", "stream: (null) FOUND", "",
		" FOUND", "OK\n", "UNKNOWN COMMAND"} {
		f.Add([]byte(seed + "\x00"))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		reply, err := readReply(bytes.NewReader(raw))
		if err != nil {
			return
		}
		v, err := parseVerdict(reply)
		if err == nil && v.State == Clean && !strings.Contains(reply, "OK") && !strings.Contains(reply, "ContainsMacros") ||
			len(v.Finding) > maxName {
			t.Errorf("%q is %v", reply, v)
		}
		if version, err := parseVersion(reply); err == nil && len(version.Engine)+len(version.Signatures) > 2*maxName {
			t.Errorf("%q is %v", reply, version)
		}
	})
}

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

// FuzzICAPAnswer: an answer is clean only as 204, or as 200 with the bytes that were sent.
func FuzzICAPAnswer(f *testing.F) {
	f.Add([]byte("ICAP/1.0 204 No Content\r\nISTag: \"x\"\r\n\r\n"), false)
	f.Add([]byte("ICAP/1.0 100 Continue\r\n\r\nICAP/1.0 200 OK\r\nX-Virus-ID: a\r\n\r\n"), true)
	f.Add([]byte("ICAP/1.0 200 OK\r\nEncapsulated: res-hdr=0, res-body=19\r\n\r\nHTTP/1.1 200 OK\r\n\r\n7\r\ncontent\r\n0\r\n\r\n"), false)
	f.Fuzz(func(t *testing.T, raw []byte, preview bool) {
		const content = "content"
		x := exchange{conn: discard{io.Discard}, in: bufio.NewReader(bytes.NewReader(raw)), source: &source{r: strings.NewReader(content)},
			sent: sha256.New(), left: int64(len(content))}
		first := int64(-1)
		if preview {
			first = 3
		}
		v, err := x.run("", first)
		if err == nil && v.State == Clean && !bytes.Contains(raw, []byte(" 204")) && !bytes.Contains(raw, []byte(" 200")) ||
			len(v.Finding) > maxName {
			t.Errorf("%q is %v", raw, v)
		}
	})
}

// FuzzInspect: no file makes Inspect fail or panic.
func FuzzInspect(f *testing.F) {
	nested, err := nestedZip(3)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(nested)
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, err := Inspect(context.Background(), bytes.NewReader(raw), int64(len(raw))); err != nil {
			t.Error(err)
		}
	})
}
