package app_test

import (
	"regexp"
	"strings"
	"testing"
)

var (
	// declaredBucket finds the name of a bucket in Go.
	declaredBucket = regexp.MustCompile(
		`ratelimit\.Bucket\{\s*Name: "([a-z-]+)"|\.Per(?:Address|Session)\("([a-z-]+)"|\bBucket\{Name: "([a-z-]+)"`)
	// bucketRow finds the first cell of a row of the table in contract 1.7.
	bucketRow = regexp.MustCompile(`(?m)^\| ([a-z;, -]+) \|`)
)

// TestBucketsAreDocumented checks that the table of buckets in contract 1.7 has each bucket of the code, and no other one.
func TestBucketsAreDocumented(t *testing.T) {
	t.Parallel()
	contract := readText(t, "docs/contract.md")
	_, table, _ := strings.Cut(contract, "\n### 1.7 ")
	table, _, _ = strings.Cut(table, "\n### 1.8 ")
	documented := map[string]bool{}
	for _, m := range bucketRow.FindAllStringSubmatch(table, -1) {
		for name := range strings.SplitSeq(m[1], ";") {
			documented[strings.TrimSpace(name)] = true
		}
	}
	delete(documented, "bucket") // the head of the table
	declared := map[string]bool{}
	for _, file := range textFiles(t) {
		if !strings.HasPrefix(file, "internal/") || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") ||
			strings.HasPrefix(file, "internal/testkit/") {
			continue
		}
		for _, m := range declaredBucket.FindAllStringSubmatch(readText(t, file), -1) {
			declared[m[1]+m[2]+m[3]] = true
		}
	}
	delete(declared, "failed-login-audit-total") // the row of failed-login-audit has both
	if len(declared) < 25 {
		t.Fatalf("found %d buckets in the code only; is the pattern still right?", len(declared))
	}
	for name := range declared {
		if !documented[name] {
			t.Errorf("docs/contract.md 1.7 lacks the bucket %s", name)
		}
	}
	for name := range documented {
		base := strings.TrimSuffix(name, "-asker") // derived from another bucket
		if !declared[base] {
			t.Errorf("docs/contract.md 1.7 has the bucket %s, which the code lacks", name)
		}
	}
}
