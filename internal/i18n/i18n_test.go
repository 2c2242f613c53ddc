// Tests of the choice of a locale, plurals, times and sizes.

package i18n_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/i18n"
)

func catalog(t testing.TB) *i18n.Catalog {
	t.Helper()
	c, err := i18n.New()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMatch(t *testing.T) {
	t.Parallel()
	c := catalog(t)
	for header, want := range map[string]string{
		"":                              "en_US",
		"*":                             "en_US",
		"de":                            "de_DE",
		"de-AT,de;q=0.9,en;q=0.8":       "de_DE",
		"fr-CA":                         "fr_FR",
		"pt-BR, fr;q=0.5":               "fr_FR",
		"ru":                            "ru_RU",
		"ko-KR":                         "ko_KR",
		"ja":                            "ja_JP",
		"zh":                            "zh_CN",
		"zh-CN":                         "zh_CN",
		"zh-Hans-SG":                    "zh_CN",
		"zh-TW":                         "zh_TW",
		"zh-Hant":                       "zh_TW",
		"zh-HK":                         "zh_TW",
		"en-GB":                         "en_US",
		"tlh":                           "en_US",
		"de;q=0, fr":                    "fr_FR",
		"\x00\xff":                      "en_US",
		strings.Repeat("a-", 5000):      "en_US",
		"de;q=banana":                   "en_US",
		strings.Repeat("de,", 3) + "de": "de_DE",
	} {
		if got := c.Match(header); got != want {
			t.Errorf("Match(%.40q) = %s, want %s", header, got, want)
		}
	}
}

func TestPrinter(t *testing.T) {
	t.Parallel()
	c := catalog(t)
	de, ja := c.Printer("de_DE"), c.Printer("ja_JP")
	if got := de.T("Valid until"); got != "Gültig bis" {
		t.Errorf("T = %q", got)
	}
	if got := de.T("no such sentence, 100%"); got != "no such sentence, 100%" {
		t.Errorf("T of an unknown sentence = %q", got)
	}
	if got := de.C("nowhere", "Valid until"); got != "Valid until" {
		t.Errorf("C of an unknown context = %q", got)
	}
	// The Japanese sentence needs its arguments in another order.
	if got := ja.F("You’ve been invited to join %s on %s.", "工房", "Consign"); got != "Consign の 工房 に招待されています。" {
		t.Errorf("F = %q", got)
	}
	// An argument is never used as a format.
	if got := de.F("Help: %s", "100 %d %1$s"); got != "Hilfe: 100 %d %1$s" {
		t.Errorf("F = %q", got)
	}
	if p := c.Printer("xx_XX"); p.Locale() != i18n.Default || p.T("Valid until") != "Valid until" {
		t.Error("an unsupported locale is not served in the default one")
	}
	var zero i18n.Printer
	if zero.Locale() != i18n.Default || zero.N("%d file, %s", "%d files, %s", 2, "1 MB") != "2 files, 1 MB" {
		t.Error("the zero Printer does not write English")
	}
}

func TestPlurals(t *testing.T) {
	t.Parallel()
	c := catalog(t)
	for locale, want := range map[string][]string{
		"en_US": {"and 0 more files", "and 1 more file", "and 2 more files"},
		"fr_FR": {"et 0 autre fichier", "et 1 autre fichier", "et 2 autres fichiers"},
		"ru_RU": {"и ещё 0 файлов", "и ещё 1 файл", "и ещё 2 файла"},
		"zh_CN": {"以及另外 0 个文件", "以及另外 1 个文件", "以及另外 2 个文件"},
	} {
		p := c.Printer(locale)
		for n, sentence := range want {
			if got := p.N("and %d more file", "and %d more files", n); got != sentence {
				t.Errorf("%s, %d: %q, want %q", locale, n, got, sentence)
			}
		}
	}
	ru := c.Printer("ru_RU")
	for n, ending := range map[int]string{5: "ов", 11: "ов", 21: "файл", 22: "а", 111: "ов"} {
		if got := ru.N("and %d more file", "and %d more files", n); !strings.HasSuffix(got, ending) {
			t.Errorf("ru_RU, %d: %q", n, got)
		}
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	c := catalog(t)
	moment := time.Date(2026, 11, 1, 9, 5, 0, 0, time.UTC)
	for locale, want := range map[string]string{
		"en_US": "November 1, 2026, 10:05 AM (Europe/Berlin, UTC+01:00)",
		"de_DE": "1. November 2026, 10:05 (Europe/Berlin, UTC+01:00)",
		"fr_FR": "1er novembre 2026 à 10:05 (Europe/Berlin, UTC+01:00)",
		"ru_RU": "1 ноября 2026\u00a0г., 10:05 (Europe/Berlin, UTC+01:00)",
		"ko_KR": "2026년 11월 1일 10:05 (Europe/Berlin, UTC+01:00)",
		"zh_CN": "2026年11月1日 10:05 (Europe/Berlin, UTC+01:00)",
		"zh_TW": "2026年11月1日 10:05 (Europe/Berlin, UTC+01:00)",
		"ja_JP": "2026年11月1日 10:05 (Europe/Berlin, UTC+01:00)",
	} {
		if got := c.Printer(locale).Time(moment, "Europe/Berlin"); got != want {
			t.Errorf("%s: %q, want %q", locale, got, want)
		}
	}
	for zone, want := range map[string]string{
		"":                 "November 1, 2026, 9:05 AM (UTC)",
		"UTC":              "November 1, 2026, 9:05 AM (UTC)",
		"Local":            "November 1, 2026, 9:05 AM (UTC)",
		"../../etc/passwd": "November 1, 2026, 9:05 AM (UTC)",
		"Asia/Kolkata":     "November 1, 2026, 2:35 PM (Asia/Kolkata, UTC+05:30)",
		"America/New_York": "November 1, 2026, 4:05 AM (America/New_York, UTC-05:00)",
	} {
		if got := c.Printer("en_US").Time(moment, zone); got != want {
			t.Errorf("zone %q: %q, want %q", zone, got, want)
		}
	}
	for _, locale := range i18n.Locales() {
		p, seen := c.Printer(locale), map[string]bool{}
		for month := time.January; month <= time.December; month++ {
			seen[p.Time(time.Date(2026, month, 2, 0, 0, 0, 0, time.UTC), "UTC")] = true
		}
		if len(seen) != 12 {
			t.Errorf("%s has %d months", locale, len(seen))
		}
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	c := catalog(t)
	for n, want := range map[int64]string{
		-1: "0 B", 0: "0 B", 1: "1 B", 999: "999 B", 1000: "1 kB", 1999: "1.9 kB", 1500: "1.5 kB", 1_150_000: "1.1 MB",
		999_999: "999 kB", 1_000_000: "1 MB", 104_857_600: "104 MB", 1_000_000_000: "1 GB", 1 << 62: "4611 PB",
	} {
		if got := strings.ReplaceAll(c.Printer("en_US").Bytes(n), "\u00a0", " "); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
	if got := c.Printer("fr_FR").Bytes(1_500_000); got != "1,5\u00a0Mo" {
		t.Errorf("fr_FR: %q", got)
	}
	if got := c.Printer("ru_RU").Bytes(12); got != "12\u00a0Б" {
		t.Errorf("ru_RU: %q", got)
	}
}

func TestBundles(t *testing.T) {
	t.Parallel()
	c := catalog(t)
	if want := []string{"de_DE", "en_US", "fr_FR", "ru_RU", "ko_KR", "zh_CN", "zh_TW", "ja_JP"}; !slices.Equal(i18n.Locales(), want) {
		t.Errorf("Locales = %v", i18n.Locales())
	}
	for _, locale := range i18n.Locales() {
		po, ok := c.PO(locale)
		if !ok || !strings.Contains(string(po), fmt.Sprintf("Language: %s\\n", locale)) {
			t.Errorf("PO(%s) is not that catalogue", locale)
		}
		jed, ok := c.JED(locale)
		if !ok {
			t.Fatalf("JED(%s) is missing", locale)
		}
		var bundle struct {
			Domain     string                    `json:"domain"`
			LocaleData map[string]map[string]any `json:"locale_data"`
		}
		if err := json.Unmarshal(jed, &bundle); err != nil {
			t.Fatal(err)
		}
		messages := bundle.LocaleData[bundle.Domain]
		header, _ := messages[""].(map[string]any)
		if header["lang"] != locale || header["plural_forms"] == "" {
			t.Errorf("JED(%s) has the header %v", locale, header)
		}
		if len(messages) < 60 {
			t.Errorf("JED(%s) has %d entries", locale, len(messages))
		}
		if locale == "ru_RU" {
			want := []any{"и ещё %d файл", "и ещё %d файла", "и ещё %d файлов"}
			if diff := cmp.Diff(want, messages["and %d more file"]); diff != "" {
				t.Error(diff)
			}
		}
	}
	if _, ok := c.PO("de"); ok {
		t.Error("PO(de) exists")
	}
	if _, ok := c.JED("../en_US"); ok {
		t.Error("JED(../en_US) exists")
	}
}

func FuzzMatch(f *testing.F) {
	c := catalog(f)
	f.Add("de-DE,fr;q=0.3")
	f.Fuzz(func(t *testing.T, header string) {
		if got := c.Match(header); !i18n.Supported(got) {
			t.Errorf("Match(%q) = %q", header, got)
		}
	})
}
