package id

import "testing"

// FuzzTimePosition checks that a position has one spelling, and that its time fits the database.
func FuzzTimePosition(f *testing.F) {
	f.Add("AZPwogEjcd60AAAAAAAAAAAyMDI2LTExLTI0VDA5OjMwOjAwWg")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		uid, at, ok := ParseTimePosition[Transfer](text)
		if !ok || text == "" {
			return
		}
		if again := TimePosition(uid, at); again != text || at.Year() > 9999 {
			t.Errorf("%q: %v %v, then %q", text, uid, at, again)
		}
	})
}
