package pdf

import "testing"

func line(text string) []glyph {
	var all []glyph
	for _, r := range join([]rune(text)) {
		all = append(all, glyph{r: r})
	}
	return all
}

func drawn(text string) string {
	var all []rune
	for _, g := range visual(line(text)) {
		all = append(all, g.r)
	}
	return string(all)
}

// Lines are drawn from left to right: what is written from right to left is reversed, numbers and Latin words within it are not.
func TestVisualOrder(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plan.pdf":            "plan.pdf",
		"שלום":                "םולש",
		"plan שלום.pdf":       "plan םולש.pdf",
		"שלום plan":           "plan םולש",
		"שלום 123 abc":        "abc 123 םולש",
		"abc שלום 12.5 עולם.": "abc םלוע 12.5 םולש.",
		"שלום (2).pdf":        "pdf.(2) םולש",
		"a (שלום) b":          "a (םולש) b",
		"":                    "",
	} {
		if got := drawn(text); got != want {
			t.Errorf("%q is drawn as %q, want %q", text, got, want)
		}
	}
}

// Arabic letters join: alone, first, between, last, and lam with alef.
func TestArabicForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ب":    "\ufe8f",
		"بب":   "\ufe91\ufe90",
		"ببب":  "\ufe91\ufe92\ufe90",
		"با":   "\ufe91\ufe8e",
		"اب":   "\ufe8d\ufe8f",
		"دب":   "\ufea9\ufe8f",
		"لا":   "\ufefb",
		"بلا":  "\ufe91\ufefc",
		"ءب":   "\ufe80\ufe8f",
		"بء":   "\ufe8f\ufe80",
		"پر":   "\ufb58\ufeae",
		"بَب":  "\ufe91\u064e\ufe90",
		"abc":  "abc",
		"ب ب":  "\ufe8f \ufe8f",
		"ـب":   "ـ\ufe90",
		"كتاب": "\ufedb\ufe98\ufe8e\ufe8f",
	} {
		if got := string(join([]rune(text))); got != want {
			t.Errorf("%q becomes %+q, want %+q", text, got, want)
		}
	}
}
