package client

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"
)

// TestRetries: failures are tried again as client/testdata/retries.json says. test/retries.mjs asks the other two clients the same.
func TestRetries(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/retries.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases struct {
		Failures []struct {
			Status, Code, RetryAfter int
			Passes, Refused          bool
		}
		Pauses []struct {
			Tries, RetryAfter int
			Least, Most       float64
		}
	}
	if err := json.Unmarshal(raw, &cases); err != nil || len(cases.Failures) < 20 || len(cases.Pauses) < 9 {
		t.Fatalf("%+v, %v", cases, err)
	}
	for _, c := range cases.Failures {
		var failure error = &Error{Status: c.Status, Code: c.Code, RetryAfter: time.Duration(c.RetryAfter) * time.Second}
		if c.Status == 0 {
			failure = errors.New("connection reset")
		}
		least, passes := passing(failure)
		if passes != c.Passes || refused(failure) != c.Refused || least != time.Duration(c.RetryAfter)*time.Second {
			t.Errorf("%+v passes: %v after %v, was refused: %v", c, passes, least, refused(failure))
		}
	}
	for _, c := range cases.Pauses {
		for range 100 {
			p := pauseAfter(c.Tries, time.Duration(c.RetryAfter)*time.Second, 10*time.Minute).Seconds()
			if p < c.Least || p > c.Most {
				t.Errorf("%+v: %g s", c, p)
			}
		}
	}
}
