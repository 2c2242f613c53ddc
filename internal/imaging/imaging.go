// Package imaging makes the four avatars of an uploaded picture, square JPEG files without metadata, or one backdrop. It limits the format,
// pixels and memory of a picture, and the number of pictures decoded in parallel. It knows neither the owner of the picture,
// nor HTTP, nor where avatars are stored.
//
// It uses the decoders of the standard library. The header is checked before anything of the picture's size is allocated.
// The decoded picture exists once: it is cropped, put on white and reduced to less than 2000 × 2000 pixels row by row. Only
// that copy is resized and rotated.
package imaging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/disintegration/imaging"
	"golang.org/x/sync/semaphore"

	"github.com/consign-dev/consign/internal/ratelimit"
)

// defaultMaxMemory is in bytes. Pictures of 50 megapixels from cameras and phones need less.
const defaultMaxMemory = 512 << 20

// quality of the JPEG files. Higher values enlarge the files more than they improve them.
const quality = 88

// freeThreshold is the cost in bytes from which the memory of a picture is returned to the operating system immediately.
const freeThreshold = 32 << 20

// Options limits a Processor.
type Options struct {
	MaxPixels   int   // width × height of the uploaded picture (contract 3.7)
	MaxParallel int   // pictures decoded in parallel; 0: all cores but one, at least one
	MaxMemory   int64 // bytes for all pictures being decoded; a picture that needs more alone is rejected; 0: 512 MiB
}

// Avatar is one stored size of a picture.
type Avatar struct {
	Height int    // pixels; the width is the same
	JPEG   []byte // the file, without any metadata
}

// Heights returns the sizes that every avatar is stored in, largest first (identity specification, "Avatar rules").
func Heights() []int { return []int{500, 240, 160, 80} }

// Closest returns the stored size nearest to height, or the larger one of two that are equally near.
func Closest(height int) int {
	best := Heights()[0]
	for _, h := range Heights() {
		if distance(h, height) < distance(best, height) {
			best = h
		}
	}
	return best
}

func distance(a, b int) int { return max(a, b) - min(a, b) }

// Processor makes avatars. It limits the pictures decoded in parallel, and is safe for concurrent use.
type Processor struct {
	maxPixels int
	maxMemory int64
	semaphore *ratelimit.Semaphore
	memory    *semaphore.Weighted
}

// New returns a Processor.
func New(o Options) *Processor {
	if o.MaxMemory <= 0 {
		o.MaxMemory = defaultMaxMemory
	}
	if o.MaxParallel <= 0 {
		o.MaxParallel = max(1, runtime.GOMAXPROCS(0)-1)
	}
	return &Processor{
		maxPixels: o.MaxPixels,
		maxMemory: o.MaxMemory,
		semaphore: ratelimit.NewSemaphore(o.MaxParallel),
		memory:    semaphore.NewWeighted(o.MaxMemory),
	}
}

// Avatar reads the picture in source from its beginning and returns it in every size of Heights, in that order. The
// caller limits the length of source. A file as source needs no memory while it waits for the semaphore.
//
// Errors: *Refusal for a picture that is rejected (see its Reason), the error of ctx, and errors of source.
func (p *Processor) Avatar(ctx context.Context, source io.ReadSeeker) (avatars []Avatar, err error) {
	err = p.process(ctx, source, square, func(base *image.NRGBA) error {
		avatars, err = encode(base)
		return err
	})
	return avatars, err
}

// backdropSide is the longest side of a backdrop in pixels, backdropQuality that of its JPEG file.
const backdropSide, backdropQuality = 1600, 80

// Backdrop reads the picture in source from its beginning and returns it as one JPEG file without metadata. Neither side is
// longer than backdropSide, nor than three times the other one.
//
// Errors: as Avatar.
func (p *Processor) Backdrop(ctx context.Context, source io.ReadSeeker) ([]byte, error) {
	return p.fit(ctx, source, backdropSide, backdropQuality)
}

// fit returns the picture as a JPEG file with sides of at most so many pixels.
func (p *Processor) fit(ctx context.Context, source io.ReadSeeker, side, quality int) ([]byte, error) {
	var file bytes.Buffer
	err := p.process(ctx, source, whole, func(base *image.NRGBA) error {
		fitted := imaging.Fit(base, side, side, imaging.Lanczos)
		if err := imaging.Encode(&file, fitted, imaging.JPEG, imaging.JPEGQuality(quality)); err != nil {
			return fmt.Errorf("encode picture: %w", err)
		}
		return nil
	})
	return file.Bytes(), err
}

// thumbnailSide is the longest side of a thumbnail in pixels, thumbnailQuality that of its JPEG file.
const thumbnailSide, thumbnailQuality = 320, 75

// Thumbnail reads the picture in source from its beginning and returns a small copy of it, as Backdrop does.
//
// Errors: as Avatar.
func (p *Processor) Thumbnail(ctx context.Context, source io.ReadSeeker) ([]byte, error) {
	return p.fit(ctx, source, thumbnailSide, thumbnailQuality)
}

// process calls use with the picture as a reduced, upright and opaque copy that cut makes of it.
func (p *Processor) process(ctx context.Context, source io.ReadSeeker, cut cutter, use func(base *image.NRGBA) error) error {
	in := &input{ctx: ctx, source: source}
	h, err := p.inspect(in)
	if err != nil {
		return in.explain("inspect picture", err)
	}
	release, err := p.acquire(ctx, h.cost)
	if err != nil {
		return err
	}
	defer release()
	if h.cost >= freeThreshold {
		defer debug.FreeOSMemory() // runs before release, so that the next picture can use the memory
	}
	base, err := load(in, h, cut)
	if err != nil {
		return in.explain("decode picture", err)
	}
	return use(base)
}

// inspect judges the header of the picture; nothing of the picture's size is allocated.
func (p *Processor) inspect(in *input) (header, error) {
	h, err := readHeader(in)
	if err != nil {
		return header{}, err
	}
	if h.width > p.maxPixels/h.height {
		return header{}, ErrTooLarge.because(nil, fmt.Sprintf("has %d × %d pixels; at most %.4g megapixels are possible",
			h.width, h.height, float64(p.maxPixels)/1e6))
	}
	if h.cost > p.maxMemory {
		return header{}, ErrTooLarge.because(fmt.Errorf("decoding takes about %d bytes", h.cost),
			"takes too much memory to read; save it with fewer pixels, or as a plain JPEG that is neither progressive nor CMYK")
	}
	return h, nil
}

// acquire waits for a slot of the semaphore and for cost bytes of memory.
func (p *Processor) acquire(ctx context.Context, cost int64) (release func(), err error) {
	leave, err := p.semaphore.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("wait to decode a picture: %w", err)
	}
	if err := p.memory.Acquire(ctx, cost); err != nil {
		leave()
		return nil, fmt.Errorf("wait for memory to decode a picture: %w", err)
	}
	return func() {
		p.memory.Release(cost)
		leave()
	}, nil
}

// load decodes the picture and returns its upright, opaque cut. It keeps no reference to the decoded picture.
func load(in *input, h header, cut cutter) (base *image.NRGBA, err error) {
	defer func() {
		if p := recover(); p != nil {
			base, err = nil, ErrDamaged.because(fmt.Errorf("decoder panicked: %v", p), "")
		}
	}()
	if err := in.rewind(); err != nil {
		return nil, err
	}
	picture, err := h.format.decode(in)
	if err != nil {
		return nil, h.format.refusal(err)
	}
	canvas := picture.Bounds()
	if h.format == formatGIF {
		canvas = image.Rect(0, 0, h.width, h.height) // a frame may be smaller than the logical screen
	}
	if canvas.Empty() || canvas.Dx() > h.width || canvas.Dy() > h.height {
		return nil, ErrDamaged.because(fmt.Errorf("header said %d × %d, decoder %v", h.width, h.height, canvas), "")
	}
	return upright(cut(picture, canvas), h.orientation), nil
}

// upright applies an EXIF orientation (Exif 2.32, tag 0x0112).
func upright(m *image.NRGBA, orientation int) *image.NRGBA {
	switch orientation {
	case 2:
		return imaging.FlipH(m)
	case 3:
		return imaging.Rotate180(m)
	case 4:
		return imaging.FlipV(m)
	case 5:
		return imaging.Transpose(m)
	case 6:
		return imaging.Rotate270(m)
	case 7:
		return imaging.Transverse(m)
	case 8:
		return imaging.Rotate90(m)
	}
	return m
}

func encode(base *image.NRGBA) ([]Avatar, error) {
	avatars := make([]Avatar, 0, len(Heights()))
	for _, height := range Heights() {
		var file bytes.Buffer
		resized := imaging.Resize(base, height, height, imaging.Lanczos)
		if err := imaging.Encode(&file, resized, imaging.JPEG, imaging.JPEGQuality(quality)); err != nil {
			return nil, fmt.Errorf("encode avatar of height %d: %w", height, err)
		}
		avatars = append(avatars, Avatar{Height: height, JPEG: file.Bytes()})
	}
	return avatars, nil
}

// input is the source as the decoders see it. Reading ends with the context. Errors of the source are stored, because
// decoders report them like a truncated picture.
type input struct {
	ctx    context.Context // of one call of Avatar or Backdrop
	source io.ReadSeeker
	failed error
}

func (in *input) Read(p []byte) (int, error) {
	if err := in.ctx.Err(); err != nil {
		in.failed = err
		return 0, err
	}
	n, err := in.source.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		in.failed = err
	}
	return n, err
}

func (in *input) rewind() error {
	if _, err := in.source.Seek(0, io.SeekStart); err != nil {
		in.failed = err
		return err
	}
	return nil
}

// explain returns the error of the source if there is one, else err.
func (in *input) explain(operation string, err error) error {
	if in.failed != nil {
		return fmt.Errorf("%s: %w", operation, in.failed)
	}
	return fmt.Errorf("%s: %w", operation, err)
}
