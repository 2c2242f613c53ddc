package app_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPinImages: scripts/pin-images.sh pins each image of the deployment by the digest that the registry answers, also when it is
// pinned already. A program that stands for docker answers here.
func TestPinImages(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash") // `make test` runs scripts of bash, too
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"Dockerfile", "compose.yaml", "scripts/pin-images.sh"} {
		raw, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), string(raw))
	}
	docker := "#!" + bash + "\n" + `printf 'sha256:%064x\n' "$DIGEST"` + "\n"
	write(t, filepath.Join(dir, "bin/docker"), docker)
	image := regexp.MustCompile(`(?m)^(?:FROM| +image:) (\S+)`)
	for _, digest := range []string{"1", "2"} {
		cmd := exec.CommandContext(t.Context(), bash, filepath.Join(dir, "scripts/pin-images.sh"))
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "DIGEST="+digest)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		want, found := "@sha256:"+strings.Repeat("0", 63)+digest, 0
		for _, name := range []string{"Dockerfile", "compose.yaml"} {
			raw, _ := os.ReadFile(filepath.Join(dir, name))
			for _, m := range image.FindAllStringSubmatch(string(raw), -1) {
				if found++; m[1] != "scratch" && (!strings.HasSuffix(m[1], want) || strings.Count(m[1], "@") != 1) {
					t.Errorf("%s: %s", name, m[1])
				}
			}
		}
		if found != 6 {
			t.Errorf("%d images", found)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
