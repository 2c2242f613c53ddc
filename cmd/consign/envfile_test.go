package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEnvFile: commands have the settings of the file of the service, as systemd reads it. A shell would cut the URL at & and
// take < for a redirection.
func TestEnvFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "consign.env")
	const text = "# settings\nCONSIGN_STORAGE_URL=s3://files?endpoint=https://s3.example.com&region=eu\n" +
		"CONSIGN_MAIL_FROM=Consign <noreply@example.com>\nCONSIGN_ENVFILE_TEST_IS=none\nTEST_OF_ENV_FILES=here & there\n"
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(strings.Replace(text, "CONSIGN_ENVFILE_TEST_IS=none\n", "", 1))
	for _, args := range [][]string{
		{"config", "--env-file", file}, {"--env-file=" + file, "config"}, {"--env-file", file, "config"},
	} {
		out, _, err := consign(t.Context(), []string{"CONSIGN_MAIL_FROM=other@example.com", "CONSIGN_UPLOADS=77"}, args...)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"CONSIGN_STORAGE_URL=s3://files?endpoint=https://s3.example.com&region=eu\n",
			"CONSIGN_MAIL_FROM=Consign <noreply@example.com>\n", "CONSIGN_UPLOADS=77\n", "\n# fingerprint "} {
			if !strings.Contains(out, want) {
				t.Errorf("%v: %q is missing", args, want)
			}
		}
	}
	if got := os.Getenv("TEST_OF_ENV_FILES"); got != "here & there" {
		t.Errorf("a library would read %q", got)
	}
	write(text)
	if _, _, err := consign(t.Context(), nil, "config", "--env-file", file); err == nil || !strings.Contains(err.Error(), "is not a setting") {
		t.Errorf("an unknown setting in the file: %v", err)
	}
	for _, args := range [][]string{{"config", "--env-file"}, {"config", "--env-file", file + ".none"}} {
		if _, _, err := consign(t.Context(), nil, args...); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}

// TestPackagedEnvFile: a command reads the file of the packages when nothing else says what the settings are.
func TestPackagedEnvFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "consign.env")
	if err := os.WriteFile(file, []byte("CONSIGN_UPLOADS=7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, environ []string
		read          bool
	}{
		{[]string{"doctor"}, []string{"HOME=/"}, true},
		{[]string{"doctor"}, []string{"CONSIGN_LISTEN=:1"}, false},
		{[]string{"serve"}, nil, false},
		{[]string{"doctor", "--help"}, nil, false},
	} {
		_, environ, err := withEnvFile(c.args, c.environ, file)
		all := strings.Join(environ, " ")
		if err != nil || strings.Contains(all, "CONSIGN_UPLOADS=7") != c.read ||
			strings.Contains(all, "CONSIGN_DATA_DIR=/var/lib/consign") != c.read {
			t.Errorf("%v with %v: %v, %v", c.args, c.environ, environ, err)
		}
	}
}
