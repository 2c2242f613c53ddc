package imaging_test

import (
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/imaging"
)

func TestQRCode(t *testing.T) {
	t.Parallel()
	svg, err := imaging.QRCode("https://files.example.com/m/ann")
	if err != nil || !strings.HasPrefix(string(svg), `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 37 37"`) ||
		strings.Count(string(svg), "h1v1h-1z") < 200 {
		t.Errorf("%v %s", err, svg)
	}
	if _, err := imaging.QRCode(strings.Repeat("x", 5000)); err == nil {
		t.Error("a text that is too long was encoded")
	}
}
