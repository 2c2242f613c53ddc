// Package poll waits for effects of other goroutines, servers and jobs. It has no dependencies, so every package's tests can import it.
package poll

import (
	"testing"
	"time"
)

// limit is the timeout of Until. With the race detector on a busy disk, 30 s were too few for the start of a demo.
const limit = 2 * time.Minute

// Until polls until ok returns true and returns the time that took. After 2 minutes the test fails and names what did not happen.
func Until(t testing.TB, what string, ok func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !ok() {
		if time.Since(began) > limit {
			t.Fatalf("not within %s: %s", limit, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
	return time.Since(began)
}
