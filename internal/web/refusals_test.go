package web_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// statusSays are the codes for which the sentence of their status says all there is to say.
var statusSays = map[string][]string{
	"identity": {"400033", "403016", "404004", "404005", "404007", "404008", "404010", "404012", "404013", "404014", "404015", "404016"},
}

// Every failure that a domain declares has a sentence in refusals.js, and no sentence is for a failure that there is not.
func TestEveryRefusalHasASentence(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("assets/refusals.js")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{
		"Invalid": 400, "Unauthenticated": 401, "Forbidden": 403, "NotFound": 404, "Conflict": 409, "RateLimited": 429, "Unavailable": 503,
	}
	declared := regexp.MustCompile(`fault\.New\(fault\.(\w+), (\d+)`)
	spoken := regexp.MustCompile(`(?m)^  (\d{6}): \(\) =>`)
	for domain, table := range map[string]string{"identity": "ofIdentity", "transfer": "ofTransfer"} {
		source, err := os.ReadFile("../" + domain + "/errors.go")
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		for _, m := range declared.FindAllSubmatch(source, -1) {
			kind, ok := kinds[string(m[1])]
			if !ok {
				t.Fatalf("this test does not know the kind %s", m[1])
			}
			codes = append(codes, fmt.Sprintf("%d%03s", kind, m[2]))
		}
		if len(codes) < 30 {
			t.Fatalf("found only %d failures of %s", len(codes), domain)
		}
		_, rest, _ := strings.Cut(string(script), "const "+table)
		body, _, _ := strings.Cut(rest, "\n};")
		var sentences []string
		for _, m := range spoken.FindAllStringSubmatch(body, -1) {
			sentences = append(sentences, m[1])
		}
		for _, code := range codes {
			if !slices.Contains(sentences, code) && !slices.Contains(statusSays[domain], code) {
				t.Errorf("%s: %s has no sentence", domain, code)
			}
		}
		for _, code := range sentences {
			if !slices.Contains(codes, code) && code != "416001" {
				t.Errorf("%s: there is no %s", domain, code)
			}
		}
	}
}
