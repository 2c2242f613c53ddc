package transfer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/transfer"
)

func TestParseContentRange(t *testing.T) {
	t.Parallel()
	good := map[string]transfer.ContentRange{
		"bytes 0-0/1":     {First: 0, Last: 0, Total: 1},
		"bytes 5-9/10":    {First: 5, Last: 9, Total: 10},
		"Bytes 05-9/0010": {First: 5, Last: 9, Total: 10},
		"bytes 0-9223372036854775806/9223372036854775807": {First: 0, Last: 1<<63 - 2, Total: 1<<63 - 1},
	}
	for header, want := range good {
		if got, ok := transfer.ParseContentRange(header); !ok || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", header, got, ok, want)
		}
	}
	for _, header := range []string{
		"", "bytes", "bytes ", "bytes 0-1", "bytes 0/1", "bytes 0-1/", "bytes -1/5", "bytes 1-/5", "bytes 2-1/5", "bytes 0-5/5",
		"bytes */5", "bytes 0-1/*", "bytes=0-1/5", "items 0-1/5", "bytes  0-1/5", "bytes 0-1/5 ", "bytes +0-1/5", "bytes 0-+1/5",
		"bytes 0-1/9223372036854775808", "bytes 0x0-1/5", "bytes 0-1/5, bytes 2-3/5", "bytes ０-1/5", "bytes 0-1/5\x00", "bytes 0--1/5",
	} {
		if got, ok := transfer.ParseContentRange(header); ok {
			t.Errorf("%q was read as %+v", header, got)
		}
	}
}

func FuzzParseContentRange(f *testing.F) {
	for _, seed := range []string{"bytes 0-0/1", "bytes 5-9/10", "bytes */5", "bytes 0-1/*", "bytes 2-1/5", "", "bytes -1-2/3",
		"bytes 0-9223372036854775807/9223372036854775808"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		c, ok := transfer.ParseContentRange(header)
		if !ok {
			if c != (transfer.ContentRange{}) {
				t.Errorf("%q is refused but yields %+v", header, c)
			}
			return
		}
		if c.First < 0 || c.Last < c.First || c.Last >= c.Total || c.Length() <= 0 || c.Length() > c.Total {
			t.Errorf("%q yields %+v", header, c)
		}
		if len(header) < len("bytes 0-0/1") || !strings.EqualFold(header[:6], "bytes ") {
			t.Errorf("%q is accepted", header)
		}
		back, ok := transfer.ParseContentRange(fmt.Sprintf("bytes %d-%d/%d", c.First, c.Last, c.Total))
		if !ok || back != c {
			t.Errorf("%+v does not survive being written", c)
		}
	})
}
