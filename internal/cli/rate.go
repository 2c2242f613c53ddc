package cli

import (
	"context"
	"strconv"
	"strings"

	"golang.org/x/time/rate"
)

// byteRate is the flag --limit-rate: bytes a second, as 500k, 2M or 1.5MiB. 0 is no limit.
type byteRate float64

func (r *byteRate) String() string {
	if *r == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*r), 'f', -1, 64)
}

// Type names the value in the help text.
func (r *byteRate) Type() string { return "RATE" }

// Set parses the flag.
func (r *byteRate) Set(text string) error {
	digits := strings.TrimRight(text, "kKMGiBb/s ")
	factor, known := map[string]float64{"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}[strings.TrimSuffix(
		strings.TrimSuffix(strings.ToLower(strings.TrimSpace(text[len(digits):])), "/s"), "b")]
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !known || n <= 0 {
		return usageError(strconv.Quote(text) + " is not a rate, as 500k, 2M or 1MiB (bytes a second)")
	}
	*r = byteRate(n * factor)
	return nil
}

// limit returns what waits for the rate, for all files together; nil without a limit.
func (r byteRate) limit() func(ctx context.Context, n int) error {
	if r == 0 {
		return nil
	}
	burst := max(int(r/10), 1)
	l := rate.NewLimiter(rate.Limit(r), burst)
	return func(ctx context.Context, n int) error {
		for n > 0 {
			step := min(n, burst)
			if err := l.WaitN(ctx, step); err != nil {
				return err
			}
			n -= step
		}
		return nil
	}
}
