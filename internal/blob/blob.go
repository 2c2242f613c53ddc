// Package blob defines the contract for storing the bytes of objects: append, finish, read, delete, and what survives a
// crash.
//
// A store knows nothing of what the bytes mean. Which offset a client was acknowledged, who may read an object and when it
// ends are in the rows of the transfer domain. Package disk implements the contract on a file system, package s3 in a
// bucket. Package blobtest is the conformance suite for both.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/consign-dev/consign/internal/id"
)

// The errors of a store. Any other error is a failure of the storage.
var (
	// ErrNotFound means that nothing is stored under the key or, for Open, no finished object.
	ErrNotFound = errors.New("blob is not held")
	// ErrFull means that the storage has no space or quota left. Bytes that a Sync has reported are unaffected, and Sync
	// still works, so that bytes written before the error can be kept. Clients see a 503.
	ErrFull = errors.New("blob storage is full")
	// ErrGap means that an append would start after the last stored byte.
	ErrGap = errors.New("blob holds fewer bytes than the offset")
	// ErrSize means that Finish got another size than is stored.
	ErrSize = errors.New("blob holds another number of bytes than expected")
	// ErrFinished means that the object is immutable and the append would change it.
	ErrFinished = errors.New("blob is finished")
	// ErrAway means that the storage is unavailable or overloaded and a retry makes sense. Any method may return it. It
	// says nothing about what is stored. Clients see a 503.
	ErrAway = errors.New("blob storage is unavailable")
	// ErrKey means that a key does not have the form of Key.
	ErrKey = errors.New("blob key is malformed")
)

// Integrity is what the database says about the stored files and their backup. Metrics, doctor and the console tell it.
type Integrity struct {
	Damaged  int64     // lost or damaged files, which nobody gets
	Problems int64     // that the last complete check of all files found
	Checked  time.Time // when that check ended; zero: there was none
	BackedUp time.Time // when a backup was last recorded; zero: never
}

// Store stores objects by key. An object starts unfinished, grows at its end, and becomes immutable by Finish.
//
// All methods may be called concurrently, with one condition: a key has at most one open Writer, and its object is neither finished nor
// deleted concurrently. A context applies to the call that gets it, and to nothing after that call.
type Store interface {
	// Append opens the object for writing at offset. It creates the object when offset is 0 and nothing is stored. It cuts
	// off bytes beyond offset: after a crash they may be garbage, and only the caller knows what it has acknowledged. size is
	// the final number of bytes, a hint for reserving space; 0 means unknown.
	//
	// A finished object is never changed. A caller that crashed after Finish may return to it: at an offset equal to the
	// finished size, Append returns a Writer whose Sync reports that size and whose Write fails with ErrFinished. A smaller
	// offset fails with ErrFinished.
	//
	// Errors: ErrGap for an offset beyond the stored bytes, finished or not; ErrFinished, ErrFull, ErrKey.
	Append(ctx context.Context, key Key, offset, size int64) (Writer, error)
	// Finish makes the object immutable, readable and durable: after it has returned nil, exactly size bytes survive any
	// crash, whether or not the last Writer was synced. It is idempotent, also after a crash during an earlier call.
	//
	// Errors: ErrNotFound, ErrSize (the object is unchanged), ErrFull, ErrKey.
	Finish(ctx context.Context, key Key, size int64) error
	// Open opens a finished object for reading, at its start. Deleting the object does not affect an open Reader.
	//
	// Errors: ErrNotFound (also for an unfinished object), ErrKey.
	Open(ctx context.Context, key Key) (Reader, error)
	// Held returns the number of bytes stored, finished or not. An unfinished object may have more than the last Sync has
	// reported; those are not durable and may be garbage.
	//
	// Errors: ErrNotFound, ErrKey.
	Held(ctx context.Context, key Key) (int64, error)
	// Delete removes the object, finished or not, durably. It is idempotent.
	//
	// Errors: ErrKey.
	Delete(ctx context.Context, key Key) error
	// List calls fn for each object until fn returns an error, which List returns. It skips files that are not objects. fn
	// may delete the object. An object that is finished during the call may come twice, once in each state, but is never missed.
	List(ctx context.Context, fn func(Info) error) error
}

// Writer appends bytes to one object. One goroutine uses it and closes it.
type Writer interface {
	// Write appends p. With ErrFull it has taken the first n bytes of p, and Sync may keep them.
	io.Writer
	// Sync makes everything written durable and returns how many bytes of the object are durable. With an error it returns
	// the number of the last success. Then nothing written since is certain, every later Write and Sync fails with the same
	// error, and the caller appends again from that number.
	Sync() (held int64, err error)
	// Close releases the Writer. It makes nothing durable.
	Close() error
}

// Reader reads a finished object. The disk store returns an *os.File, which net/http sends with sendfile.
type Reader = io.ReadSeekCloser

// Linked is a Reader of a store that can serve the object itself.
type Linked interface {
	// Link returns a URL at which anybody can read the object for some time. The answer has the given headers Content-Disposition and
	// Content-Type.
	Link(ctx context.Context, lifetime time.Duration, disposition, contentType string) (string, error)
}

// Probed is a Store that can say whether it works while nobody uses it.
type Probed interface {
	// Probe writes a few bytes beside the objects and reads them, and returns why that fails.
	Probe(ctx context.Context) error
}

// Info describes one object for the orphan sweep and fsck.
type Info struct {
	Key      Key
	Size     int64     // bytes stored, see Store.Held
	Modified time.Time // time of the last write
	Finished bool
}

// Key identifies an object: 8 to 128 lower-case letters, digits and hyphens, with a letter or digit at either end. Such a
// key is never a path or a hidden file, and is unique on a case-insensitive file system.
type Key string

// Limits of a key's length in bytes.
const (
	minKey = 8
	maxKey = 128
)

// SegmentKey returns the key of a segment of a transfer's object.
func SegmentKey(s id.Segment) Key { return Key(s.String()) }

// Check returns an error that wraps ErrKey when the key does not have the form of Key.
func (k Key) Check() error {
	if len(k) < minKey || len(k) > maxKey || k[0] == '-' || k[len(k)-1] == '-' {
		return fmt.Errorf("%w: %q", ErrKey, string(k))
	}
	for _, c := range []byte(k) {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return fmt.Errorf("%w: %q", ErrKey, string(k))
		}
	}
	return nil
}

// Begin is the check that each method of a Store begins with.
// Errors: ErrKey, that of an ended ctx.
func Begin(ctx context.Context, key Key) error {
	if err := key.Check(); err != nil {
		return err
	}
	return ctx.Err()
}

// BeginAppend is Begin for Append. It also returns an error for a negative offset.
func BeginAppend(ctx context.Context, key Key, offset int64) error {
	if err := Begin(ctx, key); err != nil {
		return err
	}
	if offset < 0 {
		return fmt.Errorf("append to blob %s: negative offset %d", key, offset)
	}
	return nil
}
