package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/strictjson"
)

// encoder encodes JSON into its own buffer.
type encoder struct {
	json *json.Encoder
	body bytes.Buffer
}

// encoders is the buffer pool. A buffer that grew beyond keptBuffer is not returned to it.
var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.body)
	e.json.SetEscapeHTML(false) // X-Content-Type-Options: nosniff makes it unnecessary
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

// EncodedJSON answers with body, which is encoded already.
func EncodedJSON(w http.ResponseWriter, status int, body []byte) error {
	return encoded(w, status, typeJSON, body)
}

func encoded(w http.ResponseWriter, status int, contentType string, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
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

// TypePDF is the media type of documents.
const TypePDF = "application/pdf"

// PDF answers with a document that browsers save under name, which is plain ASCII.
func PDF(w http.ResponseWriter, name string, file []byte) error {
	h := w.Header()
	h.Set("Content-Type", TypePDF)
	h.Set("Content-Length", strconv.Itoa(len(file)))
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	if _, err := w.Write(file); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}

// Bearer sets the Authorization header of an answer to a new token (contract 1.11).
func Bearer(w http.ResponseWriter, raw string) { w.Header().Set("Authorization", "Bearer "+raw) }

// Time is a time in the JSON form of both APIs, 2026-11-20T09:30:00.000+00:00 (contract 1.5).
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

// UnmarshalText accepts any RFC 3339 time.
func (t *Time) UnmarshalText(b []byte) error {
	parsed, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return strictjson.Invalid("is not a time like 2026-11-20T09:30:00.000+00:00")
	}
	*t = Time(parsed)
	return nil
}

// TimeOrNil returns t as a Time, nil for nil or the zero time: a member that is null or left out.
func TimeOrNil(t *time.Time) *Time {
	if t == nil || t.IsZero() {
		return nil
	}
	u := Time(*t)
	return &u
}
