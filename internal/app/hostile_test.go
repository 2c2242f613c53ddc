package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
)

// world holds the targets of hostile requests and the persons who may access them.
type world struct {
	ann, sam     *testkit.Person // owner and administrator; holder of a reservation on Ann's mailbox
	operator     string          // access token of an operator
	organization string
	values       map[string]string // path parameters
}

// aim makes a separate world for one route, because requests may destroy it. Its people have a network of their own, so that the buckets of
// wrong logins stay apart.
func aim(t *testing.T, s *testkit.Server, n int) world {
	t.Helper()
	email, host := fmt.Sprintf("ann%d@example.com", n), fmt.Sprintf("host%d.test", n)
	addOrganization(t, s, host)
	addPerson(t, s, email, host, identity.RoleOrganizationAdmin, identity.RoleTransferUse)
	at := s.Stranger().With("Host", host).With("X-Forwarded-For", fmt.Sprintf("20.%d.%d.1", n>>8, n&255))
	ann := signIn(at, email)
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "dr-ann"}).Want(http.StatusCreated)
	done, finished := reserve(at, "dr-ann", 5)
	done.Put(finished+"/objects/a/content", "12345").Want(http.StatusOK)
	transfer := done.Post(finished+"/confirm", nil).Want(http.StatusOK)
	sam, reservation := reserve(at, "dr-ann", 10)
	profile := ann.Get(s.Identity + "/profile").Want(http.StatusOK)
	if err := s.App.Identity.AddOperator(t.Context(), testkit.Command, email, token.RoleOperator); err != nil {
		t.Fatal(err)
	}
	w := world{ann: ann, sam: sam, operator: mintAccess(t, s, email, func(*token.Claims) {}), values: map[string]string{
		"/reservations/{uid}": reservation[strings.LastIndexByte(reservation, '/')+1:], "/transfers/{uid}": transfer.String("uid"),
		"{objectUid}": ann.Get(s.Transfer + "/transfers/" + transfer.String("uid")).String("objects.0.uid"),
		"{clientId}":  "a", "{key}": "dr-ann", "{address}": email, "{locale}": "de_DE", "{person}": profile.String("uid"),
	}}
	if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT organization::text FROM identity.hosts WHERE host = $1`,
		host).Scan(&w.organization); err != nil {
		t.Fatal(err)
	}
	w.values["/organizations/{uid}"], w.values["{organization}"] = w.organization, w.organization
	return w
}

// path fills in a route's parameters with existing values.
func (w world) path(r httpapi.MountedRoute) string {
	path := r.Path
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(w.values))) { // longer names first
		suffix := name[strings.IndexByte(name, '{'):]
		path = strings.ReplaceAll(path, name, strings.TrimSuffix(name, suffix)+url.PathEscape(w.values[name]))
	}
	return parameter.ReplaceAllString(path, id.New[id.Transfer]().String())
}

// who returns a caller that the route accepts.
func (w world) who(r httpapi.MountedRoute) *testkit.Person {
	switch {
	case r.Auth.Accepts(token.KindReservation):
		return w.sam
	case r.Auth.Accepts(token.KindID):
		return w.ann.As(w.ann.ID)
	case r.Auth.IsOperator():
		return w.ann.As(w.operator).With("Host", "localhost")
	case r.Auth.Accepts(token.KindAccess):
		return w.ann
	}
	return w.ann.As("")
}

// attack is one hostile request.
type attack struct {
	who    *testkit.Person
	target string
	body   any
	header map[string]string
}

// TestHostileInput sends every route malformed and unexpected input. No answer may be a 500, and errors have the error
// body.
func TestHostileInput(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, loopback())
	s.SendUndocumented()
	docs := testkit.LoadDocuments(t, s.Identity, s.Transfer)
	strangers := callers(t, s)
	for n, r := range s.App.API.Routes() {
		t.Run(r.Method+" "+r.Path, func(t *testing.T) {
			t.Parallel()
			s, base := s, ""
			if ofInstallation(r) {
				s = testkit.New(t, loopback())
				s.SendUndocumented()
				base = s.Admin // goes on during maintenance
			}
			w := aim(t, s, n)
			operation := operationOf(docs, r)
			headers := writeHeaders
			if reads(r) {
				headers = readHeaders
			}
			attacks := slices.Concat(hostilePaths(w, r), hostileHeaders(w, r, headers), strangeTokens(w, r, strangers),
				hostileQueries(w, r, operation), hostileBodies(w, r, operation))
			if n%8 == 0 { // some routes are enough for code that all share
				attacks = slices.Concat(attacks, hostileHeaders(w, r, sharedHeaders), malformedTokens(w, r))
			}
			for _, a := range attacks {
				a.target = base + a.target
				launch(t, r, a)
			}
		})
	}
	t.Cleanup(func() {
		for line := range strings.Lines(s.Log()) {
			if strings.Contains(line, `"status":500`) || strings.Contains(line, `"panic`) {
				t.Errorf("logged: %.1500s", line)
			}
		}
	})
}

// ofInstallation reports whether the route changes the whole installation: maintenance, and the keys that sign tokens and receipts.
func ofInstallation(r httpapi.MountedRoute) bool {
	return strings.HasPrefix(r.Path, "/admin/v1/maintenance") || strings.HasPrefix(r.Path, "/admin/v1/keys") && r.Method != http.MethodGet
}

func launch(t *testing.T, r httpapi.MountedRoute, a attack) {
	t.Helper()
	p := a.who
	for name, value := range a.header {
		p = p.With(name, value)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	resp, err := p.Open(ctx, r.Method, a.target, a.body)
	what := fmt.Sprintf("%s %.120s with %.200v and %.200v", r.Method, a.target, a.header, a.body)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer resp.Body.Close()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	got := &testkit.Response{Status: resp.StatusCode, Header: resp.Header, Body: body}
	if got.Status >= 500 && got.Status != 509 {
		t.Errorf("%s answered %d: %s", what, got.Status, body)
	}
	if got.Status >= 400 && !isGrantError(r, got) {
		checkError(t, what, got)
	}
}

// isGrantError reports whether an answer is an error of the device authorization grant, whose form is that of RFC 6749 (contract 3.25).
func isGrantError(r httpapi.MountedRoute, got *testkit.Response) bool {
	var body struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	return r.Pattern == "/device/token" && got.Status == http.StatusBadRequest && json.Unmarshal(got.Body, &body) == nil && body.Error != "" &&
		body.Description != ""
}

// hostilePaths replaces each path parameter with each of these values.
func hostilePaths(w world, r httpapi.MountedRoute) []attack {
	var list []attack
	for _, at := range parameter.FindAllStringIndex(r.Path, -1) {
		for _, value := range []string{
			"x", "0", "-1", "%00", "a%00b", "%ff%fe", "%e2%80%ae", "%20", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%2f", "%5c", "%25",
			"%0d%0aX-Evil:%20yes",
			"'%3b%20DROP%20TABLE%20persons--", "%F0%9F%98%80", strings.Repeat("x", 4000), strings.Repeat("%41", 2000),
			"00000000-0000-0000-0000-000000000000", strings.ToUpper(id.New[id.Transfer]().String()), "%7B" + id.New[id.Transfer]().String() + "%7D",
		} {
			changed := r
			changed.Path = r.Path[:at[0]] + value + r.Path[at[1]:]
			list = append(list, attack{who: w.who(r), target: w.path(changed)})
		}
	}
	return list
}

var long = strings.Repeat("x", 8000)

// Headers that handlers read, and headers that are read before the handler.
var (
	readHeaders = map[string][]string{
		"Range": {"", "bytes", "bytes=", "bytes=-", "bytes=-0", "bytes=5-1", "bytes=0-0,-1", "bytes=99999999999999999999-",
			"bytes=" + strings.Repeat("0-1,", 2000), "lines=1-2"},
		"If-Range":          {"x", `"`, "Wed, 21 Oct 2015 07:28:00 GMT"},
		"If-Match":          {"x", `"`, `W/"x"`},
		"If-None-Match":     {"*", `"`, `W/"x"`, long},
		"If-Modified-Since": {"yesterday"},
		"Accept-Language":   {"*", "xx-YY;q=9", long, "\xff\xfe", ";;;,,,"},
		"Last-Event-ID":     {"x", "-1", "99999999999999999999", "\xff", long},
	}
	writeHeaders = map[string][]string{
		"Accept-Language":  {"*", "xx-YY;q=9", long, "\xff\xfe", ";;;,,,"},
		"Content-Type":     {"", ";", "application/json; charset=\xff", "multipart/form-data", long},
		"Content-Encoding": {"gzip", "identity", "x"},
		"Content-Range": {"", "bytes", "bytes 0-99999999999999999999/1", "bytes */*", "bytes -1-0/10", "bytes 9-0/10", "bytes 0-9/*",
			"items 0-9/10", long},
		"Content-Digest": {"", "sha-256", "sha-256=:x:", "sha-256=::", "md5=:AAAA:", long},
		"Repr-Digest":    {"sha-256=:AAAA:", "\xff"},
		"If-Match":       {"x", "*"},
	}
	sharedHeaders = map[string][]string{
		"Accept":           {"", ",", "/", "*", "text/html;q=x", "application/json;q=2", long, "\xff"},
		"Cookie":           {"acct", "acct=x; acct=y", "session=x", "session=" + strings.Repeat("A", 76), "=", long, "acct=" + long},
		"Origin":           {"null", "x", "http://[", "https://\xff", "http://localhost:99999"},
		"User-Agent":       {"", "\xff\xfe\xfd", long},
		"X-Forwarded-For":  {"x", ",,,", strings.Repeat("1.1.1.1,", 1000)},
		"X-Forwarded-Host": {"evil.example", "\xff", "a b"},
		"X-Request-Id":     {"x", long, "\xff", "'; DROP TABLE--"},
		"Forwarded":        {"for=x"},
		"Connection":       {"close"},
	}
)

func hostileHeaders(w world, r httpapi.MountedRoute, headers map[string][]string) []attack {
	var list []attack
	for name, values := range headers {
		for _, value := range values {
			a := attack{who: w.who(r), target: w.path(r), header: map[string]string{name: value}}
			if reads(r) {
				list = append(list, a)
				continue
			}
			a.header["Content-Type"], a.body = "application/json", "{}"
			a.header[name] = value
			list = append(list, a)
		}
	}
	return list
}

func reads(r httpapi.MountedRoute) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

// strangeTokens are malformed tokens, and valid tokens of persons and things that do not exist.
func strangeTokens(w world, r httpapi.MountedRoute, strangers []caller) []attack {
	list := []attack{{who: w.who(r).As(""), target: w.path(r)}}
	for _, c := range strangers {
		list = append(list, attack{who: w.ann.As(c.token), target: w.path(r)})
	}
	return list
}

func malformedTokens(w world, r httpapi.MountedRoute) []attack {
	var list []attack
	for _, value := range []string{"", "Bearer", "Bearer ", "Basic YTpi", "bearer x y z", "Bearer " + strings.Repeat("x", 9000),
		"Bearer a.b.c",
		"Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.", "Bearer \xff", "Bearer " + w.ann.Access + "x"} {
		list = append(list, attack{who: w.ann.As(""), target: w.path(r), header: map[string]string{"Authorization": value}})
	}
	return list
}

// hostileQueries sets documented and other query parameters to wrong values.
func hostileQueries(w world, r httpapi.MountedRoute, operation *openapi3.Operation) []attack {
	var names []string
	if operation != nil {
		for _, p := range operation.Parameters {
			if p.Value.In == openapi3.ParameterInQuery {
				names = append(names, p.Value.Name)
			}
		}
	}
	list := []attack{{who: w.who(r), target: w.path(r) + "?%zz"}, {who: w.who(r), target: w.path(r) + "?&&==&;"}}
	for _, name := range names {
		for _, value := range []string{"", "x", "-1", "0", "99999999999999999999", "1e9", "%00", "%ff", "true", "%27", "a%0d%0ab",
			strings.Repeat("x", 5000), "https://evil.example/", "javascript:1"} {
			list = append(list, attack{who: w.who(r), target: w.path(r) + "?" + name + "=" + value})
		}
		list = append(list, attack{who: w.who(r), target: w.path(r) + "?" + name + "=a&" + name + "=b"})
	}
	return append(list, attack{who: w.who(r), target: w.path(r) + "?nothing=" + long})
}
