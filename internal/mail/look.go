package mail

import (
	"bytes"
	"context"
	_ "embed" // the mark
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Look is the look of an organization's mails. The zero value is that of the product.
type Look struct {
	Name   string // of the organization, the text of the logo
	Colour string // #rrggbb
	Logo   []byte // PNG or JPEG, at most maxLogo bytes
}

// maxLogo is the size in bytes up to which a logo is embedded. The smallest stored logo has a tenth of it.
const maxLogo = 40_000

// ownColour is the colour of the product. The pages have the same (internal/web/assets/style.css).
const ownColour = "#0d6e62"

// mark is the mark of the product: white lines on transparent ground, drawn from internal/web/assets/icon.svg.
//
//go:embed mark.png
var mark []byte

// picture is the picture at the head of a mail.
type picture struct {
	kind  string // media type
	bytes []byte
}

var colourForm = regexp.MustCompile(`^#[0-9a-f]{6}$`)

// checked returns the look without what a mail must not contain: an unreadable colour, a large logo, or one of another format.
func (l Look) checked() Look {
	l.Name, l.Colour = line(l.Name, maxName), strings.ToLower(l.Colour)
	if !colourForm.MatchString(l.Colour) {
		l.Colour = ownColour
	}
	if len(l.Logo) > maxLogo || kindOf(l.Logo) == "" {
		l.Logo = nil
	}
	return l
}

// Accent returns the colour of the look, or the shade of it that is readable on white.
func (l Look) Accent() string { return accentsOf(l.checked().Colour).link }

// kindOf returns the media type of a PNG or JPEG file by its first bytes, "" for anything else.
func kindOf(file []byte) string {
	switch {
	case bytes.HasPrefix(file, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(file, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	}
	return ""
}

func (l Look) picture() picture {
	if l.Logo == nil {
		return picture{"image/png", mark}
	}
	return picture{kindOf(l.Logo), l.Logo}
}

// lookOf returns the look of the organization that a host selects. Without one, or when it cannot be read, it is the product's: a
// mail with a code or a key must not wait for a picture.
func (m *Mailer) lookOf(ctx context.Context, host string) Look {
	if host == "" || m.options.Look == nil {
		return Look{}
	}
	look, err := m.options.Look(ctx, host)
	if err != nil {
		m.log.WarnContext(ctx, "reading the look of a mail failed", slog.String("host", host), slog.Any("error", err))
		return Look{}
	}
	return look
}

// host returns the host whose look a message has: Host, else that of its link.
func (msg Message) host() string {
	if msg.Host != "" {
		return msg.Host
	}
	link := msg.Secret["link"]
	if link == "" {
		link, _ = msg.Data["link"].(string)
	}
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// The grounds of mails, light and dark, and the text. The pages have the same.
const (
	ink       = "#1a2120"
	paper     = "#ffffff"
	darkPaper = "#191f1e"
)

// Contrasts (WCAG 2.1): readable is what AA asks for text; clear is that of dark mode, where less looks dull; seen is where a button
// stands out from the paper.
const (
	readable = 4.5
	clear    = 7
	seen     = 1.2
)

// accents are the colours of a mail: each is the organization's where its contrast suffices, else the nearest shade of it.
type accents struct {
	link     string // on paper
	fill, on string // of a button on paper, and its text
	dark     string // of links and buttons on dark paper; text on it is darkPaper
}

func accentsOf(colour string) accents {
	a := accents{link: shade(colour, paper, 0, readable), dark: shade(colour, darkPaper, 255, clear)}
	a.fill, a.on = a.link, paper
	if contrast(parts(colour), parts(ink)) >= readable && contrast(parts(colour), parts(paper)) >= seen {
		a.fill, a.on = colour, ink
	}
	return a
}

// shade mixes a colour with black (0) or white (255), in steps of 2 %, until its contrast on ground is at least that.
func shade(colour, ground string, end, least float64) string {
	c := parts(colour)
	for step := range 51 {
		share := float64(step) / 50
		var mixed [3]float64
		for i := range c {
			mixed[i] = math.Round(c[i] + (end-c[i])*share)
		}
		if contrast(mixed, parts(ground)) >= least {
			return fmt.Sprintf("#%02x%02x%02x", int(mixed[0]), int(mixed[1]), int(mixed[2]))
		}
	}
	return ownColour // not reached: black and white are readable on both grounds
}

// parts returns red, green and blue of #rrggbb, from 0 to 255.
func parts(colour string) (c [3]float64) {
	for i := range c {
		n, _ := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		c[i] = float64(n)
	}
	return c
}

// contrast returns the contrast ratio of two colours (WCAG 2.1).
func contrast(a, b [3]float64) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + .05) / (min(x, y) + .05)
}

// luminance returns the relative luminance of a colour (WCAG 2.1).
func luminance(c [3]float64) float64 {
	var linear [3]float64
	for i, v := range c {
		if v /= 255; v <= .04045 {
			linear[i] = v / 12.92
		} else {
			linear[i] = math.Pow((v+.055)/1.055, 2.4)
		}
	}
	return .2126*linear[0] + .7152*linear[1] + .0722*linear[2]
}
