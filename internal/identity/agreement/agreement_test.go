// Tests of the agreement's text in each locale.

package agreement_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/agreement"
	"github.com/consign-dev/consign/internal/pdf"
)

func texts(t *testing.T) *agreement.Texts {
	t.Helper()
	catalog, err := i18n.New()
	if err != nil {
		t.Fatal(err)
	}
	return agreement.New(catalog)
}

func facts(locale, domain string) agreement.Facts {
	return agreement.Facts{
		Date: time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC), Domain: domain, ProductName: "Consign", ProviderName: "Provider & Söhne GmbH",
		ProviderURL: "https://provider.example.com", SupportContact: "help@provider.example.com",
		Organization: identity.OrganizationProfile{
			Name: "Łódź Zoë 株式会社 한국 Ёлка", AddressLine1: "Main Street 1", AddressLine2: "2nd floor", PostCode: "12345", City: "Springfield",
			State: "Illinois", Country: "Country", Locale: locale, TimeZone: "UTC",
		},
	}
}

// shape returns the number of paragraphs and items of each section, which must be the same in all languages.
func shape(d pdf.Document) [][]int {
	out := [][]int{{len(d.Preamble), len(d.Sections), len(d.Annexes), len(d.Parties), len(d.Signatures)}}
	for _, s := range slices.Concat(d.Sections, d.Annexes) {
		var blocks []int
		for _, b := range s.Blocks {
			blocks = append(blocks, len(b.Items))
		}
		out = append(out, blocks)
	}
	return out
}

// cited returns the articles of the GDPR that each paragraph names, which must be the same in all languages.
func cited(d pdf.Document) []string {
	var all []string
	for _, s := range slices.Concat(d.Sections, d.Annexes) {
		for _, b := range s.Blocks {
			found := regexp.MustCompile(`\b(?:28|32|33|36|44|49|82|9)\b`).FindAllString(strings.Join(append(b.Items, b.Text), " "), -1)
			slices.Sort(found)
			all = append(all, strings.Join(found, ","))
		}
	}
	return all
}

// TestEveryLocale renders the agreement in every locale. The structure is the same, every placeholder is filled in and
// no glyph is missing. With CONSIGN_TEST_PDF=directory the test writes the files there for inspection.
func TestEveryLocale(t *testing.T) {
	t.Parallel()
	all := texts(t)
	renderer := pdf.New(pdf.Options{})
	english := all.Document(facts(i18n.Default, identity.DomainTransfer))
	for _, locale := range i18n.Locales() {
		for _, domain := range identity.Domains() {
			f := facts(locale, domain)
			d := all.Document(f)
			if diff := cmp.Diff(shape(english), shape(d)); diff != "" {
				t.Errorf("%s differs in structure from the English text: %s", locale, diff)
			}
			if diff := cmp.Diff(cited(english), cited(d)); diff != "" {
				t.Errorf("%s cites other articles than the English text: %s", locale, diff)
			}
			file, err := renderer.Render(t.Context(), d)
			if err != nil {
				t.Errorf("%s: %v", locale, err)
				continue
			}
			again, err := renderer.Render(t.Context(), all.Document(f))
			if err != nil || string(again) != string(file) {
				t.Errorf("%s: a second rendering differs, or %v", locale, err)
			}
			checkWords(t, locale, d)
			if dir := os.Getenv("CONSIGN_TEST_PDF"); dir != "" {
				if err := os.WriteFile(filepath.Join(dir, locale+"-"+domain+".pdf"), file, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// checkWords checks that all facts are present and no placeholder is left.
func checkWords(t *testing.T, locale string, d pdf.Document) {
	t.Helper()
	var b strings.Builder
	for _, s := range slices.Concat([]pdf.Section{{Blocks: d.Preamble}}, d.Sections, d.Annexes) {
		b.WriteString(s.Heading + "\n")
		for _, block := range s.Blocks {
			b.WriteString(block.Text + "\n" + strings.Join(block.Items, "\n") + "\n")
		}
	}
	b.WriteString(d.Title + d.Subtitle + d.Header + d.Footer + d.DateLine)
	all := b.String()
	if strings.ContainsAny(all, "{}") {
		t.Errorf("%s: a placeholder is left", locale)
	}
	for _, want := range []string{"Łódź Zoë 株式会社 한국 Ёлка", "Provider & Söhne GmbH", "Consign", "help@provider.example.com", "2026",
		"2016/679"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s does not name %s", locale, want)
		}
	}
	if !strings.Contains(d.PageNumber, "{page}") || !strings.Contains(d.PageNumber, "{pages}") {
		t.Errorf("%s: page number %q", locale, d.PageNumber)
	}
}

// TestUnknownLocale: an unknown locale falls back to English.
func TestUnknownLocale(t *testing.T) {
	t.Parallel()
	if d := texts(t).Document(facts("xx_XX", identity.DomainSpaces)); d.Title != "Data Processing Agreement" || d.Locale != i18n.Default {
		t.Errorf("%s, %s", d.Title, d.Locale)
	}
}
