package pdf_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestLines(t *testing.T) {
	t.Parallel()
	// Ideographs are 10 points wide in the body style.
	for name, test := range map[string]struct {
		text   string
		width  float64
		locale string
		want   []string
	}{
		"empty":                   {"", 50, "", []string{""}},
		"words":                   {"ab cd ef", 30, "", []string{"ab cd", "ef"}},
		"spaces do not count":     {"ab  cd   ", 28, "", []string{"ab", "cd"}},
		"line feeds":              {"a\n\nb", 50, "", []string{"a", "", "b"}},
		"a long word":             {"mmmmmmm", 31, "", []string{"mmm", "mmm", "m"}},
		"a long word after one":   {"i mmmmmmm", 31, "", []string{"i", "mmm", "mmm", "m"}},
		"narrower than a letter":  {"mm", 1, "", []string{"m", "m"}},
		"hyphen":                  {"ab-cd", 22, "", []string{"ab-", "cd"}},
		"minus":                   {"a -12", 22, "", []string{"a", "-12"}},
		"no-break space":          {"ab 10\u00a0km", 36, "", []string{"ab", "10\u00a0km"}},
		"zero width space":        {"abab\u200bcdcd", 30, "", []string{"abab", "cdcd"}},
		"accent of its own":       {"mmq\u0307mm", 24, "", []string{"mm", "q\u0307m", "m"}},
		"French punctuation":      {"aaa bb :", 36, "fr", []string{"aaa", "bb :"}},
		"guillemets":              {"aaa « bb »", 38, "fr", []string{"aaa", "« bb »"}},
		"ideographs":              {"文件保管协议", 25, "zh", []string{"文件", "保管", "协议"}},
		"stop not first":          {"文件保管。协议", 42, "zh", []string{"文件保", "管。协议"}},
		"closing bracket":         {"文件（保）管", 42, "zh", []string{"文件", "（保）管"}},
		"opening bracket":         {"文件（保管）", 32, "zh", []string{"文件", "（保", "管）"}},
		"small kana, long vowel":  {"アデータ", 22, "ja", []string{"ア", "デー", "タ"}},
		"small tsu":               {"ああっと", 22, "ja", []string{"あ", "あっ", "と"}},
		"Latin in Japanese":       {"甲はExampleに", 50, "ja", []string{"甲は", "Example", "に"}},
		"number after ideograph":  {"第10条", 22, "ja", []string{"第", "10", "条"}},
		"Hangul breaks at spaces": {"파일은 보낸 사람이", 45, "ko", []string{"파일은", "보낸", "사람이"}},
		"ideographic space":       {"甲　乙", 22, "ja", []string{"甲", "乙"}},
	} {
		got, widths := renderer(t).Lines(test.text, test.locale, test.width)
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%s (widths %v):\n%s", name, widths, d)
		}
	}
}

// For any text and width, only spaces are lost, and no line that can be broken is too wide.
func FuzzLines(f *testing.F) {
	for _, w := range languages {
		f.Add(w.preamble, uint16(90))
		f.Add(w.footer, uint16(1))
	}
	f.Add("a\u0301\u0302\u0303 \n\u200b\u00a0『』、。", uint16(12))
	r := renderer(f)
	f.Fuzz(func(t *testing.T, text string, width uint16) {
		if !utf8.ValidString(text) {
			return
		}
		all, _ := r.Lines(text, "", 1e9)
		lines, widths := r.Lines(text, "", float64(width))
		if got, want := squeeze(strings.Join(lines, "")), squeeze(strings.Join(all, "")); clean(got) != clean(want) {
			t.Fatalf("%q became %q", want, got)
		}
		for i, line := range lines {
			if widths[i] > float64(width)+1e-6 && utf8.RuneCountInString(line) > 1 && !strings.ContainsFunc(line, unicode.IsMark) {
				t.Fatalf("line %q is %.2f wide, over %d", line, widths[i], width)
			}
		}
	})
}

func clean(s string) string { return strings.ReplaceAll(s, "\u200b", "") }
