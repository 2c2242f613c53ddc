package client_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGeneratedIsCurrent checks that the generated packages are those of the documents: neither has changed since `make generate`.
func TestGeneratedIsCurrent(t *testing.T) {
	t.Parallel()
	sums, err := os.Open("generate/sums")
	if err != nil {
		t.Fatal(err)
	}
	defer sums.Close()
	files := 0
	for lines := bufio.NewScanner(sums); lines.Scan(); files++ {
		want, name, _ := strings.Cut(lines.Text(), "  ")
		content, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := sha256.Sum256(content); hex.EncodeToString(got[:]) != want {
			t.Errorf("%s has changed since the packages were generated: run make generate", name)
		}
	}
	if files != 11 {
		t.Errorf("generate/sums has %d files", files)
	}
}
