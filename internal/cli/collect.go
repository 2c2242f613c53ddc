package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
	"unicode/utf8"
)

// source is a file to send, as it was when its upload began.
type source struct {
	Path    string    `json:"path"`
	Name    string    `json:"name"` // for the recipient
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modTime"`
}

// collect lists the files of the arguments: a directory gives all regular files below it, named with the directory. skipped reports
// what is no regular file.
func collect(paths []string, name string, skipped func(path, why string)) ([]source, error) {
	var all []source
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(abs)
		switch {
		case err != nil:
			return nil, err
		case info.IsDir() && name != "":
			return nil, usageError("--name is for a single file, not for a directory")
		case info.IsDir():
			below, err := walk(abs, skipped)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		case !info.Mode().IsRegular():
			return nil, localError("%s is not a regular file; to send a stream, pipe it to send - --name NAME", p)
		default:
			shown := filepath.Base(abs)
			if name != "" {
				shown = name
			}
			all = append(all, source{abs, shown, info.Size(), info.ModTime()})
		}
	}
	if len(all) == 0 {
		return nil, localError("there is no file to send")
	}
	for _, s := range all {
		if !utf8.ValidString(s.Name) {
			return nil, localError("the name of %q is not UTF-8: rename it, or send it with --name", s.Path)
		}
		f, err := os.Open(s.Path) // fail before the upload begins
		if err != nil {
			return nil, err
		}
		f.Close()
	}
	return all, nil
}

// walk lists the regular files below a directory. Symbolic links are not followed.
func walk(dir string, skipped func(path, why string)) ([]source, error) {
	var all []source
	err := filepath.WalkDir(dir, func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return nil
		}
		if !entry.Type().IsRegular() {
			skipped(p, "not a regular file")
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		all = append(all, source{p, path.Join(filepath.Base(dir), filepath.ToSlash(relative)), info.Size(), info.ModTime()})
		return nil
	})
	return all, err
}

// changed returns an error when the file has another size than it had, or is gone. The content is compared with what was sent by the
// upload itself, so another time of modification alone is no error.
func (s source) changed() error {
	info, err := os.Stat(s.Path)
	if err != nil {
		return err
	}
	if info.Size() != s.Size {
		return localError("%s has changed since its upload began: it had %d bytes and has %d; --restart begins again", s.Path, s.Size,
			info.Size())
	}
	return nil
}

// spool copies a stream to a file of the state directory, because an upload that resumes reads it again. The caller removes it.
func (p *Program) spool(ctx context.Context, name string) (source, error) {
	dir, err := p.sendsDir()
	if err != nil {
		return source{}, err
	}
	f, err := os.CreateTemp(dir, "stdin-*.spool") // mode 0600
	if err != nil {
		return source{}, err
	}
	stop := context.AfterFunc(ctx, func() { f.Close() }) // ends a copy from a silent pipe
	n, err := io.Copy(f, ctxReader{ctx, p.Stdin})
	stop()
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, ctx.Err()); err != nil {
		f.Close()
		os.Remove(f.Name())
		return source{}, fmt.Errorf("copy stdin to %s: %w", dir, err)
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return source{}, err
	}
	return source{f.Name(), name, n, info.ModTime()}, nil
}

type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (r ctxReader) Read(b []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	buf, done := make([]byte, len(b)), make(chan result, 1)
	go func() { // a read of a terminal or pipe cannot be interrupted
		n, err := r.r.Read(buf)
		done <- result{n, err}
	}()
	select {
	case <-r.ctx.Done():
		return 0, context.Cause(r.ctx)
	case got := <-done:
		return copy(b, buf[:got.n]), got.err
	}
}
