// Checks that the documents of ASVS and accessibility name tests that exist.

package app_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	asvsRow   = regexp.MustCompile(`(?m)^\| (\d+)\.(\d+)\.(\d+) \| ([12]) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`)
	asvsAny   = regexp.MustCompile(`(?m)^\| \d+\.`)
	asvsCount = regexp.MustCompile(`(?m)^\| (met|not applicable|not met|total) \| (\d+) \| (\d+) \| (\d+) \|$`)
)

// asvsRequirements is the number of requirements of levels 1 and 2 in ASVS 4.0.3, by chapter.
var asvsRequirements = map[int]int{1: 38, 2: 53, 3: 18, 4: 9, 5: 30, 6: 13, 7: 12, 8: 15, 9: 7, 10: 5, 11: 8, 12: 15, 13: 13, 14: 23}

// TestASVS checks docs/develop/asvs.md: numbers are unique, sorted and complete, each status is one of three, requirements
// that are met name existing tests, and the counts at the top are right.
func TestASVS(t *testing.T) {
	t.Parallel()
	text, tests, browser := readText(t, "docs/develop/asvs.md"), testNames(t), browserTests(t)
	rows := asvsRow.FindAllStringSubmatch(text, -1)
	if len(rows) != len(asvsAny.FindAllString(text, -1)) {
		t.Error("a row does not have the form of the others")
	}
	counts, chapters := map[string][3]int{}, map[int]int{}
	var before []int
	for _, row := range rows {
		var number []int
		for _, part := range row[1:4] {
			n, _ := strconv.Atoi(part)
			number = append(number, n)
		}
		name := fmt.Sprintf("%d.%d.%d", number[0], number[1], number[2])
		if slices.Compare(before, number) >= 0 {
			t.Errorf("%s is not sorted or not unique", name)
		}
		before = number
		chapters[number[0]]++
		level, status, evidence := row[4], row[6], row[7]
		for _, key := range []string{status, "total"} {
			c := counts[key]
			c[level[0]-'1']++
			c[2]++
			counts[key] = c
		}
		switch status {
		case "met":
			for one := range strings.SplitSeq(evidence, ", ") {
				if name, isBrowser := strings.CutPrefix(one, "web: "); !tests[one] && !(isBrowser && browser[name]) {
					t.Errorf("%s is met by %q, which is no test", name, one)
				}
			}
		case "not applicable", "not met":
			if len(evidence) < 8 {
				t.Errorf("%s says no reason", name)
			}
		default:
			t.Errorf("%s has the status %q", name, status)
		}
	}
	for chapter, want := range asvsRequirements {
		if chapters[chapter] != want {
			t.Errorf("V%d has %d requirements, want %d", chapter, chapters[chapter], want)
		}
	}
	stated := asvsCount.FindAllStringSubmatch(text, -1)
	if len(stated) != 4 {
		t.Fatalf("%d counts at the top, want 4", len(stated))
	}
	for _, row := range stated {
		for i, number := range row[2:] {
			if n, _ := strconv.Atoi(number); n != counts[row[1]][i] {
				t.Errorf("the count of %q is %s, the rows have %d", row[1], number, counts[row[1]][i])
			}
		}
	}
}

// TestAccessibility checks that each browser test named in docs/use/accessibility.md exists.
func TestAccessibility(t *testing.T) {
	t.Parallel()
	browser, named := browserTests(t), 0
	for _, row := range regexp.MustCompile(`(?m)^\|.*\| (web: .*) \|$`).FindAllStringSubmatch(readText(t, "docs/use/accessibility.md"), -1) {
		for one := range strings.SplitSeq(strings.TrimPrefix(row[1], "web: "), ", web: ") {
			named++
			if !browser[one] {
				t.Errorf("%q is no test", one)
			}
		}
	}
	if named < 10 {
		t.Errorf("%d tests are named", named)
	}
}

// browserTests returns the names of the tests in test/web.
func browserTests(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^  await test\("([^"]+)"`)
	names := map[string]bool{}
	for _, file := range textFiles(t) {
		if strings.HasPrefix(file, "test/web/") && strings.HasSuffix(file, ".mjs") {
			for _, m := range declared.FindAllStringSubmatch(readText(t, file), -1) {
				names[m[1]] = true
			}
		}
	}
	return names
}
