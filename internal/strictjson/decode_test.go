// Tests of accepted and refused bodies.

package strictjson_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/strictjson"
)

type recipient struct {
	Email string `json:"email"`
	Type  string `json:"destinationType"`
}

func (recipient) StrictMembers() {}

type embedded struct {
	Locale string `json:"locale"`
}

type sample struct {
	embedded
	Subject    string            `json:"subject"`
	TTL        *int              `json:"ttl"`
	Size       int64             `json:"size"`
	Small      uint8             `json:"small"`
	Rate       float64           `json:"rate"`
	Notify     bool              `json:"notify"`
	Recipients []recipient       `json:"recipients"`
	Fields     map[string]string `json:"fields"`
	Schema     json.RawMessage   `json:"schema"`
	Any        any               `json:"any"`
	At         *httpapi.Time     `json:"at"`
	UID        id.Person         `json:"uid"`
	Hidden     string            `json:"-"`
}

func decode(t *testing.T, body string) (sample, []string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	var got sample
	err := strictjson.Decode(r, &got)
	if err == nil {
		return got, nil
	}
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Details) == 0 {
		t.Fatalf("Decode(%q) = %v", body, err)
	}
	return got, f.Details
}

func TestDecodeAccepts(t *testing.T) {
	t.Parallel()
	uid := id.New[id.Person]()
	got, details := decode(t, ` {"subject":"Gr\u00fc\u00dfe \ud83c\udf89 \"x\"\/\n","ttl":7.0,"size":1e3,"small":255,"rate":-0.5e-1,"notify":true,
		"recipients":[{"email":"a@b.test","destinationType":"to"},{}],"fields":{"a":"b","":"c"},"schema": {"x" : [1,2]} ,"any":[null,{"y":1}],
		"at":"2026-11-20T10:30:00+01:00","uid":"`+uid.String()+`","locale":"de_DE","unknown":{"x":[1,{"y":[[]]}]},"Hidden":"no","-":"no","SUBJECT":"no"} `)
	if details != nil {
		t.Fatal(details)
	}
	seven := 7
	at := httpapi.Time(time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC))
	want := sample{
		embedded: embedded{"de_DE"}, Subject: "Grüße 🎉 \"x\"/\n", TTL: &seven, Size: 1000, Small: 255, Rate: -0.05, Notify: true,
		Recipients: []recipient{{"a@b.test", "to"}, {}}, Fields: map[string]string{"a": "b", "": "c"},
		Schema: json.RawMessage(`{"x" : [1,2]}`), Any: []any{nil, map[string]any{"y": 1.0}}, UID: uid,
	}
	if got.At == nil || got.At.String() != at.String() {
		t.Errorf("at = %v", got.At)
	}
	got.At = nil
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, details = decode(t, `{"ttl":null,"recipients":null,"fields":null,"at":null,"any":null,"subject":null,"size":null,"notify":null,"uid":null}`); details != nil || got.TTL != nil || got.Recipients != nil {
		t.Errorf("nulls: %+v, %v", got, details)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		``:                                       {"body: a JSON object is required"},
		"  \n":                                   {"body: a JSON object is required"},
		`[]`:                                     {"body: must be an object"},
		`null`:                                   {"body: must be an object"},
		`{"subject":"a"`:                         {"body: is not JSON: a comma or the end is expected at line 1, column 15"},
		"{\n \"subject\": x}":                    {"body: is not JSON: a value is expected at line 2, column 13"},
		`{"subject":"a",}`:                       {"body: is not JSON: a member name in quotes is expected at line 1, column 16"},
		`{subject:1}`:                            {"body: is not JSON: a member name in quotes is expected at line 1, column 2"},
		`{"subject" 1}`:                          {"body: is not JSON: a colon is expected at line 1, column 12"},
		`{} {}`:                                  {"body: is not JSON: something follows the value at line 1, column 4"},
		`{"size":01}`:                            {"body: is not JSON: a comma or the end is expected at line 1, column 10"},
		`{"size":1.}`:                            {"body: is not JSON: a digit is expected at line 1, column 11"},
		`{"size":+1}`:                            {"body: is not JSON: a value is expected at line 1, column 9"},
		`{"size":1e}`:                            {"body: is not JSON: a digit is expected at line 1, column 11"},
		`{"subject":"\x"}`:                       {"body: is not JSON: an unknown escape stands in a string at line 1, column 14"},
		"{\"subject\":\"a\tb\"}":                 {"body: is not JSON: a control character stands in a string at line 1, column 14"},
		"{\"subject\":\"\xff\"}":                 {"body: has a string that is not valid UTF-8 at line 1, column 14"},
		"{\"x\":{\"\xff\":1}}":                   {"body: has a string that is not valid UTF-8 at line 1, column 9"},
		`{"subject":"a\u0000"}`:                  {"body: has a NUL character at line 1, column 20"},
		`{"x":"\ud800"}`:                         {"body: has half of a surrogate pair at line 1, column 13"},
		`{"x":"\ud800\u0041"}`:                   {"body: has half of a surrogate pair at line 1, column 19"},
		`{"subject":"a","subject":"b"}`:          {"subject: is given twice"},
		`{"x":{"y":1,"\u0079":2}}`:               {"x.y: is given twice"},
		`{"any":[{"y":1,"y":2}]}`:                {"any[0].y: is given twice"},
		`{"schema":{"y":1,"y":2}}`:               {"schema.y: is given twice"},
		strings.Repeat(`[`, 70):                  {"body: is nested too deeply at line 1, column 65"},
		`{"subject":1,"ttl":"x","notify":"yes"}`: {"subject: must be a string", "ttl: must be a whole number", "notify: must be true or false"},
		`{"recipients":[null],"fields":{"a":null}}`:   {"recipients[0]: must be an object", "fields.a: must be a string"},
		`{"size":1.5,"ttl":1e99,"small":256}`:         {"size: must be a whole number", "ttl: is out of range", "small: is out of range"},
		`{"small":-1,"rate":"x","rate2":1}`:           {"small: is out of range", "rate: must be a number"},
		`{"size":9223372036854775808,"rate":1e999}`:   {"size: is out of range", "rate: is out of range"},
		`{"size":1e-99,"ttl":true}`:                   {"size: must be a whole number", "ttl: must be a whole number"},
		`{"recipients":{"a":[1]},"fields":[{"a":1}]}`: {"recipients: must be a list", "fields: must be an object"},
		`{"recipients":[{"email":5,"x":1},7]}`: {"recipients[0].email: must be a string",
			"recipients[0].x: is not a member of this object", "recipients[1]: must be an object"},
		`{"fields":{"a":1,"b":"c","d":{}}}`: {"fields.a: must be a string", "fields.d: must be a string"},
		`{"at":"tomorrow","uid":"x"}`:       {"at: is not a time like 2026-11-20T09:30:00.000+00:00", "uid: is not a valid value"},
		`{"at":5,"uid":{}}`:                 {"at: must be a string", "uid: must be a string"},
	} {
		if _, details := decode(t, body); !cmp.Equal(details, want) {
			t.Errorf("%s\n got %q\nwant %q", body, details, want)
		}
	}
	_, details := decode(t, `{"recipients":[`+strings.Repeat(`1,`, 20000)+`1]}`)
	if len(details) != 20 {
		t.Errorf("%d details", len(details))
	}
}

func TestDecodeBody(t *testing.T) {
	t.Parallel()
	request := func(body io.Reader, contentType string) *http.Request {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/", body)
		r.Header.Set("Content-Type", contentType)
		return r
	}
	big := `{"subject":"` + strings.Repeat("a", 1<<20) + `"}`
	for name, c := range map[string]struct {
		r    *http.Request
		code int
	}{
		"json":                 {request(strings.NewReader(`{}`), "application/json"), 0},
		"case":                 {request(strings.NewReader(`{}`), "Application/JSON;Charset=UTF-8"), 0},
		"problem":              {request(strings.NewReader(`{}`), "application/merge-patch+json"), 0},
		"text":                 {request(strings.NewReader(`{}`), "text/plain"), 415001},
		"none":                 {request(strings.NewReader(`{}`), ""), 415001},
		"charset":              {request(strings.NewReader(`{}`), "application/json; charset=latin1"), 415001},
		"too large":            {request(strings.NewReader(big), "application/json"), 413001},
		"too large, no length": {request(io.MultiReader(strings.NewReader(big)), "application/json"), 413001},
		"ends early": {request(io.MultiReader(strings.NewReader(`{`), iotest.ErrReader(io.ErrUnexpectedEOF)), "application/json"),
			400001},
		"empty without type":   {request(strings.NewReader(``), ""), 0},
		"exactly at the limit": {request(strings.NewReader(`{"subject":"`+strings.Repeat("a", 1<<20-14)+`"}`), "application/json"), 0},
		"one beyond, streaming": {request(io.MultiReader(strings.NewReader(`{"subject":"`+strings.Repeat("a", 1<<20-13)+`"}`)),
			"application/json"), 413001},
	} {
		var got sample
		err := strictjson.DecodeOptional(c.r, &got)
		var f *fault.Error
		if code := 0; errors.As(err, &f) && f.Code != c.code || f == nil && c.code != code {
			t.Errorf("%s: %v, want %d", name, err, c.code)
		}
	}
	r := request(strings.NewReader(`{}`), "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	if err := strictjson.Decode(r, &sample{}); !errors.Is(err, fault.ErrUnsupported) {
		t.Errorf("gzip: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"subject":"a","any":[1,{"x":null}]}`, `{"size":1e3}`, `{"subject":"\ud83c\udf89"}`, "{\"a\":\"\xff\"}",
		`{"a":1,"a":2}`, `[[[`, `{"recipients":[{"email":5}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		var whole struct {
			Any     any    `json:"any"`
			Subject string `json:"subject"`
		}
		err := strictjson.Decode(r, &whole)
		var fe *fault.Error
		if err != nil && !errors.As(err, &fe) {
			t.Fatalf("not a fault: %v", err)
		}
		if err == nil && (!json.Valid(body) || !utf8.Valid(body)) {
			t.Fatalf("accepted %q", body)
		}
		if err == nil {
			var std struct {
				Any     any    `json:"any"`
				Subject string `json:"subject"`
			}
			// The standard decoder folds case; a body with such names may differ.
			if json.Unmarshal(body, &std) == nil && !strings.Contains(strings.ToLower(string(body)), "\\u") && !foldsCase(body) &&
				!cmp.Equal(std, whole) {
				t.Fatalf("%q: %+v, standard library %+v", body, whole, std)
			}
		}
	})
}

// foldsCase reports whether a member's name differs from one of the struct's in case only.
func foldsCase(body []byte) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return true
	}
	for name := range members {
		for _, own := range []string{"any", "subject"} {
			if name != own && strings.EqualFold(name, own) {
				return true
			}
		}
	}
	return false
}

func BenchmarkDecode(b *testing.B) {
	body := `{"subject":"A subject","ttl":7,"recipients":[{"email":"ann@example.com","destinationType":"to"}],"notify":true}`
	b.ReportAllocs()
	for b.Loop() {
		r := &http.Request{Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
			ContentLength: int64(len(body))}
		var got sample
		if err := strictjson.Decode(r, &got); err != nil {
			b.Fatal(err)
		}
	}
}

// room is a body that never comes, and notes how much room there is for it.
type room int

func (r *room) Read(p []byte) (int, error) {
	*r = room(len(p))
	return 0, io.ErrUnexpectedEOF
}

// TestDecodeAnnounced: what a client announces and does not send takes no memory.
func TestDecodeAnnounced(t *testing.T) {
	t.Parallel()
	var free room
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/", &free)
	r.ContentLength = 1 << 20
	if err := strictjson.Decode(r, &sample{}); err == nil || free < 1 || free > 64<<10 {
		t.Errorf("%v, with room for %d bytes", err, free)
	}
}
