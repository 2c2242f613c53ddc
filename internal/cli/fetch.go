// Writes received files: safe names, partial files, comparison of SHA-256, and a rename that replaces nothing.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"unicode"

	"github.com/consign-dev/consign/client"
	"github.com/consign-dev/consign/internal/archive"
)

// safeNames returns where the files of a transfer are written below its directory: unique, inside it, not hidden at its top, and free of
// characters that are not shown. taken are names that they must not have.
func safeNames(objects []client.Object, taken ...string) []string {
	names := append([]string(nil), taken...)
	for _, o := range objects {
		name := strings.Map(func(r rune) rune {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
				return '_'
			}
			return r
		}, strings.ToValidUTF8(o.Name, "_"))
		names = append(names, name)
	}
	names = archive.Names(names)
	for i, name := range names {
		if strings.HasPrefix(name, ".") {
			names[i] = "_" + name
		}
	}
	return archive.Names(names)[len(taken):] // unique again
}

// partName is where the bytes of an object are until they are complete and checked.
func partName(dir string, o client.Object) string {
	return path.Join(dir, "."+archive.FileName(o.UID)+".part")
}

// fetch downloads an object to its part, continues what is there, checks the SHA-256 and makes the bytes durable.
func fetch(ctx context.Context, c *client.Client, root *os.Root, part string, o client.Object, options client.DownloadOptions) error {
	if err := root.MkdirAll(path.Dir(part), 0o777); err != nil {
		return err
	}
	f, err := root.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	err = c.Download(ctx, o, f, options)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if errors.Is(err, client.ErrDigest) {
		_ = root.Remove(part)
	}
	if err != nil {
		return err
	}
	return syncDir(root, path.Dir(part))
}

// place gives a part its name, durably. It does not replace a file. Errors: fs.ErrExist.
func place(root *os.Root, part, name string) error {
	if _, err := root.Lstat(name); err == nil {
		return &fs.PathError{Op: "place", Path: name, Err: fs.ErrExist}
	}
	if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	if err := root.Rename(part, name); err != nil {
		return err
	}
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if err := syncDir(root, dir); err != nil {
			return err
		}
		if dir == "." {
			return nil
		}
	}
}

// syncDir makes the names in a directory durable.
func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, fs.ErrPermission) {
		err = nil // systems that sync no directories
	}
	return err
}

func exists(root *os.Root, name string) bool {
	_, err := root.Lstat(name)
	return err == nil
}

// each calls do for the numbers 0 to n-1, several at a time, and returns the errors of all.
func each(parallel, n int, do func(i int) error) error {
	errs := make([]error, n)
	queue := make(chan int)
	var wg sync.WaitGroup
	for range min(parallel, n) {
		wg.Go(func() {
			for i := range queue {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		queue <- i
	}
	close(queue)
	wg.Wait()
	return errors.Join(errs...)
}

// openFolder creates a directory and opens it as a root that no name leaves.
func openFolder(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

func sumOf(objects []client.Object) (total int64) {
	for _, o := range objects {
		total += o.Size
	}
	return total
}

func named(o client.Object, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", printable(o.Name), err)
}
