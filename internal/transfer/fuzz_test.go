package transfer_test

import (
	"crypto/sha1" //nolint:gosec // its length
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/transfer"
)

// FuzzDigest checks that the digest of a header is one that the header contains.
func FuzzDigest(f *testing.F) {
	f.Add("sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:, sha-512=::")
	f.Add("sha-256=:AA==:")
	f.Fuzz(func(t *testing.T, header string) {
		sum, ok := transfer.ParseDigest(header)
		if sum != nil && (!ok || len(sum) != sha256.Size || !strings.Contains(header, base64.StdEncoding.EncodeToString(sum))) {
			t.Errorf("%q: %x, %v", header, sum, ok)
		}
	})
}

// FuzzKey checks that a key is either a uid or a vanity link, in one spelling.
func FuzzKey(f *testing.F) {
	for _, key := range []string{"ann", "019ABCDE-0000-7000-8000-000000000001", "a..b", "Ann.Smith", "../x", "ä",
		"{019abcde-0000-7000-8000-000000000001}"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := transfer.ParseKey(text)
		if err == nil {
			if (key.UID == "") == (key.Link == "") || key.UID+key.Link != strings.ToLower(text) {
				t.Errorf("%q: %+v", text, key)
			}
			if again, err := transfer.ParseKey(key.UID + key.Link); err != nil || again != key {
				t.Errorf("%q: %+v, then %+v, %v", text, key, again, err)
			}
		}
		if link, ok := transfer.ParseVanityLink(text); ok {
			if got, err := transfer.ParseKey(link); err != nil || got.Link != link {
				t.Errorf("link %q: %+v, %v", link, got, err)
			}
		}
	})
}

// FuzzMIME checks that the filter reads any content and name, and that no type leaves its header.
func FuzzMIME(f *testing.F) {
	f.Add([]byte("PK\x03\x04"), "report.docx", "application/*")
	f.Add([]byte("<html><script>"), "a.txt", "text/plain")
	f.Add([]byte{0xff, 0xd8, 0xff}, "x", "image/jpeg")
	f.Fuzz(func(t *testing.T, head []byte, name, accepted string) {
		for _, kind := range []string{transfer.TypeByName(name), transfer.TypeByContent(head, name)} {
			if strings.ContainsAny(kind, "\r\n\x00") || strings.Count(kind, "/") > 1 {
				t.Errorf("%q has the type %q", name, kind)
			}
		}
		if !transfer.ValidMIMERange(accepted) {
			return
		}
		filter := transfer.MIMEFilter{accepted}
		filter.AllowsName(name)
		filter.AllowsContent(head, name)
	})
}

// FuzzUploadMetadata checks that what HEAD repeats of Upload-Metadata cannot break a header, and that a name is one of its values.
func FuzzUploadMetadata(f *testing.F) {
	f.Add("filename d29ybGRfZG9taW5hdGlvbl9wbGFuLnBkZg==,is_confidential")
	f.Add("relativePath Zm9sZGVyL2EudHh0, filename YS50eHQ=, clientId YQ==")
	f.Add("a ,a,")
	f.Add("name YQ==\r")
	f.Fuzz(func(t *testing.T, header string) {
		got, ok := transfer.ParseUploadMetadata(header)
		if !ok && got != (transfer.UploadMetadata{}) {
			t.Errorf("%q: refused, but %+v", header, got)
		}
		if strings.ContainsAny(got.Header, "\r\n\x00") || len(got.Header) > 4096 {
			t.Errorf("%q is repeated as %q", header, got.Header)
		}
		if got.Name != "" && !strings.Contains(header, base64.StdEncoding.EncodeToString([]byte(got.Name))) {
			t.Errorf("%q has the name %q", header, got.Name)
		}
		if again, ok := transfer.ParseUploadMetadata(got.Header); !ok || again != got {
			t.Errorf("%q: %+v, then %+v", header, got, again)
		}
	})
}

// FuzzUploadConcat checks that what HEAD repeats of Upload-Concat is visible ASCII, and that a final upload has 1 to MaxPartials URLs.
func FuzzUploadConcat(f *testing.F) {
	f.Add("partial")
	f.Add("final;/files/a https://example.com/files/b")
	f.Add("final; a")
	f.Fuzz(func(t *testing.T, header string) {
		urls, ok := transfer.ParseUploadConcat([]string{header})
		switch {
		case !ok && urls != nil, len(urls) > transfer.MaxPartials:
			t.Errorf("%q: %t, %q", header, ok, urls)
		case ok && urls == nil && header != "partial":
			t.Errorf("%q is a partial upload", header)
		case ok && urls != nil && (header != "final;"+strings.Join(urls, " ") ||
			slices.ContainsFunc([]byte(header), func(c byte) bool { return c < ' ' || c > '~' })):
			t.Errorf("%q has the URLs %q", header, urls)
		}
	})
}

// FuzzUploadChecksum checks that a checksum is one that the header contains.
func FuzzUploadChecksum(f *testing.F) {
	f.Add("sha256 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
	f.Add("sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=")
	f.Fuzz(func(t *testing.T, header string) {
		sum, ok := transfer.ParseUploadChecksum(header)
		algorithm := map[int]string{sha256.Size: "sha256 ", sha1.Size: "sha1 "}[len(sum)]
		if ok && header != algorithm+base64.StdEncoding.EncodeToString(sum) || ok != (algorithm != "") {
			t.Errorf("%q: %x, %v", header, sum, ok)
		}
	})
}

// FuzzFields checks that a header of structured fields is read in one way only.
func FuzzFields(f *testing.F) {
	for _, header := range []string{"?1", "?0;a=b", "12", "-1", "1.0", "999999999999999", "1000000000000000", "\"1\"", ":MQ==:", "12 ",
		"?1, ?0"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		n, number := transfer.ParseIntegerField([]string{header})
		value, boolean := transfer.ParseBooleanField([]string{header})
		if number && boolean || number && (n < 0 || n > 999_999_999_999_999) || number &&
			!strings.Contains(header, strconv.FormatInt(n, 10)[:1]) {
			t.Errorf("%q: %d %t, %t %t", header, n, number, value, boolean)
		}
		if boolean && !strings.HasPrefix(strings.TrimLeft(header, " "), map[bool]string{true: "?1", false: "?0"}[value]) {
			t.Errorf("%q: %t", header, value)
		}
	})
}
