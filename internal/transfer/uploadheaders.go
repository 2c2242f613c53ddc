// The forms of the headers of tus, and of structured fields.

package transfer

import (
	"crypto/sha1" //nolint:gosec // tus asks for it; only lengths are used
	"crypto/sha256"
	"strings"

	"github.com/dunglas/httpsfv"

	"github.com/consign-dev/consign/internal/text"
)

// maxUploadMetadata is how many bytes the header Upload-Metadata may have. It is stored.
const maxUploadMetadata = 4096

// UploadMetadata is what a tus client tells of a file.
type UploadMetadata struct {
	ClientID string // the key clientId, an addition
	Name     string // filename, or name, below the folders of relativePath
	Header   string // as the client sent it
}

// ParseUploadMetadata parses the header Upload-Metadata of tus: pairs of a key and a value in base64, separated by commas. A value may
// be missing. ok is false for anything else, and for a key given twice.
func ParseUploadMetadata(header string) (_ UploadMetadata, ok bool) {
	header = strings.Trim(header, " \t")
	if len(header) > maxUploadMetadata {
		return UploadMetadata{}, false
	}
	values := map[string]string{}
	for pair := range strings.SplitSeq(header, ",") {
		if header == "" {
			break
		}
		key, encoded, _ := strings.Cut(strings.Trim(pair, " \t"), " ")
		value, err := text.Base64(encoded)
		if _, twice := values[key]; twice || !visible(key) || err != nil {
			return UploadMetadata{}, false
		}
		values[key] = string(value)
	}
	return UploadMetadata{ClientID: values["clientId"], Name: nameOf(values), Header: header}, true
}

// visible reports whether s has at least one character, and visible ASCII characters only.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}

// nameOf returns the name of a file. Uppy sends the relativePath "null" for a file outside of a folder.
func nameOf(values map[string]string) string {
	name := values["filename"]
	if name == "" {
		name = values["name"]
	}
	path := values["relativePath"]
	switch {
	case path == "" || path == "null":
	case name == "" || strings.HasSuffix(path, "/"+name):
		return path
	}
	return name
}

// ParseUploadChecksum parses the header Upload-Checksum of tus, an algorithm and a sum in base64. The algorithms are sha256 and sha1, whose
// sums differ in length.
func ParseUploadChecksum(header string) (sum []byte, ok bool) {
	algorithm, encoded, _ := strings.Cut(header, " ")
	sum, err := text.Base64(encoded)
	size := map[string]int{"sha256": sha256.Size, "sha1": sha1.Size}[algorithm]
	if err != nil || len(sum) != size || size == 0 {
		return nil, false
	}
	return sum, true
}

// ParseUploadConcat parses the header Upload-Concat of tus: "partial", or "final;" and the URLs of 1 to MaxPartials partial uploads,
// separated by one space. urls are nil for a partial upload.
func ParseUploadConcat(values []string) (urls []string, ok bool) {
	if len(values) != 1 {
		return nil, false
	}
	list, final := strings.CutPrefix(values[0], "final;")
	if !final {
		return nil, values[0] == "partial"
	}
	for url := range strings.SplitSeq(list, " ") {
		if !visible(url) || len(urls) == MaxPartials {
			return nil, false
		}
		urls = append(urls, url)
	}
	return urls, true
}

// ParseIntegerField parses a header that is one Integer of structured fields (RFC 9651), not negative. Parameters are ignored.
func ParseIntegerField(values []string) (int64, bool) {
	item, err := httpsfv.UnmarshalItem(values)
	n, ok := item.Value.(int64)
	return n, err == nil && ok && n >= 0
}

// ParseBooleanField parses a header that is one Boolean of structured fields (RFC 9651), ?0 or ?1. Parameters are ignored.
func ParseBooleanField(values []string) (value, ok bool) {
	item, err := httpsfv.UnmarshalItem(values)
	value, ok = item.Value.(bool)
	return value, err == nil && ok
}
