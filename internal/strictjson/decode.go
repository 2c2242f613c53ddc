// Decodes the body of a request: size, Content-Type and charset, and what null means in a patch.

package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/consign-dev/consign/internal/fault"
)

const (
	typeJSON       = "application/json"
	typeMergePatch = "application/merge-patch+json"
)

var errNoBody = fault.ErrInvalid.With("body: a JSON object is required")

// MaxBytes is the size limit of a JSON or form body (contract 1.4).
const MaxBytes = 1 << 20

// Decode reads the request's JSON body into dst, a pointer to a struct, strictly (contract 1.4): one value of valid
// UTF-8, at most 1 MiB, no member twice, names in their exact case, no NUL. Unknown members are ignored, except by
// structs with a method StrictMembers(). Every member of a wrong type is a detail of the one error.
//
// Errors: 400 for a body that is missing, malformed or wrong in type, 413, 415.
func Decode(r *http.Request, dst any) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	if len(body) == 0 {
		return errNoBody
	}
	return bind(body, dst)
}

// DecodePatch is Decode for a PATCH. A body of the type application/merge-patch+json (RFC 7396) removes members by null:
// removed names them. In any other body null stands for an absent member, and removed is empty.
func DecodePatch(r *http.Request, dst any) (merge bool, removed []string, err error) {
	body, err := readBody(r)
	switch {
	case err != nil:
		return false, nil, err
	case len(body) == 0:
		return false, nil, errNoBody
	}
	if err := bind(body, dst); err != nil {
		return false, nil, err
	}
	if name, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); name != typeMergePatch {
		return false, nil, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return false, nil, fault.ErrInvalid.With("body: cannot be read").Because(err)
	}
	for name, value := range members {
		if string(value) == "null" {
			removed = append(removed, name)
		}
	}
	return true, removed, nil
}

// DecodeOptional is Decode for requests that may come without a body, which leaves dst as it is and needs no
// Content-Type.
func DecodeOptional(r *http.Request, dst any) error {
	body, err := readBody(r)
	if err != nil || len(body) == 0 {
		return err
	}
	return bind(body, dst)
}

// maxPromised caps the buffer allocated in advance from Content-Length, because a client may announce a megabyte and send nothing.
const maxPromised = 16 << 10

// readBody returns the body, empty when it is missing or only white space. A Content-Type is required only for a body that is not
// empty.
func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > MaxBytes {
		return nil, TooLarge(MaxBytes)
	}
	var buffer bytes.Buffer
	buffer.Grow(int(min(max(0, r.ContentLength), maxPromised)) + bytes.MinRead)
	if _, err := buffer.ReadFrom(http.MaxBytesReader(nil, r.Body, MaxBytes)); err != nil {
		return nil, bodyError(err)
	}
	body := bytes.Trim(buffer.Bytes(), " \t\r\n")
	if len(body) == 0 {
		return nil, nil
	}
	return body, checkContentType(r.Header)
}

func bodyError(err error) error {
	var f *fault.Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &f):
		return err
	case errors.As(err, &large):
		return TooLarge(large.Limit)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.ErrInvalid.With("body: ends before its Content-Length").Because(err)
	}
	return fmt.Errorf("read body: %w", err)
}

// TooLarge returns the error for a request body of more than limit bytes.
func TooLarge(limit int64) *fault.Error {
	return fault.ErrTooLarge.With("the request body may have " + strconv.FormatInt(limit, 10) + " bytes at most").AtMost(limit)
}

func checkContentType(h http.Header) error {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return fault.ErrUnsupported.With("Content-Encoding: send the body without one")
	}
	sent := h.Get("Content-Type")
	if sent == typeJSON {
		return nil
	}
	name, params, err := mime.ParseMediaType(sent)
	if err != nil || name != typeJSON && !(strings.HasPrefix(name, "application/") && strings.HasSuffix(name, "+json")) {
		return fault.ErrUnsupported.With("Content-Type: send the body as application/json")
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return fault.ErrUnsupported.With("Content-Type: the charset is UTF-8")
	}
	return nil
}

// bind parses body into dst and returns all problems as one error.
func bind(body []byte, dst any) error {
	target := reflect.ValueOf(dst)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("decode into %T: not a pointer", dst)
	}
	p := &parser{data: body}
	if err := p.document(target.Elem()); err != nil {
		return fault.ErrInvalid.With(err.Error())
	}
	return p.problems.Err()
}

// valueError is a sentence about a value that the client may read.
type valueError string

func (e valueError) Error() string { return string(e) }

// Invalid returns an error for UnmarshalText or UnmarshalJSON of a wire type, with a sentence that the client sees. Decode adds
// the member's name in front. The text of any other error is not shown to the client.
func Invalid(sentence string) error { return valueError(sentence) }
