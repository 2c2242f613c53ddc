package identity_test

import (
	"testing"
	"unicode/utf8"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

func TestFingerprint(t *testing.T) {
	t.Parallel()
	titles, points := map[string]rune{}, map[rune]string{}
	previous := identity.Fingerprint(id.New[id.Person]())
	same := 0
	for range 2000 {
		uid := id.New[id.Person]()
		f := identity.Fingerprint(uid)
		if f != identity.Fingerprint(uid) {
			t.Fatal("the fingerprint of one uid changes")
		}
		if f == previous {
			same++
		}
		previous = f
		for _, e := range f {
			r, size := utf8.DecodeRuneInString(e.Name)
			if r != e.CodePoint || size != len(e.Name) || e.Title == "" {
				t.Fatalf("%q, %X, %q", e.Name, e.CodePoint, e.Title)
			}
			if p, ok := titles[e.Title]; ok && p != e.CodePoint {
				t.Errorf("%q names two emoji", e.Title)
			}
			titles[e.Title], points[e.CodePoint] = e.CodePoint, e.Title
		}
	}
	if len(titles) != 64 || len(points) != 64 || same > 2 {
		t.Errorf("%d titles, %d emoji, %d repetitions", len(titles), len(points), same)
	}
	fixed, err := id.Parse[id.Person]("0190d2f4-7c1e-7b44-8d6a-3f1f6f0e2c11")
	if err != nil {
		t.Fatal(err)
	}
	var title string
	for _, e := range identity.Fingerprint(fixed) {
		title += e.Title + " "
	}
	const want = "butterfly rabbit hammer pig "
	if title != want {
		t.Errorf("the fingerprint of a fixed uid is %q, want %q", title, want)
	}
}
