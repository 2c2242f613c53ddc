package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// encoder makes JSON in a buffer of its own.
type encoder struct {
	json *json.Encoder
	body bytes.Buffer
}

// encoders are kept for the next answer, unless a long one has made their buffer large.
var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.body)
	e.json.SetEscapeHTML(false) // nosniff and the content type make it unnecessary
	return e
}}

const keptBuffer = 16 << 10

func (e *encoder) keep() {
	if e.body.Cap() <= keptBuffer {
		encoders.Put(e)
	}
}

// JSON answers with v as JSON.
func JSON(w http.ResponseWriter, status int, v any) error {
	e := encoders.Get().(*encoder)
	defer e.keep()
	e.body.Reset()
	if err := e.json.Encode(v); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return EncodedJSON(w, status, e.body.Bytes())
}

// keptItems are so many bytes of a list that its answer leaves in pieces of them.
const keptItems = keptBuffer / 2

// List answers with the members of head, a struct, and one more: an array of the items, each as from makes it. They leave while they
// come: of a long list neither items nor bytes are in memory all at once. An error after the first piece cuts the connection, so that
// nobody takes the piece for the list.
func List[T, B any](w http.ResponseWriter, head any, member string, items iter.Seq2[T, error], from func(T) B) error {
	return listed(w, http.StatusOK, func(l *listing) error { return withItems(l, head, member, items, from) })
}

// CreatedList is List for what was created at location, as Created has it.
func CreatedList[T, B any](w http.ResponseWriter, location string, head any, member string, items iter.Seq2[T, error], from func(T) B) error {
	w.Header().Set("Location", location)
	return listed(w, http.StatusCreated, func(l *listing) error { return withItems(l, head, member, items, from) })
}

// Lists answers with an array of groups as the one member, each as List answers with it.
func Lists[G, H, T, B any](w http.ResponseWriter, groupsMember string, groups []G, head func(G) H, member string, items func(G) iter.Seq2[T, error], from func(T) B) error {
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

// listing is an answer of which pieces leave while it is made.
type listing struct {
	*encoder
	w      http.ResponseWriter
	status int
	begun  bool // a piece has left
}

// listed answers with what write makes.
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

// send lets go what there is by now.
func (l *listing) send() error {
	if !l.begun {
		l.begun = true
		l.w.Header()["Content-Type"] = headerJSON
		l.w.WriteHeader(l.status)
	}
	if _, err := l.w.Write(l.body.Bytes()); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	l.body.Reset()
	return nil
}

// add encodes a value without the end of its line.
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

var headerJSON = []string{typeJSON} // shared, and without room to grow, so that Add copies it

// EncodedJSON answers with a body that is JSON already.
func EncodedJSON(w http.ResponseWriter, status int, body []byte) error {
	h := w.Header()
	h["Content-Type"] = headerJSON
	if len(body) > heldBack { // net/http counts the rest
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}

// Created answers 201 with v as JSON. location is absolute, made with hosts.Directory.URL.
func Created(w http.ResponseWriter, location string, v any) error {
	w.Header().Set("Location", location)
	return JSON(w, http.StatusCreated, v)
}

// NoContent answers 204.
func NoContent(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Bearer sets the Authorization header of an answer, in which a new token is handed out (contract 1.11).
func Bearer(w http.ResponseWriter, raw string) { w.Header().Set("Authorization", "Bearer "+raw) }

// Time is a moment in the form of both APIs, 2026-11-20T09:30:00.000+00:00 (contract 1.5).
type Time time.Time

const timeLayout = "2006-01-02T15:04:05.000-07:00"

// String returns the form used in JSON.
func (t Time) String() string { return time.Time(t).UTC().Format(timeLayout) }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, len(timeLayout)+2)
	b = append(b, '"')
	b = time.Time(t).UTC().AppendFormat(b, timeLayout)
	return append(b, '"'), nil
}

// UnmarshalText reads any RFC 3339 time.
func (t *Time) UnmarshalText(b []byte) error {
	parsed, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return invalidValue("is not a time like 2026-11-20T09:30:00.000+00:00")
	}
	*t = Time(parsed)
	return nil
}

// TimeOrNil returns t in the form of the APIs, nil for no time or the zero time: a member that is null or left out.
func TimeOrNil(t *time.Time) *Time {
	if t == nil || t.IsZero() {
		return nil
	}
	u := Time(*t)
	return &u
}
