// Tests of the parser of environment files, and of the fingerprint.

package config

import (
	"slices"
	"strings"
	"testing"
)

// envFiles are texts and what systemd makes of them.
var envFiles = map[string][]string{
	"A=b\nC=d": {"A=b", "C=d"},
	"S=s3://files?endpoint=https://s&region=x": {"S=s3://files?endpoint=https://s&region=x"},
	"M=Consign <noreply@example.com>\n":        {"M=Consign <noreply@example.com>"},
	"P=Files & more; it's ours\n":              {"P=Files & more; it's ours"},
	" A = b \t\r\n; no\n # no \n\nno\nE=\n":    {"A=b", "E="},
	"A='b c'  \nB=\"d \\\"e\\\\f\\x\"\n":       {"A=b c", `B=d "e\f\x`},
	"A=b'c'\"d\"\nB='c'\"d\"e'f\n":             {`A=b'c'"d"`, "B=cde'f"},
	"A=b\\\nc\\ \\d\nB=\"e\\\nf\ng\"\n":        {"A=bc d", "B=ef\ng"},
	"A=b # c\nA=d\n":                           {"A=d"},
	"export A=b\n1A=b\nA-B=c\nB=ok":            {"B=ok"},
	"A='no end\nB=c":                           {"A=no end\nB=c"},
	"A=b \\\n":                                 {"A=b "},
	"A=\xff\nB=c\n":                            {"B=c"},
}

func TestParseEnvFile(t *testing.T) {
	t.Parallel()
	for text, want := range envFiles {
		if got, err := ParseEnvFile(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is read as %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := ParseEnvFile("A=b\n# c \\\nD=e\n"); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a comment that ends with a backslash: %v", err)
	}
}

// FuzzParseEnvFile: each entry has a name that a variable can have, no zero byte, and its name once.
func FuzzParseEnvFile(f *testing.F) {
	for text := range envFiles {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		seen := map[string]bool{}
		entries, _ := ParseEnvFile(text)
		for _, entry := range entries {
			name, value, ok := strings.Cut(entry, "=")
			if !ok || !variableName(name) || seen[name] || strings.ContainsRune(value, 0) {
				t.Errorf("%q has the entry %q", text, entry)
			}
			seen[name] = true
		}
	})
}

// TestFingerprint: it depends on each setting, but on no secret, and not on where a value comes from.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	of := func(environ ...string) string { return parse(t, environ...).Fingerprint() }
	base := of()
	if of("CONSIGN_UPLOADS=1024") != base {
		t.Error("a default that is given changes the fingerprint")
	}
	if of("CONSIGN_UPLOADS=1000") == base || of("CONSIGN_STORAGE_URL=s3://files?region=x") == base {
		t.Error("a setting does not change the fingerprint")
	}
	one, other := of("CONSIGN_SMTP_URL=smtp://u:one@host", "CONSIGN_SECRET_KEY="+key), of("CONSIGN_SMTP_URL=smtp://u:other@host")
	if one != other || one == base {
		t.Errorf("fingerprints %s and %s of settings with other secrets, %s without", one, other, base)
	}
}
