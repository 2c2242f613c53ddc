package blob

import "fmt"

// AppendFinished is what a Store's Append does where the object is finished with size bytes: its caller lost track of it.
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

// finishedWriter is the Writer of an object to which nothing is missing.
type finishedWriter struct {
	key  Key
	size int64
}

// Write refuses to change the object.
func (w *finishedWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return 0, fmt.Errorf("write blob %s: %w", w.key, ErrFinished)
}

// Sync has nothing to do: Finish made the bytes durable.
func (w *finishedWriter) Sync() (int64, error) { return w.size, nil }

// Close implements Writer.
func (w *finishedWriter) Close() error { return nil }
