// The pictures of the tests of this package.

package imaging_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/bits"
	"testing"
)

// maxPixels is config.Constants.AvatarMaxPixels.
const maxPixels = 50_000_000

var (
	red    = color.NRGBA{R: 0xe0, A: 0xff}
	green  = color.NRGBA{G: 0xa0, A: 0xff}
	blue   = color.NRGBA{B: 0xd0, A: 0xff}
	yellow = color.NRGBA{R: 0xf0, G: 0xe0, A: 0xff}
	white  = color.NRGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xff}
)

// corners paints red top left, green top right, blue bottom left, yellow bottom right.
func corners(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, [4]color.NRGBA{red, green, blue, yellow}[2*(2*y/h)+2*x/w])
		}
	}
	return m
}

func encodeJPEG(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodePNG(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// withExif puts an Exif segment with that orientation, and a text to be dropped, right behind the start of a JPEG.
func withExif(file []byte, orientation uint16, order binary.AppendByteOrder) []byte {
	tiff := []byte("MM\x00*")
	if order == binary.AppendByteOrder(binary.LittleEndian) {
		tiff = []byte("II*\x00")
	}
	tiff = order.AppendUint32(tiff, 8)
	tiff = order.AppendUint16(tiff, 2) // entries
	tiff = order.AppendUint16(tiff, 0x010e)
	tiff = order.AppendUint16(tiff, 2)
	tiff = order.AppendUint32(tiff, 4)
	tiff = append(tiff, "GPS\x00"...)
	tiff = order.AppendUint16(tiff, 0x0112)
	tiff = order.AppendUint16(tiff, 3)
	tiff = order.AppendUint32(tiff, 1)
	tiff = order.AppendUint16(tiff, orientation)
	tiff = append(tiff, 0, 0, 0, 0, 0, 0)
	segment := append([]byte("Exif\x00\x00"), tiff...)
	out := append([]byte{0xff, 0xd8, 0xff, 0xe1}, binary.BigEndian.AppendUint16(nil, uint16(len(segment)+2))...)
	return append(append(out, segment...), file[2:]...)
}

// flatJPEG writes a JPEG of one colour by hand, of kinds that the standard library does not write. levels are the
// values of its components (1 to 4); four are CMYK as Adobe stores it, inverted. sampling is that of the first.
func flatJPEG(width, height int, levels []byte, sampling byte, progressive bool, scans int) []byte {
	out := []byte{0xff, 0xd8}
	segment := func(marker byte, content ...byte) {
		out = append(out, 0xff, marker)
		out = binary.BigEndian.AppendUint16(out, uint16(len(content)+2))
		out = append(out, content...)
	}
	if len(levels) == 4 {
		segment(0xee, append([]byte("Adobe"), 0, 100, 0, 0, 0, 0, 0)...)
	}
	quantization := make([]byte, 65)
	for i := range quantization[1:] {
		quantization[i+1] = 8
	}
	segment(0xdb, quantization...)
	frame := []byte{8, byte(height >> 8), byte(height), byte(width >> 8), byte(width), byte(len(levels))}
	for i := range levels {
		factors := byte(0x11)
		if i == 0 || i == 3 {
			factors = sampling
		}
		frame = append(frame, byte(i+1), factors, 0)
	}
	sof := byte(0xc0)
	if progressive {
		sof = 0xc2
	}
	segment(sof, frame...)
	dc := make([]byte, 17, 29) // twelve categories in four bits each: the code is the category
	dc[4] = 12
	for i := range byte(12) {
		dc = append(dc, i)
	}
	segment(0xc4, dc...)
	segment(0xc4, append([]byte{0x10, 1}, make([]byte, 16)...)...) // one code, of one bit: end of block
	scan := []byte{byte(len(levels))}
	for i := range levels {
		scan = append(scan, byte(i+1), 0)
	}
	last := byte(63)
	if progressive {
		last = 0
	}
	segment(0xda, append(scan, 0, last, 0)...)
	out = append(out, flatBlocks(width, height, levels, sampling, !progressive)...)
	for range scans {
		segment(0xda, 1, 1, 0, 1, 1, 0) // one component, coefficient 1, first pass
		units := ((width + 7) / 8) * ((height + 7) / 8)
		out = append(out, make([]byte, (units+7)/8)...)
	}
	return append(out, 0xff, 0xd9)
}

// flatBlocks entropy-codes the blocks: a difference in the first of each component, none after.
func flatBlocks(width, height int, levels []byte, sampling byte, endOfBlock bool) []byte {
	var (
		out  []byte
		acc  uint64
		held int
	)
	put := func(value, n int) {
		acc, held = acc<<n|uint64(value), held+n
		for held >= 8 {
			b := byte(acc >> (held - 8))
			held -= 8
			out = append(out, b)
			if b == 0xff {
				out = append(out, 0)
			}
		}
	}
	across, down := int(sampling>>4), int(sampling&15)
	units := ((width + 8*across - 1) / (8 * across)) * ((height + 8*down - 1) / (8 * down))
	for unit := range units {
		for c, level := range levels {
			blocks := 1
			if c == 0 || c == 3 {
				blocks = across * down
			}
			for b := range blocks {
				difference := int(level) - 128 // quantized by 8, and the DC term is 8 times the mean
				if unit > 0 || b > 0 {
					difference = 0
				}
				category := bits.Len(uint(max(difference, -difference)))
				put(category, 4)
				if difference < 0 {
					difference += 1<<category - 1
				}
				put(difference, category)
				if endOfBlock {
					put(0, 1)
				}
			}
		}
	}
	put(0x7f, 7)
	return out
}

// rawPNG writes a PNG whose pixels are all zero bytes. With rows 0 it is the header of a bomb only.
func rawPNG(width, height, rows int, depth, colourType, interlaced byte) []byte {
	out := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(kind string, content []byte) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(content)))
		start := len(out)
		out = append(append(out, kind...), content...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[start:]))
	}
	header := binary.BigEndian.AppendUint32(nil, uint32(width))
	header = binary.BigEndian.AppendUint32(header, uint32(height))
	chunk("IHDR", append(header, depth, colourType, 0, 0, interlaced))
	channels := map[byte]int{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colourType]
	var pixels bytes.Buffer
	z := zlib.NewWriter(&pixels)
	passes := [][4]int{{0, 0, 1, 1}}
	if interlaced != 0 {
		passes = [][4]int{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
	}
	for _, p := range passes {
		w, h := (width-p[0]+p[2]-1)/p[2], (min(rows, height)-p[1]+p[3]-1)/p[3]
		line := make([]byte, 1+(w*channels*int(depth)+7)/8)
		for range h {
			_, _ = z.Write(line) // to a buffer
		}
	}
	_ = z.Close()
	chunk("IDAT", pixels.Bytes())
	chunk("IEND", nil)
	return out
}

// frames writes an animated GIF: each frame one colour of the web-safe palette, on a screen of that size.
func frames(t testing.TB, width, height int, rects []image.Rectangle, colours []color.Color) []byte {
	t.Helper()
	g := gif.GIF{Config: image.Config{ColorModel: color.Palette(palette.WebSafe), Width: width, Height: height}}
	for i, r := range rects {
		m := image.NewPaletted(r, palette.WebSafe)
		for j := range m.Pix {
			m.Pix[j] = uint8(m.Palette.Index(colours[i]))
		}
		g.Image = append(g.Image, m)
		g.Delay = append(g.Delay, 10)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &g); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
