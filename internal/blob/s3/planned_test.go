//go:build s3

// Tests of objects in parts in a bucket.

package s3_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/s3"
)

// parts is what the rows know of a planned object.
type parts struct {
	caller
	planned bool
	part    int
	held    map[int]int // by begin: bytes that a Sync reported and the row recorded
}

// plan plans the object as a caller does, which deletes what was there.
func (c *parts) plan(s *s3.Store, size int) error {
	if c.planned {
		return nil
	}
	if err := s.Delete(context.Background(), c.key); err != nil {
		return err
	}
	part, err := s.Plan(context.Background(), c.key, blob.Division{Size: int64(size), Part: 10 * mib, Unit: mib})
	if err == nil {
		c.planned, c.part, c.held = true, int(part), map[int]int{}
	}
	return err
}

// write sends data from where a part is held, and syncs.
func (c *parts) write(s *s3.Store, begin int, data []byte, noted bool) error {
	w, err := s.AppendAt(context.Background(), c.key, int64(begin), int64(begin+c.held[begin]))
	if err != nil {
		return err
	}
	defer w.Close()
	for len(data) > 0 {
		n, err := w.Write(data[:min(len(data), 700_000)])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	held, err := w.Sync()
	if err == nil && noted {
		c.held[begin] = int(held) - begin
	}
	return err
}

// rest sends what is missing of a part.
func (c *parts) rest(s *s3.Store, begin int, data []byte) error {
	end := min(begin+c.part, len(data))
	if from := begin + c.held[begin]; from < end {
		return c.write(s, begin, data[from:end], true)
	}
	return nil
}

// finish reads the object and so finishes it.
func (c *parts) finish(s *s3.Store, data []byte) error {
	r, err := s.OpenPlanned(context.Background(), c.key, int64(len(data)), int64(len(data)))
	if err != nil {
		return err
	}
	c.done = true
	return errors.Join(r.Close(), s.Finish(context.Background(), c.key, int64(len(data))))
}

// upload is the life of a planned object of two parts: the first one with a Sync inside a piece, one that is not acknowledged, and one behind
// the piece.
func (c *parts) upload(s *s3.Store, data []byte) error {
	steps := []func() error{
		func() error { return c.plan(s, len(data)) },
		func() error { return c.write(s, 0, data[:2*mib], true) },
		func() error { return c.write(s, 0, random(98, 6*mib), false) }, // not acknowledged
		func() error { return c.rest(s, c.part, data) },
		func() error { return c.write(s, 0, data[2*mib:7*mib], true) },
		func() error { return c.rest(s, 0, data) },
		func() error { return c.finish(s, data) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// resume does what the next process does.
func (c *parts) resume(s *s3.Store, data []byte) error {
	if err := c.plan(s, len(data)); err != nil {
		return err
	}
	held, err := s.Held(context.Background(), c.key)
	if want := c.held[0] + c.held[c.part]; err != nil || held < int64(want) {
		return fmt.Errorf("%d bytes were acknowledged, %d are held: %w", want, held, err)
	}
	for begin := 0; begin < len(data); begin += c.part {
		if err := c.rest(s, begin, data); err != nil && !errors.Is(err, blob.ErrFinished) {
			return err
		}
	}
	return c.finish(s, data)
}

// TestPlannedCrash ends the process after each request of an upload in parts, answered and unanswered, and continues with another process.
func TestPlannedCrash(t *testing.T) {
	t.Parallel()
	data := random(8, 13*mib+17)
	for _, reached := range []bool{false, true} {
		t.Run(fmt.Sprintf("reached=%t", reached), func(t *testing.T) {
			t.Parallel()
			for n, done := 1, false; !done; n++ { // one request is that of New
				o := options(t)
				behind := o
				behind.Endpoint = newWall(t, o.Endpoint, n, reached)
				c := &parts{caller: caller{key: newKey()}}
				err := c.upload(open(t, behind), data)
				done = err == nil
				next := open(t, o)
				if err := c.resume(next, data); err != nil {
					t.Fatalf("after %d requests (%v), resumed: %v", n, err, err)
				}
				if err := c.check(next, data); err != nil {
					t.Fatalf("after %d requests, finished: %v", n, err)
				}
				if empty, err := next.Empty(t.Context()); err != nil || !empty {
					t.Fatalf("after %d requests, something is left after Delete: %v", n, err)
				}
				if n > 400 {
					t.Fatal("an upload never ends")
				}
			}
		})
	}
}

// TestPlannedReplicas: several replicas write parts of one object at once, and several finish it.
func TestPlannedReplicas(t *testing.T) {
	t.Parallel()
	o := options(t)
	data := random(9, 45*mib+1)
	c := &parts{caller: caller{key: newKey()}}
	if err := c.plan(open(t, o), len(data)); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	errs := make(chan error, 10)
	for begin := 0; begin < len(data); begin += c.part {
		s := open(t, o)
		all.Go(func() {
			one := &parts{caller: c.caller, part: c.part, held: map[int]int{}}
			errs <- one.rest(s, begin, data)
		})
	}
	all.Wait()
	for range 3 {
		s := open(t, o)
		all.Go(func() { errs <- (&parts{caller: c.caller}).finish(s, data) })
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if err := c.check(open(t, o), data); err != nil {
		t.Error(err)
	}
}

// TestPlannedDeadWriterWakes lets a stalled writer of a part continue after another replica has taken over.
func TestPlannedDeadWriterWakes(t *testing.T) {
	t.Parallel()
	data := random(10, 20*mib)
	for _, test := range []struct {
		name  string
		late  []byte // what the first writer writes after its 3 MiB
		whole bool
	}{
		{"with a piece of the same bytes", data[3*mib : 9*mib], true},
		{"with a piece of other bytes", random(11, 6*mib), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o, ctx := options(t), context.Background()
			first, second := open(t, o), open(t, o)
			c := &parts{caller: caller{key: newKey()}}
			if err := c.plan(first, len(data)); err != nil {
				t.Fatal(err)
			}
			dead, err := first.AppendAt(ctx, c.key, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			take(t, dead, data[:3*mib])
			if held, err := dead.Sync(); err != nil || held != 3*mib {
				t.Fatalf("Sync = %d, %v", held, err)
			}
			c.held[0] = 3 * mib
			for _, begin := range []int{0, c.part} {
				if err := c.rest(second, begin, data); err != nil {
					t.Fatal(err)
				}
			}
			take(t, dead, test.late)
			if _, err := dead.Sync(); err != nil { // its record does not count
				t.Fatal(err)
			}
			if err := dead.Close(); err != nil {
				t.Fatal(err)
			}
			if held, err := second.Held(ctx, c.key); err != nil || held != 20*mib {
				t.Fatalf("Held = %d, %v", held, err)
			}
			if err := c.finish(second, data); test.whole && err != nil {
				t.Fatal(err)
			} else if !test.whole && !errors.Is(err, blob.ErrNotFound) {
				t.Fatalf("an object of mixed bytes was opened: %v", err)
			}
			if test.whole {
				if err := c.check(second, data); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// abort aborts all multipart uploads of a test.
func abort(t *testing.T, o s3.Options) {
	t.Helper()
	client, err := minio.New(o.Endpoint.Host, &minio.Options{Creds: credentials.NewStaticV4(o.AccessKey, o.SecretKey, ""), Region: o.Region})
	if err != nil {
		t.Fatal(err)
	}
	for u := range client.ListIncompleteUploads(t.Context(), o.Bucket, o.Prefix, true) {
		if u.Err != nil {
			t.Fatal(u.Err)
		}
		if err := (minio.Core{Client: client}).AbortMultipartUpload(t.Context(), o.Bucket, u.Key, u.UploadID); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPlannedAborted: a service has aborted the multipart upload by itself, or a restored bucket lacks it.
func TestPlannedAborted(t *testing.T) {
	t.Parallel()
	o, c := options(t), &parts{caller: caller{key: newKey()}}
	s, data := open(t, o), random(12, 20*mib)
	if err := c.plan(s, len(data)); err != nil {
		t.Fatal(err)
	}
	if err := c.rest(s, 0, data); err != nil {
		t.Fatal(err)
	}
	abort(t, o)
	if _, err := s.AppendAt(t.Context(), c.key, int64(c.part), int64(c.part)); !errors.Is(err, blob.ErrGap) {
		t.Errorf("AppendAt: %v", err)
	}
	if err := s.Delete(t.Context(), c.key); err != nil {
		t.Fatal(err)
	}
	if empty, err := s.Empty(t.Context()); err != nil || !empty {
		t.Errorf("something is left after Delete: %v", err)
	}
}
