package probe

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/seal"
)

func sealer(t testing.TB, letter string) *seal.Sealer {
	t.Helper()
	s, err := seal.New(bytes.Repeat([]byte(letter), seal.MinSecret), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestValid: only who has the secret key can ask, and only the question as it was asked.
func TestValid(t *testing.T) {
	t.Parallel()
	s, now := sealer(t, "k"), time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)
	q := Question(s, now)
	for _, at := range []time.Time{now, now.Add(5 * time.Minute), now.Add(-23 * time.Hour)} {
		if !Valid(s, q, at) {
			t.Errorf("refused at %s", at)
		}
	}
	other := sealer(t, "o")
	for name, valid := range map[string]bool{
		"another key": Valid(other, q, now), "too late": Valid(s, q, now.Add(25*time.Hour)), "changed": Valid(s, "1"+q, now),
		"cut":   Valid(s, q[:len(q)-2], now),
		"empty": Valid(s, "", now), "without a MAC": Valid(s, strings.Repeat("a", 40), now), "long": Valid(s, strings.Repeat("1.", 200), now),
		"an answer's proof": Valid(s, q[:strings.LastIndexByte(q, '.')]+"."+Proof(s, q), now),
	} {
		if valid {
			t.Errorf("%s: accepted", name)
		}
	}
	if q == Question(s, now) {
		t.Error("two questions are equal")
	}
	if !Proves(s, q, Proof(s, q)) || Proves(s, q, Proof(other, q)) || Proves(s, q, Proof(s, q+"x")) || Proves(s, q, "") {
		t.Error("the proof proves the wrong thing")
	}
}
