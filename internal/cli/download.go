// The command download: the files of a transfer or of a link, written below a folder.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/consign-dev/consign/client"
)

func (p *Program) downloadCommand() *cobra.Command {
	var dir, password string
	var f receiveFlags
	c := &cobra.Command{
		Use: "download [flags] TRANSFER|LINK", Short: "Download the files of a transfer",
		Long: `Download the files of a transfer that you have received or sent, or of a link (https://HOST/t/…), which needs no login.
Files that are there already with the same content are skipped; other files are not replaced. An interrupted download continues.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			return p.download(c.Context(), given[0], dir, password, f)
		},
	}
	c.Flags().StringVarP(&dir, "directory", "d", ".", "where the files are written")
	c.Flags().StringVar(&password, "password", "", "password of the transfer of a link; - asks for it")
	c.Flags().IntVar(&f.parallel, "parallel", 4, "files at a time")
	c.Flags().Var(&f.limit, "limit-rate", "bytes a second for all files together, as 500k or 2M")
	c.Flags().BoolVarP(&p.quiet, "quiet", "q", false, "no progress")
	_ = c.MarkFlagDirname("directory")
	return p.online(c, 10*time.Minute)
}

func (f receiveFlags) check() error {
	if f.parallel < 1 || f.parallel > 32 {
		return usageError("--parallel must be from 1 to 32")
	}
	return nil
}

func (p *Program) download(ctx context.Context, what, dir, password string, f receiveFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	c, objects, err := p.openTransfer(ctx, what, password)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return fmt.Errorf("the transfer has no files (any more): %w", errNotFound)
	}
	return p.downloadAll(ctx, c, dir, objects, f)
}

// downloadAll downloads files into a folder, several at a time.
func (p *Program) downloadAll(ctx context.Context, c *client.Client, dir string, objects []client.Object, f receiveFlags) error {
	root, err := openFolder(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	names := safeNames(objects)
	g := p.progress("receiving", sumOf(objects))
	defer g.end()
	limit := f.limit.limit()
	return each(f.parallel, len(objects), func(i int) error {
		options := client.DownloadOptions{Limit: limit, Progress: func(held int64) { g.set(i, held) }}
		return named(objects[i], p.downloadObject(ctx, c, root, names[i], objects[i], options))
	})
}

// openTransfer returns the files of a uid or a link.
func (p *Program) openTransfer(ctx context.Context, what, password string) (*client.Client, []client.Object, error) {
	if !strings.Contains(what, "://") {
		uid, err := transferUID(what)
		if err != nil {
			return nil, nil, err
		}
		c, _, err := p.signedIn(ctx)
		if err != nil {
			return nil, nil, err
		}
		objects, err := c.Objects(ctx, uid)
		return c, objects, err
	}
	l, err := parseLink(what)
	if err != nil {
		return nil, nil, err
	}
	if l.kind != "t" {
		return nil, nil, usageError("the link is not that of a transfer (…/t/…)")
	}
	if password == "-" {
		if password, err = p.ask("Password of the transfer:", true, "--password - needs a terminal"); err != nil {
			return nil, nil, err
		}
	}
	c, err := client.New(ctx, l.server, p.options()...)
	if err != nil {
		return nil, nil, err
	}
	opened, err := c.OpenLink(ctx, l.key, password)
	if client.HasCode(err, 401010) {
		return nil, nil, fmt.Errorf("the password is wrong or missing: use --password: %w", err)
	}
	if err != nil {
		return nil, nil, err
	}
	return c, opened.Objects, nil
}

// downloadObject downloads one file, unless it is there.
func (p *Program) downloadObject(ctx context.Context, c *client.Client, root *os.Root, name string, o client.Object,
	options client.DownloadOptions) error {
	if f, err := root.Open(name); err == nil {
		defer f.Close()
		if sum, n, err := hashOf(f); err != nil || n != o.Size || sum != o.SHA256 {
			return errors.Join(localError("another file has this name; move it away, or choose another --directory"), err)
		}
		options.Progress(o.Size)
		return p.downloadedFile(root, name, o, "is there already")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	part := partName(".", o)
	if err := fetch(ctx, c, root, part, o, options); err != nil {
		return err
	}
	if err := place(root, part, name); err != nil {
		return err
	}
	return p.downloadedFile(root, name, o, "")
}

func (p *Program) downloadedFile(root *os.Root, name string, o client.Object, remark string) error {
	if p.json {
		return p.emit(map[string]any{"object": o.UID, "name": o.Name, "path": root.Name() + string(os.PathSeparator) + name, "size": o.Size,
			"sha256": o.SHA256})
	}
	_, err := fmt.Fprintln(p.Stdout, strings.TrimSpace(printable(name)+" "+remark))
	return err
}
