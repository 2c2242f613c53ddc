// Package wire encodes requests and reads answers of tests. It has no dependencies, so tests of the binary and benchmarks can import it.
package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// Body returns the JSON of v as a request body, and no body for nil.
func Body(v any) (io.Reader, error) {
	if v == nil {
		return http.NoBody, nil
	}
	raw, err := json.Marshal(v)
	return bytes.NewReader(raw), err
}

// Answer is an answer that was read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Read makes a request and reads the whole answer.
func Read(request func() (*http.Response, error)) (Answer, error) {
	resp, err := request()
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}, err
}
