package service

import "testing"

// FuzzCursor checks that the cursor of a page has one spelling, and that its time fits the database.
func FuzzCursor(f *testing.F) {
	f.Add("AAYnxvJfYAAAAAAAAAAAAAAAAAAAAAAA")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		p, ok := parseCursor(text)
		if !ok {
			return
		}
		if again, ok := parseCursor(cursor(p)); !ok || again != p {
			t.Errorf("%q: %+v, then %+v", text, p, again)
		}
	})
}
