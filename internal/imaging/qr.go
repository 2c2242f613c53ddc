package imaging

import (
	"fmt"
	"image/color"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// quietZone is the width of the white border of a QR code, in modules (ISO/IEC 18004).
const quietZone = 4

// QRCode returns a text as a QR code in SVG, black on white, with error correction level M.
func QRCode(text string) ([]byte, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return nil, fmt.Errorf("encode QR code: %w", err)
	}
	edge := code.Bounds().Dx()
	var path strings.Builder
	for y := range edge {
		for x := range edge {
			if grey, ok := color.GrayModel.Convert(code.At(x, y)).(color.Gray); ok && grey.Y < 128 {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+quietZone, y+quietZone)
			}
		}
	}
	size := edge + 2*quietZone
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h%dv%dH0z"/><path d="%s"/></svg>`,
		size, size, size, size, path.String()), nil
}
