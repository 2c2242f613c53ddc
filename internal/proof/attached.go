package proof

import (
	"bytes"
	"compress/zlib"
	"io"
)

const longestAttached = 64 << 20 // bytes

// Attached returns the receipt in a PDF document of a receipt, and every other file as it is. A document without a receipt is returned as
// it is, too: it is no receipt. Nobody needs to trust the document, because the receipt in it is verified.
func Attached(file []byte) []byte {
	if !bytes.HasPrefix(file, []byte("%PDF-")) {
		return file
	}
	for rest, ok := file, true; ok; {
		if _, rest, ok = bytes.Cut(rest, []byte("/Type /EmbeddedFile")); !ok {
			break
		}
		_, packed, found := bytes.Cut(rest, []byte("stream\n"))
		unpacked, err := zlib.NewReader(bytes.NewReader(packed))
		if !found || err != nil {
			continue
		}
		content, err := io.ReadAll(io.LimitReader(unpacked, longestAttached))
		if err == nil && bytes.HasPrefix(content, []byte("consign-")) {
			return content
		}
	}
	return file
}
