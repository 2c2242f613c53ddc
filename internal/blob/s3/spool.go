package s3

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// spools creates the files in which parts are collected. They have no name, hold no bytes that anybody relies on, and vanish
// with the process.
type spools struct{ dir string }

// prepare creates the directory and checks that files can be created in it.
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
	kept := os.Remove(f.Name()) != nil // Windows does not remove open files
	return &spool{file: f, kept: kept}, nil
}

// spool collects the bytes of a part.
type spool struct {
	file *os.File
	size int64
	kept bool
}

// Write appends p.
func (s *spool) Write(p []byte) (int, error) {
	n, err := s.file.WriteAt(p, s.size)
	s.size += int64(n)
	return n, err
}

// reader reads the first n bytes. It can seek, so that a request can be retried.
func (s *spool) reader(n int64) *io.SectionReader { return io.NewSectionReader(s.file, 0, n) }

// reset empties the spool for reuse.
func (s *spool) reset() { s.size = 0 }

func (s *spool) free() {
	_ = s.file.Close()
	if s.kept {
		_ = os.Remove(s.file.Name())
	}
}

// spoolFull reports whether an error means that the disk of the spools is full.
func spoolFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
