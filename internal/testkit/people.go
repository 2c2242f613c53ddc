// The named people of tests: their requests over HTTP, and what they expect.

package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit/wire"
)

// Password is what every person of the test kit signs up with.
const Password = "correct horse battery"

// Person is somebody who uses the server: a stranger without tokens, or a person who signed up.
type Person struct {
	Server *Server
	Email  string
	ID     string // ID token
	Access string // access token

	Header http.Header // sent with every request
}

// Stranger is somebody without an account.
func (s *Server) Stranger() *Person { return &Person{Server: s, Header: http.Header{}} }

// SignUp makes a person whose address is confirmed and who has fresh tokens.
func (s *Server) SignUp(email string) *Person {
	s.T.Helper()
	p := s.SignUpUnconfirmed(email)
	key := s.Mail.Wait(s.T, email, "/confirm/", 1).Key(s.T, "/confirm/")
	resp := p.Post(s.Identity+"/confirm/"+key, nil).Want(http.StatusNoContent)
	if raw, ok := strings.CutPrefix(resp.Header.Get("Authorization"), "Bearer "); ok {
		p.ID = raw
	}
	p.Refresh()
	return p
}

// SignUpUnconfirmed makes a person who has not opened the confirmation mail yet.
func (s *Server) SignUpUnconfirmed(email string) *Person {
	s.T.Helper()
	p := &Person{Server: s, Email: email, Header: http.Header{}}
	name, _, _ := strings.Cut(email, "@")
	resp := p.Post(s.Identity+"/signup", map[string]any{
		"address": email, "password": Password, "name": strings.ToUpper(name[:1]) + name[1:], "locale": "en_US", "timeZone": "Europe/Berlin",
	}).Want(http.StatusOK)
	p.ID = resp.String("token")
	p.Refresh()
	return p
}

// Login signs a person in with the kit's password and gives the new session's person; the receiver keeps its own tokens.
func (p *Person) Login() *Person {
	p.Server.T.Helper()
	q := &Person{Server: p.Server, Email: p.Email, Header: http.Header{}}
	q.ID = q.Post(p.Server.Identity+"/auth/login", map[string]any{"email": p.Email, "type": "bcrypt", "key": Password}).Want(
		http.StatusOK).String("token")
	q.Refresh()
	return q
}

// At is the same person talking to another replica.
func (p *Person) At(s *Server) *Person {
	q := *p
	q.Server = s
	q.Header = p.Header.Clone()
	return &q
}

// Refresh gets a new access token for the ID token.
func (p *Person) Refresh() {
	p.Server.T.Helper()
	p.Access = p.As(p.ID).Post(p.Server.Identity+"/auth/access", nil).Want(http.StatusOK).String("token")
}

// As is the same person who presents another token: p.As(p.ID), or a reservation's.
func (p *Person) As(token string) *Person {
	q := *p
	q.Access = token
	q.Header = p.Header.Clone()
	return &q
}

// With is the same person who sends a header with every request.
func (p *Person) With(name, value string) *Person {
	q := *p
	q.Header = p.Header.Clone()
	q.Header.Set(name, value)
	return &q
}

// Get makes a GET request with the access token.
func (p *Person) Get(path string) *Response { p.Server.T.Helper(); return p.Do("GET", path, nil) }

// Head makes a HEAD request with the access token.
func (p *Person) Head(path string) *Response { p.Server.T.Helper(); return p.Do("HEAD", path, nil) }

// Delete makes a DELETE request with the access token.
func (p *Person) Delete(path string) *Response { p.Server.T.Helper(); return p.Do("DELETE", path, nil) }

// Post makes a POST request with the access token; see Do for the body.
func (p *Person) Post(path string, body any) *Response {
	p.Server.T.Helper()
	return p.Do("POST", path, body)
}

// Put makes a PUT request with the access token; see Do for the body.
func (p *Person) Put(path string, body any) *Response {
	p.Server.T.Helper()
	return p.Do("PUT", path, body)
}

// Patch makes a PATCH request with the access token; see Do for the body.
func (p *Person) Patch(path string, body any) *Response {
	p.Server.T.Helper()
	return p.Do("PATCH", path, body)
}

// Do makes a request and reads the whole answer. A body that is neither nil, []byte, string nor io.Reader is sent as JSON. A failure to get
// one fails the test.
func (p *Person) Do(method, path string, body any) *Response {
	p.Server.T.Helper()
	resp, err := p.Try(p.Server.T.Context(), method, path, body)
	if err != nil {
		p.Server.T.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

// Try is Do for requests that may fail on the way, and for goroutines, where a test must not be ended.
func (p *Person) Try(ctx context.Context, method, path string, body any) (*Response, error) {
	answer, err := wire.Read(func() (*http.Response, error) { return p.Open(ctx, method, path, body) })
	if err != nil {
		return nil, err
	}
	p.Server.secrets.learn(answer.Header, answer.Body)
	return &Response{t: p.Server.T, what: method + " " + path, Status: answer.Status, Header: answer.Header, Body: answer.Body}, nil
}

// Open makes a request and leaves the answer's body to the caller: streams and large downloads.
func (p *Person) Open(ctx context.Context, method, path string, body any) (*http.Response, error) {
	reader, isJSON, err := encode(body)
	if err != nil {
		return nil, err
	}
	target := path
	if !strings.HasPrefix(path, "http") {
		target = p.Server.URL + path
	}
	r, err := http.NewRequestWithContext(ctx, method, target, reader)
	if err != nil {
		return nil, err
	}
	if isJSON {
		r.Header.Set("Content-Type", "application/json")
	}
	if p.Access != "" {
		r.Header.Set("Authorization", "Bearer "+p.Access)
	}
	for name, values := range p.Header {
		r.Header[name] = values
	}
	if host := p.Header.Get("Host"); host != "" {
		r.Host = host
		r.Header.Del("Host")
	}
	if length := p.Header.Get("Content-Length"); length != "" {
		r.ContentLength, _ = strconv.ParseInt(length, 10, 64)
		r.Header.Del("Content-Length")
	}
	return p.Server.client.Do(r)
}

func encode(body any) (io.Reader, bool, error) {
	switch b := body.(type) {
	case nil:
		return http.NoBody, false, nil
	case []byte:
		return bytes.NewReader(b), false, nil
	case string:
		return strings.NewReader(b), false, nil
	case io.Reader:
		return b, false, nil
	default:
		raw, err := json.Marshal(b)
		return bytes.NewReader(raw), true, err
	}
}

// Response is an answer that was read to its end.
type Response struct {
	Status int
	Header http.Header
	Body   []byte

	t    testing.TB
	what string
}

// Want fails the test unless the status is the one expected.
func (r *Response) Want(status int) *Response {
	r.t.Helper()
	if r.Status != status {
		r.t.Fatalf("%s answered %d, want %d: %s", r.what, r.Status, status, r.Body)
	}
	return r
}

// WantError fails the test unless the answer is the declared error: status, code and message.
func (r *Response) WantError(want *fault.Error) *Response {
	r.t.Helper()
	var body struct {
		Error struct {
			Code    int
			Message string
			Details []string
			Limit   int64
		}
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		r.t.Fatalf("%s answered %d without an error body: %s", r.what, r.Status, r.Body)
	}
	if r.Status != int(want.Kind) || body.Error.Code != want.Code || body.Error.Message != want.Message {
		r.t.Fatalf("%s answered %d %s, want %d with code %d %q", r.what, r.Status, r.Body, want.Kind, want.Code, want.Message)
	}
	if want.Limit > 0 && body.Error.Limit != want.Limit {
		r.t.Fatalf("%s answered %s, want the limit %d", r.what, r.Body, want.Limit)
	}
	return r
}

// Details are the details of an error answer, joined by line feeds.
func (r *Response) Details() string {
	r.t.Helper()
	all, _ := r.Value("error.details").([]any)
	var b strings.Builder
	for i, d := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		s, _ := d.(string)
		b.WriteString(s)
	}
	return b.String()
}

// JSON decodes the body.
func (r *Response) JSON(dst any) *Response {
	r.t.Helper()
	if err := json.Unmarshal(r.Body, dst); err != nil {
		r.t.Fatalf("%s answered %s: %v", r.what, r.Body, err)
	}
	return r
}

// Value is the member at a dotted path such as "objects.0.uid", or nil.
func (r *Response) Value(path string) any {
	r.t.Helper()
	var v any
	r.JSON(&v)
	for _, name := range strings.Split(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			v = node[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(node) {
				return nil
			}
			v = node[i]
		default:
			return nil
		}
	}
	return v
}

// String is the string at a dotted path; anything else fails the test.
func (r *Response) String(path string) string {
	r.t.Helper()
	return valueOf[string](r, path)
}

// Number is the number at a dotted path; anything else fails the test.
func (r *Response) Number(path string) float64 {
	r.t.Helper()
	return valueOf[float64](r, path)
}

func valueOf[T any](r *Response, path string) T {
	r.t.Helper()
	v, ok := r.Value(path).(T)
	if !ok {
		r.t.Fatalf("%s answered %s, which has no %T %s", r.what, r.Body, v, path)
	}
	return v
}
