package main

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/doctor"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// report is what consign doctor --json prints.
type report struct {
	Worst    doctor.Severity
	Findings []doctor.Finding
}

// examineBy runs consign doctor, and returns its report and its exit code.
func examineBy(t *testing.T, environ []string) (report, int) {
	t.Helper()
	out, _, err := consign(t.Context(), environ, "doctor", "--json")
	code := exitCode(0)
	if err != nil && !errors.As(err, &code) {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r, int(code)
}

func (r report) has(id string) bool {
	return slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool { return f.ID == id })
}

// TestDoctor: the exit code tells the worst finding, and the command leaves nothing behind.
func TestDoctor(t *testing.T) {
	t.Parallel()
	var same []testkit.Option // the server has the settings of the command
	for _, name := range []string{"ADMIN_CONSOLE", "MAIL_FROM", "RATE_LIMIT", "SMTP_URL", "STRANGER_SHARE"} {
		same = append(same, testkit.Env("CONSIGN_"+name, ""))
	}
	s := testkit.New(t, same...)
	served := append(external(t, s.DatabaseURL), "CONSIGN_PUBLIC_URL="+s.URL, "CONSIGN_DATA_DIR="+s.DataDir)
	r, code := examineBy(t, served)
	if code != 1 || r.Worst != doctor.Warning || !r.has("smtp.none") || !r.has("secret-key.backup") || !r.has("public-url.localhost") {
		t.Errorf("without a mail server: %d, %+v", code, r)
	}
	out, _, err := consign(t.Context(), served, "doctor")
	if !errors.As(err, new(exitCode)) || !strings.Contains(out, "\nwarning  smtp.none: ") && !strings.HasPrefix(out, "warning  ") ||
		!strings.Contains(out, "\nerrors: 0, ") {
		t.Errorf("%v, printed %s", err, out)
	}

	dir := t.TempDir()
	r, code = examineBy(t, []string{"CONSIGN_DATA_DIR=" + dir})
	if code != 2 || !r.has("database.unreachable") || !r.has("secret-key.none") {
		t.Errorf("where no server has run: %d, %+v", code, r)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("doctor made %v, %v", entries, err)
	}

	for _, wrong := range []string{"CONSIGN_PUBLIC_ULR=https://x", "CONSIGN_SCANNER_URL=http://x", "CONSIGN_SMTP_URL=smtp://x:y"} {
		if r, code := examineBy(t, append(external(t, pgtest.URL(t)), wrong)); code != 2 || !r.has("settings.wrong") {
			t.Errorf("%s: %d, %+v", wrong, code, r)
		}
	}
	if _, _, err := consign(t.Context(), served, "doctor", "now"); !errors.As(err, new(usageError)) {
		t.Errorf("doctor now: %v", err)
	}
}
