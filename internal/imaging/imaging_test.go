package imaging_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/imaging"
)

// avatar makes the avatars of a file, checks size and format of each, and returns the largest.
func avatar(t testing.TB, file []byte) image.Image {
	t.Helper()
	avatars, err := imaging.New(imaging.Options{MaxPixels: maxPixels}).Avatar(t.Context(), bytes.NewReader(file))
	if err != nil {
		t.Fatalf("Avatar: %v", err)
	}
	return checkAvatars(t, avatars)
}

func checkAvatars(t testing.TB, avatars []imaging.Avatar) image.Image {
	t.Helper()
	if len(avatars) != len(imaging.Heights()) {
		t.Fatalf("%d avatars, want %d", len(avatars), len(imaging.Heights()))
	}
	var largest image.Image
	for i, a := range avatars {
		if a.Height != imaging.Heights()[i] {
			t.Errorf("avatar %d has height %d, want %d", i, a.Height, imaging.Heights()[i])
		}
		m, err := jpeg.Decode(bytes.NewReader(a.JPEG))
		if err != nil {
			t.Fatalf("decode avatar %d: %v", a.Height, err)
		}
		if m.Bounds() != image.Rect(0, 0, a.Height, a.Height) {
			t.Errorf("avatar %d has bounds %v", a.Height, m.Bounds())
		}
		if bytes.Contains(a.JPEG, []byte("Exif")) || bytes.Contains(a.JPEG, []byte("GPS")) || bytes.Contains(a.JPEG, []byte{0xff, 0xfe}) {
			t.Errorf("avatar %d carries metadata", a.Height)
		}
		if i == 0 {
			largest = m
		}
	}
	return largest
}

// wantAt checks the colour around a point given as a fraction of the picture, with some tolerance for JPEG.
func wantAt(t testing.TB, m image.Image, fx, fy float64, want color.NRGBA) {
	t.Helper()
	x, y := int(fx*float64(m.Bounds().Dx())), int(fy*float64(m.Bounds().Dy()))
	r, g, b, _ := m.At(x, y).RGBA()
	near := func(got uint32, want uint8) bool {
		d := int(got>>8) - int(want)
		return d > -10 && d < 10
	}
	if !near(r, want.R) || !near(g, want.G) || !near(b, want.B) {
		t.Errorf("at (%d, %d): got %d %d %d, want %v", x, y, r>>8, g>>8, b>>8, want)
	}
}

func TestOrientation(t *testing.T) {
	t.Parallel()
	// The corners row by row when red, green / blue, yellow is stored with that orientation.
	want := map[uint16][4]color.NRGBA{
		0: {red, green, blue, yellow}, // not an orientation
		1: {red, green, blue, yellow},
		2: {green, red, yellow, blue},
		3: {yellow, blue, green, red},
		4: {blue, yellow, red, green},
		5: {red, blue, green, yellow},
		6: {blue, red, yellow, green},
		7: {yellow, green, blue, red},
		8: {green, yellow, red, blue},
		9: {red, green, blue, yellow},
	}
	plain := encodeJPEG(t, corners(96, 96))
	for orientation, colours := range want {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			m := avatar(t, withExif(plain, orientation, order))
			for i, c := range colours {
				wantAt(t, m, 0.1+0.8*float64(i%2), 0.1+0.8*float64(i/2), c)
			}
			if t.Failed() {
				t.Fatalf("orientation %d, %v", orientation, order)
			}
		}
	}
}

func TestCropsFromTheCentre(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]image.Point{"wide": {3300, 1100}, "tall": {330, 990}} {
		// Three squares side by side; only the middle one may be seen.
		m := image.NewNRGBA(image.Rectangle{Max: size})
		for y := range size.Y {
			for x := range size.X {
				if size.X > size.Y {
					m.SetNRGBA(x, y, [3]color.NRGBA{red, green, blue}[3*x/size.X])
				} else {
					m.SetNRGBA(x, y, [3]color.NRGBA{red, green, blue}[3*y/size.Y])
				}
			}
		}
		got := avatar(t, encodePNG(t, m))
		for _, f := range []float64{0.02, 0.5, 0.98} {
			wantAt(t, got, f, 0.5, green)
			wantAt(t, got, 0.5, f, green)
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

func TestKindsOfPictures(t *testing.T) {
	t.Parallel()
	grey := color.NRGBA{R: 0x60, G: 0x60, B: 0x60, A: 0xff}
	half := image.NewNRGBA(image.Rect(0, 0, 40, 40)) // half transparent red becomes pink
	for i := range 40 * 40 {
		copy(half.Pix[4*i:], []byte{0xe0, 0, 0, 0x80})
	}
	deep := image.NewNRGBA64(image.Rect(0, 0, 50, 50))
	for y := range 50 {
		for x := range 50 {
			deep.SetNRGBA64(x, y, color.NRGBA64{R: 0xe000, A: 0x8000})
		}
	}
	pink := color.NRGBA{R: 0xef, G: 0x7f, B: 0x7f, A: 0xff}
	transparent := image.NewPaletted(image.Rect(0, 0, 20, 20), color.Palette{color.NRGBA{}, red})
	tests := map[string]struct {
		file []byte
		want color.NRGBA
	}{
		"transparent PNG":       {encodePNG(t, image.NewNRGBA(image.Rect(0, 0, 64, 32))), white},
		"half transparent PNG":  {encodePNG(t, half), pink},
		"16 bit PNG with alpha": {encodePNG(t, deep), pink},
		"transparent palette":   {encodePNG(t, transparent), white},
		"16 bit grey PNG":       {encodePNG(t, image.NewGray16(image.Rect(0, 0, 9, 9))), color.NRGBA{A: 0xff}},
		"1 bit PNG":             {rawPNG(30, 30, 30, 1, 0, 0), color.NRGBA{A: 0xff}},
		"interlaced PNG":        {rawPNG(1201, 901, 901, 8, 2, 1), color.NRGBA{A: 0xff}},
		"interlaced 16 bit PNG": {rawPNG(33, 17, 17, 16, 6, 1), white},
		"grey JPEG":             {flatJPEG(300, 200, []byte{0x60}, 0x11, false, 0), grey},
		"CMYK JPEG":             {flatJPEG(300, 200, []byte{0xe0, 0, 0, 0xff}, 0x11, false, 0), red},
		"CMYK JPEG, subsampled": {flatJPEG(300, 200, []byte{0xe0, 0, 0, 0xff}, 0x22, false, 0), red},
		"progressive JPEG":      {flatJPEG(300, 200, []byte{0x60, 0x80, 0x80}, 0x22, true, 3), grey},
		"progressive CMYK":      {flatJPEG(300, 200, []byte{0xe0, 0, 0, 0xff}, 0x11, true, 0), red},
		"1 × 1 PNG":             {encodePNG(t, corners(1, 1)), red},
		"1 × 1 JPEG":            {flatJPEG(1, 1, []byte{0x60}, 0x11, false, 0), grey},
		"one pixel high":        {flatJPEG(60000, 1, []byte{0x60}, 0x11, false, 0), grey},
		"animated GIF": {frames(t, 30, 30, []image.Rectangle{image.Rect(0, 0, 30, 30), image.Rect(0, 0, 30, 30)},
			[]color.Color{color.NRGBA{R: 0xcc, A: 0xff}, color.NRGBA{G: 0xff, A: 0xff}}), color.NRGBA{R: 0xcc, A: 0xff}},
		"JPEG with bytes behind": {append(flatJPEG(80, 80, []byte{0x60}, 0x11, false, 0), "and more"...), grey},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := avatar(t, test.file)
			for _, f := range []float64{0.01, 0.5, 0.99} {
				wantAt(t, m, f, f, test.want)
			}
		})
	}
}

// The first frame of a GIF may cover a part of the screen only; the rest is white.
func TestFrameSmallerThanScreen(t *testing.T) {
	t.Parallel()
	cyan := color.NRGBA{G: 0xff, B: 0xff, A: 0xff}
	m := avatar(t, frames(t, 100, 100, []image.Rectangle{image.Rect(50, 0, 100, 50)}, []color.Color{cyan}))
	wantAt(t, m, 0.25, 0.25, white)
	wantAt(t, m, 0.75, 0.25, cyan)
	wantAt(t, m, 0.25, 0.75, white)
	wantAt(t, m, 0.75, 0.75, white)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	photo := encodeJPEG(t, corners(500, 400))
	drawing := encodePNG(t, corners(500, 400))
	animation := frames(t, 30, 30, []image.Rectangle{image.Rect(0, 0, 30, 30)}, []color.Color{red})
	noFrames := append(bytes.Clone(animation[:13+3*256]), 0x3b)
	outside := bytes.Clone(animation)
	at := bytes.LastIndex(outside, []byte{0x2c, 0, 0, 0, 0, 30, 0, 30, 0})
	outside[at+1] = 200
	tests := map[string]struct {
		file []byte
		want error
		says string
	}{
		"nothing": {nil, imaging.ErrNotImage, "not a picture"},
		"text":    {[]byte("hello"), imaging.ErrNotImage, "not a picture"},
		"PDF":     {[]byte("%PDF-1.7\n"), imaging.ErrNotImage, "not a picture"},
		"BMP": {append([]byte("BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00"), make([]byte, 80)...),
			imaging.ErrFormat, "image/bmp"},
		"TIFF":            {append([]byte("II*\x00\x08\x00\x00\x00"), make([]byte, 80)...), imaging.ErrFormat, "image/tiff"},
		"WebP":            {[]byte("RIFF\x24\x00\x00\x00WEBPVP8 \x18\x00\x00\x00"), imaging.ErrFormat, "image/webp"},
		"SVG":             {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), imaging.ErrFormat, "image/svg+xml"},
		"arithmetic JPEG": {bytes.Replace(photo, []byte{0xff, 0xc0}, []byte{0xff, 0xc9}, 1), imaging.ErrFormat, "unusual kind of JPEG"},
		"PNG bomb":        {rawPNG(30000, 30000, 0, 8, 6, 0), imaging.ErrTooLarge, "30000 × 30000 pixels; at most 50 megapixels"},
		"JPEG bomb":       {flatJPEG(65500, 65500, []byte{1}, 0x11, false, 0)[:400], imaging.ErrTooLarge, "65500 × 65500"},
		"GIF bomb": {append([]byte("GIF89a\xff\xff\xff\xff\x00\x00\x00"), noFrames[13+3*256:]...), imaging.ErrTooLarge,
			"65535 × 65535"},
		"PNG of 2³¹ pixels a side": {rawPNG(1<<31-1, 1<<31-1, 0, 8, 6, 0), imaging.ErrFormat, ""},
		"scans without end":        {flatJPEG(64, 64, []byte{0x60}, 0x11, true, 2000), imaging.ErrFormat, "unusual kind of JPEG"},
		"interlaced 16 bit giant":  {rawPNG(7000, 7000, 0, 16, 6, 1), imaging.ErrTooLarge, "too much memory"},
		"truncated JPEG":           {photo[:len(photo)*2/3], imaging.ErrDamaged, "damaged"},
		"JPEG without pixels":      {photo[:200], imaging.ErrDamaged, "damaged"},
		"JPEG signature":           {[]byte("\xff\xd8\xff\xe0"), imaging.ErrDamaged, "damaged"},
		"truncated PNG":            {drawing[:len(drawing)/2], imaging.ErrDamaged, "damaged"},
		"PNG with too few rows":    {rawPNG(300, 300, 20, 8, 6, 0), imaging.ErrDamaged, "damaged"},
		"PNG with a wrong sum":     {bytes.Replace(drawing, []byte("IHDR"), []byte("IHDr"), 1), imaging.ErrDamaged, "damaged"},
		"PNG of no pixels":         {rawPNG(0, 0, 0, 8, 6, 0), imaging.ErrDamaged, "damaged"},
		"truncated GIF":            {animation[:len(animation)-12], imaging.ErrDamaged, "damaged"},
		"GIF without frames":       {noFrames, imaging.ErrDamaged, "damaged"},
		"GIF frame outside":        {outside, imaging.ErrDamaged, "damaged"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			avatars, err := imaging.New(imaging.Options{MaxPixels: maxPixels}).Avatar(t.Context(), bytes.NewReader(test.file))
			if !errors.Is(err, test.want) || avatars != nil {
				t.Fatalf("got %v, %v, want %v", avatars, err, test.want)
			}
			var refusal *imaging.Refusal
			if !errors.As(err, &refusal) || !strings.Contains(refusal.Sentence, test.says) {
				t.Errorf("says %q, want %q in it", refusal.Sentence, test.says)
			}
		})
	}
}

func TestBoundsAreOptions(t *testing.T) {
	t.Parallel()
	file := encodePNG(t, corners(100, 100))
	if _, err := imaging.New(imaging.Options{MaxPixels: 9_999}).Avatar(t.Context(), bytes.NewReader(file)); !errors.Is(err,
		imaging.ErrTooLarge) {
		t.Errorf("9999 pixels: %v", err)
	}
	if _, err := imaging.New(imaging.Options{MaxPixels: 10_000}).Avatar(t.Context(), bytes.NewReader(file)); err != nil {
		t.Errorf("10000 pixels: %v", err)
	}
	if _, err := imaging.New(imaging.Options{MaxPixels: maxPixels, MaxMemory: 1 << 20}).Avatar(t.Context(),
		bytes.NewReader(file)); !errors.Is(err, imaging.ErrTooLarge) {
		t.Errorf("a mebibyte: %v", err)
	}
}

func TestClosest(t *testing.T) {
	t.Parallel()
	for height, want := range map[int]int{-1: 80, 0: 80, 80: 80, 119: 80, 120: 160, 161: 160, 200: 240, 239: 240, 370: 500, 369: 240,
		1 << 40: 500} {
		if got := imaging.Closest(height); got != want {
			t.Errorf("Closest(%d) = %d, want %d", height, got, want)
		}
	}
}

// blocking is a source whose second read from the start, the decoder's, waits for a signal.
type blocking struct {
	*bytes.Reader
	seeks   int
	reached chan struct{}
	let     chan struct{}
}

func (b *blocking) Seek(offset int64, whence int) (int64, error) {
	b.seeks++
	if b.seeks == 3 { // sniffing, header, decoding
		close(b.reached)
		<-b.let
	}
	return b.Reader.Seek(offset, whence)
}

// TestWaits: a picture waits while another one holds the only slot, or the memory that it needs.
func TestWaits(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]imaging.Options{
		"for a turn": {MaxPixels: maxPixels, MaxParallel: 1},
		"for memory": {MaxPixels: maxPixels, MaxParallel: 8, MaxMemory: 60 << 20}, // enough for one
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := encodePNG(t, corners(20, 20))
			p := imaging.New(o)
			first := &blocking{Reader: bytes.NewReader(file), reached: make(chan struct{}), let: make(chan struct{})}
			done := make(chan error, 1)
			go func() {
				_, err := p.Avatar(context.Background(), first)
				done <- err
			}()
			<-first.reached
			ctx, cancel := context.WithCancel(t.Context())
			waiting := make(chan error, 1)
			go func() {
				_, err := p.Avatar(ctx, bytes.NewReader(file))
				waiting <- err
			}()
			cancel()
			if err := <-waiting; !errors.Is(err, context.Canceled) {
				t.Errorf("the one that waits: %v, want that the context ended", err)
			}
			close(first.let)
			if err := <-done; err != nil {
				t.Errorf("the first: %v", err)
			}
			if _, err := p.Avatar(t.Context(), bytes.NewReader(file)); err != nil {
				t.Errorf("the next one: %v", err)
			}
		})
	}
}

// failing is a source that fails at the third read from the start.
type failing struct {
	*bytes.Reader
	seeks int
	err   error
}

func (f *failing) Seek(offset int64, whence int) (int64, error) {
	f.seeks++
	return f.Reader.Seek(offset, whence)
}

func (f *failing) Read(p []byte) (int, error) {
	if f.seeks == 3 {
		return 0, f.err
	}
	return f.Reader.Read(p)
}

func TestErrorOfTheSourceIsNotTheClients(t *testing.T) {
	t.Parallel()
	source := &failing{Reader: bytes.NewReader(encodePNG(t, corners(20, 20))), err: io.ErrClosedPipe}
	_, err := imaging.New(imaging.Options{MaxPixels: maxPixels}).Avatar(t.Context(), source)
	var refusal *imaging.Refusal
	if !errors.Is(err, io.ErrClosedPipe) || errors.As(err, &refusal) {
		t.Errorf("got %v, want the source's own error", err)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	file := withExif(encodeJPEG(t, corners(300, 200)), 6, binary.BigEndian)
	p := imaging.New(imaging.Options{MaxPixels: maxPixels, MaxParallel: 3})
	results := make(chan []imaging.Avatar)
	for range 12 {
		go func() {
			avatars, err := p.Avatar(context.Background(), bytes.NewReader(file))
			if err != nil {
				t.Error(err)
			}
			results <- avatars
		}()
	}
	first := <-results
	for range 11 {
		for i, a := range <-results {
			if !bytes.Equal(a.JPEG, first[i].JPEG) {
				t.Error("the same picture gave different avatars")
			}
		}
	}
}

func FuzzAvatar(f *testing.F) {
	photo := encodeJPEG(f, corners(40, 30))
	f.Add(withExif(photo, 6, binary.LittleEndian))
	f.Add(encodePNG(f, corners(9, 17)))
	f.Add(rawPNG(33, 17, 17, 16, 6, 1))
	f.Add(flatJPEG(20, 30, []byte{9, 9, 9, 9}, 0x22, true, 2))
	f.Add(frames(f, 30, 30, []image.Rectangle{image.Rect(10, 5, 30, 30)}, []color.Color{red}))
	p := imaging.New(imaging.Options{MaxPixels: 10_000})
	f.Fuzz(func(t *testing.T, file []byte) {
		avatars, err := p.Avatar(t.Context(), bytes.NewReader(file))
		var refusal *imaging.Refusal
		switch {
		case err == nil:
			checkAvatars(t, avatars)
		case !errors.As(err, &refusal):
			t.Fatalf("%v is no refusal", err)
		}
	})
}
