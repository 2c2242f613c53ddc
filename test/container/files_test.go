//go:build container

// Package container tests Dockerfile, compose.yaml and its variants on a machine without a container engine: make test-container.
package container

import (
	"debug/elf"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/config"
)

const (
	root = "../.."
	mega = 1_000_000
	// mostImage is the maximum image size without fonts: the 45 MB of the program (docs/develop/benchmarks.md), certificates and time zones.
	mostImage = 50 * mega
)

// service holds the fields of a service that this test reads, as docker compose prints them.
type service struct {
	Image       string
	Command     []string
	ReadOnly    bool `json:"read_only"`
	Environment map[string]string
	Volumes     []struct{ Type, Source string }
	Networks    map[string]struct {
		Address string `json:"ipv4_address"`
	}
}

type compose struct {
	Services map[string]service
	Volumes  map[string]any
	Networks map[string]struct {
		IPAM struct{ Config []struct{ Gateway string } }
	}
}

// secrets are the values an operator sets in .env.
var secrets = map[string]string{
	"PUBLIC_HOST": "files.example.com", "CONSIGN_SECRET_KEY": "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=",
	"POSTGRES_PASSWORD": "0123456789abcdef0123456789abcdef", "S3_SECRET_KEY": "fedcba9876543210fedcba9876543210",
}

// variant is compose.yaml with files of contrib/compose.
type variant struct {
	name     string
	overlays []string
	more     map[string]string // what .env has beside secrets
	services []string
	bucket   bool   // whether files are in the bucket
	proxy    string // address from which Consign believes forwarding headers
}

const (
	composeProxy, hostProxy = "172.30.0.2", "172.30.0.1"
	ownBucket               = "s3://consign?endpoint=http://s3:7070&region=us-east-1"
)

var variants = []variant{
	{"compose.yaml", nil, nil, []string{"caddy", "consign", "postgres", "redis", "s3"}, true, composeProxy},
	{"disk", []string{"disk"}, nil, []string{"caddy", "consign", "postgres", "redis"}, false, composeProxy},
	{"bucket", []string{"bucket"}, map[string]string{"S3_URL": ownBucket, "S3_ACCESS_KEY": "consign"},
		[]string{"caddy", "consign", "postgres", "redis"}, true, composeProxy},
	{"caddy", []string{"caddy"}, nil, []string{"consign", "postgres", "redis", "s3"}, true, hostProxy},
	{"disk and caddy", []string{"disk", "caddy"}, nil, []string{"consign", "postgres", "redis"}, false, hostProxy},
}

// files returns the variant's files below the root of the repository.
func (v variant) files() []string {
	files := []string{"compose.yaml"}
	for _, name := range v.overlays {
		files = append(files, "contrib/compose/"+name+".yaml")
	}
	return files
}

// config lets docker compose merge the variant's files, with the values of .env but one.
func (v variant) config(t *testing.T, without string) ([]byte, error) {
	t.Helper()
	args := []string{"--env-file", "/dev/null"}
	for _, file := range v.files() {
		args = append(args, "-f", file)
	}
	cmd := exec.CommandContext(t.Context(), os.Getenv("TEST_COMPOSE"), append(args, "config", "--format", "json")...)
	cmd.Dir, cmd.Env = root, []string{"HOME=" + t.TempDir()}
	for _, values := range []map[string]string{secrets, v.more} {
		for name, value := range values {
			if name != without {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
		}
	}
	return cmd.CombinedOutput()
}

// read returns the variant as docker compose starts it.
func (v variant) read(t *testing.T) (c compose) {
	t.Helper()
	out, err := v.config(t, "")
	if err != nil {
		t.Fatalf("docker compose config: %v\n%s", err, out)
	}
	if err := json.Unmarshal(out, &c); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return c
}

// TestCompose checks that each variant is valid, asks for what .env must have, and sets settings that exist.
func TestCompose(t *testing.T) {
	known := map[string]bool{}
	for _, s := range config.Reference() {
		known[s.Name] = true
	}
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			c := v.read(t)
			if got := slices.Sorted(maps.Keys(c.Services)); !slices.Equal(got, v.services) {
				t.Errorf("services %s, want %s", got, v.services)
			}
			consign := c.Services["consign"]
			for name := range consign.Environment {
				if strings.HasPrefix(name, config.Prefix) && !known[name] {
					t.Errorf("%s is not a setting", name)
				}
			}
			if !consign.ReadOnly {
				t.Error("Consign's root is not read-only")
			}
			for name, s := range c.Services {
				for _, mounted := range s.Volumes {
					if _, declared := c.Volumes[mounted.Source]; mounted.Type == "volume" && !declared {
						t.Errorf("%s uses the volume %s, which is not declared", name, mounted.Source)
					} else if _, err := os.Stat(mounted.Source); mounted.Type == "bind" && err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
				if name != "consign" && s.Image == "" {
					t.Errorf("%s has no image", name)
				}
			}
			// What comes from Caddy has the address of its container, what comes from the machine that of the gateway.
			from := c.Services["caddy"].Networks["inside"].Address
			if from == "" {
				from = c.Networks["inside"].IPAM.Config[0].Gateway
			}
			if trusted := consign.Environment["CONSIGN_TRUSTED_PROXIES"]; trusted != from || trusted != v.proxy {
				t.Errorf("trusts %q, requests come from %q, want %s", trusted, from, v.proxy)
			}
			v.asks(t)
		})
	}
	written, err := filepath.Glob(filepath.Join(root, "contrib/compose/*.yaml"))
	if err != nil || len(written) != 3 {
		t.Errorf("contrib/compose has %s: add a variant", written)
	}
}

// required finds the names that a file must get.
var required = regexp.MustCompile(`\$\{([A-Z0-9_]+):\?`)

// asks checks that compose refuses to start without each value that .env must have, and that the comment of the file says so.
func (v variant) asks(t *testing.T) {
	t.Helper()
	names := map[string]bool{}
	for _, file := range v.files() {
		raw, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		comment, rest, _ := strings.Cut(string(raw), "services:")
		for _, found := range required.FindAllStringSubmatch(rest, -1) {
			names[found[1]] = true
			if !strings.Contains(comment, found[1]) {
				t.Errorf("%s needs %s, but its leading comment does not mention it", file, found[1])
			}
		}
	}
	if len(names) != len(secrets)+len(v.more) {
		t.Errorf("%s ask for %v", v.files(), names)
	}
	for name := range names {
		if out, err := v.config(t, name); err == nil || !strings.Contains(string(out), name) {
			t.Errorf("without %s: %v\n%s", name, err, out)
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
