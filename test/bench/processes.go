//go:build bench

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/consign-dev/consign/internal/testkit/freeport"
)

// process is a server that the bench started.
type process struct {
	addr string
	pid  int
	cmd  *exec.Cmd
	took time.Duration // from its start to its first answer
}

const startTimeout = 60 * time.Second

// stop ends a process and waits for it.
func (p *process) stop() error {
	if p == nil || p.cmd == nil {
		return nil
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	err := p.cmd.Wait()
	p.cmd = nil
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil // a reference that was stopped, or a server that logged its reason
	}
	return err
}

// startReference starts this program as a reference.
func (b *bench) startReference(ctx context.Context, mode string, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	cmd := exec.CommandContext(ctx, self, append([]string{"reference", mode}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reference %s did not start: %w", mode, err), cmd.Wait())
	}
	return &process{addr: strings.TrimSpace(line), pid: cmd.Process.Pid, cmd: cmd, took: time.Since(began)}, nil
}

// startConsign starts the built binary and waits for its first answer. variables override the common settings.
func (b *bench) startConsign(ctx context.Context, dir string, variables []string, args ...string) (*process, error) {
	port, err := freeport.Get(ctx)
	if err != nil {
		return nil, err
	}
	admin, err := freeport.Get(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(b.dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{addr: "127.0.0.1:" + port}
	p.cmd = exec.CommandContext(ctx, b.binary, append([]string{"serve"}, args...)...)
	p.cmd.Env = append(os.Environ(), "CONSIGN_PUBLIC_URL=http://localhost", "CONSIGN_LISTEN="+p.addr, "CONSIGN_ADMIN_LISTEN=127.0.0.1:"+admin,
		"CONSIGN_PPROF=on",
		"CONSIGN_DATA_DIR="+dir, "CONSIGN_RATE_LIMIT=off", "CONSIGN_TRUSTED_PROXIES=127.0.0.1", "CONSIGN_BCRYPT_COST="+strconv.Itoa(bcryptCost),
		"CONSIGN_ACCESS_TOKEN_LIFETIME=1h",
		"CONSIGN_NEW_TRANSFER_BUCKET=1000000000,1000000/s", "CONSIGN_UPLOAD_VOLUME_GB=1000000",
		"CONSIGN_STRANGER_SHARE=100", "CONSIGN_STRANGER_RESERVATIONS=10000", "CONSIGN_STRANGER_ORGANIZATION_RESERVATIONS=0")
	p.cmd.Env = append(p.cmd.Env, variables...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	began := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.pid = p.cmd.Process.Pid
	b.admin[p.pid] = "127.0.0.1:" + admin
	if err := waitFor(ctx, "http://"+p.addr+environmentPath); err != nil {
		return nil, errors.Join(fmt.Errorf("consign did not start, see its log:\n%s: %w", b.logTail(), err), p.stop())
	}
	p.took = time.Since(began)
	return p, nil
}

// waitFor sends GET requests until the answer is 200.
func waitFor(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}

// logTail returns the end of the servers' log.
func (b *bench) logTail() string {
	raw, _ := os.ReadFile(filepath.Join(b.dir, "server.log"))
	return string(raw[max(0, len(raw)-3000):])
}
