// Package archive builds zip archives of stored files: safe names, and bytes computed on demand. Without compression every
// offset and the total size are known before a file is read. So an archive is served with a length and in ranges, in constant
// memory.
//
// It knows neither transfers nor HTTP. The caller opens the files.
package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
	"time"
)

// File is one entry. Size and CRC32 (IEEE) must match the file's bytes, because they are written before them.
type File struct {
	Name  string // as returned by Names
	Size  int64
	CRC32 uint32
}

// Zip is the layout of an archive. It is safe for concurrent use.
type Zip struct {
	files     []File
	modified  time.Time
	locals    []int64 // offsets of the local headers, then of the directory
	directory []int64 // offsets of the directory entries, then of their end
	tail      []byte  // bytes after the directory
}

// Constants of the format (PKWARE APPNOTE 6.3.10): signatures, lengths, and the values that refer to the zip64 fields.
const (
	localSignature     = 0x04034b50
	directorySignature = 0x02014b50
	end64Signature     = 0x06064b50
	locatorSignature   = 0x07064b50
	endSignature       = 0x06054b50

	localLength     = 30
	directoryLength = 46
	zip64Header     = 4 // of an extra field
	timeLength      = 9 // extended timestamp, an extra field

	max16 = 1<<16 - 1
	max32 = 1<<32 - 1

	utf8Flag   = 1 << 11
	version    = 20
	version64  = 45
	madeByUnix = 3<<8 | version64
	plainFile  = 0o100644 << 16 // external attributes
)

// New returns the layout of an archive of files, all with the same modification time.
func New(files []File, modified time.Time) *Zip {
	z := &Zip{files: files, modified: modified.UTC(), locals: make([]int64, len(files)+1), directory: make([]int64, len(files)+1)}
	at := int64(0)
	for i, f := range files {
		z.locals[i] = at
		at += f.localSize() + f.Size
	}
	z.locals[len(files)] = at
	for i, f := range files {
		z.directory[i] = at
		at += f.entrySize(z.locals[i])
	}
	z.directory[len(files)] = at
	z.tail = z.end()
	return z
}

// Size returns the size of the archive in bytes.
func (z *Zip) Size() int64 { return z.directory[len(z.files)] + int64(len(z.tail)) }

func (f File) large() bool { return f.Size >= max32 }

func (f File) localSize() int64 {
	n := localLength + len(f.Name) + timeLength
	if f.large() {
		n += zip64Header + 16
	}
	return int64(n)
}

func (f File) entrySize(local int64) int64 {
	return int64(directoryLength + len(f.Name) + timeLength + zip64Size(f, local))
}

// zip64Size returns the length of the zip64 extra field of a directory entry.
func zip64Size(f File, local int64) int {
	n := 0
	if f.large() {
		n += 16
	}
	if local >= max32 {
		n += 8
	}
	if n > 0 {
		n += zip64Header
	}
	return n
}

var le = binary.LittleEndian

// local returns the header before a file's bytes.
func (z *Zip) local(i int) []byte {
	f := z.files[i]
	b := make([]byte, 0, f.localSize())
	b = le.AppendUint32(b, localSignature)
	b = z.common(b, f)
	extra := timeLength
	if f.large() {
		extra += zip64Header + 16
	}
	b = le.AppendUint16(b, uint16(len(f.Name)))
	b = le.AppendUint16(b, uint16(extra))
	b = append(b, f.Name...)
	if f.large() {
		b = le.AppendUint16(b, 1)
		b = le.AppendUint16(b, 16)
		b = le.AppendUint64(b, uint64(f.Size))
		b = le.AppendUint64(b, uint64(f.Size))
	}
	return z.timestamp(b)
}

// entry returns a file's entry in the directory.
func (z *Zip) entry(i int) []byte {
	f, local := z.files[i], z.locals[i]
	zip64 := zip64Size(f, local)
	b := make([]byte, 0, f.entrySize(local))
	b = le.AppendUint32(b, directorySignature)
	b = le.AppendUint16(b, madeByUnix)
	b = z.common(b, f)
	b = le.AppendUint16(b, uint16(len(f.Name)))
	b = le.AppendUint16(b, uint16(timeLength+zip64))
	b = append(b, 0, 0, 0, 0, 0, 0) // comment, disk, internal attributes
	b = le.AppendUint32(b, plainFile)
	b = le.AppendUint32(b, uint32(min(local, max32)))
	b = append(b, f.Name...)
	if zip64 > 0 {
		b = le.AppendUint16(b, 1)
		b = le.AppendUint16(b, uint16(zip64-zip64Header))
		if f.large() {
			b = le.AppendUint64(b, uint64(f.Size))
			b = le.AppendUint64(b, uint64(f.Size))
		}
		if local >= max32 {
			b = le.AppendUint64(b, uint64(local))
		}
	}
	return z.timestamp(b)
}

// common appends the fields that header and entry share: versions to sizes.
func (z *Zip) common(b []byte, f File) []byte {
	needed := uint16(version)
	if f.large() {
		needed = version64
	}
	b = le.AppendUint16(b, needed)
	b = le.AppendUint16(b, utf8Flag)
	b = le.AppendUint16(b, 0) // stored
	year := max(1980, min(z.modified.Year(), 2107))
	b = le.AppendUint16(b, uint16(z.modified.Hour()<<11|z.modified.Minute()<<5|z.modified.Second()/2))
	b = le.AppendUint16(b, uint16((year-1980)<<9|int(z.modified.Month())<<5|z.modified.Day()))
	b = le.AppendUint32(b, f.CRC32)
	size := uint32(min(f.Size, max32))
	b = le.AppendUint32(b, size)
	return le.AppendUint32(b, size)
}

// timestamp appends the time in UTC, which the older fields cannot express.
func (z *Zip) timestamp(b []byte) []byte {
	b = le.AppendUint16(b, 0x5455)
	b = le.AppendUint16(b, 5)
	b = append(b, 1) // modification time only
	return le.AppendUint32(b, uint32(z.modified.Unix()))
}

// end returns the records after the directory.
func (z *Zip) end() []byte {
	n := len(z.files)
	start, stop := z.locals[n], z.directory[n]
	var b []byte
	if n >= max16 || start >= max32 || stop-start >= max32 {
		b = le.AppendUint32(b, end64Signature)
		b = le.AppendUint64(b, 44) // length of the rest of this record
		b = le.AppendUint16(b, madeByUnix)
		b = le.AppendUint16(b, version64)
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0) // disks
		b = le.AppendUint64(b, uint64(n))
		b = le.AppendUint64(b, uint64(n))
		b = le.AppendUint64(b, uint64(stop-start))
		b = le.AppendUint64(b, uint64(start))
		b = le.AppendUint32(b, locatorSignature)
		b = le.AppendUint32(b, 0)
		b = le.AppendUint64(b, uint64(stop))
		b = le.AppendUint32(b, 1)
	}
	b = le.AppendUint32(b, endSignature)
	b = append(b, 0, 0, 0, 0) // disks
	b = le.AppendUint16(b, uint16(min(n, max16)))
	b = le.AppendUint16(b, uint16(min(n, max16)))
	b = le.AppendUint32(b, uint32(min(stop-start, max32)))
	b = le.AppendUint32(b, uint32(min(start, max32)))
	return append(b, 0, 0) // comment
}

// Reader reads the archive's bytes at any position. One goroutine uses it and closes it.
type Reader struct {
	z    *Zip
	open func(i int) (io.ReadSeekCloser, error)
	at   int64

	file    io.ReadSeekCloser // the open file, nil: none
	opened  int               // its index
	filePos int64
	err     error // of a file
}

// Trouble returns why reading has ended early.
func (r *Reader) Trouble() error { return r.err }

// Open returns a Reader at the start of the archive. The Reader calls open for one file at a time, when it reaches it.
func (z *Zip) Open(open func(i int) (io.ReadSeekCloser, error)) *Reader {
	return &Reader{z: z, open: open}
}

var errSeek = errors.New("seek before the start of the archive")

// Seek implements io.Seeker.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.z.Size()
	}
	if offset < 0 {
		return 0, errSeek
	}
	r.at = offset
	return offset, nil
}

// Read implements io.Reader. It fills p unless the archive ends: files may be small, and headers are.
func (r *Reader) Read(p []byte) (n int, err error) {
	if r.at >= r.z.Size() {
		return 0, io.EOF
	}
	for n < len(p) && r.at < r.z.Size() && err == nil {
		var more int
		more, err = r.part(p[n:])
		n += more
		r.at += int64(more)
	}
	r.err = err
	return n, err
}

// part reads from the part of the archive at the present position.
func (r *Reader) part(p []byte) (int, error) {
	z := r.z
	n := len(z.files)
	switch {
	case r.at >= z.directory[n]:
		return copy(p, z.tail[r.at-z.directory[n]:]), nil
	case r.at >= z.locals[n]:
		i := sort.Search(n, func(i int) bool { return z.directory[i+1] > r.at })
		return copy(p, z.entry(i)[r.at-z.directory[i]:]), nil
	}
	i := sort.Search(n, func(i int) bool { return z.locals[i+1] > r.at })
	within := r.at - z.locals[i]
	if header := z.files[i].localSize(); within < header {
		return copy(p, z.local(i)[within:]), nil
	} else if err := r.content(i, within-header); err != nil {
		return 0, err
	}
	want := min(int64(len(p)), z.locals[i+1]-r.at)
	got, err := io.ReadFull(r.file, p[:want])
	r.filePos += int64(got)
	if err != nil {
		return got, fmt.Errorf("read %d of %d bytes of a file: %w", got, want, err)
	}
	return got, nil
}

// content seeks in the file of entry i, which it opens if needed.
func (r *Reader) content(i int, at int64) error {
	if r.file == nil || r.opened != i {
		if err := r.Close(); err != nil {
			return err
		}
		file, err := r.open(i)
		if err != nil {
			return err
		}
		r.file, r.opened, r.filePos = file, i, 0
	}
	if r.filePos != at {
		if _, err := r.file.Seek(at, io.SeekStart); err != nil {
			return fmt.Errorf("seek in a file: %w", err)
		}
		r.filePos = at
	}
	return nil
}

// Close closes the open file, if any.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}
