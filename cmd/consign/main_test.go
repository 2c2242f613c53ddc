package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/testkit/output"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// consign runs a command line and gives what it printed.
func consign(ctx context.Context, environ []string, args ...string) (stdout, stderr string, err error) {
	var out, diagnostics output.Buffer
	err = run(ctx, args, environ, &out, &diagnostics)
	return out.String(), diagnostics.String(), err
}

// external are the settings of a server on a database of its own that exists already.
func external(t *testing.T, database string) []string {
	t.Helper()
	return []string{
		"CONSIGN_DATABASE_URL=" + database, "CONSIGN_PUBLIC_URL=http://localhost:8080", "CONSIGN_DATA_DIR=" + t.TempDir(),
		"CONSIGN_SECRET_KEY=" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32)), "CONSIGN_BCRYPT_COST=4",
	}
}

// runOperator runs commands with these settings, and fails the test where one fails.
func runOperator(t *testing.T, environ []string) (do func(args ...string) string) {
	return func(args ...string) string {
		t.Helper()
		out, diagnostics, err := consign(t.Context(), environ, args...)
		if err != nil {
			t.Fatalf("consign %s: %v\n%s", strings.Join(args, " "), err, diagnostics)
		}
		return out
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"sreve"}, {"keys"}, {"keys", "show"}, {"mail", "retry", "x"}, {"maintenance", "maybe"},
		{"serve", "now"}, {"serve", "--fast"}, {"serve", "--demo-reset", "1h"}, {"serve", "--demo", "--demo-reset", "1s"},
		{"audit", "--limit", "x"}, {"migrate", "down"}, {"person", "show"}, {"person", "create"}, {"mailbox", "create"},
		{"mailbox", "show", "a", "b"}, {"transfer", "show", "x"}, {"transfer", "extend", "00000000-0000-7000-8000-000000000001", "0"},
		{"version", "1"}} {
		_, _, err := consign(t.Context(), external(t, "postgres://127.0.0.1:1/none?connect_timeout=1"), args...)
		if usage := usageError(""); !errors.As(err, &usage) {
			t.Errorf("consign %s: %v, want how it is used", strings.Join(args, " "), err)
		}
	}
	// What was wrong comes first, then how the command is called; the database, which is not there, is not asked.
	for line, want := range map[string]string{
		"person sow ann@example.com": `consign person: unknown action "sow"`, "person": "consign person: an action is missing",
		"mail test": "consign mail test: an argument is missing", "keys list x": `consign keys list: "x" is one argument too many`,
		"fsck --acept":                             "consign fsck: flag provided but not defined: -acept",
		"mail retry":                               "consign mail retry: takes a uid, or --state, --error, --since or --until",
		"mail retry --since monday":                "consign mail retry: --since takes a time like 2026-12-31T23:59:59Z, or how long ago: 24h",
		"mail list --state lost":                   "consign mail list: --state is queued, sent, failed or cancelled",
		"audit --limit -5":                         "consign audit: --limit must be between 1 and 1000, or 0 for all",
		"audit --person ann":                       "consign audit: --person is not a UUID like 0190d2f4-7c1e-7b44-8d6a-3f1f6f0e2c11",
		"audit --since yesterday":                  "consign audit: --since takes a time like 2026-12-31T23:59:59Z, or how long ago: 24h",
		"audit --limit 5000":                       "consign audit: --limit must be between 1 and 1000, or 0 for all",
		"org subscribe free":                       "consign org subscribe: --domain is missing",
		"person create ann@example.com --nick Ann": "consign person create: flag provided but not defined: -nick",
	} {
		args := strings.Fields(line)
		_, _, err := consign(t.Context(), external(t, "postgres://127.0.0.1:1/none?connect_timeout=1"), args...)
		if err == nil || !strings.HasPrefix(err.Error(), want+"\nusage: consign "+args[0]) {
			t.Errorf("consign %s: %v, want %s", line, err, want)
		}
	}
	for _, args := range [][]string{{"help"}, {"--help"}} {
		out, _, err := consign(t.Context(), nil, args...)
		for _, c := range commands() {
			if err != nil || !strings.Contains(out, "\n  "+c.name+" ") {
				t.Errorf("consign %s does not name %s: %v", args[0], c.name, err)
			}
		}
	}
	for _, c := range commands() {
		out, _, err := consign(t.Context(), nil, c.name, "--help")
		if err != nil || !strings.HasPrefix(out, "usage: consign "+c.name) {
			t.Errorf("consign %s --help: %v, %q", c.name, err, out)
		}
		if again, _, err := consign(t.Context(), nil, "help", c.name); err != nil || again != out {
			t.Errorf("consign help %s: %v, %q", c.name, err, again)
		}
		for _, u := range c.usages {
			if line := strings.TrimSpace("consign " + c.name + " " + u); !strings.Contains(out, " "+line+"\n") {
				t.Errorf("consign %s --help does not say %q:\n%s", c.name, line, out)
			}
			words := strings.Fields(c.name + " " + u + " --help")
			if inner, _, err := consign(t.Context(), nil, words...); err != nil || inner != out {
				t.Errorf("consign %s: %v, %q", strings.Join(words, " "), err, inner)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if out, _, err := consign(t.Context(), nil, "version"); err != nil || out != "consign "+version+"\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestLicenses(t *testing.T) {
	t.Parallel()
	list, _, err := consign(t.Context(), nil, "licenses")
	if err != nil || !strings.HasPrefix(list, "consign ") || !strings.Contains(list, "github.com/jackc/pgx/v5") {
		t.Errorf("%v, %.200q", err, list)
	}
	texts, _, err := consign(t.Context(), nil, "licenses", "--text")
	if err != nil || !strings.Contains(texts, "Mozilla Public License Version 2.0") || !strings.Contains(texts, "SIL OPEN FONT LICENSE") {
		t.Errorf("%v, %d bytes of licence texts", err, len(texts))
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	secret := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("s"), 32))
	out, _, err := consign(t.Context(), []string{
		"CONSIGN_DATABASE_URL=postgres://consign:hunter2@db.example.com/consign", "CONSIGN_PUBLIC_URL=https://files.example.com",
		"CONSIGN_SECRET_KEY=" + secret,
		"CONSIGN_SMTP_URL=smtps://user:hunter2@mail.example.com", "CONSIGN_REDIS_URL=redis://:hunter2@cache.example.com:6379/0", "HOME=/root",
		"CONSIGN_STORAGE_URL=s3://consign?endpoint=https://s3.example.com&region=eu",
	}, "config")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out, "hunter2") || strings.Contains(out, secret) || strings.Contains(out, "/root") {
		t.Errorf("printed a secret, or what is not ours:\n%s", out)
	}
	for _, want := range []string{"CONSIGN_PUBLIC_URL=https://files.example.com", "CONSIGN_REQUIRE_HTTPS=on",
		"CONSIGN_ACCESS_TOKEN_LIFETIME=10m", "CONSIGN_SECRET_KEY=****", "db.example.com", "CONSIGN_LISTEN=:8080"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
}

// TestWrongSettings: every command prints one sentence for each wrong setting, and does nothing.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"config", "serve", "migrate", "audit", "healthcheck"} {
		_, _, err := consign(t.Context(), []string{"CONSIGN_PUBLIC_ULR=https://x", "CONSIGN_BCRYPT_COST=many", "CONSIGN_REQUIRE_HTTPS=yes"},
			command)
		if err == nil {
			t.Errorf("consign %s ran", command)
			continue
		}
		for _, want := range []string{"CONSIGN_PUBLIC_ULR is not a setting; did you mean CONSIGN_PUBLIC_URL?", "CONSIGN_BCRYPT_COST",
			"CONSIGN_REQUIRE_HTTPS"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("consign %s does not say %q: %v", command, want, err)
			}
		}
	}
}

// TestUnreachable: the error about an unreachable service or file names its setting and contains no secret.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere, here := external(t, "postgres://ann:hunter2@127.0.0.1:1/none"), external(t, pgtest.URL(t))
	for _, c := range []struct {
		environ []string
		command string
		setting string
	}{
		{nowhere, "serve", "CONSIGN_DATABASE_URL"}, {nowhere, "serve --migrate", "CONSIGN_DATABASE_URL"},
		{nowhere, "migrate status", "CONSIGN_DATABASE_URL"}, {nowhere, "audit", "CONSIGN_DATABASE_URL"},
		{external(t, pgtest.URL(t)+"&default_query_exec_mode=exec"), "serve --migrate",
			"CONSIGN_DATABASE_URL: default_query_exec_mode must not be exec"},
		{append(slices.Clip(here), "CONSIGN_DATA_DIR="+file), "serve", "CONSIGN_DATA_DIR"},
		{append(slices.Clip(here), "CONSIGN_SMTP_URL=smtp://ann:hunter2@127.0.0.1:99999"), "serve", "CONSIGN_SMTP_URL"},
		{append(slices.Clip(here), "CONSIGN_STORAGE_URL=file://"+file+"/objects"), "serve", "CONSIGN_STORAGE_URL"},
		{append(slices.Clip(here), "CONSIGN_STORAGE_URL=s3://ann:hunter2@bucket?endpoint=http://127.0.0.1:1"), "serve", "CONSIGN_STORAGE_URL"},
	} {
		_, log, err := consign(t.Context(), c.environ, strings.Fields(c.command)...)
		if err == nil || !strings.Contains(err.Error(), c.setting) || strings.Contains(err.Error()+log, "hunter2") {
			t.Errorf("consign %s: %v, want %s named and no secret\n%s", c.command, err, c.setting, log)
		}
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	environ := external(t, pgtest.EmptyURL(t))
	status := func() (pending, applied int) {
		t.Helper()
		out, _, err := consign(t.Context(), environ, "migrate", "status")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out, "0001-01-01") {
			t.Errorf("a time that nobody knows is printed:\n%s", out)
		}
		return strings.Count(out, "pending"), len(regexp.MustCompile(`:\d\dZ\n| applied\n`).FindAllString(out, -1))
	}
	if pending, applied := status(); pending < 6 || applied != 0 {
		t.Errorf("before: %d pending, %d applied", pending, applied)
	}
	if _, _, err := consign(t.Context(), environ, "serve"); err == nil || !strings.Contains(err.Error(), "consign migrate up") ||
		!strings.Contains(err.Error(), "--migrate") {
		t.Errorf("serve on an outdated database: %v", err)
	}
	for range 2 {
		if _, _, err := consign(t.Context(), environ, "migrate", "up"); err != nil {
			t.Fatal(err)
		}
	}
	if pending, applied := status(); pending != 0 || applied < 6 {
		t.Errorf("after: %d pending, %d applied", pending, applied)
	}
}

// TestPersonAndMailbox runs the commands for people and mailboxes on a database without a running server.
func TestPersonAndMailbox(t *testing.T) {
	t.Parallel()
	environ := external(t, pgtest.URL(t))
	do := runOperator(t, environ)
	refused := func(want string, args ...string) {
		t.Helper()
		if _, _, err := consign(t.Context(), environ, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("consign %s: %v, want %q", strings.Join(args, " "), err, want)
		}
	}
	out := do("person", "create", "--name", "Ann", "--locale", "de_DE", "--time-zone", "Europe/Berlin", "Ann@Example.com")
	match := regexp.MustCompile(`^uid: ([0-9a-f-]{36})\nlink: http://localhost:\d+/reset/\S{20,}\n$`).FindStringSubmatch(out)
	if match == nil {
		t.Fatalf("created: %q", out)
	}
	for _, who := range []string{"ann@example.com", "ANN@example.com", match[1]} {
		if out := do("person", "show", who); !strings.Contains(out, match[1]) || !strings.Contains(out, "ann@example.com, primary\n") ||
			!strings.Contains(out, "Europe/Berlin") {
			t.Errorf("show %s:\n%s", who, out)
		}
	}
	refused("in use", "person", "create", "ann@example.com")
	refused("email", "person", "create", "not an address")
	refused("no such person", "person", "show", "bob@example.com")
	do("person", "create", "--unverified", "bob@example.com")
	if out := do("person", "show", "bob@example.com"); !strings.Contains(out, "not verified") {
		t.Errorf("bob:\n%s", out)
	}
	do("person", "verify", "bob@example.com")
	if out := do("person", "show", "bob@example.com"); strings.Contains(out, "not verified") {
		t.Errorf("bob, verified:\n%s", out)
	}
	do("person", "end-sessions", "bob@example.com")
	var actions []string
	do("person", "reset-factors", "bob@example.com")

	refused("no such person", "admin", "add", "nobody@example.com")
	do("admin", "add", "ann@example.com")
	do("admin", "add", "ann@example.com") // changes nothing
	refused("unknown role", "admin", "add", "ann@example.com", "king")
	do("admin", "add", "ann@example.com", "auditor")
	if out := do("admin", "list"); !strings.Contains(out, " auditor ") {
		t.Errorf("the role is not in the list: %s", out)
	}
	if out := do("admin", "list"); strings.Count(out, "\n") != 2 || !strings.Contains(out, "ann@example.com") ||
		!strings.Contains(out, "the console refuses") {
		t.Errorf("operators:\n%s", out)
	}
	do("admin", "remove", "ann@example.com")
	if out := do("admin", "list"); strings.Contains(out, "ann@example.com") {
		t.Errorf("operators, none left:\n%s", out)
	}

	if out := do("audit", "--limit", "0"); strings.Contains(out, "map[") || !strings.Contains(out, "ann@example.com") {
		t.Errorf("the audit:\n%s", out)
	}
	for line := range strings.Lines(do("audit", "--json", "--limit", "0", "--action", "operator.", "--person", match[1], "--since", "1h")) {
		var e struct {
			Action  string
			Target  struct{ Email string }
			Details map[string]string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Target.Email != "ann@example.com" || e.Details == nil {
			t.Errorf("a line of the audit: %v: %s", err, line)
		}
		actions = append(actions, strings.TrimSpace(e.Action+" "+e.Details["role"]))
	}
	if !slices.Equal(actions, []string{"operator.remove", "operator.add auditor", "operator.add operator"}) {
		t.Errorf("the audit of operators has %q", actions)
	}

	refused("does not exist", "mailbox", "show", "ann@example.com")
	if out := do("mailbox", "create", "ann@example.com", "dr-ann"); !strings.Contains(out, "/m/dr-ann") {
		t.Errorf("mailbox created:\n%s", out)
	}
	if out := do("mailbox", "show", match[1]); !strings.Contains(out, "/m/dr-ann") || !strings.Contains(out, "ann@example.com") {
		t.Errorf("mailbox:\n%s", out)
	}
	refused("has a mailbox", "mailbox", "create", "ann@example.com", "other")
	refused("taken", "mailbox", "create", "bob@example.com", "DR-Ann")
	do("mailbox", "create", "bob@example.com")

	for _, want := range []string{"person.create", "person.verify", "mailbox.put", "factor.reset", "operator.add", "operator.remove"} {
		if out := do("audit"); !strings.Contains(out, want) {
			t.Errorf("the audit has no %s:\n%s", want, out)
		}
	}
	if out := do("audit", "--limit", "1"); strings.Count(out, "\n") != 2 {
		t.Errorf("audit --limit 1:\n%s", out)
	}
}
