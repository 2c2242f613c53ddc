//go:build campaign

// Power cuts of a disk that reorders and tears what was not flushed.

package campaign

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// torn is a running program test/torn.
type torn struct {
	in  io.WriteCloser
	out *bufio.Scanner
}

// newTornVolume makes a disk of test/torn with an ext4, and mounts it. It needs root, FUSE, a loop device and e2fsprogs.
func newTornVolume(t *testing.T) *volume {
	t.Helper()
	v, base := newMountpoints(t)
	program := filepath.Join(t.TempDir(), "torn")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = "../torn"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(program, base, v.outer) //nolint:noctx // it ends with its input, after the unmount
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := new(strings.Builder)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, stderr)
		}
	})
	v.torn = &torn{in: in, out: bufio.NewScanner(out)}
	if !v.torn.out.Scan() {
		_ = cmd.Wait()
		t.Fatalf("no disk of test/torn: %s", stderr)
	}
	v.format()
	return v
}

// tell gives a command and returns the answer.
func (d *torn) tell(t *testing.T, command string) string {
	t.Helper()
	if _, err := fmt.Fprintln(d.in, command); err != nil {
		t.Fatal(err)
	}
	if !d.out.Scan() {
		t.Fatalf("the disk does not answer %q", command)
	}
	return d.out.Text()
}

// TestBlackoutTorn is TestBlackout with TORN (50) cuts of a disk that keeps some of the writes after the last flush, loses some, and tears
// some at a sector, in any order. A build that does not flush files must lose answers on it.
func TestBlackoutTorn(t *testing.T) {
	cuts := number(t, "TORN", 50)
	v := newTornVolume(t)
	newBlackout(t, v, binary(t), "CONSIGN_STORAGE_ENCRYPTION=on").cuts(cuts, "cuts with torn and reordered writes")
	var writes, kept, halves, reorders int
	if _, err := fmt.Sscan(v.torn.tell(t, "counts"), &writes, &kept, &halves, &reorders); err != nil {
		t.Fatal(err)
	}
	t.Logf("of %d writes that were not flushed %d were kept and %d torn; in %d of %d cuts a write outlived an earlier one",
		writes, kept, halves, reorders, cuts)
	if halves == 0 || reorders == 0 {
		t.Error("no write was torn, or none reordered: the disk was always idle")
	}
}
