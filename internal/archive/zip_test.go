// Tests of zips with the standard library's reader, also from the middle.

package archive_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
	"time"

	"github.com/consign-dev/consign/internal/archive"
)

var noon = time.Date(2026, 11, 20, 12, 0, 1, 0, time.UTC)

type memory struct {
	*bytes.Reader
	closed *int
}

func (m memory) Close() error { *m.closed++; return nil }

// pack returns an archive of contents in memory. opened and closed count the files.
func pack(contents [][]byte) (z *archive.Zip, r *archive.Reader, opened, closed *int) {
	files := make([]archive.File, len(contents))
	for i, c := range contents {
		files[i] = archive.File{Name: fmt.Sprintf("föld%d/file %d", i%3, i), Size: int64(len(c)), CRC32: crc32.ChecksumIEEE(c)}
	}
	opened, closed = new(int), new(int)
	z = archive.New(files, noon)
	return z, z.Open(func(i int) (io.ReadSeekCloser, error) {
		*opened++
		return memory{bytes.NewReader(contents[i]), closed}, nil
	}), opened, closed
}

func TestZip(t *testing.T) {
	t.Parallel()
	contents := [][]byte{[]byte("hello"), nil, bytes.Repeat([]byte("x"), 100_000), []byte("end")}
	z, r, opened, closed := pack(contents)
	raw, err := io.ReadAll(r)
	if err != nil || int64(len(raw)) != z.Size() {
		t.Fatalf("%d bytes of %d, %v", len(raw), z.Size(), err)
	}
	if err := r.Close(); err != nil || *opened != 3 || *closed != 3 {
		t.Errorf("%d files opened, %d closed, %v", *opened, *closed, err)
	}
	read, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil || len(read.File) != len(contents) {
		t.Fatalf("%v", err)
	}
	for i, f := range read.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(content) // checks the CRC too
		if err != nil || !bytes.Equal(got, contents[i]) {
			t.Errorf("%s: %d bytes, %v", f.Name, len(got), err)
		}
		if f.Name != fmt.Sprintf("föld%d/file %d", i%3, i) || f.NonUTF8 || f.Method != zip.Store || !f.Modified.Equal(noon) || f.Mode() != 0o644 {
			t.Errorf("%+v", f.FileHeader)
		}
	}
	// The Reader reads the same bytes at any position, in pieces of any size.
	if err := iotest.TestReader(z.Open(func(i int) (io.ReadSeekCloser, error) { return memory{bytes.NewReader(contents[i]), closed}, nil }),
		raw); err != nil {
		t.Error(err)
	}
}

func TestEmptyZip(t *testing.T) {
	t.Parallel()
	z, r, _, _ := pack(nil)
	raw, err := io.ReadAll(r)
	if err != nil || z.Size() != 22 {
		t.Fatalf("%d, %v", z.Size(), err)
	}
	if _, err := zip.NewReader(bytes.NewReader(raw), 22); err != nil {
		t.Error(err)
	}
}

// zeroes is a file of zero bytes.
type zeroes struct{ at, size int64 }

func (z *zeroes) Read(p []byte) (int, error) {
	if z.at >= z.size {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.size-z.at)
	clear(p[:n])
	z.at += n
	return int(n), nil
}

func (z *zeroes) Seek(offset int64, _ int) (int64, error) { z.at = offset; return offset, nil }
func (z *zeroes) Close() error                            { return nil }

// at returns an io.ReaderAt of a Reader.
type at struct{ *archive.Reader }

func (a at) ReadAt(p []byte, off int64) (int, error) {
	if _, err := a.Seek(off, io.SeekStart); err != nil {
		return 0, err
	}
	return io.ReadFull(a, p)
}

// TestZip64 uses what exceeds the original zip format: files over 4 GiB, offsets beyond it, over 65,535 entries.
func TestZip64(t *testing.T) {
	t.Parallel()
	for name, sizes := range map[string][]int64{
		"large files":  {5 << 30, 3, 1<<32 - 1, 1<<32 - 2, 7},
		"many files":   make([]int64, 70_000),
		"just 65535":   make([]int64, 65_535),
		"just 65534":   make([]int64, 65_534),
		"a large sum":  {3 << 30, 3 << 30, 1},
		"a large file": {1 << 40},
	} {
		files := make([]archive.File, len(sizes))
		for i, s := range sizes {
			files[i] = archive.File{Name: fmt.Sprint("f", i), Size: s}
		}
		z := archive.New(files, noon)
		r := z.Open(func(i int) (io.ReadSeekCloser, error) { return &zeroes{size: sizes[i]}, nil })
		read, err := zip.NewReader(at{r}, z.Size())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(read.File) != len(sizes) {
			t.Errorf("%s: %d entries", name, len(read.File))
		}
		for i, f := range read.File {
			if int64(f.UncompressedSize64) != sizes[i] || f.Name != files[i].Name {
				t.Fatalf("%s: %+v", name, f.FileHeader)
			}
		}
		last := read.File[len(read.File)-1]
		offset, err := last.DataOffset() // reads the local header
		if err != nil || offset < 30 {
			t.Errorf("%s: %d, %v", name, offset, err)
		}
	}
}

func TestZipWhoseFileIsShort(t *testing.T) {
	t.Parallel()
	z := archive.New([]archive.File{{Name: "a", Size: 10}}, noon)
	r := z.Open(func(int) (io.ReadSeekCloser, error) { return &zeroes{size: 4}, nil })
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
	gone := errors.New("gone")
	r = z.Open(func(int) (io.ReadSeekCloser, error) { return nil, gone })
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	if _, err := r.Seek(-1, io.SeekStart); err == nil {
		t.Error("a position before the start")
	}
}

func TestZipReadsTheSameFromAnywhere(t *testing.T) {
	t.Parallel()
	var contents [][]byte
	for i := range 20 {
		contents = append(contents, bytes.Repeat([]byte{byte(i)}, i*37))
	}
	z, r, _, _ := pack(contents)
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	for range 2_000 {
		from := rand.Int64N(z.Size())
		p := make([]byte, rand.Int64N(z.Size()-from)+1)
		if n, err := (at{r}).ReadAt(p, from); err != nil || !bytes.Equal(p[:n], raw[from:from+int64(n)]) {
			t.Fatalf("at %d: %d bytes, %v", from, n, err)
		}
	}
}
