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
