// Tests of sealed values, MACs and keys.

package seal_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"regexp"
	"testing"

	"github.com/consign-dev/consign/internal/seal"
)

var (
	secretA = bytes.Repeat([]byte{1}, 32)
	secretB = bytes.Repeat([]byte{2}, 32)
)

func newSealer(t testing.TB, secret, previous []byte) *seal.Sealer {
	t.Helper()
	s, err := seal.New(secret, previous)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewRefusesShortSecrets(t *testing.T) {
	t.Parallel()
	for name, pair := range map[string][2][]byte{
		"empty":          {nil, nil},
		"31 bytes":       {secretA[:31], nil},
		"short previous": {secretA, secretB[:31]},
	} {
		if _, err := seal.New(pair[0], pair[1]); err == nil {
			t.Errorf("%s: New succeeded", name)
		}
	}
}

func TestBox(t *testing.T) {
	t.Parallel()
	box := newSealer(t, secretA, nil).Box("test")
	for _, plain := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("long "), 10_000)} {
		sealed := box.Seal(plain, []byte("row 1"))
		if len(plain) > 1 && bytes.Contains(sealed, plain[:2]) && bytes.Contains(sealed, plain) {
			t.Fatal("the sealed value contains the plain text")
		}
		got, err := box.Open(sealed, []byte("row 1"))
		if err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("Open = %q, %v", got, err)
		}
		if bytes.Equal(sealed, box.Seal(plain, []byte("row 1"))) {
			t.Error("sealing twice gave the same bytes")
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t, secretA, nil)
	box := sealer.Box("test")
	aad := []byte("row 1")
	sealed := box.Seal([]byte("secret"), aad)
	wantRefused := func(name string, box seal.Box, sealed, aad []byte) {
		t.Helper()
		if _, err := box.Open(sealed, aad); !errors.Is(err, seal.ErrOpen) {
			t.Errorf("%s: Open = %v, want ErrOpen", name, err)
		}
	}
	wantRefused("other row", box, sealed, []byte("row 2"))
	wantRefused("no row", box, sealed, nil)
	wantRefused("other purpose", sealer.Box("other"), sealed, aad)
	wantRefused("other secret", newSealer(t, secretB, nil).Box("test"), sealed, aad)
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		wantRefused("changed byte", box, bad, aad)
		wantRefused("truncated", box, sealed[:i], aad)
	}
}

func TestChangeOfSecret(t *testing.T) {
	t.Parallel()
	before := newSealer(t, secretA, nil)
	during := newSealer(t, secretB, secretA)
	after := newSealer(t, secretB, nil)
	old := before.Box("test").Seal([]byte("secret"), nil)

	if during.Box("test").Current(old) || !before.Box("test").Current(old) {
		t.Error("Current is wrong about a value under the previous secret")
	}
	plain, err := during.Box("test").Open(old, nil)
	if err != nil || string(plain) != "secret" {
		t.Fatalf("Open of the previous secret's value = %q, %v", plain, err)
	}
	moved := during.Box("test").Seal(plain, nil)
	if plain, err = after.Box("test").Open(moved, nil); err != nil || string(plain) != "secret" {
		t.Fatalf("Open after the change = %q, %v", plain, err)
	}
	if _, err := after.Box("test").Open(old, nil); !errors.Is(err, seal.ErrOpen) {
		t.Errorf("Open of a value under a secret that is no longer configured = %v", err)
	}

	mac := before.MAC("link", []byte("a"))
	if !during.CheckMAC(mac, "link", []byte("a")) || after.CheckMAC(mac, "link", []byte("a")) {
		t.Error("a MAC must be valid exactly while its secret is configured")
	}
}

func TestMAC(t *testing.T) {
	t.Parallel()
	s := newSealer(t, secretA, nil)
	mac := s.MAC("link", []byte("ab"), []byte("c"))
	if !bytes.Equal(mac, s.MAC("link", []byte("ab"), []byte("c"))) {
		t.Error("two MACs of the same input differ")
	}
	if !s.CheckMAC(mac, "link", []byte("ab"), []byte("c")) {
		t.Error("CheckMAC refuses a valid MAC")
	}
	for name, ok := range map[string]bool{
		"other split":   s.CheckMAC(mac, "link", []byte("a"), []byte("bc")),
		"joined":        s.CheckMAC(mac, "link", []byte("abc")),
		"other purpose": s.CheckMAC(mac, "cookie", []byte("ab"), []byte("c")),
		"truncated":     s.CheckMAC(mac[:31], "link", []byte("ab"), []byte("c")),
		"empty":         s.CheckMAC(nil, "link", []byte("ab"), []byte("c")),
	} {
		if ok {
			t.Errorf("%s: CheckMAC accepts it", name)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[A-Za-z0-9_-]{32}$`)
	seen := map[string]bool{}
	for range 1000 {
		k := seal.NewKey()
		if !form.MatchString(k) || seen[k] {
			t.Fatalf("NewKey = %q: malformed or not unique", k)
		}
		seen[k] = true
	}
	if h := seal.Hash("a"); len(h) != 32 || bytes.Equal(h, seal.Hash("b")) {
		t.Error("Hash is not SHA-256")
	}
}

// FuzzOpen: nothing but the sealed text opens. It is a constant, because each worker of the fuzzer runs this function, and Seal draws
// a nonce.
func FuzzOpen(f *testing.F) {
	box := newSealer(f, secretA, secretB).Box("fuzz")
	good, err := hex.DecodeString("0120c8495b88aa52656397981d9120b81e769d00438da648e645c6a72f753c138d36be3f6a")
	if err != nil {
		f.Fatal(err)
	}
	if plain, err := box.Open(good, nil); err != nil || string(plain) != "seed" {
		f.Fatalf("%q, %v", plain, err)
	}
	f.Add(good)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, sealed []byte) {
		if plain, err := box.Open(sealed, nil); err == nil && !bytes.Equal(sealed, good) {
			t.Fatalf("opened %x to %q", sealed, plain)
		}
	})
}
