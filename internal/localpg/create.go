// Creates the cluster of the embedded Postgres (initdb), and says who may connect.

package localpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Databases sort by code point on every system. The character types are those of the first locale that the system has.
var locales = [][]string{
	{"--locale=C.UTF-8"},
	{"--locale=C", "--lc-ctype=en_US.UTF-8"},
	{"--locale=C"},
}

// create makes the cluster if there is none. It renames the complete cluster into place. After a crash, the next start removes
// the incomplete directory.
func (c *Cluster) create(ctx context.Context) error {
	_, err := os.Stat(c.data())
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	remains, _ := filepath.Glob(filepath.Join(c.dir, "data.new-*")) // fails on a malformed pattern only
	for _, dir := range remains {
		_ = os.RemoveAll(dir) // an abandoned initdb may still write there; then the next start removes it
	}
	dir, err := os.MkdirTemp(c.dir, "data.new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := c.give(dir); err != nil {
		return err
	}
	if err := c.initdb(ctx, dir); err != nil {
		return err
	}
	if err := os.Rename(dir, c.data()); err != nil {
		return err
	}
	if c.options.Fsync {
		if err := syncDir(c.dir); err != nil {
			return err
		}
	}
	c.options.Log.Info("made a private Postgres cluster", "dir", c.data())
	return nil
}

func (c *Cluster) initdb(ctx context.Context, dir string) error {
	args := []string{"--pgdata=" + dir, "--username=" + superuser, "--encoding=UTF8", "--auth-local=peer", "--auth-host=reject"}
	if c.options.Fsync {
		args = append(args, "--data-checksums")
	} else {
		args = append(args, "--no-sync")
	}
	var problem error
	for _, locale := range locales {
		cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "initdb"), slices.Concat(args, locale)...)
		cmd.Dir = "/"
		cmd.Env = environment()
		cmd.SysProcAttr = detached(c.owner)
		var output bytes.Buffer
		cmd.Stdout, cmd.Stderr = &output, &output
		err := cmd.Run()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil { // it was killed
			return fmt.Errorf("initdb: %w", ctx.Err())
		}
		problem = fmt.Errorf("initdb: %w: %s", err, lastLines(output.String(), 3))
		if !strings.Contains(output.String(), "invalid locale") {
			break
		}
	}
	return problem
}

// admit writes pg_hba.conf and pg_ident.conf. The system users root, the cluster's owner and the user of this process may
// connect over the socket as the superuser, without a password.
func (c *Cluster) admit() error {
	names := []string{"root", c.owner.name, nameOf(os.Geteuid())}
	slices.Sort(names)
	var idents strings.Builder
	for _, name := range slices.Compact(names) {
		if name != "" {
			fmt.Fprintf(&idents, "%s %q %s\n", superuser, name, superuser)
		}
	}
	files := map[string]string{
		"pg_hba.conf":   "local all all peer map=" + superuser + "\n",
		"pg_ident.conf": idents.String(),
	}
	for name, content := range files {
		path := filepath.Join(c.data(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
		if err := c.give(path); err != nil {
			return err
		}
	}
	return nil
}

// writeDurably writes a file atomically and durably: it is complete or absent, even after a power failure.
func writeDurably(path, content string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " / ")
}
