// Where the cluster and the socket of the embedded Postgres are, and as which user it runs.

package localpg

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

const elsewhere = "/var/lib/consign"

// account is the system user that owns a cluster's files and processes.
type account struct {
	uid, gid int
	name     string // empty when the system has no name for it
}

// locate determines the cluster's directory, owner and programs.
func (c *Cluster) locate(ctx context.Context) error {
	c.dir = c.options.Dir
	record := filepath.Join(c.options.Dir, "location")
	switch moved, err := os.ReadFile(record); {
	case err == nil:
		c.dir = strings.TrimSpace(string(moved))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	bin, err := findPrograms(c.data())
	if err != nil {
		return err
	}
	c.bin = bin
	exists, err := c.findOwner()
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	if c.reach(ctx, c.dir) == nil {
		return c.reportPlace()
	}
	if exists || c.dir != c.options.Dir {
		return fmt.Errorf("user %s, whose cluster it is, cannot reach %s any more: give the directories above it back their permissions",
			c.owner.name, c.dir)
	}
	return c.moveElsewhere(ctx, record)
}

// findOwner sets the account that the cluster runs as: the owner of existing data, else the current user. Postgres refuses to
// run as root, so for root it is user postgres or nobody.
func (c *Cluster) findOwner() (exists bool, err error) {
	info, err := os.Stat(c.data())
	if err == nil {
		uid, gid, ok := ownerOf(info)
		if !ok || uid == 0 {
			return true, fmt.Errorf("%s belongs to root, and Postgres does not run as root: chown it to user postgres", c.data())
		}
		if me := os.Geteuid(); me != 0 && me != uid {
			return true, fmt.Errorf("%s belongs to user %d: run as that user or as root", c.data(), uid)
		}
		c.owner = account{uid: uid, gid: gid, name: nameOf(uid)}
		return true, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if me := os.Geteuid(); me != 0 {
		c.owner = account{uid: me, gid: os.Getegid(), name: nameOf(me)}
		return false, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.Atoi(u.Uid)
		gid, errGID := strconv.Atoi(u.Gid)
		if errUID == nil && errGID == nil && uid != 0 {
			c.owner = account{uid: uid, gid: gid, name: name}
			return false, nil
		}
	}
	return false, errors.New("Postgres does not run as root, and there is neither a user postgres nor nobody: run as another user") //nolint:staticcheck // a sentence for operators that begins with a name
}

func nameOf(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return ""
}

// reach checks that the owner can enter dir by running a harmless program there. Permission bits alone do not show access
// control lists or network file systems.
func (c *Cluster) reach(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "postgres"), "-V")
	cmd.Dir = dir
	cmd.Env = environment()
	cmd.SysProcAttr = detached(c.owner)
	return cmd.Run()
}

// moveElsewhere chooses a directory that user postgres can reach, and writes its name to record before anything is stored in it.
// The name has a random part, so that a re-created DATA_DIR never gets the data of its predecessor.
func (c *Cluster) moveElsewhere(ctx context.Context, record string) error {
	if err := c.reach(ctx, "/"); err != nil {
		return fmt.Errorf("user %s cannot run %s: %w", c.owner.name, filepath.Join(c.bin, "postgres"), err)
	}
	base := c.options.elsewhere
	if base == "" {
		base = elsewhere
	}
	sum := sha256.Sum256([]byte(c.options.Dir + rand.Text()))
	dir := filepath.Join(base, hex.EncodeToString(sum[:6]))
	if err := os.MkdirAll(base, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o711); err != nil {
		return err
	}
	if err := c.reach(ctx, dir); err != nil {
		return fmt.Errorf("user %s can reach neither %s nor %s: choose a CONSIGN_DATA_DIR outside of private directories", c.owner.name,
			c.options.Dir, dir)
	}
	if err := writeDurably(record, dir+"\n"); err != nil {
		return err
	}
	c.dir = dir
	return c.reportPlace()
}

func (c *Cluster) reportPlace() error {
	if c.dir != c.options.Dir {
		c.options.Log.Warn("the database lies outside of the data directory, which user "+c.owner.name+" cannot reach; a backup needs both",
			"database", c.dir, "directory", c.options.Dir)
	}
	return nil
}

// makeSocketDir makes the private directory of the socket. It is beside the data. It is under /tmp if the name would be too long
// for a socket address, or contain a comma, which separates hosts in a connection URL.
func (c *Cluster) makeSocketDir() error {
	c.socket = filepath.Join(c.dir, "socket")
	longest := 103
	if runtime.GOOS == "linux" {
		longest = 107
	}
	if len(filepath.Join(c.socket, ".s.PGSQL."+port)) > longest || strings.Contains(c.socket, ",") {
		sum := sha256.Sum256([]byte(c.dir))
		c.socket = filepath.Join("/tmp", "consign-"+hex.EncodeToString(sum[:8]))
	}
	if err := c.makePrivate(c.socket); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// In /tmp, another user may have created it first.
	info, err := os.Lstat(c.socket)
	if err != nil {
		return err
	}
	if uid, _, ok := ownerOf(info); !info.IsDir() || info.Mode().Perm() != 0o700 || !ok || uid != c.owner.uid {
		return fmt.Errorf("%s is not a private directory of user %s: remove it", c.socket, c.owner.name)
	}
	return nil
}

// makePrivate makes a directory that only the owner may enter.
func (c *Cluster) makePrivate(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return c.give(dir)
}

// give changes the owner of a new file or directory to the cluster's owner.
func (c *Cluster) give(path string) error {
	if c.owner.uid == os.Geteuid() {
		return nil
	}
	return os.Lchown(path, c.owner.uid, c.owner.gid)
}

// environment returns the process's environment without variables that redirect Postgres' programs, and with a locale that
// exists on every system.
func environment() []string {
	env := []string{"LC_ALL=C"}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "PG") && !strings.HasPrefix(entry, "LC_") && !strings.HasPrefix(entry, "LANG") &&
			!strings.HasPrefix(entry, "CONSIGN_") {
			env = append(env, entry)
		}
	}
	return env
}
