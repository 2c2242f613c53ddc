// Walks the segments of a JPEG to know its memory cost before it is decoded.

package imaging

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxScans limits the scans of a progressive JPEG. Encoders write about ten. The decoder walks over the whole picture for
// each scan, so thousands of nearly empty scans would be an attack.
const maxScans = 100

// jpegFacts holds what the memory for decoding depends on.
type jpegFacts struct {
	orientation int
	progressive bool
	adobe       bool
	names       []byte // of the components
	sampling    []byte // horizontal and vertical factor of each component, as in the file
	scans       int
}

// Markers of a JPEG file (ITU-T T.81, table B.1).
const (
	markerSOF0 = 0xc0
	markerSOF2 = 0xc2
	markerRST0 = 0xd0
	markerRST7 = 0xd7
	markerSOI  = 0xd8
	markerEOI  = 0xd9
	markerSOS  = 0xda
	markerAPP1 = 0xe1
	markerAPPE = 0xee
)

// walkJPEG reads the segments of a file and skips its pixels. A truncated file is no error here; the decoder reports it.
// Errors: *Refusal for too many scans, and errors of r.
func walkJPEG(r io.Reader) (jpegFacts, error) {
	facts := jpegFacts{orientation: 1}
	file := bufio.NewReaderSize(r, 64<<10)
	for {
		marker, err := nextMarker(file)
		if errors.Is(err, io.EOF) || marker == markerEOI {
			return facts, nil
		}
		if err != nil {
			return facts, err
		}
		if marker == markerSOI || marker >= markerRST0 && marker <= markerRST7 {
			continue
		}
		segment, err := readSegment(file, marker)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return facts, nil
		}
		if err != nil {
			return facts, err
		}
		facts.note(marker, segment)
		if facts.scans > maxScans {
			return facts, ErrFormat.because(fmt.Errorf("more than %d scans", maxScans),
				"is an unusual kind of JPEG; save it as a plain JPEG or PNG file")
		}
	}
}

func (f *jpegFacts) note(marker byte, segment []byte) {
	switch marker {
	case markerSOF0, markerSOF0 + 1, markerSOF2:
		if f.sampling != nil {
			return // the decoder rejects a second frame header after it has allocated for the first
		}
		f.progressive = marker == markerSOF2
		for i := 7; i < len(segment); i += 3 { // precision, height, width, count; then id, sampling, table of each
			f.names = append(f.names, segment[i-1])
			f.sampling = append(f.sampling, segment[i])
		}
	case markerSOS:
		f.scans++
	case markerAPPE:
		f.adobe = f.adobe || bytes.HasPrefix(segment, []byte("Adobe"))
	case markerAPP1:
		if tiff, ok := bytes.CutPrefix(segment, []byte("Exif\x00\x00")); ok && f.orientation == 1 {
			f.orientation = exifOrientation(tiff)
		}
	}
}

// cost returns the bytes that image/jpeg allocates for a picture of that size: the planes of its components, for
// progressive files four more bytes of coefficients per sample, for CMYK and RGB an interleaved copy.
func (f *jpegFacts) cost(width, height int64) int64 {
	const most = 4 // factors are 1 to 4
	across, down := int64(most), int64(most)
	if len(f.sampling) > 0 && f.sampling[0] != 0 {
		across, down = int64(f.sampling[0]>>4), int64(f.sampling[0]&15)
	}
	columns := (width + 8*across - 1) / max(8*across, 1)
	rows := (height + 8*down - 1) / max(8*down, 1)
	var samples int64
	for _, factors := range f.sampling {
		samples += columns * rows * 64 * int64(factors>>4) * int64(factors&15)
	}
	total := samples
	if f.progressive {
		total += 4 * samples
	}
	if len(f.sampling) == 4 || f.adobe || string(f.names) == "RGB" {
		total += 4 * width * height
	}
	return total
}

// nextMarker skips to the next marker. 0xff followed by 0 is data.
func nextMarker(file *bufio.Reader) (byte, error) {
	for {
		if _, err := file.ReadSlice(0xff); errors.Is(err, bufio.ErrBufferFull) {
			continue
		} else if err != nil {
			return 0, err
		}
		for {
			b, err := file.ReadByte()
			if err != nil {
				return 0, err
			}
			if b == 0xff {
				continue // fill bytes
			}
			if b != 0 {
				return b, nil
			}
			break
		}
	}
}

// readSegment returns the content of the segment after a marker. It skips segments that are not needed and returns nil.
func readSegment(file *bufio.Reader, marker byte) ([]byte, error) {
	var length [2]byte
	if _, err := io.ReadFull(file, length[:]); err != nil {
		return nil, err
	}
	n := int(length[0])<<8 + int(length[1]) - 2
	if n <= 0 {
		return nil, nil
	}
	switch marker {
	case markerSOF0, markerSOF0 + 1, markerSOF2, markerAPP1, markerAPPE:
		segment := make([]byte, n)
		_, err := io.ReadFull(file, segment)
		return segment, err
	}
	_, err := file.Discard(n)
	return nil, err
}
