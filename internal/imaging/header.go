package imaging

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

// format is one of the three supported formats. image.Decode is not used, because its formats depend on the linked packages.
type format string

const (
	formatJPEG format = "JPEG"
	formatPNG  format = "PNG"
	formatGIF  format = "GIF"
)

// header describes a picture without decoding it.
type header struct {
	format        format
	width, height int
	orientation   int   // EXIF, 1 to 8
	cost          int64 // most bytes that decoding and reducing allocate
}

// baseCost is the cost of every picture in bytes: the reduced square in two orientations, the resized copies and the
// tables of decoders.
const baseCost = 48 << 20

// sniffLength is the number of bytes from which the format is detected; mimetype uses no more.
const sniffLength = 3072

func (f format) decode(r io.Reader) (image.Image, error) {
	switch f {
	case formatJPEG:
		return jpeg.Decode(r)
	case formatPNG:
		return png.Decode(r)
	default:
		return gif.Decode(r) // the first frame only
	}
}

func (f format) decodeConfig(r io.Reader) (image.Config, error) {
	switch f {
	case formatJPEG:
		return jpeg.DecodeConfig(r)
	case formatPNG:
		return png.DecodeConfig(r)
	default:
		return gif.DecodeConfig(r)
	}
}

// refusal returns ErrFormat for a variant that the decoder does not support, else ErrDamaged.
func (f format) refusal(err error) error {
	var (
		refused *Refusal
		jpegErr jpeg.UnsupportedError
		pngErr  png.UnsupportedError
	)
	switch {
	case errors.As(err, &refused):
		return err
	case errors.As(err, &jpegErr), errors.As(err, &pngErr):
		return ErrFormat.because(err, fmt.Sprintf("is an unusual kind of %s; save it as a plain JPEG or PNG file", f))
	}
	return ErrDamaged.because(err, "")
}

// readHeader detects the format and reads the header.
// Errors: *Refusal, and errors of the source.
func readHeader(in *input) (header, error) {
	if err := in.rewind(); err != nil {
		return header{}, err
	}
	start := make([]byte, sniffLength)
	n, err := io.ReadFull(in, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return header{}, err
	}
	start = start[:n]
	h := header{orientation: 1}
	if h.format, err = sniff(start); err != nil {
		return header{}, err
	}
	if err := in.rewind(); err != nil {
		return header{}, err
	}
	config, err := h.format.decodeConfig(in)
	if err != nil {
		return header{}, h.format.refusal(err)
	}
	if config.Width <= 0 || config.Height <= 0 {
		return header{}, ErrDamaged.because(fmt.Errorf("%d × %d pixels", config.Width, config.Height), "")
	}
	h.width, h.height = config.Width, config.Height
	pixels := int64(h.width) * int64(h.height)
	switch h.format {
	case formatJPEG:
		if err := in.rewind(); err != nil {
			return header{}, err
		}
		facts, err := walkJPEG(in)
		if err != nil {
			return header{}, err
		}
		h.orientation = facts.orientation
		h.cost = facts.cost(int64(h.width), int64(h.height))
	case formatPNG:
		h.cost = pixels * pngPixel(start)
	case formatGIF:
		h.cost = pixels * 2 // one byte each, and a copy for deinterlacing
	}
	h.cost += baseCost
	return h, nil
}

func sniff(start []byte) (format, error) {
	switch {
	case bytes.HasPrefix(start, []byte("\xff\xd8\xff")):
		return formatJPEG, nil
	case bytes.HasPrefix(start, []byte("\x89PNG\r\n\x1a\n")):
		return formatPNG, nil
	case bytes.HasPrefix(start, []byte("GIF87a")), bytes.HasPrefix(start, []byte("GIF89a")):
		return formatGIF, nil
	}
	kind := mimetype.Detect(start).String()
	if strings.HasPrefix(kind, "image/") {
		return "", ErrFormat.because(nil, fmt.Sprintf("is of type %s, which is not supported; send a JPEG, PNG or GIF file", kind))
	}
	return "", ErrNotImage.because(fmt.Errorf("content looks like %s", kind), "")
}

// pngPixel returns the bytes that decoding takes for each pixel, by the IHDR chunk (PNG specification, 11.2.1). Grey and
// true colour may turn out to have a transparent colour, which makes them as large as with an alpha channel.
func pngPixel(start []byte) int64 {
	const bitDepth, colourType, interlaced, end = 24, 25, 28, 29
	if len(start) < end {
		return 16
	}
	size := int64(4)
	switch {
	case start[colourType] == 3:
		size = 1 // palette
	case start[bitDepth] == 16:
		size = 8
	}
	if start[interlaced] != 0 {
		size *= 2 // the pictures of the seven passes together have the size of one
	}
	return size
}

// exifOrientation returns the orientation in an Exif segment (without its "Exif\0\0"), or 1 when it has no valid one.
func exifOrientation(tiff []byte) int {
	const tagOrientation, typeShort = 0x0112, 3
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder
	switch string(tiff[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 1
	}
	first := int64(order.Uint32(tiff[4:]))
	if first+2 > int64(len(tiff)) {
		return 1
	}
	entries := tiff[first+2:]
	for range order.Uint16(tiff[first:]) {
		if len(entries) < 12 {
			return 1
		}
		if order.Uint16(entries) == tagOrientation && order.Uint16(entries[2:]) == typeShort {
			if o := int(order.Uint16(entries[8:])); o >= 1 && o <= 8 {
				return o
			}
			return 1
		}
		entries = entries[12:]
	}
	return 1
}
