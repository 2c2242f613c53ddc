// The syntax of values: durations, sizes, switches, lists, buckets, keys and networks, and the sentences about wrong ones.

package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

const (
	day         = 24 * time.Hour
	longest     = 36500 * day
	secretBytes = 32
)

// parsers maps a field's type to its parser. A parser's error continues a sentence that begins with the variable's name. It does
// not repeat the value, which may hold a password.
var parsers = map[reflect.Type]env.ParserFunc{
	reflect.TypeFor[bool]():           parser(parseSwitch),
	reflect.TypeFor[int]():            parser(parseInt),
	reflect.TypeFor[[]int]():          parser(parseInts),
	reflect.TypeFor[[]string]():       parser(parseList),
	reflect.TypeFor[[]byte]():         parser(parseKey),
	reflect.TypeFor[time.Duration]():  parser(parseSpan),
	reflect.TypeFor[url.URL]():        parser(parseURL),
	reflect.TypeFor[[]netip.Prefix](): parser(parsePrefixes),
	reflect.TypeFor[Bucket]():         parser(parseBucket),
	reflect.TypeFor[Floor]():          parser(parseFloor),
}

func parser[T any](parse func(string) (T, error)) env.ParserFunc {
	return func(s string) (any, error) { return parse(s) }
}

func parseSwitch(s string) (bool, error) {
	switch s {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, errors.New("must be on or off")
}

func parseInt(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, errors.New("must be a whole number")
	}
	return n, nil
}

func parseList(s string) ([]string, error) {
	var list []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list, nil
}

func parseInts(s string) ([]int, error) {
	items, err := parseList(s)
	if err != nil {
		return nil, err
	}
	var list []int
	for _, item := range items {
		n, err := strconv.Atoi(item)
		if err != nil {
			return nil, errors.New("must be whole numbers separated by commas")
		}
		list = append(list, n)
	}
	return list, nil
}

func parseKey(s string) ([]byte, error) {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if key, err := encoding.DecodeString(s); err == nil && len(key) == secretBytes {
			return key, nil
		}
	}
	return nil, errors.New("must be 32 bytes in base64, as `openssl rand -base64 32` prints them")
}

// parseSpan is ParseDuration that also accepts 0 and 0s. Config.validate refuses zero where a setting does not allow it.
func parseSpan(s string) (time.Duration, error) {
	if s == "0" || s == "0s" {
		return 0, nil
	}
	return ParseDuration(s)
}

var errDuration = errors.New("must be a duration like 90s, 15m, 48h or 30d")

// ParseDuration parses the syntax of time.ParseDuration, optionally preceded by days of 24 hours: "30d", "1d12h". The result
// is positive and at most a hundred years.
func ParseDuration(s string) (time.Duration, error) {
	var total time.Duration
	days, rest, found := strings.Cut(s, "d")
	if found {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > int(longest/day) {
			return 0, errDuration
		}
		total = time.Duration(n) * day
	} else {
		rest = s
	}
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 || d > longest {
			return 0, errDuration
		}
		total += d
	}
	if s == "" || total <= 0 || total > longest {
		return 0, errDuration
	}
	return total, nil
}

// formatDuration is the inverse of ParseDuration. Zero is the empty string.
func formatDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	if d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func parseURL(s string) (url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return url.URL{}, errors.New("must be a scheme, a host and perhaps a port, like https://files.example.com")
	}
	return *u, nil
}

func parsePrefixes(s string) ([]netip.Prefix, error) {
	items, err := parseList(s)
	if err != nil {
		return nil, err
	}
	var list []netip.Prefix
	for _, item := range items {
		if addr, err := netip.ParseAddr(item); err == nil && addr.Zone() == "" {
			addr = addr.Unmap()
			list = append(list, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			return nil, fmt.Errorf("must be addresses and CIDRs separated by commas, and %q is neither", item)
		}
		list = append(list, prefix.Masked())
	}
	return list, nil
}

func parseBucket(s string) (Bucket, error) {
	wrong := errors.New("must be a capacity and a drain, like 600,10/s or 20,1/60s")
	capacity, drain, ok := strings.Cut(s, ",")
	tokens, span, ok2 := strings.Cut(strings.TrimSpace(drain), "/")
	if !ok || !ok2 {
		return Bucket{}, wrong
	}
	if span != "" && strings.Trim(span, "smhd") == "" {
		span = "1" + span
	}
	size, errSize := strconv.Atoi(strings.TrimSpace(capacity))
	number, errNumber := strconv.Atoi(tokens)
	per, errPer := ParseDuration(span)
	if errors.Join(errSize, errNumber, errPer) != nil || size < 1 || number < 1 {
		return Bucket{}, wrong
	}
	return Bucket{Capacity: size, PerSecond: float64(number) / per.Seconds(), text: s}, nil
}

// String returns the text form.
func (b Bucket) String() string { return b.text }

// sizes are the units of a Floor, the longer suffixes first.
var sizes = []struct {
	suffix string
	bytes  int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"GB", 1e9}, {"MB", 1e6}}

func parseFloor(s string) (Floor, error) {
	wrong := errors.New("must be a size like 2GiB or 500MB, a share of the volume like 5%, both separated by a comma, or 0")
	f := Floor{text: s}
	if s == "0" {
		return f, nil
	}
	items, err := parseList(s)
	if err != nil || len(items) == 0 || len(items) > 2 {
		return Floor{}, wrong
	}
	for _, item := range items {
		if share, ok := strings.CutSuffix(item, "%"); ok {
			n, err := strconv.ParseFloat(share, 64)
			if err != nil || !(n > 0 && n < 100) || f.Percent > 0 {
				return Floor{}, wrong
			}
			f.Percent = n
			continue
		}
		n := parseSize(item)
		if n == 0 || f.Bytes > 0 {
			return Floor{}, wrong
		}
		f.Bytes = n
	}
	return f, nil
}

// parseSize returns the bytes of a size, 0 when it is none.
func parseSize(s string) int64 {
	for _, unit := range sizes {
		if number, ok := strings.CutSuffix(s, unit.suffix); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 32)
			if err != nil || n < 1 {
				return 0
			}
			return n * unit.bytes
		}
	}
	return 0
}

// String returns the text form.
func (f Floor) String() string { return f.text }
