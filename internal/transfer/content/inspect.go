package content

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/scan"
)

// Inspect sends the bytes of an object to a scanner and looks into them. They are read twice, streamed.
// Errors: those of open, and any of the scanner.
func (s *Service) Inspect(ctx context.Context, scanner scan.Scanner, o id.Object, size int64) (v scan.Verdict, err error) {
	file, err := s.open(ctx, o, size, true)
	if err != nil {
		return scan.Verdict{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	rules, err := scan.Inspect(ctx, seekingReader{file}, size)
	if err != nil {
		return scan.Verdict{}, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return scan.Verdict{}, fmt.Errorf("read object %s: %w", o, err)
	}
	if v, err = scanner.Scan(ctx, file, size); err != nil {
		return scan.Verdict{}, err
	}
	for _, rule := range rules {
		if rule == scan.Encrypted && v.State == scan.Clean {
			v.State, v.Finding = scan.Partly, "Encrypted" // the engine has not read what is in it
		}
	}
	v.Content = append(rules, v.Content...)
	return v, nil
}

// seekingReader reads at offsets by seeking, for one goroutine.
type seekingReader struct{ io.ReadSeeker }

// ReadAt implements io.ReaderAt.
func (r seekingReader) ReadAt(p []byte, off int64) (int, error) {
	if _, err := r.Seek(off, io.SeekStart); err != nil {
		return 0, fmt.Errorf("seek: %w", err)
	}
	n, err := io.ReadFull(r, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err //nolint:wrapcheck // io.ReaderAt returns io.EOF as it is
}
