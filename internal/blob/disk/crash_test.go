package disk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/testkit/powercut"
)

// promise is what a caller knows about one object, as its database row does.
type promise struct {
	data     string // the object, once complete
	acked    int    // bytes that a Sync reported
	finished bool
	deleting bool // Delete was called
	deleted  bool // and returned
}

// book is what the caller knows about all objects.
type book map[blob.Key]promise

// step is one operation of a caller, which it can repeat after a crash.
type step func(s *disk.Store, b book) error

// extend appends up to end of the object, as one request.
func extend(key blob.Key, data string, end int) step {
	return func(s *disk.Store, b book) error {
		p := b[key]
		p.data = data
		held, err := send(s, key, p.acked, data[p.acked:end], true)
		if err == nil {
			p.acked = held
			b[key] = p
		}
		return err
	}
}

// stray writes bytes that the caller does not acknowledge, for example because of a wrong digest.
func stray(key blob.Key, data string, synced bool) step {
	return func(s *disk.Store, b book) error {
		_, err := send(s, key, b[key].acked, data, synced)
		return err
	}
}

func send(s *disk.Store, key blob.Key, at int, data string, synced bool) (held int, err error) {
	w, err := s.Append(context.Background(), key, int64(at), int64(at+len(data)))
	if err != nil {
		return 0, err
	}
	defer w.Close()
	for _, c := range []byte(data) { // one by one, so that a power cut can keep any of them
		if _, err := w.Write([]byte{c}); err != nil {
			return 0, err
		}
	}
	if !synced {
		return at, nil
	}
	n, err := w.Sync()
	return int(n), err
}

func finish(key blob.Key, data string) step {
	return func(s *disk.Store, b book) error {
		if err := s.Finish(context.Background(), key, int64(len(data))); err != nil {
			return err
		}
		b[key] = promise{data: data, acked: len(data), finished: true}
		return nil
	}
}

func remove(key blob.Key) step {
	return func(s *disk.Store, b book) error {
		p := b[key]
		p.deleting = true
		b[key] = p
		if err := s.Delete(context.Background(), key); err != nil {
			return err
		}
		p.deleted = true
		b[key] = p
		return nil
	}
}

// forget makes a deleted object one that may begin again.
func forget(key blob.Key) step {
	return func(_ *disk.Store, b book) error {
		b[key] = promise{}
		return nil
	}
}

// work reaches every fsync of the store in a situation that depends on it.
var work = [][]step{
	{ // an upload in two requests
		extend("upload-aaaa", "abcdef", 3), extend("upload-aaaa", "abcdef", 6), finish("upload-aaaa", "abcdef"),
	},
	{ // nothing synced before Finish
		stray("unsynced-aaaa", "ghi", false), finish("unsynced-aaaa", "ghi"),
	},
	{ // bytes beyond the acknowledged offset, overwritten
		extend("cut-aabb", "jklmno", 2), stray("cut-aabb", "XYZ", true), extend("cut-aabb", "jklmno", 4),
		extend("cut-aabb", "jklmno", 6), finish("cut-aabb", "jklmno"),
	},
	{ // bytes beyond the acknowledged offset, rolled back without others in their place
		extend("back-bbbb", "pq", 2), stray("back-bbbb", "XYZ", true), stray("back-bbbb", "", false), finish("back-bbbb", "pq"),
	},
	{ // the segments of one object, in turns: the last one first, with bytes that are not acknowledged
		extend("second-aacc", "defg", 1), extend("first-aacc", "abc", 2), stray("second-aacc", "XYZ", true), extend("first-aacc", "abc", 3),
		finish("first-aacc", "abc"), extend("second-aacc", "defg", 4), finish("second-aacc", "defg"),
	},
	{ // begun again, because what was there was given up
		stray("again-aacc", "XYZ", true), remove("again-aacc"), forget("again-aacc"), extend("again-aacc", "abcd", 4),
		finish("again-aacc", "abcd"),
	},
	{ // nothing at all
		extend("empty-bbbb", "", 0), finish("empty-bbbb", ""),
	},
	{ // deleted before and after Finish
		extend("gone-bbbb", "rst", 2), remove("gone-bbbb"),
		extend("gone-too-bbbb", "uvw", 3), finish("gone-too-bbbb", "uvw"), remove("gone-too-bbbb"),
	},
}

const root = "/data/objects"

// carryOut opens the store and does the steps from one on until the power fails. It returns the step that failed.
func carryOut(d *powercut.Disk, steps []step, from int, b book) (int, error) {
	s, err := disk.New(root, d)
	if err != nil {
		return from, err
	}
	for i := from; i < len(steps); i++ {
		if err := steps[i](s, b); err != nil {
			return i, err
		}
	}
	return len(steps), nil
}

// fates are the outcomes of a power cut to try at each moment: fixed ones, then random ones.
func fates(random uint64) []powercut.Fate {
	f := []powercut.Fate{powercut.Nothing, powercut.NamesOnly, powercut.ContentOnly, powercut.Garbage}
	for seed := range random {
		f = append(f, powercut.Random(seed))
	}
	return f
}

// explore cuts the power at every moment of the work. It also kills the process at every moment, lets the next process
// continue, and cuts the power at every moment of that. It returns the first broken promise.
func explore(steps []step, skip func(powercut.Sync) bool) error {
	for n := 1; ; n++ {
		first, b := powercut.New(powercut.Options{CutAfter: n, SkipSync: skip}), book{}
		at, err := carryOut(first, steps, 0, b)
		if err := judge(fmt.Sprintf("cut after %d", n), first, b, fates(8), skip, err); err != nil {
			return err
		}
		if err == nil {
			return nil
		}
		for m := 1; ; m++ {
			next, b := first.Restart(powercut.Options{CutAfter: m, SkipSync: skip}), maps.Clone(b)
			_, err := carryOut(next, steps, at, b)
			if err := judge(fmt.Sprintf("killed after %d, cut %d later", n, m), next, b, fates(0)[:2], skip, err); err != nil {
				return err
			}
			if err == nil {
				break
			}
		}
	}
}

// judge crashes d in several ways and checks the promises; stopped is how the work on d ended.
func judge(when string, d *powercut.Disk, b book, fates []powercut.Fate, skip func(powercut.Sync) bool, stopped error) error {
	if stopped != nil && !errors.Is(stopped, powercut.ErrCut) {
		return fmt.Errorf("%s: %w", when, stopped)
	}
	for i, fate := range fates {
		if err := verify(d.Crash(fate, powercut.Options{SkipSync: skip}), b); err != nil {
			return fmt.Errorf("%s, fate %d: %w", when, i, err)
		}
	}
	return nil
}

// verify checks that the disk keeps every promise, continues all objects as a caller would, and checks again after another cut.
func verify(d *powercut.Disk, b book) error {
	s, err := disk.New(root, d)
	if err != nil {
		return err
	}
	if err := checkKept(s, b, false); err != nil {
		return err
	}
	for key, p := range b {
		if err := resume(s, key, p); err != nil {
			return fmt.Errorf("%s, resumed: %w", key, err)
		}
	}
	if s, err = disk.New(root, d.Crash(powercut.Nothing, powercut.Options{})); err != nil {
		return err
	}
	if err := checkKept(s, b, true); err != nil {
		return fmt.Errorf("after resuming: %w", err)
	}
	return nil
}

// resume completes an object as its caller intended.
func resume(s *disk.Store, key blob.Key, p promise) error {
	ctx := context.Background()
	if p.deleting {
		return s.Delete(ctx, key)
	}
	_, err := send(s, key, p.acked, p.data[p.acked:], true)
	if errors.Is(err, blob.ErrFinished) { // the interrupted Finish was complete
		err = nil
	}
	if err != nil {
		return err
	}
	return s.Finish(ctx, key, int64(len(p.data)))
}

// checkKept checks the promises; with all, every object that is not deleted must be finished.
func checkKept(s *disk.Store, b book, all bool) error {
	listed := map[blob.Key][]bool{}
	if err := s.List(context.Background(), func(i blob.Info) error {
		listed[i.Key] = append(listed[i.Key], i.Finished)
		return nil
	}); err != nil {
		return err
	}
	for key, p := range b {
		switch {
		case p.deleted || p.deleting && all:
			if len(listed[key]) > 0 {
				return fmt.Errorf("%s came back", key)
			}
		case p.deleting:
		case p.finished || all:
			if !slices.Equal(listed[key], []bool{true}) {
				return fmt.Errorf("%s is finished and listed as %v", key, listed[key])
			}
			if err := checkContent(s, key, p.data); err != nil {
				return err
			}
		case p.acked > 0 || len(listed[key]) > 0:
			held, err := s.Held(context.Background(), key)
			if err != nil {
				return fmt.Errorf("%d bytes acknowledged: %w", p.acked, err)
			}
			if held < int64(p.acked) {
				return fmt.Errorf("%s: %d bytes acknowledged, %d held", key, p.acked, held)
			}
		}
	}
	return nil
}

func checkContent(s *disk.Store, key blob.Key, data string) error {
	r, err := s.Open(context.Background(), key)
	if err != nil {
		return err
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err == nil && !bytes.Equal(got, []byte(data)) {
		err = fmt.Errorf("%s reads %q, want %q", key, got, data)
	}
	return err
}

func TestPowerCut(t *testing.T) {
	t.Parallel()
	for _, steps := range work {
		if err := explore(steps, nil); err != nil {
			t.Error(err)
		}
	}
}
