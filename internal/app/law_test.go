// Checks the import law, randomness of secrets, and sums of modules.

package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

const module = "github.com/consign-dev/consign/"

// TestImportLaw checks the import direction of ARCHITECTURE.md over the packages as the go command sees them, so that
// a rule holds for a package that nobody has listed yet.
func TestImportLaw(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			if reason := forbidden(p.path(), imported); reason != "" {
				t.Errorf("%s imports %s: %s", p.path(), strings.TrimPrefix(imported, module), reason)
			}
		}
	}
}

func TestImportLawForbids(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"internal/identity/service", module + "internal/transfer"},
		{"internal/transfer/postgres", module + "internal/identity/postgres"},
		{"internal/mail", module + "internal/identity"},
		{"internal/operator/service", module + "internal/identity/service"},
		{"internal/transfer/handler", module + "internal/operator"},
		{"internal/webhook/service", module + "internal/identity"},
		{"internal/transfer/service", module + "internal/webhook"},
		{"internal/outbound", module + "internal/webhook"},
		{"internal/identity/service", module + "internal/identity/handler"},
		{"internal/identity/postgres", module + "internal/identity/service"},
		{"internal/transfer/content", module + "internal/transfer/service"},
		{"internal/identity/session", module + "internal/identity/service"},
		{"internal/identity/notice", module + "internal/identity/session"},
		{"internal/transfer/postgres", module + "internal/transfer/content"},
		{"internal/identity", module + "internal/identity/postgres"},
		{"internal/identity/service", "github.com/jackc/pgx/v5"},
		{"internal/transfer/handler", "github.com/jackc/pgx/v5/pgxpool"},
		{"internal/transfer/service", "net/http"},
		{"internal/blob", module + "internal/config"},
		{"internal/app", module + "internal/testkit"},
		{"internal/transfer/handler", module + "internal/httpserver"},
		{"internal/events", module + "internal/httpserver"},
		{"internal/cli", module + "internal/database"},
		{"cmd/consign-client", module + "internal/app"},
	} {
		if forbidden(pair[0], pair[1]) == "" {
			t.Errorf("%s may import %s", pair[0], pair[1])
		}
	}
}

// TestSecretsAreRandom: only packages that spread retries, number requests and find ports use math/rand. Every key, token, code and salt
// comes from crypto/rand.
func TestSecretsAreRandom(t *testing.T) {
	t.Parallel()
	harmless := set("internal/database", "internal/jobs", "internal/httpserver", "client", "internal/testkit/blobtest",
		"internal/testkit/freeport", "internal/testkit/powercut")
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, "math/rand") && !harmless[p.path()] {
				t.Errorf("%s imports %s: use crypto/rand, or say here why its numbers are no secret", p.path(), imported)
			}
		}
	}
}

// TestModulesAreVerified: each module comes from the proxy with the checksum of go.sum; none is replaced by another source.
func TestModulesAreVerified(t *testing.T) {
	t.Parallel()
	mod, sum := readText(t, "go.mod"), readText(t, "go.sum")
	if strings.Contains(mod, "\nreplace ") || strings.Contains(mod, "\nreplace(") {
		t.Error("go.mod replaces a module")
	}
	required := regexp.MustCompile(`(?m)^(?:require )?\t?([\w./~-]+\.[\w./~-]+) (v\S+)`).FindAllStringSubmatch(mod, -1)
	if len(required) < 10 {
		t.Fatalf("go.mod requires %d modules: the pattern no longer fits", len(required))
	}
	for _, r := range required {
		if !strings.Contains(sum, r[1]+" "+r[2]+"/go.mod h1:") {
			t.Errorf("go.sum has no checksum of %s %s", r[1], r[2])
		}
	}
	for _, file := range []string{"Makefile", "Dockerfile", ".ci/run"} {
		for _, name := range []string{"GONOSUMDB", "GONOSUMCHECK", "GOINSECURE", "GOPRIVATE", "GONOPROXY", "-insecure", "GOSUMDB=off"} {
			if strings.Contains(readText(t, file), name) {
				t.Errorf("%s sets %s", file, name)
			}
		}
	}
}

// httpUsers and sqlUsers are the packages that may use net/http and pgx. A name is that of a mechanism or of a layer.
var (
	httpUsers = set("handler", "legacy", "httpapi", "httpserver", "strictjson", "token", "translog", "ratelimit", "events", "app", "web",
		"oidc", "metrics", "doctor", "outbound", "release", "target", "idempotency", "testkit", "attester", "wire",
		"consign", "client", "identityapi", "transferapi", "call")
	sqlUsers = set("postgres", "database", "localpg", "events", "jobs", "mail", "token", "translog", "audit", "idempotency", "pgtest", "plans",
		"testkit")
)

// clientSide are our packages that the client commands may use.
var clientSide = set("client", "client/identityapi", "client/transferapi", "internal/archive", "internal/proof", "internal/release",
	"internal/transfer")

// forbidden returns why a package may not import another, empty if it may.
func forbidden(importer, imported string) string {
	name := path.Base(importer)
	if imported == "net/http" || strings.HasPrefix(imported, "github.com/go-chi/chi") {
		if !httpUsers[name] {
			return "HTTP belongs to handler, httpapi and the packages of httpUsers"
		}
		return ""
	}
	if strings.HasPrefix(imported, "github.com/jackc/pgx") {
		if !sqlUsers[name] {
			return "SQL belongs to postgres and the packages of sqlUsers"
		}
		return ""
	}
	target, ours := strings.CutPrefix(imported, module)
	if !ours {
		return ""
	}
	switch {
	case importer == "internal/cli" && target == "internal/transfer":
		return "" // the statement of a receipt, which verify reads offline
	case importer == "cmd/consign-client" && target != "internal/cli", importer == "internal/cli" && !clientSide[target]:
		return "a client talks to a server over HTTP, through package client"
	case domain(importer) == "" && domain(target) != "" && !assembles(importer):
		return "mechanisms never import a domain"
	case domain(importer) != "" && domain(target) != "" && domain(importer) != domain(target):
		return "domains never import each other"
	case domain(importer) != "" && domain(importer) == domain(target) && rank(importer) <= rank(target):
		return "imports go handler, service, content or session, notice, postgres, domain root"
	case target == "internal/config" && !assembles(importer):
		return "config is read by app and cmd only"
	case strings.HasPrefix(target, "internal/testkit") && !strings.HasPrefix(importer, "internal/testkit"):
		return "the test kit is for tests"
	case target == "internal/httpserver" && !assembles(importer) && importer != "internal/metrics":
		return "handlers use httpapi; app builds the pipeline, metrics asks it"
	case target == "internal/app" && !assembles(importer):
		return "app assembles, nothing assembles app"
	}
	return ""
}

// assembles reports whether a package may import everything: the wiring, the command and the test kit.
func assembles(p string) bool {
	return p == "internal/app" || p == "cmd/consign" || p == "internal/testkit"
}

// domain returns the domain of a package, empty if it has none.
func domain(p string) string {
	for _, d := range []string{"identity", "transfer", "webhook", "operator"} {
		if p == "internal/"+d || strings.HasPrefix(p, "internal/"+d+"/") {
			return d
		}
	}
	return ""
}

// rank orders the layers of a domain: a package imports lower ranks only.
func rank(p string) int {
	switch path.Base(p) {
	case "legacy": // an adapter in front of the handlers
		return 7
	case "handler":
		return 6
	case "service":
		return 5
	case "content", "session":
		return 4
	case "notice":
		return 3
	case "postgres":
		return 2
	case "identity", "transfer", "webhook", "operator":
		return 0
	default: // credential, oidc: beside postgres, above the root
		return 1
	}
}

type listed struct {
	ImportPath string
	Doc        string // the first sentence of the package comment
	Imports    []string
}

func (l listed) path() string { return strings.TrimPrefix(l.ImportPath, module) }

// packages lists the module's packages with their sentence and what their non-test files import.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Doc,Imports", module+"...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 20 {
		t.Fatalf("go list found %d packages only", len(all))
	}
	return all
}

func set(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}
