package mail

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/i18n"
)

// logo returns a picture as organizations have them: 80 × 80 pixels, JPEG.
func logo(t testing.TB) []byte {
	t.Helper()
	drawn := image.NewRGBA(image.Rect(0, 0, 80, 80))
	for y := range 80 {
		for x := range 80 {
			c := color.RGBA{R: 0x2b, G: 0x1a, B: 0x66, A: 255}
			if dx, dy := x-40, y-40; dx*dx+dy*dy < 700 {
				c = color.RGBA{R: 0xff, G: 0xd4, A: 255}
			}
			drawn.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, drawn, &jpeg.Options{Quality: 88}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// looking returns a renderer whose organization at files.example.org has a look.
func looking(t testing.TB, look Look) *Mailer {
	t.Helper()
	m := renderer(t)
	m.options.Look = func(_ context.Context, host string) (Look, error) {
		if host != "files.example.org" {
			return Look{}, errors.New("asked for " + host)
		}
		return look, nil
	}
	return m
}

// The look of a mail is that of the host of its link.
func TestLookOfOrganization(t *testing.T) {
	t.Parallel()
	picture := logo(t)
	m := looking(t, Look{Name: "Muster AG", Colour: "#2B1A66", Logo: picture})
	e := rendered(t, m, testMessage(TransferDelivered, "en_US"))
	p := parse(t, e.Bytes)
	if p.pictureKind != "image/jpeg" || !bytes.Equal(p.picture, picture) || !strings.Contains(p.html, `alt="Muster AG"`) ||
		!strings.Contains(p.html, "#2b1a66") {
		t.Errorf("not the organization's look: %s %d bytes\n%s", p.pictureKind, len(p.picture), p.html)
	}
	if len(e.Bytes) > 100_000 {
		t.Errorf("the mail has %d bytes", len(e.Bytes))
	}
	msg := testMessage(UploadConfirmation, "en_US") // it has no link
	msg.Data, msg.Secret, msg.Host = map[string]any{"mailbox": "Ann"}, nil, "files.example.org"
	if p := parse(t, rendered(t, m, msg).Bytes); p.pictureKind != "image/jpeg" {
		t.Errorf("a mail without a link has the picture %s", p.pictureKind)
	}
}

// A look that cannot be read or must not be shown becomes the product's.
func TestRefusedLooks(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]Look{
		"none":      {},
		"svg":       {Colour: "red", Logo: []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`)},
		"html":      {Colour: `"><script>`, Logo: []byte("<html>")},
		"too large": {Colour: "#12345", Logo: append(logo(t), make([]byte, maxLogo)...)},
	} {
		p := parse(t, rendered(t, looking(t, look), testMessage(ResetPassword, "en_US")).Bytes)
		if p.pictureKind != "image/png" || !bytes.Equal(p.picture, mark) || !strings.Contains(p.html, ownColour) ||
			strings.Contains(p.html, "<script") {
			t.Errorf("%s: %s %s", name, p.pictureKind, p.html)
		}
	}
	msg := testMessage(ResetPassword, "en_US")
	msg.Host = "unknown.example.org"
	if p := parse(t, rendered(t, looking(t, Look{Logo: logo(t)}), msg).Bytes); p.pictureKind != "image/png" {
		t.Errorf("the look of an unknown host: %s", p.pictureKind)
	}
}

// Any colour of an organization becomes readable (WCAG 2.1 AA), and one that is readable stays.
func TestAccents(t *testing.T) {
	t.Parallel()
	for r := 0; r < 256; r += 51 {
		for g := 0; g < 256; g += 51 {
			for b := 0; b < 256; b += 51 {
				colour := "#" + string(hex(r)) + string(hex(g)) + string(hex(b))
				a := accentsOf(colour)
				for _, pair := range [][2]string{{a.link, paper}, {a.on, a.fill}, {a.dark, darkPaper}} {
					if c := contrast(parts(pair[0]), parts(pair[1])); c < readable {
						t.Errorf("%s: %s on %s has a contrast of %.2f", colour, pair[0], pair[1], c)
					}
				}
				if c := contrast(parts(a.fill), parts(paper)); c < seen {
					t.Errorf("%s: the button %s is not seen", colour, a.fill)
				}
			}
		}
	}
	if a := accentsOf(ownColour); a.link != ownColour || a.fill != ownColour {
		t.Errorf("the product's colour became %v", a)
	}
}

func hex(n int) []byte {
	const digits = "0123456789abcdef"
	return []byte{digits[n>>4], digits[n&15]}
}

// TestWriteMails writes every mail for test/mails.sh, which looks at them in Chromium, into the directory of CONSIGN_TEST_MAILS.
func TestWriteMails(t *testing.T) {
	dir := os.Getenv("CONSIGN_TEST_MAILS")
	if dir == "" {
		return // test/mails.sh sets it
	}
	write := func(name string, msg Message, look Look) {
		p := parse(t, rendered(t, looking(t, look), msg).Bytes)
		for ending, body := range map[string][]byte{".html": []byte(p.html), ".txt": []byte(p.text),
			"." + strings.TrimPrefix(p.pictureKind, "image/"): p.picture} {
			if err := os.WriteFile(filepath.Join(dir, name+ending), body, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, template := range slices.Sorted(maps.Keys(compositions)) {
		write(template, testMessage(template, "en_US"), Look{})
	}
	branded := Look{Name: "Muster AG", Colour: "#ffd400", Logo: logo(t)}
	for _, locale := range i18n.Locales() {
		for _, template := range []string{TransferDelivered, UploadConfirmation} {
			write(template+"-"+locale, testMessage(template, locale), branded)
		}
	}
	hostile := testMessage(TransferDelivered, "en_US")
	hostile.Data["sender"], hostile.Data["senderUnverified"] = strings.Repeat("Wolfeschlegelsteinhausenbergerdorff", 3), true
	hostile.Data["subject"], hostile.Data["message"] = strings.Repeat("W", 200), strings.Repeat("unbroken", 60)
	write("long-words", hostile, Look{Colour: "#ffffff"})
}
