// Package output provides a writer for logs and output of tests. It has no dependencies, so every package's tests can import it.
package output

import (
	"bytes"
	"sync"
)

// Buffer keeps what is written to it. The zero Buffer is empty. It is safe for concurrent use.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns everything that was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
