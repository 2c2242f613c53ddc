package i18n

import (
	"fmt"
	"strconv"
	"time"
)

// style holds the formats of a locale.
type style struct {
	date    func(t time.Time) string
	clock   string // layout of package time
	between string // separator of date and clock
	decimal string
	units   []string // 10^0, 10^3 … bytes
}

var (
	germanMonths = []string{
		"Januar", "Februar", "März", "April", "Mai", "Juni",
		"Juli", "August", "September", "Oktober", "November", "Dezember",
	}
	frenchMonths = []string{
		"janvier", "février", "mars", "avril", "mai", "juin",
		"juillet", "août", "septembre", "octobre", "novembre", "décembre",
	}
	russianMonths = []string{ // genitive, as after a day
		"января", "февраля", "марта", "апреля", "мая", "июня",
		"июля", "августа", "сентября", "октября", "ноября", "декабря",
	}
	bytesUnits = []string{"B", "kB", "MB", "GB", "TB", "PB"}

	styles = map[string]style{
		"en_US": {func(t time.Time) string { return t.Format("January 2, 2006") }, "3:04 PM", ", ", ".", bytesUnits},
		"de_DE": {func(t time.Time) string {
			return fmt.Sprintf("%d. %s %d", t.Day(), germanMonths[t.Month()-1], t.Year())
		}, "15:04", ", ", ",", bytesUnits},
		"fr_FR": {frenchDate, "15:04", " à ", ",", []string{"octets", "ko", "Mo", "Go", "To", "Po"}},
		"ru_RU": {func(t time.Time) string {
			return fmt.Sprintf("%d %s %d\u00a0г.", t.Day(), russianMonths[t.Month()-1], t.Year())
		}, "15:04", ", ", ",", []string{"Б", "кБ", "МБ", "ГБ", "ТБ", "ПБ"}},
		"ko_KR": {func(t time.Time) string { return t.Format("2006년 1월 2일") }, "15:04", " ", ".", bytesUnits},
		"zh_CN": {func(t time.Time) string { return t.Format("2006年1月2日") }, "15:04", " ", ".", bytesUnits},
		"zh_TW": {func(t time.Time) string { return t.Format("2006年1月2日") }, "15:04", " ", ".", bytesUnits},
		"ja_JP": {func(t time.Time) string { return t.Format("2006年1月2日") }, "15:04", " ", ".", bytesUnits},
	}
)

func frenchDate(t time.Time) string {
	day := strconv.Itoa(t.Day())
	if t.Day() == 1 {
		day = "1er"
	}
	return fmt.Sprintf("%s %s %d", day, frenchMonths[t.Month()-1], t.Year())
}

// Date formats the day of t in t's own location: "November 20, 2026".
func (p Printer) Date(t time.Time) string { return styles[p.Locale()].date(t) }

// Time formats a time in an IANA time zone, with zone and offset:
// "November 20, 2026, 10:30 AM (Europe/Berlin, UTC+01:00)". An unknown zone is UTC.
func (p Printer) Time(t time.Time, zone string) string {
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		location = time.UTC
	}
	t = t.In(location)
	s := styles[p.Locale()]
	name := location.String()
	if name != "UTC" {
		name += ", UTC" + t.Format("-07:00")
	}
	return s.date(t) + s.between + t.Format(s.clock) + " (" + name + ")"
}

// Bytes formats a size in decimal units (1 MB = 1,000,000 bytes, contract 1.12) with one digit of fraction
// below 100, as the pages do (internal/web/assets/i18n.js). It rounds down, so that it never shows more than there is.
func (p Printer) Bytes(n int64) string {
	s := styles[p.Locale()]
	scale, unit := int64(1), 0
	for n/scale >= 1000 && unit < len(s.units)-1 {
		scale *= 1000
		unit++
	}
	number := strconv.FormatInt(max(n, 0), 10)
	if unit > 0 {
		tenths := n / (scale / 10)
		number = strconv.FormatInt(tenths/10, 10)
		if tenths%10 > 0 && tenths < 1000 {
			number += s.decimal + strconv.FormatInt(tenths%10, 10)
		}
	}
	return number + "\u00a0" + s.units[unit]
}
