// Checks that the pages have a sentence for each error.

package web_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// covered are the codes without a sentence of their own: the sentence of their status is enough.
var covered = map[string][]string{
	"identity": {"400033", "403016", "404004", "404005", "404007", "404008", "404010", "404012", "404013", "404014", "404015", "404016",
		"400060", "400061", "400062", "400063", "400064", "400065", "403053"},
	"transfer": {"403094", "409022", "409023", "409024"}, // upload/retry.js has a sentence for 409022; pages get no other
}

// Every error that a domain declares has a sentence in errors.js, and every sentence belongs to a declared error.
func TestEveryErrorHasASentence(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("assets/errors.js")
	if err != nil {
		t.Fatal(err)
	}
	for domain, api := range map[string]string{"identity": "Identity", "transfer": "Transfer"} {
		codes, sentences := declaredCodes(t, domain), codesWithSentence(t, string(script), api)
		if len(codes) < 30 {
			t.Fatalf("found only %d errors of %s", len(codes), domain)
		}
		for _, code := range codes {
			if !slices.Contains(sentences, code) && !slices.Contains(covered[domain], code) {
				t.Errorf("%s: %s has no sentence", domain, code)
			}
		}
		for _, code := range sentences {
			if !slices.Contains(codes, code) {
				t.Errorf("%s: there is no %s", domain, code)
			}
		}
	}
}

// declaredCodes returns the codes of the errors that a domain declares.
func declaredCodes(t *testing.T, domain string) []string {
	t.Helper()
	source, err := os.ReadFile("../" + domain + "/errors.go")
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, m := range regexp.MustCompile(`fault\.New\((\d{6})\b`).FindAllSubmatch(source, -1) {
		codes = append(codes, string(m[1]))
	}
	kinds := map[string]int{
		"Invalid": 400, "Unauthenticated": 401, "Forbidden": 403, "NotFound": 404, "Conflict": 409, "RateLimited": 429, "Unavailable": 503,
	}
	for _, m := range regexp.MustCompile(`fault\.New\(fault\.(\w+), (\d+)`).FindAllSubmatch(source, -1) {
		kind, ok := kinds[string(m[1])]
		if !ok {
			t.Fatalf("this test does not know the kind %s", m[1])
		}
		codes = append(codes, fmt.Sprintf("%d%03s", kind, m[2]))
	}
	return codes
}

// codesWithSentence returns the codes of an API that errors.js has a sentence for.
func codesWithSentence(t *testing.T, script, api string) []string {
	t.Helper()
	_, rest, _ := strings.Cut(script, "export const "+api+"Code")
	constants, _, _ := strings.Cut(rest, "\n});")
	values := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^  (\w+): (\d{6}),`).FindAllStringSubmatch(constants, -1) {
		values[m[1]] = m[2]
	}
	var codes []string
	for _, m := range regexp.MustCompile(`(?m)^  \[`+api+`Code\.(\w+)\]: \(\) =>`).FindAllStringSubmatch(script, -1) {
		if values[m[1]] == "" {
			t.Errorf("%sCode has no %s", api, m[1])
		}
		codes = append(codes, values[m[1]])
	}
	return codes
}

// Error codes have names: only errors.js contains numbers.
func TestErrorCodesHaveNames(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`\b[45]\d{5}\b`)
	for _, name := range ownScripts(t) {
		source, err := os.ReadFile("assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if found := number.Find(source); found != nil && name != "errors.js" {
			t.Errorf("%s: %s needs a name in errors.js", name, found)
		}
	}
}
