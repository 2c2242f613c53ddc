//go:build container

// Package container tests Dockerfile and compose.yaml on a machine without a container engine. Run it with make test-container.
package container

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/consign-dev/consign/internal/config"
)

const (
	root = "../.."
	mega = 1_000_000
	// mostImage is the maximum image size without fonts.
	mostImage = 40 * mega
)

// service holds the fields of a service in compose.yaml that this test reads.
type service struct {
	Image       string
	Command     []string
	ReadOnly    bool `yaml:"read_only"`
	Environment map[string]string
	Volumes     []string
	Networks    any
}

type compose struct {
	Services map[string]service
	Volumes  map[string]any
	Networks map[string]any
}

// secrets are the values an operator sets in .env.
var secrets = map[string]string{
	"PUBLIC_HOST": "files.example.com", "CONSIGN_SECRET_KEY": "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=",
	"POSTGRES_PASSWORD": "0123456789abcdef0123456789abcdef", "S3_SECRET_KEY": "fedcba9876543210fedcba9876543210",
}

var reference = regexp.MustCompile(`\$\{([A-Z0-9_]+)(?::([?-])([^}]*))?\}`)

// readCompose parses compose.yaml with the values of secrets substituted.
func readCompose(t *testing.T) compose {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := reference.ReplaceAllStringFunc(string(raw), func(found string) string {
		parts := reference.FindStringSubmatch(found)
		value, given := secrets[parts[1]]
		switch {
		case given:
			return value
		case parts[2] != "-":
			t.Errorf("compose.yaml needs %s, but its leading comment does not mention it", parts[1])
		}
		return parts[3]
	})
	var c compose
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	for name := range secrets {
		if !strings.Contains(strings.SplitN(string(raw), "services:", 2)[0], name) {
			t.Errorf("the leading comment of compose.yaml does not mention %s", name)
		}
	}
	return c
}

func TestCompose(t *testing.T) {
	c := readCompose(t)
	known := map[string]bool{}
	for _, s := range config.Reference() {
		known[s.Name] = true
	}
	consign := c.Services["consign"]
	for name := range consign.Environment {
		if strings.HasPrefix(name, config.Prefix) && !known[name] {
			t.Errorf("compose.yaml sets %s, which is not a setting", name)
		}
	}
	if !consign.ReadOnly {
		t.Error("Consign's root is not read-only")
	}
	for name, s := range c.Services {
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if _, declared := c.Volumes[source]; !declared && !strings.HasPrefix(source, "./") {
				t.Errorf("%s uses the volume %s, which is not declared", name, source)
			} else if strings.HasPrefix(source, "./") {
				if _, err := os.Stat(filepath.Join(root, source)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if name != "consign" && s.Image == "" {
			t.Errorf("%s has no image", name)
		}
	}
	for _, name := range []string{"consign", "postgres", "s3", "redis", "caddy"} {
		if _, there := c.Services[name]; !there {
			t.Errorf("there is no service %s", name)
		}
	}
}

// instruction returns the arguments of the Dockerfile's last instruction with that name, with continuation lines joined.
func instruction(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	joined := strings.ReplaceAll(string(raw), "\\\n", "")
	found := regexp.MustCompile(`(?m)^`+name+` (.*)$`).FindAllStringSubmatch(joined, -1)
	if len(found) == 0 {
		t.Fatalf("the Dockerfile has no %s", name)
	}
	return found[len(found)-1][1]
}

// build runs the Dockerfile's build line with dir as the output directory.
func build(t *testing.T, dir string) (binary string) {
	t.Helper()
	line, _, _ := strings.Cut(instruction(t, "RUN"), " && ")
	if !strings.Contains(line, "CGO_ENABLED=0 go build ") || !strings.Contains(line, " -o /consign ") {
		t.Fatalf("the Dockerfile builds with %q", line)
	}
	binary = filepath.Join(dir, "consign")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(line, " -o /consign ", " -o "+binary+" ", 1))
	cmd.Dir, cmd.Env = root, append(os.Environ(), "VERSION=test-container")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return binary
}

// TestImage checks that the binary is static and that the image stays below its size limit.
func TestImage(t *testing.T) {
	binary := build(t, t.TempDir())
	file, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the binary is linked dynamically")
		}
	}
	for _, name := range []string{".text", ".rodata", ".gopclntab"} {
		t.Logf("%-11s %5.1f MB", name, float64(file.Section(name).Size)/mega)
	}
	fonts := size(t, filepath.Join(root, "internal/pdf/fonts"))
	program := size(t, binary) - fonts
	image := program + size(t, "/etc/ssl/certs/ca-certificates.crt") + size(t, goroot(t)+"/lib/time/zoneinfo.zip")
	t.Logf("without fonts (%.1f MB): binary %.1f MB, image %.1f MB", float64(fonts)/mega, float64(program)/mega, float64(image)/mega)
	if image > mostImage {
		t.Errorf("the image is larger than %d MB", mostImage/mega)
	}
	for name, want := range map[string]string{"USER": "10001:10001", "ENTRYPOINT": `["/consign"]`, "FROM": "scratch"} {
		if got := instruction(t, name); got != want {
			t.Errorf("%s %s, want %s", name, got, want)
		}
	}
	if got := instruction(t, "HEALTHCHECK"); !strings.HasSuffix(got, `CMD ["/consign", "healthcheck"]`) {
		t.Errorf("HEALTHCHECK %s", got)
	}
}

func size(t *testing.T, path string) (bytes int64) {
	t.Helper()
	err := filepath.Walk(path, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func goroot(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
