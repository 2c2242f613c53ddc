package fault_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
)

// TestProblemsAreBounded: of thousands of invalid entries, the first MaxProblems are named.
func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	var problems fault.Problems
	for i := range 1000 {
		problems.Add(strconv.Itoa(i), "is wrong")
	}
	if len(problems) != fault.MaxProblems || problems[0] != "0: is wrong" {
		t.Errorf("%d details, the first %q", len(problems), problems[0])
	}
}

func TestNewTakesKindAndMessageFromCode(t *testing.T) {
	t.Parallel()
	if e := fault.New(403031, "detail"); e.Kind != fault.Forbidden || e.Code != 403031 || e.Message != fault.MessageForbidden {
		t.Errorf("New(403031) = %+v", e)
	}
	defer func() {
		if recover() == nil {
			t.Error("New accepted a code without a known kind")
		}
	}()
	_ = fault.New(31)
}

// TestCodesAreUnique reads all of Consign's Go files: each call of New has a literal code of six digits with a known
// kind, and no API has a code twice. The two APIs may use the same code; codes of the mechanisms belong to both.
func TestCodesAreUnique(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`\bfault\.New\(([^,)]*)`)
	own := regexp.MustCompile(`= New\(([^,)]*)`)
	declared := map[string]map[string]string{"identity": {}, "transfer": {}} // API -> code -> file
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "../.." && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pattern := call
		if filepath.Base(path) == "fault.go" {
			pattern = own
		}
		for _, found := range pattern.FindAllSubmatch(source, -1) {
			code := string(found[1])
			number, err := strconv.Atoi(code)
			if err != nil || len(code) != 6 {
				t.Errorf("%s: New(%s): the code must be a literal number of six digits", path, code)
				continue
			}
			_ = fault.New(number) // panics when the kind is unknown
			for api, files := range declared {
				if domain := domainOf(path); domain != "" && domain != api {
					continue
				}
				if first, twice := files[code]; twice {
					t.Errorf("code %s is declared in %s and in %s", code, first, path)
				}
				files[code] = path
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for api, files := range declared {
		if len(files) < 50 {
			t.Errorf("found %d codes of the %s API only: does the pattern still match?", len(files), api)
		}
	}
}

// domainOf returns the API that the errors of a file belong to; empty for both.
func domainOf(path string) string {
	for _, domain := range []string{"identity", "transfer"} {
		if strings.HasPrefix(filepath.ToSlash(path), "../../internal/"+domain+"/") {
			return domain
		}
	}
	return ""
}
