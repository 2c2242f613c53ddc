package testkit

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/consign-dev/consign/api"
	"github.com/consign-dev/consign/internal/httpapi"
)

// Documents are the OpenAPI documents by the base path they are mounted at.
type Documents map[string]*openapi3.T

// LoadDocuments reads and validates the embedded documents.
func LoadDocuments(t testing.TB, identityBase, transferBase string) Documents {
	t.Helper()
	parsed, err := parseDocuments()
	if err != nil {
		t.Fatal(err)
	}
	return Documents{identityBase: parsed[0], transferBase: parsed[1], httpapi.OperatorBase: parsed[2]}
}

// parseDocuments reads and validates all documents once in a test process: it takes longer than starting a server. Nobody changes them.
var parseDocuments = sync.OnceValues(func() (docs [3]*openapi3.T, err error) {
	for i, raw := range [][]byte{api.IdentityV3(), api.TransferV2(), api.AdminV1()} {
		doc, err := openapi3.NewLoader().LoadFromData(raw)
		if err == nil {
			err = doc.Validate(context.Background(), openapi3.IsOpenAPI31OrLater())
		}
		if err != nil {
			return docs, fmt.Errorf("OpenAPI document %s: %w", []string{"identity-v3.yaml", "transfer-v2.yaml", "admin-v1.yaml"}[i], err)
		}
		for _, item := range doc.Paths.Map() {
			for _, server := range item.Servers { // the kit asks by path
				server.URL, server.Variables = "/"+strings.TrimLeft(strings.TrimPrefix(server.URL, "https://{host}"), "/"), nil
			}
		}
		docs[i] = doc
	}
	return docs, nil
})

// checker is a RoundTripper that holds every answer to the documents: status, headers, content type and body. It does the same
// with the JSON body of every request that the server has accepted: what the server takes is documented. Bodies that a test
// sends for a refusal need not match.
type checker struct {
	t    testing.TB
	next http.RoundTripper
	apis map[string]routers.Router
	// errors are the operations, statuses and codes of errors that were checked.
	errors sync.Map
	// requests are the operations and shapes of request bodies that were checked.
	requests sync.Map
	// undocumented is set by Server.SendUndocumented.
	undocumented atomic.Bool
}

// SendUndocumented lets a test send bodies that the server tolerates although the documents do not have them: null for an
// absent member, other JSON types. Bodies of other tests must match their documents when the server accepts them.
func (s *Server) SendUndocumented() { s.client.Transport.(*checker).undocumented.Store(true) }

// newChecker makes a checker of a server's answers, whose own certificate, if it has one, is trusted.
func newChecker(t testing.TB, docs Documents, certificate string) *checker {
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	if certificate != "" {
		chain, err := os.ReadFile(certificate)
		if err != nil {
			t.Fatal(err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(chain)
	}
	c := &checker{t: t, next: transport, apis: map[string]routers.Router{}}
	for base, doc := range docs {
		local := *doc
		local.Servers = openapi3.Servers{{URL: base}}
		router, err := gorillamux.NewRouter(&local)
		if err != nil {
			t.Fatal(err)
		}
		c.apis[base] = router
	}
	return c
}

// RoundTrip implements http.RoundTripper.
func (c *checker) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	for base, router := range c.apis {
		if strings.HasPrefix(r.URL.Path, base+"/") && !preflight(r, resp) {
			c.check(router, r, resp)
		}
	}
	return resp, nil
}

// preflight reports whether a request is a browser's preflight that the server has answered as one: these are not documented.
func preflight(r *http.Request, resp *http.Response) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" &&
		resp.Header.Get("Access-Control-Allow-Methods") != ""
}

// known reports whether an answer is an error like one that was checked before: the library compiles the schema for every answer, which
// takes longer than the request.
func (c *checker) known(route *routers.Route, r *http.Request, resp *http.Response, in *openapi3filter.ResponseValidationInput) bool {
	if resp.StatusCode < 400 || in.Body == nil {
		return false
	}
	raw, err := io.ReadAll(in.Body)
	in.Body = io.NopCloser(bytes.NewReader(raw))
	var body struct {
		Error struct {
			Code    *int      `json:"code"`
			Message *string   `json:"message"`
			Details *[]string `json:"details"`
		} `json:"error"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err != nil || decoder.Decode(&body) != nil || body.Error.Code == nil || body.Error.Message == nil || body.Error.Details == nil {
		return false
	}
	_, known := c.errors.LoadOrStore(fmt.Sprint(r.Method, route.Path, resp.StatusCode, *body.Error.Code), true)
	return known
}

// check validates one answer. Paths and methods that no document has answer with the plain error body, which is not theirs to describe.
func (c *checker) check(router routers.Router, r *http.Request, resp *http.Response) {
	c.t.Helper()
	find := r.Clone(context.Background())
	find.URL.Host, find.URL.Scheme, find.Host = "", "", ""
	route, params, err := router.FindRoute(find)
	if err != nil {
		if resp.StatusCode < 400 {
			c.t.Errorf("%s %s answered %d but is not documented", r.Method, r.URL.Path, resp.StatusCode)
		}
		return
	}
	if resp.StatusCode < 400 {
		c.checkRequest(route, r)
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: find, PathParams: params, Route: route},
		Status:                 resp.StatusCode, Header: resp.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") && r.Method != http.MethodHead {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return // the test that cut the connection will see it too
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		in.Body = io.NopCloser(bytes.NewReader(body))
	} else {
		in.Options.ExcludeResponseBody = true
	}
	if c.known(route, r, resp, in) {
		return
	}
	if err := openapi3filter.ValidateResponse(context.Background(), in); err != nil {
		c.t.Errorf("%s %s answered %d against its OpenAPI document: %v", r.Method, route.Path, resp.StatusCode, err)
	}
}

// checkRequest validates the JSON body of an accepted request. Bodies with the same members are checked once.
func (c *checker) checkRequest(route *routers.Route, r *http.Request) {
	c.t.Helper()
	name, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if c.undocumented.Load() || r.GetBody == nil || route.Operation.RequestBody == nil || !strings.HasSuffix(name, "json") {
		return
	}
	body, err := r.GetBody()
	if err != nil {
		return
	}
	var value map[string]any
	if err := json.NewDecoder(body).Decode(&value); err != nil {
		return // empty
	}
	if _, known := c.requests.LoadOrStore(fmt.Sprint(r.Method, route.Path, shape(value)), true); known {
		return
	}
	media := route.Operation.RequestBody.Value.Content.Get(name)
	if media == nil {
		c.t.Errorf("%s %s accepts a body of type %s, but its document does not have it", r.Method, route.Path, name)
		return
	}
	if err := media.Schema.Value.VisitJSON(value, openapi3.EnableJSONSchema2020(), openapi3.MultiErrors()); err != nil {
		c.t.Errorf("%s %s accepted a body against its OpenAPI document: %v", r.Method, route.Path, err)
	}
}

// shape returns the members of an object with the types of their values.
func shape(value map[string]any) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(value)) {
		fmt.Fprintf(&b, "%s %T,", name, value[name])
	}
	return b.String()
}
