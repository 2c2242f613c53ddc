// Package call carries out the operations of the generated packages identityapi and transferapi: it makes the request of an operation
// and reads its answer.
package call

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
)

// ErrNotModified is the answer 304: the caller's copy, which If-None-Match named, is still valid.
var ErrNotModified = errors.New("not modified")

// Doer sends a request. *http.Client is one.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Editor changes a request before it is sent, as one that adds a header.
type Editor = func(context.Context, *http.Request) error

// Client is where and how operations are called.
type Client struct {
	server string
	doer   Doer
}

// New returns a client of an API whose paths begin at server, as https://example.com/api/v2.
func New(server string, doer Doer) Client {
	return Client{strings.TrimRight(server, "/"), doer}
}

// Body is what a request carries. Its zero value is no body.
type Body struct {
	kind   string
	reader io.Reader
	err    error
}

// JSON returns a body of value as JSON.
func JSON(value any) Body {
	raw, err := json.Marshal(value)
	return Body{"application/json", bytes.NewReader(raw), err}
}

// Form returns a body of the fields of value, a struct, as a form.
func Form(value any) Body {
	fields := make(url.Values)
	err := eachField(value, func(name, _, text string) { fields.Set(name, text) })
	return Body{"application/x-www-form-urlencoded", strings.NewReader(fields.Encode()), err}
}

// Raw returns a body of bytes that reader has, of a media type.
func Raw(kind string, reader io.Reader) Body { return Body{kind, reader, nil} }

// Path puts values, in their order, into the braces of a path, as of /emails/{address}.
func Path(template string, values ...any) string {
	for _, v := range values {
		before, rest, _ := strings.Cut(template, "{")
		_, after, _ := strings.Cut(rest, "}")
		template = before + url.PathEscape(fmt.Sprint(v)) + after
	}
	return template
}

// None is the answer of an operation that answers nothing.
type None struct{}

// Do calls an operation. params is a pointer to a struct whose fields are parameters of the query (tag form) and of the header (tag json),
// or nil. The answer is decoded into T, unless T is None, http.Header (the header of the answer) or *http.Response (its body is open).
// Errors: ErrNotModified, those of the doer.
func Do[T any](ctx context.Context, c Client, method, path string, params any, body Body, editors []Editor) (answer T, err error) {
	r, err := request(ctx, c.server+path, method, params, body)
	if err != nil {
		return answer, err
	}
	for _, edit := range editors {
		if err := edit(ctx, r); err != nil {
			return answer, err
		}
	}
	resp, err := c.doer.Do(r)
	if err != nil {
		return answer, err
	}
	if kept, ok := r.Context().Value(answered{}).(*http.Response); ok {
		kept.Status, kept.StatusCode, kept.Header = resp.Status, resp.StatusCode, resp.Header
	}
	into := any(&answer)
	stream, isStream := into.(**http.Response)
	if isStream && resp.StatusCode < http.StatusMultipleChoices {
		*stream = resp
		return answer, nil
	}
	defer resp.Body.Close()
	defer func() { _, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) }() // the connection is used again
	switch {
	case resp.StatusCode == http.StatusNotModified:
		return answer, ErrNotModified
	case resp.StatusCode >= http.StatusMultipleChoices:
		return answer, fmt.Errorf("%s %s: the server answered %s", method, path, resp.Status)
	}
	switch into := into.(type) {
	case *None:
	case *http.Header:
		*into = resp.Header
	default:
		if !strings.Contains(resp.Header.Get("Content-Type"), "json") {
			return answer, fmt.Errorf("%s %s: the server answered %s without JSON", method, path, resp.Status)
		}
		err = json.NewDecoder(resp.Body).Decode(into)
	}
	return answer, err
}

// request makes the request of an operation.
func request(ctx context.Context, address, method string, params any, body Body) (*http.Request, error) {
	if body.err != nil {
		return nil, body.err
	}
	r, err := http.NewRequestWithContext(ctx, method, address, body.reader)
	if err != nil {
		return nil, err
	}
	if body.kind != "" {
		r.Header.Set("Content-Type", body.kind)
	}
	query := make(url.Values)
	err = eachField(params, func(name, form, text string) {
		if form != "" {
			query.Set(form, text)
		} else {
			r.Header.Set(name, text)
		}
	})
	r.URL.RawQuery = query.Encode()
	return r, err
}

// eachField calls set for each field of a struct that has a value, with the names of its tags json and form and the value as a text.
func eachField(of any, set func(name, form, text string)) error {
	v := reflect.ValueOf(of)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil
	}
	for field, value := range v.Fields() {
		if value.Kind() == reflect.Pointer {
			if value.IsNil() {
				continue
			}
			value = value.Elem()
		}
		text, err := asText(value)
		if err != nil {
			return fmt.Errorf("%s: %w", field.Name, err)
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		form, _, _ := strings.Cut(field.Tag.Get("form"), ",")
		set(name, form, text)
	}
	return nil
}

// asText returns a value as parameters have it: a list has commas between its elements.
func asText(v reflect.Value) (string, error) {
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		raw, err := m.MarshalText()
		return string(raw), err
	}
	if v.Kind() != reflect.Slice {
		return fmt.Sprint(v.Interface()), nil
	}
	texts := make([]string, v.Len())
	for i := range texts {
		var err error
		if texts[i], err = asText(v.Index(i)); err != nil {
			return "", err
		}
	}
	return strings.Join(texts, ","), nil
}

// answered is the key of the response in a request's context that Answered fills.
type answered struct{}

// Answered returns an editor by which an operation stores status and header of its answer in into.
func Answered(into *http.Response) Editor {
	return func(ctx context.Context, r *http.Request) error {
		*r = *r.WithContext(context.WithValue(ctx, answered{}, into))
		return nil
	}
}
