package httpapi

import (
	"bytes"
	"fmt"
	"net/http"
)

// Stream writes server-sent events. It is not safe for concurrent use.
type Stream struct {
	w          http.ResponseWriter
	controller *http.ResponseController
	buffer     bytes.Buffer
}

// NewStream starts an event stream: it sends and flushes the headers. Its route must produce TypeEvents. A client that does not take an
// event within a minute loses the connection.
func NewStream(w http.ResponseWriter, _ *http.Request) *Stream {
	h := w.Header()
	h.Set("Content-Type", TypeEvents)
	h.Set("X-Accel-Buffering", "no") // keeps nginx from buffering events
	w.WriteHeader(http.StatusOK)
	s := &Stream{w: w, controller: http.NewResponseController(w)}
	_ = s.controller.Flush() // a closed connection fails the first event
	return s
}

// TypeEvents is the media type of an event stream.
const TypeEvents = "text/event-stream"

// Send writes one event and flushes it. event and id may be empty and must not contain line ends; data may.
func (s *Stream) Send(event, id string, data []byte) error {
	s.buffer.Reset()
	s.field("event", event)
	s.field("id", id)
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		s.buffer.WriteString("data: ")
		s.buffer.Write(bytes.TrimSuffix(line, []byte("\r")))
		s.buffer.WriteByte('\n')
	}
	return s.flush()
}

// Comment writes a comment line, which clients ignore: a heartbeat.
func (s *Stream) Comment() error {
	s.buffer.Reset()
	s.buffer.WriteString(":\n")
	return s.flush()
}

func (s *Stream) field(name, value string) {
	if value == "" {
		return
	}
	s.buffer.WriteString(name)
	s.buffer.WriteString(": ")
	s.buffer.WriteString(value)
	s.buffer.WriteByte('\n')
}

func (s *Stream) flush() error {
	s.buffer.WriteByte('\n')
	if _, err := s.w.Write(s.buffer.Bytes()); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if err := s.controller.Flush(); err != nil {
		return fmt.Errorf("flush event: %w", err)
	}
	return nil
}
