package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Error is an error that the server answered.
type Error struct {
	Status     int
	Code       int // status times 1000 plus a number, stable; 0 when the answer was not from Consign
	Message    string
	Details    []string
	Transfer   string        // with 409010: the uid of the transfer that the reservation has become
	RetryAfter time.Duration // 0 when the server does not say
	Request    string        // the X-Request-Id, with which an operator finds the request in the log
	header     http.Header
}

// Error returns the details, or the message when there are none, and the code.
func (e *Error) Error() string {
	text := strings.Join(e.Details, "; ")
	if text == "" {
		text = e.Message
	}
	if e.Code == 0 {
		return fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("%s (%d)", text, e.Code)
}

// HasCode reports whether err is an error of the server with one of the codes.
func HasCode(err error, codes ...int) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains(codes, e.Code)
}

// HasStatus reports whether err is an error of the server with the status.
func HasStatus(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// problem reads the error of an answer and closes its body.
func problem(resp *http.Response) *Error {
	defer resp.Body.Close()
	e := &Error{Status: resp.StatusCode, Request: resp.Header.Get("X-Request-Id"), header: resp.Header}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(min(seconds, 3600)) * time.Second
	}
	var body struct {
		Error struct {
			Code    int      `json:"code"`
			Message string   `json:"message"`
			Details []string `json:"details"`

			Transfer string `json:"transfer"`
		} `json:"error"`
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && json.Unmarshal(raw, &body) == nil && body.Error.Code/1000 == e.Status {
		e.Code, e.Message, e.Details, e.Transfer = body.Error.Code, body.Error.Message, body.Error.Details, body.Error.Transfer
	}
	return e
}
