package blob

import "fmt"

// AppendFinished implements Store.Append for an object that is finished with size bytes.
// Errors: ErrGap, ErrFinished.
func AppendFinished(key Key, offset, size int64) (Writer, error) {
	switch {
	case offset == size:
		return &finishedWriter{key: key, size: size}, nil
	case offset > size:
		return nil, fmt.Errorf("append to blob %s: %w: %d held, offset %d", key, ErrGap, size, offset)
	default:
		return nil, fmt.Errorf("append to blob %s: %w", key, ErrFinished)
	}
}

// finishedWriter is the Writer of a complete object.
type finishedWriter struct {
	key  Key
	size int64
}

// Write refuses any byte.
// Errors: ErrFinished.
func (w *finishedWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return 0, fmt.Errorf("write blob %s: %w", w.key, ErrFinished)
}

// Sync returns the size; Finish has made the bytes durable.
func (w *finishedWriter) Sync() (int64, error) { return w.size, nil }

// Close implements Writer.
func (w *finishedWriter) Close() error { return nil }
