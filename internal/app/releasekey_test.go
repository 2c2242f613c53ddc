package app_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/release"
)

// TestReleaseKeyIsPublished: SECURITY.md and README.md have the same line about the release key, which is that of the files that
// make release compares its key with. Before the first release there is no key, and both say so. No file has a secret key.
func TestReleaseKeyIsPublished(t *testing.T) {
	t.Parallel()
	want := release.NoKeyLine
	if exists("scripts/release/release.pub") || exists("scripts/release/release.logkey") {
		_, minisign, _ := strings.Cut(strings.TrimSpace(readText(t, "scripts/release/release.pub")), "\n")
		raw, err := base64.StdEncoding.DecodeString(minisign)
		if err != nil || len(raw) != 42 || string(raw[:2]) != "Ed" {
			t.Fatalf("release.pub has no key of minisign: %q, %v", minisign, err)
		}
		verifier, err := proof.VerifierKey(release.Origin, raw[10:])
		if err != nil || strings.TrimSpace(readText(t, "scripts/release/release.logkey")) != verifier {
			t.Errorf("release.logkey is not the key of release.pub, %q, %v", verifier, err)
		}
		if _, err := note.NewVerifier(verifier); err != nil {
			t.Error(err)
		}
		want = release.KeyLine(minisign, verifier, raw[10:])
	}
	for _, file := range []string{"SECURITY.md", "README.md"} {
		text := readText(t, file)
		if strings.Count(text, "\nRelease key: ") != 1 || !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("%s does not have the one line %q", file, want)
		}
	}
	secret := base64.StdEncoding.EncodeToString([]byte("Ed\x00\x00B2"))
	encrypted := base64.StdEncoding.EncodeToString([]byte("EdScB2"))
	for _, file := range textFiles(t) {
		if text := readText(t, file); strings.Contains(text, "\n"+secret+"AAAA") || strings.Contains(text, "\n"+encrypted) {
			t.Errorf("%s has a secret key of minisign", file)
		}
	}
}
