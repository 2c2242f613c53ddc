// Tests of files in parts on disk through power cuts.

package disk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
)

// partSize is the length of the parts of planned objects in the steps of TestPowerCut.
const partSize = 3

// plan makes an object of parts, as the caller does: an object of the same key is deleted first.
func plan(key blob.Key, data string, parts int) step {
	return func(s *disk.Store, b book) error {
		if err := s.Delete(context.Background(), key); err != nil {
			return err
		}
		p := promise{data: data, parts: make([]int, parts)}
		b[key] = p
		if _, err := s.Plan(context.Background(), key, blob.Division{Size: int64(len(data)), Part: partSize, Unit: 1}); err != nil {
			return err
		}
		p.planned = true
		b[key] = p
		return nil
	}
}

// openPart opens a Writer where the acknowledged bytes of a part end.
func openPart(s *disk.Store, key blob.Key, p promise, part int) (blob.Writer, error) {
	begin := int64(part * partSize)
	return s.AppendAt(context.Background(), key, begin, begin+int64(p.parts[part]))
}

func putBytes(w blob.Writer, data string) error {
	for _, c := range []byte(data) { // one by one, so that a power cut can keep any of them
		if _, err := w.Write([]byte{c}); err != nil {
			return err
		}
	}
	return nil
}

// piece returns the bytes of a part that are not acknowledged, up to its byte end.
func (p promise) piece(part, end int) string {
	begin := part * partSize
	return p.data[begin+p.parts[part] : min(begin+end, len(p.data))]
}

// acknowledge notes what a Sync of a part has reported.
func (b book) acknowledge(key blob.Key, part int, held int64) {
	p := b[key]
	p.parts = slices.Clone(p.parts)
	p.parts[part] = int(held) - part*partSize
	b[key] = p
}

// fill writes a part up to its byte end, as one request.
func fill(key blob.Key, part, end int) step {
	return func(s *disk.Store, b book) error {
		w, err := openPart(s, key, b[key], part)
		if err != nil {
			return err
		}
		defer w.Close()
		if err := putBytes(w, b[key].piece(part, end)); err != nil {
			return err
		}
		held, err := w.Sync()
		if err == nil {
			b.acknowledge(key, part, held)
		}
		return err
	}
}

// strayPart writes bytes into a part that the caller does not acknowledge.
func strayPart(key blob.Key, part int, data string) step {
	return func(s *disk.Store, b book) error {
		w, err := openPart(s, key, b[key], part)
		if err != nil {
			return err
		}
		defer w.Close()
		return putBytes(w, data)
	}
}

// together writes the rest of two parts with two open Writers, byte by byte in turns.
func together(key blob.Key, first, second int) step {
	return func(s *disk.Store, b book) error {
		parts := []int{first, second}
		writers := make([]blob.Writer, 2)
		left := make([]string, 2)
		for i, part := range parts {
			w, err := openPart(s, key, b[key], part)
			if err != nil {
				return err
			}
			defer w.Close()
			writers[i], left[i] = w, b[key].piece(part, partSize)
		}
		for len(left[0])+len(left[1]) > 0 {
			for i, w := range writers {
				if left[i] == "" {
					continue
				}
				if err := putBytes(w, left[i][:1]); err != nil {
					return err
				}
				left[i] = left[i][1:]
			}
		}
		for i, w := range writers {
			held, err := w.Sync()
			if err != nil {
				return err
			}
			b.acknowledge(key, parts[i], held)
		}
		return nil
	}
}

// resumeParts completes a planned object as its caller intended.
func resumeParts(s *disk.Store, key blob.Key, p promise) error {
	b := book{key: p}
	if !p.planned {
		if err := plan(key, p.data, len(p.parts))(s, b); err != nil {
			return err
		}
	}
	for part := range p.parts {
		err := fill(key, part, partSize)(s, b)
		if errors.Is(err, blob.ErrGap) { // the interrupted Finish was complete
			break
		}
		if err != nil {
			return err
		}
	}
	return s.Finish(context.Background(), key, int64(len(p.data)))
}

// checkParts checks that a planned object has the acknowledged bytes of all parts.
func checkParts(s *disk.Store, key blob.Key, p promise) error {
	r, err := s.OpenPlanned(context.Background(), key, 0, int64(len(p.data)))
	if errors.Is(err, blob.ErrNotFound) && !p.planned {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s is planned: %w", key, err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	for part, acked := range p.parts {
		begin := part * partSize
		if acked > 0 && (len(got) < begin+acked || string(got[begin:begin+acked]) != p.data[begin:begin+acked]) {
			return fmt.Errorf("%s reads %q, %d bytes of part %d were acknowledged", key, got, acked, part)
		}
	}
	return nil
}
