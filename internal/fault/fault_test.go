package fault_test

import (
	"strconv"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
)

// TestProblemsAreBounded: of thousands of wrong entries the first are named.
func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	var p fault.Problems
	for i := range 1000 {
		p.Add(strconv.Itoa(i), "is wrong")
	}
	if len(p) != fault.MaxProblems || p[0] != "0: is wrong" {
		t.Errorf("%d details, the first %q", len(p), p[0])
	}
}
