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

// Read makes a request and reads the whole body of the answer.
func Read(request func() (*http.Response, error)) (*http.Response, []byte, error) {
	resp, err := request()
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp, raw, err
}
