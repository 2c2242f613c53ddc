// Torn is a disk whose power can be cut: a file named image in a file system of its own (FUSE), below which a loop device can lie. It keeps
// what was flushed. Of the writes after the last flush a cut keeps some, loses some, and tears some at a sector, in any order: what
// disks with a cache for writes do, and what a copy of an image does not show.
//
// It reads commands from standard input, a line each, and answers each with a line: "cut", after which all writes are lost, "on", after
// which reads see what the cut left, and "counts". At the end of the input it unmounts.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "torn:", err)
		os.Exit(1)
	}
}

func run() error {
	size := flag.Int64("size", 6<<30, "bytes of the disk")
	flag.Parse()
	if flag.NArg() != 2 {
		return fmt.Errorf("usage: torn [-size N] DIRECTORY MOUNTPOINT")
	}
	d, err := newDisk(flag.Arg(0), *size)
	if err != nil {
		return err
	}
	server, err := fs.Mount(flag.Arg(1), &directory{disk: d}, &fs.Options{MountOptions: fuse.MountOptions{
		DirectMount: true, FsName: "torn", Name: "torn", MaxWrite: 1 << 20,
	}})
	if err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		switch in.Text() {
		case "cut":
			err = d.power()
		case "on":
			err = d.restore()
		case "counts":
			d.mu.Lock()
			fmt.Println(d.writes, d.kept, d.torn, d.reorders)
			d.mu.Unlock()
			continue
		default:
			err = fmt.Errorf("unknown command %q", in.Text())
		}
		if err != nil {
			return err
		}
		fmt.Println("ok")
	}
	return server.Unmount()
}

// directory is the root of the file system.
type directory struct {
	fs.Inode
	disk *disk
}

var _ fs.NodeOnAdder = (*directory)(nil)

func (r *directory) OnAdd(ctx context.Context) {
	r.AddChild("image", r.NewPersistentInode(ctx, &image{disk: r.disk}, fs.StableAttr{}), false)
}

// image is the file that is the disk.
type image struct {
	fs.Inode
	disk *disk
}

var (
	_ fs.NodeGetattrer = (*image)(nil)
	_ fs.NodeSetattrer = (*image)(nil)
	_ fs.NodeOpener    = (*image)(nil)
	_ fs.NodeReader    = (*image)(nil)
	_ fs.NodeWriter    = (*image)(nil)
	_ fs.NodeFsyncer   = (*image)(nil)
	_ fs.NodeAllocater = (*image)(nil)
)

func (i *image) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = 0o600, uint64(i.disk.size)
	return 0
}

// Setattr takes new times, and leaves the size.
func (i *image) Setattr(ctx context.Context, f fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return i.Getattr(ctx, f, out)
}

// Open makes the kernel forget what it had read, since a cut may have changed it.
func (i *image) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, 0, 0
}

func (i *image) Read(_ context.Context, _ fs.FileHandle, b []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	n, err := i.disk.read(b[:max(0, min(int64(len(b)), i.disk.size-at))], at)
	return fuse.ReadResultData(b[:n]), fs.ToErrno(err)
}

func (i *image) Write(_ context.Context, _ fs.FileHandle, b []byte, at int64) (uint32, syscall.Errno) {
	n, err := i.disk.write(b, at)
	return uint32(n), fs.ToErrno(err)
}

func (i *image) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	return fs.ToErrno(i.disk.flush())
}

// Allocate refuses to punch holes, so that the loop device writes zeros.
func (i *image) Allocate(context.Context, fs.FileHandle, uint64, uint64, uint32) syscall.Errno {
	return syscall.EOPNOTSUPP
}
