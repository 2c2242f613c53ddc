package httpapi

import "strings"

// AttachmentName returns the Content-Disposition that saves a file under name: filename in ASCII for old clients, filename*
// in UTF-8 (RFC 6266, RFC 8187).
func AttachmentName(name string) string {
	var plain, full strings.Builder
	for _, c := range name {
		if c < 0x20 || c >= 0x7f || strings.ContainsRune(`"\%;`, c) {
			c = '_'
		}
		plain.WriteRune(c)
	}
	const hexDigits = "0123456789ABCDEF"
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$&+-.^_`|~", c) >= 0 {
			full.WriteByte(c)
			continue
		}
		full.WriteByte('%')
		full.WriteByte(hexDigits[c>>4])
		full.WriteByte(hexDigits[c&15])
	}
	return `attachment; filename="` + plain.String() + `"; filename*=UTF-8''` + full.String()
}
