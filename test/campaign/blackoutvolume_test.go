//go:build campaign

// Disks that lose power: a copy of an image by reflink, or a disk of test/torn, which loses, reorders and tears writes.

package campaign

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// volume is a disk that loses power: an ext4 file system in an image, which lies on an XFS file system with reflinks, both on loop
// devices. A copy of the image by reflink holds what the ext4 above it has flushed or written back at that moment. The page cache of the
// ext4 is not in it: that is what a power cut takes away.
//
// Such a copy holds writes in the order of the ext4. A volume of newTornVolume has a disk that keeps only some of the writes after the last
// flush, in any order and some of them in part.
type volume struct {
	t     *testing.T
	outer string // where the XFS or the disk of test/torn is mounted
	image string // of the ext4
	dir   string // where the ext4 is mounted
	torn  *torn  // nil for an image on an XFS
}

// newVolume makes both file systems, the ext4 with options of mkfs.ext4, and mounts them. It needs root, loop devices, xfsprogs and
// e2fsprogs.
func newVolume(t *testing.T, options ...string) *volume {
	t.Helper()
	v, base := newMountpoints(t)
	v.run("truncate", "-s", "16G", base+"/outer.img")
	v.run("mkfs.xfs", "-q", "-m", "reflink=1", base+"/outer.img")
	v.run("mount", "-o", "loop", base+"/outer.img", v.outer)
	t.Cleanup(func() { v.unmount(v.outer) })
	v.run("truncate", "-s", "6G", v.image)
	v.format(options...)
	return v
}

// newMountpoints makes the directories of a volume, below base.
func newMountpoints(t *testing.T) (v *volume, base string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("mounting loop devices needs root: run this as root")
	}
	for program, packet := range map[string]string{"mkfs.xfs": "xfsprogs", "mkfs.ext4": "e2fsprogs", "losetup": "util-linux"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s is missing: install %s", program, packet)
		}
	}
	base = pgtest.Dir(t)
	v = &volume{t: t, outer: filepath.Join(base, "outer"), dir: filepath.Join(base, "disk")}
	v.image = filepath.Join(v.outer, "image")
	v.run("mkdir", v.outer, v.dir)
	return v, base
}

// format makes the ext4 and mounts it.
func (v *volume) format(options ...string) {
	v.t.Helper()
	v.run("mkfs.ext4", append([]string{"-q", v.image}, options...)...)
	v.run("mount", "-o", "loop", v.image, v.dir)
	v.t.Cleanup(func() { v.unmount(v.dir) })
}

// unmount is for the end of a test, whose context has ended.
func (v *volume) unmount(dir string) {
	if out, err := exec.CommandContext(context.WithoutCancel(v.t.Context()), "umount", "-l", dir).CombinedOutput(); err != nil {
		v.t.Logf("umount %s: %s", dir, out)
	}
}

// cut takes what a power cut at this moment would leave.
func (v *volume) cut() {
	v.t.Helper()
	if v.torn != nil {
		v.torn.tell(v.t, "cut")
		return
	}
	v.run("cp", "--reflink=always", v.image, v.image+".cut")
}

// restore mounts what the cut left in place of the disk. The server and Postgres must have ended.
func (v *volume) restore() {
	v.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		out, err := exec.CommandContext(v.t.Context(), "umount", v.dir).CombinedOutput()
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			v.t.Fatalf("umount: %s", out)
		}
	}
	if v.torn != nil {
		v.torn.tell(v.t, "on")
	} else {
		v.run("mv", v.image+".cut", v.image)
	}
	// Replays the journal, or repairs a file system that has none. Its exit status is 1 when it changed something.
	if out, err := exec.CommandContext(v.t.Context(), "e2fsck", "-fy", v.image).CombinedOutput(); err != nil {
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			v.t.Fatalf("e2fsck: %v: %s", err, out)
		}
	}
	v.run("mount", "-o", "loop", v.image, v.dir)
}

func (v *volume) run(program string, args ...string) {
	v.t.Helper()
	if out, err := exec.CommandContext(v.t.Context(), program, args...).CombinedOutput(); err != nil {
		v.t.Fatalf("%s %s: %v: %s", program, strings.Join(args, " "), err, out)
	}
}

// killPostgres ends the private Postgres at once. What it does afterwards reaches only the disk that is thrown away.
func (s *server) killPostgres() {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.dir, "var", "postgres", "data", "postmaster.pid"))
	if err != nil {
		s.t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		s.t.Fatal(err)
	}
	_ = syscall.Kill(pid, syscall.SIGQUIT) // an immediate shutdown, which takes its children along
	for deadline := time.Now().Add(20 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatal("Postgres does not end")
		}
	}
}
