package app_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestVersionsAgree checks that files that name the version of this source name the first one of CHANGELOG.md. make changelog writes it.
func TestVersionsAgree(t *testing.T) {
	t.Parallel()
	first := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+) \(`).FindStringSubmatch(readText(t, "CHANGELOG.md"))
	if first == nil {
		t.Fatal("CHANGELOG.md has no version")
	}
	agree := func(file, pattern string, atLeast int) {
		found := regexp.MustCompile(`(?m)`+pattern).FindAllStringSubmatch(readText(t, file), -1)
		if len(found) < atLeast {
			t.Errorf("%s names a version %d times, want %d", file, len(found), atLeast)
		}
		for _, f := range found {
			if f[1] != first[1] {
				t.Errorf("%s has %s, CHANGELOG.md %s: run make changelog", file, f[0], first[1])
			}
		}
	}
	agree("deploy/kubernetes/Chart.yaml", `^(?:version|appVersion): (.*)$`, 2)
	agree("deploy/kubernetes/example/kustomization.yaml", `^ +newTag: (.*)$`, 1)
	agree("deploy/kubernetes/values.yaml", `^image: .*:(.*)$`, 1)
	agree("docs/use/kubernetes.md", `/consign:([0-9.]*[0-9])`, 1)
	agree("clients/typescript/package.json", `^  "version": "(.*)"`, 1)
	agree("clients/typescript/package-lock.json", `(?s:"name": "@consign/client",\s+"version": ")([^"]*)"`, 2)
	for _, file := range textFiles(t) { // other images, packages and modules of Consign
		if file != "docs/releasing.md" && slices.Contains([]string{".md", ".yaml", ""}, path.Ext(file)) && !strings.HasPrefix(file, "test/") {
			agree(file, `consign(?:-client)?[:_@]v?(\d+\.\d+\.\d+)`, 0)
		}
	}
}
