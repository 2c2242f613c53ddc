// Package reply reads answers to HTTP requests of tests. It has no dependencies, so tests of the binary and benchmarks can import it.
package reply

import (
	"io"
	"net/http"
)

// Read reads the whole body of an answer and closes it. It takes the results of an http.Client's Do.
func Read(resp *http.Response, err error) (*http.Response, []byte, error) {
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp, raw, err
}
