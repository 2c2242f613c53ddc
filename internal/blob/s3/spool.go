package s3

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// spools makes the files in which parts are collected. They have no name, hold nothing that anybody relies on, and end
// with the process.
type spools struct{ dir string }

// prepare makes the directory and sees that files can be made in it.
func (s spools) prepare() error {
	if s.dir != "" {
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return err
		}
	}
	probe, err := s.make()
	if err != nil {
		return err
	}
	probe.free()
	return nil
}

func (s spools) make() (*spool, error) {
	f, err := os.CreateTemp(s.dir, "part-") // mode 0600
	if err != nil {
		return nil, err
	}
	kept := os.Remove(f.Name()) != nil // Windows does not remove what is open
	return &spool{file: f, kept: kept}, nil
}

// spool is the beginning of a part.
type spool struct {
	file *os.File
	size int64
	kept bool
}

// Write appends.
func (s *spool) Write(p []byte) (int, error) {
	n, err := s.file.WriteAt(p, s.size)
	s.size += int64(n)
	return n, err
}

// reader reads the first n bytes. It can seek, so that a request can be made again.
func (s *spool) reader(n int64) *io.SectionReader { return io.NewSectionReader(s.file, 0, n) }

// reset forgets the content; the space is used for the next.
func (s *spool) reset() { s.size = 0 }

func (s *spool) free() {
	_ = s.file.Close()
	if s.kept {
		_ = os.Remove(s.file.Name())
	}
}

// spoolFull reports whether an error says that the disk under the spools is full.
func spoolFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
