// Starts, watches and stops the postmaster of the embedded Postgres, also after a process was killed.

package localpg

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	answerTimeout  = 5 * time.Second
	orphanPatience = 10 * time.Second // for the children of a killed postmaster to end by themselves
	longestLog     = 16 << 20         // bytes of postgres.log from which a start truncates it

	codeTooManyConnections = "53300"
	codeStopped            = "57P01" // after it had accepted the connection
	codeStartingOrStopping = "57P03"
)

var errNotReady = errors.New("not ready")

// ensureRunning returns when the cluster answers. The caller holds the start lock.
func (c *Cluster) ensureRunning(ctx context.Context) error {
	patience := time.Now().Add(orphanPatience)
	for {
		err := c.answer(ctx)
		if err == nil {
			c.options.Log.Debug("private Postgres is running already", "dir", c.dir)
			return nil
		}
		if !errors.Is(err, errNotReady) {
			return err
		}
		busy := c.workers(ctx)
		if len(busy) == 0 {
			c.removeStale()
			return c.launch(ctx)
		}
		// A live postmaster is starting or stopping. Other processes end soon, else Postgres reports them when it starts.
		if !slices.Contains(busy, c.postmaster()) && time.Now().After(patience) {
			return c.launch(ctx)
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("processes %v work in %s, but no server answers: %w", busy, c.data(), err)
		}
	}
}

// answer connects once.
// Errors: errNotReady if no server runs or it does not accept connections yet.
func (c *Cluster) answer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err == nil {
		return conn.Close(ctx)
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case codeTooManyConnections:
			return nil
		case codeStopped, codeStartingOrStopping:
			return errNotReady
		default:
			return err
		}
	}
	return fmt.Errorf("%w: %w", errNotReady, err)
}

// alive reports whether the socket accepts connections. It is cheaper than answer.
func (c *Cluster) alive() bool {
	conn, err := net.DialTimeout("unix", filepath.Join(c.socket, ".s.PGSQL."+port), time.Second) //nolint:noctx // bounded by its own timeout
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// launch starts the postmaster and waits until it answers. The error contains what the postmaster logged.
func (c *Cluster) launch(ctx context.Context) error {
	if err := c.admit(); err != nil {
		return err
	}
	log, err := c.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	logged, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	// The postmaster outlives this process, so no context ends it.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(c.bin, "postgres"), c.arguments()...)
	cmd.Dir = "/"
	cmd.Env = environment()
	cmd.SysProcAttr = detached(c.owner)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	c.options.Log.Info("started private Postgres", "dir", c.dir, "pid", cmd.Process.Pid)
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	for {
		err := c.answer(ctx)
		if err == nil {
			return nil
		}
		select {
		case ended := <-exited:
			return fmt.Errorf("postgres ended at once (%v): %s", ended, c.loggedSince(logged)) //nolint:errorlint // its exit code is only told
		default:
		}
		if errors.Is(err, errNotReady) {
			if err = pause(ctx); err == nil {
				continue
			}
			err = fmt.Errorf("postgres does not answer: %w: %s", err, c.loggedSince(logged))
		}
		return errors.Join(err, interrupt(cmd.Process.Pid))
	}
}

func (c *Cluster) arguments() []string {
	quoted := `"` + strings.ReplaceAll(c.socket, `"`, `""`) + `"`
	settings := []string{
		"listen_addresses=", "unix_socket_directories=" + quoted, "unix_socket_permissions=0700", "port=" + port,
		"max_connections=" + strconv.Itoa(c.options.MaxConnections), "timezone=UTC", "jit=off",
		// Statements and the details of violated constraints contain personal data.
		"logging_collector=off", "log_destination=stderr", "log_min_error_statement=panic", "log_error_verbosity=terse",
	}
	if c.options.Fsync {
		settings = append(settings, "fsync=on", "synchronous_commit=on", "full_page_writes=on")
		settings = append(settings, memorySettings(machineMemory())...)
	} else {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off",
			"wal_level=minimal", "max_wal_senders=0")
	}
	args := []string{"-D", c.data()}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args
}

// removeStale removes the pid and lock files of a killed cluster: other processes may have these ids now. Call it only when no
// live process has the data directory as its working directory.
func (c *Cluster) removeStale() {
	for _, path := range []string{
		c.pidFile(),
		filepath.Join(c.socket, ".s.PGSQL."+port),
		filepath.Join(c.socket, ".s.PGSQL."+port+".lock"),
	} {
		if err := os.Remove(path); err == nil {
			c.options.Log.Info("removed the files of a killed Postgres", "path", path)
		}
	}
}

// stop requests a fast shutdown of the postmaster and waits until it and all its children have ended.
func (c *Cluster) stop(ctx context.Context) error {
	pid := c.postmaster()
	if pid == 0 || !slices.Contains(c.workers(ctx), pid) {
		return nil
	}
	if err := interrupt(pid); err != nil {
		return err
	}
	for len(c.workers(ctx)) > 0 {
		if err := pause(ctx); err != nil {
			return fmt.Errorf("process %d does not end: %w", pid, err)
		}
	}
	c.options.Log.Info("stopped private Postgres", "dir", c.dir)
	return nil
}

// postmaster returns the process id in postmaster.pid, which may be stale, or 0 without that file.
func (c *Cluster) postmaster() int {
	f, err := os.Open(c.pidFile())
	if err != nil {
		return 0
	}
	defer f.Close()
	line, _ := bufio.NewReader(f).ReadString('\n')
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	return pid
}

// workers lists the live processes whose working directory is the data directory: postmaster and children. Where the system does
// not show working directories, it is the postmaster of the pid file, if it is alive.
func (c *Cluster) workers(ctx context.Context) []int {
	data, err := filepath.EvalSymlinks(c.data())
	if err != nil {
		data = c.data()
	}
	if pids, ok := processesIn(ctx, data); ok {
		return pids
	}
	if pid := c.postmaster(); pid > 0 && running(pid) {
		return []int{pid}
	}
	return nil
}

func (c *Cluster) ensureDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var exists bool
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", c.options.Database).Scan(&exists)
	if err != nil || exists {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{c.options.Database}.Sanitize())
	return err
}

func (c *Cluster) openLog() (*os.File, error) {
	mode := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if info, err := os.Stat(c.logFile()); err == nil && info.Size() > longestLog {
		mode |= os.O_TRUNC
	}
	return os.OpenFile(c.logFile(), mode, 0o600)
}

func (c *Cluster) loggedSince(offset int64) string {
	f, err := os.Open(c.logFile())
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return err.Error()
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil && !errors.Is(err, fs.ErrClosed) {
		return err.Error()
	}
	return lastLines(string(text), 4)
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(pollInterval):
		return nil
	}
}
