// Tests of the MIME filter.

package transfer

import (
	"strings"
	"testing"
)

func TestValidMIMERange(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxMIMEName)
	for in, want := range map[string]bool{
		"image/*": true, "image/png": true, "application/vnd.oasis.opendocument.text": true, "a/b+c": true, long + "/" + long: true,
		"": false, "image": false, "image/": false, "/png": false, "*/*": false, "*/png": false, "image/*x": false, "image/png/x": false,
		"image/png\n": false, "Image/png": false, "image /png": false, "x" + long + "/*": false, "image/x" + long: false,
	} {
		if got := ValidMIMERange(in); got != want {
			t.Errorf("%q: %t", in, got)
		}
	}
}

// A filter refuses a file when the type of its name is not allowed, or when its content contradicts that type.
func TestMIMEFilterAllowsContent(t *testing.T) {
	t.Parallel()
	const (
		exe  = "MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff\x00\x00"
		pdf  = "%PDF-1.7\n1 0 obj\n"
		png  = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
		m4a  = "\x00\x00\x00\x20ftypM4A \x00\x00\x00\x00M4A mp42isom"
		mp4  = "\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2avc1"
		mail = "Received: from a by b; Sun, 22 Nov 2026 09:00:00 +0000\r\nFrom: ann@example.com\r\n\r\nHello\r\n"
		odd  = "\x01\x02\x03\x04\xfe\xff\x00\x00"
		zip  = "PK\x03\x04\x14\x00\x00\x00\x08\x00"
	)
	for _, c := range []struct {
		filter, name, head string
		want               bool
	}{
		{"text/csv", "a.csv", "name;age\nAnn;30\n", true},
		{"text/css", "a.css", "body { color: red }", true},
		{"text/markdown", "a.md", "# Title\n", true},
		{"image/*", "a.heic", odd, true},
		{"image/*", "a.heic", mp4, true},
		{"audio/*", "a.m4a", m4a, true},
		{"audio/mp4", "a.m4a", mp4, true},
		{"application/rtf", "a.rtf", `{\rtf1\ansi Hello}`, true},
		{"text/rtf", "a.rtf", `{\rtf1\ansi Hello}`, true},
		{"message/rfc822", "a.eml", mail, true},
		{"application/pdf", "a.pdf", pdf, true},
		{"application/pdf", "a.PDF", odd, true},
		{"image/jpeg,image/png", "a.jpg", png, true},
		{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "a.docx", zip, true},
		{"application/pdf", "a.pdf", exe, false},
		{"application/pdf", "a.pdf", "just text, long enough to be told from a binary", false},
		{"image/*", "a.png", "<html><body>no picture</body></html>", false},
		{"text/css", "a.css", exe, false},
		{"application/pdf", "a.exe", odd, false},
		{"", "a.exe", exe, true},
	} {
		var filter MIMEFilter
		if c.filter != "" {
			filter = strings.Split(c.filter, ",")
		}
		if got := filter.AllowsContent([]byte(c.head), c.name); got != c.want {
			t.Errorf("%s takes %s that begins with %.8q: %t", c.filter, c.name, c.head, got)
		}
	}
}

// The types of names do not depend on the machine.
func TestTypeByName(t *testing.T) {
	t.Parallel()
	for extension, mimeType := range typesByExtension {
		if extension != strings.ToLower(extension) || !strings.HasPrefix(extension, ".") || !ValidMIMERange(mimeType) {
			t.Errorf("%s: %s", extension, mimeType)
		}
	}
	for name, want := range map[string]string{
		"a.CSV": "text/csv", "b.tar.gz": "application/gzip", "c.heic": "image/heic", "d.m4a": "audio/mp4", "e.eml": "message/rfc822",
		"f": octetStream, "g.unknown": octetStream, "": octetStream,
	} {
		if got := TypeByName(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
