// Crops a picture to a square and reduces it.

package imaging

import (
	"image"
	"image/color"
)

// minSide is the least side of the reduced square in pixels, unless the picture is smaller. It is twice the largest
// avatar, so that the resizing filter has enough samples.
const minSide = 1000

// cutter returns a reduced part of a picture. canvas may be larger than the picture.
type cutter func(picture image.Image, canvas image.Rectangle) *image.NRGBA

// square cuts the largest square from the middle of canvas. Its side is less than 2 × minSide.
func square(picture image.Image, canvas image.Rectangle) *image.NRGBA {
	side := min(canvas.Dx(), canvas.Dy())
	return reduce(picture, canvas, side, side, max(1, side/minSide))
}

// whole cuts the largest part from the middle of canvas whose sides differ threefold at most. They are less than 2 × minSide.
func whole(picture image.Image, canvas image.Rectangle) *image.NRGBA {
	width, height := min(canvas.Dx(), 3*canvas.Dy()), min(canvas.Dy(), 3*canvas.Dx())
	return reduce(picture, canvas, width, height, max(1, max(width, height)/minSide))
}

// reduce puts a part of canvas, in its middle, on white, and reduces it by an integer factor by averaging. Parts of canvas outside
// picture are white.
func reduce(picture image.Image, canvas image.Rectangle, width, height, factor int) *image.NRGBA {
	n, lines := width/factor, height/factor
	left := canvas.Min.X + (canvas.Dx()-n*factor)/2
	top := canvas.Min.Y + (canvas.Dy()-lines*factor)/2

	out := image.NewNRGBA(image.Rect(0, 0, n, lines))
	row := newRow(picture, left, n*factor)
	sums := make([]uint32, 3*n)
	for y := range lines {
		clear(sums)
		for i := range factor {
			row.read(top + y*factor + i)
			row.addTo(sums, factor)
		}
		area := uint32(factor * factor)
		line := out.Pix[y*out.Stride : y*out.Stride+4*n]
		for x := range n {
			line[4*x+0] = uint8((sums[3*x+0] + area/2) / area)
			line[4*x+1] = uint8((sums[3*x+1] + area/2) / area)
			line[4*x+2] = uint8((sums[3*x+2] + area/2) / area)
			line[4*x+3] = 0xff
		}
	}
	return out
}

// row is a part of one line of a picture: opaque RGB, three bytes a pixel.
type row struct {
	picture image.Image
	left    int // x of the first pixel of rgb
	from    int // x of the first pixel that the picture has
	to      int // x after the last one
	rgb     []byte
	palette [256][3]byte // of a paletted picture, on white
}

func newRow(picture image.Image, left, width int) *row {
	r := &row{picture: picture, left: left, rgb: make([]byte, 3*width)}
	r.from = max(left, picture.Bounds().Min.X)
	r.to = min(left+width, picture.Bounds().Max.X)
	if p, ok := picture.(*image.Paletted); ok {
		for i := range r.palette {
			r.palette[i] = [3]byte{0xff, 0xff, 0xff}
			if i < len(p.Palette) {
				c := color.NRGBA64Model.Convert(p.Palette[i]).(color.NRGBA64)
				onWhite(r.palette[i][:], uint32(c.R>>8), uint32(c.G>>8), uint32(c.B>>8), uint32(c.A>>8))
			}
		}
	}
	return r
}

// onWhite blends a colour with white. It is not premultiplied; each component is 0 to 255.
func onWhite(rgb []byte, r, g, b, a uint32) {
	white := 0xff * (0xff - a)
	rgb[0] = uint8((r*a + white + 0x7f) / 0xff)
	rgb[1] = uint8((g*a + white + 0x7f) / 0xff)
	rgb[2] = uint8((b*a + white + 0x7f) / 0xff)
}

// addTo adds factor pixels of the row to the sums of each pixel of the reduced line.
func (r *row) addTo(sums []uint32, factor int) {
	at := 0
	for x := 0; x < len(sums); x += 3 {
		var red, green, blue uint32
		for range factor {
			red += uint32(r.rgb[at])
			green += uint32(r.rgb[at+1])
			blue += uint32(r.rgb[at+2])
			at += 3
		}
		sums[x] += red
		sums[x+1] += green
		sums[x+2] += blue
	}
}

// read fills rgb from line y. The picture types that the decoders return have loops of their own. Others (16 bits a
// channel) use image.RGBA64Image, which does not allocate.
func (r *row) read(y int) {
	bounds := r.picture.Bounds()
	if y < bounds.Min.Y || y >= bounds.Max.Y || r.from > r.left || r.to < r.left+len(r.rgb)/3 {
		for i := range r.rgb {
			r.rgb[i] = 0xff
		}
	}
	if y < bounds.Min.Y || y >= bounds.Max.Y || r.from >= r.to {
		return
	}
	out := r.rgb[3*(r.from-r.left) : 3*(r.to-r.left)]
	switch p := r.picture.(type) {
	case *image.YCbCr:
		r.readYCbCr(p, y, out)
	case *image.Paletted:
		for i, index := range p.Pix[p.PixOffset(r.from, y):][:r.to-r.from] {
			copy(out[3*i:3*i+3], r.palette[index][:])
		}
	case *image.Gray:
		for i, v := range p.Pix[p.PixOffset(r.from, y):][:r.to-r.from] {
			out[3*i], out[3*i+1], out[3*i+2] = v, v, v
		}
	case *image.NRGBA:
		pix := p.Pix[p.PixOffset(r.from, y):][:4*(r.to-r.from)]
		for i := 0; i < len(pix)/4; i++ {
			if pix[4*i+3] == 0xff {
				copy(out[3*i:3*i+3], pix[4*i:])
				continue
			}
			onWhite(out[3*i:3*i+3], uint32(pix[4*i]), uint32(pix[4*i+1]), uint32(pix[4*i+2]), uint32(pix[4*i+3]))
		}
	case *image.CMYK:
		pix := p.Pix[p.PixOffset(r.from, y):][:4*(r.to-r.from)]
		for i := 0; i < len(pix)/4; i++ {
			out[3*i], out[3*i+1], out[3*i+2] = color.CMYKToRGB(pix[4*i], pix[4*i+1], pix[4*i+2], pix[4*i+3])
		}
	case image.RGBA64Image:
		for i := range r.to - r.from {
			c := p.RGBA64At(r.from+i, y) // premultiplied
			white := 0xffff - uint32(c.A)
			out[3*i] = uint8(min(uint32(c.R)+white, 0xffff) >> 8)
			out[3*i+1] = uint8(min(uint32(c.G)+white, 0xffff) >> 8)
			out[3*i+2] = uint8(min(uint32(c.B)+white, 0xffff) >> 8)
		}
	}
}

func (r *row) readYCbCr(p *image.YCbCr, y int, out []byte) {
	luma := p.Y[p.YOffset(r.from, y):]
	for i := range r.to - r.from {
		c := p.COffset(r.from+i, y)
		out[3*i], out[3*i+1], out[3*i+2] = color.YCbCrToRGB(luma[i], p.Cb[c], p.Cr[c])
	}
}
