// Package blob owns the contract for keeping the bytes of objects: what a store promises about appending,
// finishing, reading and deleting, and above all about what is still there after a crash.
//
// It knows nothing of what the bytes mean. Which offset was acknowledged to a client, who may read an object and
// when it ends are facts of the transfer domain's rows; a store only keeps what it was told to keep. Package disk
// implements the contract on a file system, package s3 in a bucket, package blobtest holds the tests both pass.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/consign-dev/consign/internal/id"
)

// What a store can refuse. Anything else it returns is trouble with the storage itself.
var (
	// ErrNotFound means that nothing is held under the key, or, for Open, no finished object.
	ErrNotFound = errors.New("blob is not held")
	// ErrFull means that the storage has no space or quota left. What an earlier Sync reported is untouched, and
	// Sync still works, so that what was written before the refusal can be kept. Clients see a 503.
	ErrFull = errors.New("blob storage is full")
	// ErrGap means that an append would start after the last byte held, which loses the bytes between.
	ErrGap = errors.New("blob holds fewer bytes than the offset")
	// ErrSize means that Finish was told another size than is held.
	ErrSize = errors.New("blob holds another number of bytes than expected")
	// ErrFinished means that the object is immutable and the append would have changed it.
	ErrFinished = errors.New("blob is finished")
	// ErrAway means that the storage could not be reached or is overloaded, and that trying again makes sense. Any method may
	// fail so; it says nothing of what is held. Clients see a 503.
	ErrAway = errors.New("blob storage is away")
	// ErrKey means that a key is not of the form that Key asks for.
	ErrKey = errors.New("blob key is malformed")
)

// Store keeps objects by key. An object starts unfinished, grows at its end, and becomes immutable by Finish.
//
// All methods may be called at the same time, with one duty left to callers: a key has at most one open Writer, and
// nobody finishes or deletes the object under it. A context bounds the call it is given to, and nothing afterwards.
type Store interface {
	// Append opens the object for writing at offset, creating it when offset is 0 and nothing is held. Bytes held
	// beyond offset are cut off: after a crash they may be garbage, and only the caller knows what it acknowledged.
	// size is the number of bytes the object will have in the end, a hint for reserving space; 0 means unknown.
	//
	// A finished object is never changed, but a caller that crashed after Finish and before it could note so may
	// come back: at an offset equal to the finished size it gets a Writer that has nothing left to take, whose Sync
	// reports that size and whose Write fails with ErrFinished. A smaller offset fails with ErrFinished.
	//
	// Errors: ErrGap (offset beyond what is held, finished or not), ErrFinished, ErrFull, ErrKey.
	Append(ctx context.Context, key Key, offset, size int64) (Writer, error)
	// Finish makes the object immutable and readable, and durably so: once it returned nil, exactly size bytes
	// survive any crash, whether or not the last Writer was synced. Repeating it, also after a crash in the middle,
	// succeeds and makes the same promise.
	//
	// Errors: ErrNotFound, ErrSize (the object stays as it was), ErrFull, ErrKey.
	Finish(ctx context.Context, key Key, size int64) error
	// Open reads a finished object from its start. Deleting the object does not disturb a Reader that is open.
	//
	// Errors: ErrNotFound (also for an unfinished object), ErrKey.
	Open(ctx context.Context, key Key) (Reader, error)
	// Held returns the number of bytes held, finished or not. Of an unfinished object these may be more than the
	// last Sync reported, and whatever lies beyond that is not durable and may be garbage.
	//
	// Errors: ErrNotFound, ErrKey.
	Held(ctx context.Context, key Key) (int64, error)
	// Delete removes the object, finished or not, and does so durably. Removing what is not there succeeds.
	//
	// Errors: ErrKey.
	Delete(ctx context.Context, key Key) error
	// List calls fn for each object until it returns an error, which List then returns. What is not an object is
	// passed over. fn may delete what it is shown. An object that is finished meanwhile may be shown twice, once in
	// each state, but never missed.
	List(ctx context.Context, fn func(Info) error) error
}

// Writer takes the next bytes of one object. It is used by one goroutine and must be closed.
type Writer interface {
	// Write appends p. With ErrFull the first n bytes of p were taken, and Sync may keep them.
	io.Writer
	// Sync makes everything written so far durable and returns how many bytes of the object are. After an error the
	// number is that of the last success, nothing written since may be relied on, and every later Write and Sync
	// fails the same way: append again from the number returned.
	Sync() (held int64, err error)
	// Close releases the Writer without making anything durable that Sync did not.
	Close() error
}

// Reader reads a finished object. The disk store's is an *os.File, which net/http sends without copying.
type Reader = io.ReadSeekCloser

// Info describes one object for sweeping orphans and for consign fsck.
type Info struct {
	Key      Key
	Size     int64     // bytes held, see Store.Held
	Modified time.Time // when bytes were last written
	Finished bool
}

// Key names an object: 8 to 128 lower-case letters, digits and hyphens, with a letter or digit at either end. No
// such name is a path, hides a file, or collides with another on a file system that ignores case.
type Key string

// The bounds of a key's length in bytes.
const (
	minKey = 8
	maxKey = 128
)

// ObjectKey returns the key under which an object of a transfer is kept.
func ObjectKey(o id.Object) Key { return Key(o.String()) }

// Check returns an error that wraps ErrKey unless the key has the form that Key describes.
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
