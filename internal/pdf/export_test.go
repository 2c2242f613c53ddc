package pdf

import "strings"

// Lines breaks a text of the body style into lines of at most that many points.
func (r *Renderer) Lines(text, locale string, width float64) (lines []string, widths []float64) {
	glyphs, _ := newTypesetter(embedded(), locale).shape(text, body)
	for _, line := range body.lines(glyphs, width) {
		var b strings.Builder
		for _, g := range line {
			b.WriteRune(g.r)
		}
		lines = append(lines, b.String())
		widths = append(widths, body.measure(line))
	}
	return lines, widths
}
