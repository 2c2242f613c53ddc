// Lists in JSON that are streamed. An error in the middle cuts the connection.

package httpapi

import (
	"fmt"
	"iter"
	"net/http"
)

// keptItems is the number of buffered bytes at which a list is flushed to the client.
const keptItems = keptBuffer / 2

// List answers with the members of head, a struct, and one more member: an array of the items, converted by from. It streams: a
// long list is never in memory as a whole. An error after the first flush cuts the connection, so that a partial list does not look
// complete.
func List[T, B any](w http.ResponseWriter, head any, member string, items iter.Seq2[T, error], from func(T) B) error {
	return listed(w, http.StatusOK, func(l *listing) error { return withItems(l, head, member, items, from) })
}

// CreatedList is List with status 201 and a Location header.
func CreatedList[T, B any](w http.ResponseWriter, location string, head any, member string, items iter.Seq2[T, error],
	from func(T) B) error {
	w.Header().Set("Location", location)
	return listed(w, http.StatusCreated, func(l *listing) error { return withItems(l, head, member, items, from) })
}

// Lists answers with one member: an array of groups, each encoded as by List.
func Lists[G, H, T, B any](w http.ResponseWriter, groupsMember string, groups []G, head func(G) H, member string,
	items func(G) iter.Seq2[T, error], from func(T) B) error {
	return listed(w, http.StatusOK, func(l *listing) error {
		l.body.WriteString(`{"` + groupsMember + `":[`)
		for i, g := range groups {
			if i > 0 {
				l.body.WriteByte(',')
			}
			if err := withItems(l, head(g), member, items(g), from); err != nil {
				return err
			}
		}
		l.body.WriteString("]}")
		return nil
	})
}

// listing is an answer that is streamed while it is encoded.
type listing struct {
	*encoder
	w      http.ResponseWriter
	status int
	begun  bool // the header and some of the body were sent
}

// listed answers with what write encodes.
func listed(w http.ResponseWriter, status int, write func(*listing) error) error {
	e := encoders.Get().(*encoder)
	defer e.keep()
	e.body.Reset()
	l := &listing{encoder: e, w: w, status: status}
	if err := write(l); err != nil {
		return err
	}
	e.body.WriteByte('\n')
	if l.begun {
		return l.send()
	}
	return EncodedJSON(w, status, e.body.Bytes())
}

// send flushes the buffer to the client.
func (l *listing) send() error {
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", typeJSON)
		l.w.WriteHeader(l.status)
	}
	if _, err := l.w.Write(l.body.Bytes()); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	l.body.Reset()
	return nil
}

// add encodes a value without the trailing newline.
func (l *listing) add(v any) error {
	if err := l.json.Encode(v); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	l.body.Truncate(l.body.Len() - 1)
	return nil
}

// withItems adds an object: the members of head and the array of the items.
func withItems[T, B any](l *listing, head any, member string, items iter.Seq2[T, error], from func(T) B) error {
	start := l.body.Len()
	if err := l.add(head); err != nil {
		return err
	}
	l.body.Truncate(l.body.Len() - len("}"))
	if l.body.Len() > start+len("{") {
		l.body.WriteByte(',')
	}
	l.body.WriteString(`"` + member + `":[`)
	first := true
	for item, err := range items {
		if err != nil {
			return err
		}
		if l.body.Len() >= keptItems {
			if err := l.send(); err != nil {
				return err
			}
		}
		if !first {
			l.body.WriteByte(',')
		}
		first = false
		if err := l.add(from(item)); err != nil {
			return err
		}
	}
	l.body.WriteString("]}")
	return nil
}
