//go:build unix

package localpg

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// helperVariable names a cluster directory. When it is set, the test program acts as a server process that uses the cluster
// until its standard input ends, so that tests can kill it.
const helperVariable = "LOCALPG_HELPER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperVariable); dir != "" {
		os.Exit(helper(dir))
	}
	os.Exit(m.Run())
}

func helper(dir string) int {
	c, err := Start(context.Background(), Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("started")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := c.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

type process struct {
	*exec.Cmd
	input io.Closer
}

// startHelper runs the helper and waits until it uses the cluster.
func startHelper(t *testing.T, program, dir string, attr *syscall.SysProcAttr) process {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), helperVariable+"="+dir)
	cmd.SysProcAttr = attr
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if line != "started\n" {
		t.Fatalf("helper said %q, %v", line, err)
	}
	return process{cmd, input}
}

func (p process) kill(t *testing.T) {
	t.Helper()
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // returns an error because the process was killed
}
