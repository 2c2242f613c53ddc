// What sheets have besides text: the mark, the seal, QR codes, and glyphs as pictures.

package pdf

import (
	"image/color"

	"codeberg.org/go-pdf/fpdf"
	"github.com/boombuler/barcode/qr"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

func (p *page) art(draw func(*fpdf.Fpdf)) { p.marks = append(p.marks, mark{art: draw}) }

// hairline is a thinner rule.
func (p *page) hairline(x, y, length float64) {
	p.art(func(f *fpdf.Fpdf) {
		f.SetDrawColor(215, 221, 219)
		f.SetLineWidth(0.4)
		f.Line(x, y, x+length, y)
	})
}

// outline draws a glyph as a picture.
func (p *page) outline(g glyph, s style, x, y float64) {
	var buffer sfnt.Buffer
	units := g.in.face.font.UnitsPerEm()
	index, err := g.in.face.font.GlyphIndex(&buffer, g.r)
	if err != nil {
		return
	}
	segments, err := g.in.face.font.LoadGlyph(&buffer, index, fixed.I(int(units)), nil)
	if err != nil {
		return
	}
	path := append(sfnt.Segments(nil), segments...) // the buffer is used again
	scale := s.size / 64 / float64(units)
	ink := [3]int{}
	if s.grey {
		ink = [3]int{90, 90, 90}
	}
	if s.ink != "" {
		ink = s.ink.parts()
	}
	p.art(func(f *fpdf.Fpdf) {
		at := func(q fixed.Point26_6) (float64, float64) { return x + float64(q.X)*scale, y + float64(q.Y)*scale }
		f.SetFillColor(ink[0], ink[1], ink[2])
		for i, segment := range path {
			ax, ay := at(segment.Args[0])
			bx, by := at(segment.Args[1])
			cx, cy := at(segment.Args[2])
			switch segment.Op {
			case sfnt.SegmentOpMoveTo:
				if i > 0 {
					f.ClosePath()
				}
				f.MoveTo(ax, ay)
			case sfnt.SegmentOpLineTo:
				f.LineTo(ax, ay)
			case sfnt.SegmentOpQuadTo:
				f.CurveTo(ax, ay, bx, by)
			case sfnt.SegmentOpCubeTo:
				f.CurveBezierCubicTo(ax, ay, bx, by, cx, cy)
			}
		}
		f.ClosePath()
		f.DrawPath("F")
	})
}

// house draws the mark of the product: that of internal/web/assets/icon.svg.
func house(f *fpdf.Fpdf, x, y, edge float64, ground Colour) {
	c, unit := ground.parts(), edge/32
	f.SetFillColor(c[0], c[1], c[2])
	f.RoundedRect(x, y, edge, edge, 8*unit, "1234", "F")
	at := func(px, py float64) (float64, float64) { return x + px*unit, y + py*unit }
	move := func(px, py float64) { f.MoveTo(at(px, py)) }
	to := func(px, py float64) { f.LineTo(at(px, py)) }
	f.SetDrawColor(255, 255, 255)
	f.SetLineWidth(2 * unit)
	f.SetLineJoinStyle("round")
	f.SetLineCapStyle("round")
	move(7, 13.5)
	to(16, 8)
	to(25, 13.5)
	to(25, 22)
	corner := func(px, py, qx, qy float64) {
		ax, ay := at(px, py)
		bx, by := at(qx, qy)
		f.CurveTo(ax, ay, bx, by)
	}
	corner(25, 24, 23, 24)
	to(9, 24)
	corner(7, 24, 7, 22)
	f.ClosePath()
	f.DrawPath("D")
	move(16, 13)
	to(16, 20)
	f.DrawPath("D")
	move(13, 17)
	to(16, 20)
	to(19, 17)
	f.DrawPath("D")
	f.SetLineJoinStyle("miter")
	f.SetLineCapStyle("butt")
}

// seal draws a check in a disc with two rings.
func seal(f *fpdf.Fpdf, x, y, radius float64, colour Colour) {
	c := colour.parts()
	f.SetDrawColor(c[0], c[1], c[2])
	f.SetLineWidth(1)
	f.Circle(x, y, radius-1, "D")
	f.SetDashPattern([]float64{1.6, 2.4}, 0)
	f.Circle(x, y, radius-5, "D")
	f.SetDashPattern([]float64{}, 0)
	f.SetFillColor(c[0], c[1], c[2])
	f.Circle(x, y, radius-9, "F")
	f.SetDrawColor(255, 255, 255)
	f.SetLineWidth(radius / 8)
	f.SetLineJoinStyle("round")
	f.SetLineCapStyle("round")
	f.MoveTo(x-radius*0.3, y+radius*0.02)
	f.LineTo(x-radius*0.08, y+radius*0.24)
	f.LineTo(x+radius*0.32, y-radius*0.2)
	f.DrawPath("D")
	f.SetLineJoinStyle("miter")
	f.SetLineCapStyle("butt")
}

// modules are the black squares of a QR code.
type modules struct {
	edge  int
	black [][2]int
}

// qrCode returns the QR code of an address, nil for none or for one that is too long.
func qrCode(address string) *modules {
	if address == "" {
		return nil
	}
	code, err := qr.Encode(address, qr.M, qr.Auto)
	if err != nil {
		return nil
	}
	m := &modules{edge: code.Bounds().Dx()}
	for y := range m.edge {
		for x := range m.edge {
			if grey, ok := color.GrayModel.Convert(code.At(x, y)).(color.Gray); ok && grey.Y < 128 {
				m.black = append(m.black, [2]int{x, y})
			}
		}
	}
	return m
}

// draw draws the code with a white border of two modules: the panel around it is nearly white.
func (m *modules) draw(f *fpdf.Fpdf, x, y, edge float64) {
	unit := edge / float64(m.edge+4)
	f.SetFillColor(255, 255, 255)
	f.Rect(x, y, edge, edge, "F")
	f.SetFillColor(0, 0, 0)
	for _, at := range m.black {
		f.Rect(x+float64(at[0]+2)*unit, y+float64(at[1]+2)*unit, unit+0.05, unit+0.05, "F")
	}
}
