// Checks that the documents of ASVS and accessibility name tests that exist.

package app_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	asvsRow   = regexp.MustCompile(`(?m)^- (\d+)\.(\d+)\.(\d+) L([12]) ([^:]+): (met|not applicable|not met), (.+)$`)
	asvsAny   = regexp.MustCompile(`(?m)^- \d+\.`)
	asvsCount = regexp.MustCompile(`(?m)^\| (met|not applicable|not met|total) \| (\d+) \| (\d+) \| (\d+) \|$`)
)

// asvsLevels has the level of each requirement of ASVS 5.0.0, by chapter and section: 1.2.6 is the sixth of the second section of V1.
var asvsLevels = map[int][]string{
	1:  {"22", "1111122223", "112222222223", "222", "123"},
	2:  {"122", "112", "12223", "23"},
	3:  {"3", "113", "12223", "11222233", "11122333", "3", "22333"},
	4:  {"12233", "23333", "22", "1222"},
	5:  {"2", "112333", "113", "222"},
	6:  {"122", "111111112222", "11223333", "112233", "22222333", "2223", "33", "2222"},
	7:  {"222", "1111", "22", "11222", "223", "22"},
	8:  {"1233", "1123", "133", "23"},
	9:  {"111", "1222"},
	10: {"22", "223", "22223", "1111122222233333", "22222", "22", "222"},
	11: {"2233", "22233", "11233", "1222", "23", "23", "33"},
	12: {"12233", "11", "22223"},
	13: {"2333", "222223", "2233", "1222233"},
	14: {"22", "12223333", "122"},
	15: {"12233", "12233", "1222222", "3333"},
	16: {"2", "22222", "2222", "222", "2223"},
	17: {"23", "22223333", "22"},
}

// TestASVS checks docs/develop/asvs.md: it has each requirement of levels 1 and 2 once, in order and with its level; what is met names
// existing tests or headings of documents; and the counts at the top are right.
func TestASVS(t *testing.T) {
	t.Parallel()
	text, tests, browser := readText(t, "docs/develop/asvs.md"), testNames(t), browserTests(t)
	rows := asvsRow.FindAllStringSubmatch(text, -1)
	if len(rows) != len(asvsAny.FindAllString(text, -1)) {
		t.Error("a row does not have the form of the others")
	}
	var listed []string
	counts := map[string][3]int{}
	for _, row := range rows {
		name, level, status, evidence := strings.Join(row[1:4], "."), row[4], row[6], row[7]
		listed = append(listed, name+" L"+level)
		for _, key := range []string{status, "total"} {
			c := counts[key]
			c[level[0]-'1']++
			c[2]++
			counts[key] = c
		}
		if status != "met" {
			if len(evidence) < 8 {
				t.Errorf("%s says no reason", name)
			}
			continue
		}
		for one := range strings.SplitSeq(evidence, ", ") {
			web, isWeb := strings.CutPrefix(one, "web: ")
			doc, isDoc := strings.CutPrefix(one, "doc: ")
			if !tests[one] && !(isWeb && browser[web]) && !(isDoc && hasHeading(t, doc)) {
				t.Errorf("%s is met by %q, which does not exist", name, one)
			}
		}
	}
	if want := asvsRequirements(); !slices.Equal(listed, want) {
		missing := slices.DeleteFunc(want, func(n string) bool { return slices.Contains(listed, n) })
		t.Errorf("%d requirements are listed; missing or out of order: %v", len(listed), missing)
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

// asvsRequirements lists the requirements of levels 1 and 2 as "1.2.6 L2", in order.
func asvsRequirements() []string {
	var all []string
	for _, chapter := range slices.Sorted(maps.Keys(asvsLevels)) {
		for section, levels := range asvsLevels[chapter] {
			for i, level := range levels {
				if level != '3' {
					all = append(all, fmt.Sprintf("%d.%d.%d L%c", chapter, section+1, i+1, level))
				}
			}
		}
	}
	return all
}

// hasHeading reports whether a document of the repository has a heading: SECURITY.md#what-is-fixed.
func hasHeading(t *testing.T, link string) bool {
	t.Helper()
	file, anchor, _ := strings.Cut(link, "#")
	return exists(file) && slices.Contains(anchors(readText(t, file)), anchor)
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
