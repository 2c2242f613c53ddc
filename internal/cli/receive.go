// The commands receive and receive --watch. Each transfer gets a directory, whose description is written last.

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/consign-dev/consign/client"
	"github.com/consign-dev/consign/client/transferapi"
	"github.com/consign-dev/consign/internal/archive"
)

// metadata is the file that describes a received transfer. It is written when all other files are there.
const metadata = "transfer.json"

type receiveFlags struct {
	watch    bool
	poll     time.Duration
	parallel int
	limit    byteRate
}

func (p *Program) receiveCommand() *cobra.Command {
	var f receiveFlags
	c := &cobra.Command{
		Use: "receive [flags] DIRECTORY", Short: "Receive the inbox into a directory, each file once",
		Long: `Receive all transfers of the inbox into DIRECTORY. Each transfer has a directory of its own, DATE SUBJECT ID, with its files and
transfer.json, which is written last and says who sent it.

Each file is received once, even if it is moved or deleted afterwards. A file has its name only when it is complete, its SHA-256 is
that of the sent file, and its bytes are on disk. The command can be killed at any point and run again. --watch waits for further
transfers and does not end. It needs a login or an API token with the scope transfers:read.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, dirs []string) error {
			if f.parallel < 1 || f.parallel > 32 {
				return usageError("--parallel must be from 1 to 32")
			}
			return p.receive(c.Context(), dirs[0], f)
		},
	}
	c.Flags().BoolVarP(&f.watch, "watch", "w", false, "wait for further transfers")
	c.Flags().DurationVar(&f.poll, "poll", time.Minute, "with --watch: how often to look without an event")
	c.Flags().IntVar(&f.parallel, "parallel", 4, "files at a time")
	c.Flags().Var(&f.limit, "limit-rate", "bytes a second for all files together, as 500k or 2M")
	c.Flags().BoolVarP(&p.quiet, "quiet", "q", false, "no progress")
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return p.online(c, 10*time.Minute)
}

// receiver receives into one folder.
type receiver struct {
	p       *Program
	c       *client.Client
	f       receiveFlags
	folder  string
	root    *os.Root
	journal *receivings
	told    map[string]string // errors by transfer that were printed
	whole   bool              // the whole inbox was looked through without an error
}

func (p *Program) receive(ctx context.Context, dir string, f receiveFlags) error {
	folder, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	c, server, err := p.signedIn(ctx)
	if err != nil {
		return err
	}
	root, err := openFolder(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	journal, err := p.openReceivings(server, folder)
	if err != nil {
		return err
	}
	defer journal.close()
	r := &receiver{p: p, c: c, f: f, folder: folder, root: root, journal: journal, told: map[string]string{}}
	if f.watch {
		return r.watch(ctx)
	}
	return r.scan(ctx)
}

// watch scans at each event, and at intervals because events can be missed.
func (r *receiver) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wake := make(chan struct{}, 1)
	go func() {
		_ = r.c.Follow(ctx, func(client.Event) { // an error that lasts is that of the scan, too
			select {
			case wake <- struct{}{}:
			default:
			}
		})
	}()
	if !r.p.json {
		r.p.notice()("waiting for transfers to %s", r.folder)
	}
	for {
		err := r.scan(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, client.ErrSessionEnded), client.HasStatus(err, 401), client.HasCode(err, 403904, 403905):
			return err
		}
		timer := time.NewTimer(r.f.poll)
		select {
		case <-ctx.Done():
		case <-wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// scan receives what is new, oldest first. An error of one transfer does not keep the others from being received.
func (r *receiver) scan(ctx context.Context) error {
	list, err := r.list(ctx)
	if err != nil {
		r.tell("", err)
		return err
	}
	var failures []error
	for _, t := range slices.Backward(list) {
		if err := r.transfer(ctx, t); err != nil {
			if ctx.Err() != nil {
				return err
			}
			r.tell(t.UID.String(), err)
			failures = append(failures, fmt.Errorf("transfer %s: %w", t.UID, err))
		}
	}
	r.whole = failures == nil
	return errors.Join(failures...)
}

// tell prints an error of --watch once.
func (r *receiver) tell(transfer string, err error) {
	if text := explain(err); r.f.watch && r.told[transfer] != text {
		r.told[transfer] = text
		r.p.notice()("%s %s", transfer, text)
	}
}

// list returns the transfers that are not complete, newest first.
func (r *receiver) list(ctx context.Context) ([]transferapi.Transfer, error) {
	limit, location := 200, []transferapi.ListTransfersParamsLocation{"received"}
	params := &transferapi.ListTransfersParams{Location: &location, Limit: &limit}
	var all []transferapi.Transfer
	for {
		page, err := r.c.Transfer.ListTransfers(ctx, params)
		if err != nil {
			return nil, err
		}
		fresh := 0
		for _, t := range page.Transfers {
			if t.State == "expired" || t.State == "revoked" || r.journal.isComplete(t.UID.String()) {
				continue
			}
			fresh++
			all = append(all, t)
		}
		if params.After = page.Next; params.After == nil || r.whole && fresh == 0 {
			return all, nil
		}
	}
}

// transfer receives one transfer.
func (r *receiver) transfer(ctx context.Context, listed transferapi.Transfer) error {
	if listed.Locked {
		return errors.New("it needs a password or an unlocked link: use download with the link of the mail")
	}
	got, err := r.c.Transfer.GetTransfer(ctx, listed.UID.String())
	if err != nil {
		return err
	}
	t := *got
	uid := t.UID.String()
	dir, err := r.directory(t)
	if err != nil {
		return err
	}
	objects := client.ObjectsOf(t)
	names := safeNames(objects, metadata)
	g := r.p.progress("receiving", sumOf(objects))
	limit := r.f.limit.limit()
	err = each(r.f.parallel, len(objects), func(i int) error {
		options := client.DownloadOptions{Limit: limit, Progress: func(held int64) { g.set(i, held) }}
		return named(objects[i], r.object(ctx, uid, dir, names[i], objects[i], options))
	})
	g.end()
	if err != nil {
		return err
	}
	if err := r.describe(t, dir, objects, names); err != nil {
		return err
	}
	return r.journal.add(entry{Transfer: uid, Complete: true})
}

// directory returns the directory of a transfer. It is recorded, because the subject may change.
func (r *receiver) directory(t transferapi.Transfer) (string, error) {
	uid := t.UID.String()
	if dir := r.journal.dirs[uid]; dir != "" {
		return dir, nil
	}
	subject := ""
	if t.Subject != nil {
		subject = strings.Map(func(c rune) rune {
			if strings.ContainsRune(`/\:*?"<>|`, c) {
				return '-'
			}
			return c
		}, oneLine(*t.Subject))
		if runes := []rune(subject); len(runes) > 60 {
			subject = string(runes[:60])
		}
		subject = strings.TrimSpace(subject) + " "
	}
	dir := archive.FileName(t.CreatedAt.UTC().Format("2006-01-02 ") + strings.TrimLeft(subject, " ") + uid[len(uid)-8:])
	return dir, r.journal.add(entry{Transfer: uid, Dir: dir})
}

// object receives one file.
func (r *receiver) object(ctx context.Context, transfer, dir, name string, o client.Object, options client.DownloadOptions) error {
	part := partName(dir, o)
	former, placing, placed := r.journal.state(transfer, o.UID)
	if placed {
		options.Progress(o.Size)
		return nil
	}
	if placing && !exists(r.root, part) { // it was placed when the process was killed
		if err := r.journal.add(entry{Transfer: transfer, Object: o.UID, Path: former, Placed: true}); err != nil {
			return err
		}
		return r.report(transfer, former, o)
	}
	if err := fetch(ctx, r.c, r.root, part, o, options); err != nil {
		return err
	}
	final := path.Join(dir, name)
	for n := 2; ; n++ {
		if exists(r.root, final) { // somebody else's
			extension := path.Ext(name)
			final = path.Join(dir, fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(name, extension), n, extension))
			continue
		}
		if err := r.journal.add(entry{Transfer: transfer, Object: o.UID, Path: final}); err != nil {
			return err
		}
		if err := place(r.root, part, final); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return err
		}
		break
	}
	if err := r.journal.add(entry{Transfer: transfer, Object: o.UID, Path: final, Placed: true}); err != nil {
		return err
	}
	return r.report(transfer, final, o)
}

// report prints a received file.
func (r *receiver) report(transfer, name string, o client.Object) error {
	full := filepath.Join(r.folder, filepath.FromSlash(name))
	if r.p.json {
		return r.p.emit(map[string]any{"transfer": transfer, "object": o.UID, "name": o.Name, "path": full, "size": o.Size, "sha256": o.SHA256})
	}
	_, err := fmt.Fprintln(r.p.Stdout, printable(full))
	return err
}

// describe writes transfer.json.
func (r *receiver) describe(t transferapi.Transfer, dir string, objects []client.Object, names []string) error {
	type file struct {
		Name   string `json:"name"`
		Path   string `json:"path"` // beside this file, unless somebody has moved it
		Size   int64  `json:"size"`
		SHA256 string `json:"sha256"`
	}
	files := []file{}
	for i, o := range objects {
		files = append(files, file{o.Name, names[i], o.Size, o.SHA256})
	}
	raw, err := json.MarshalIndent(map[string]any{"transfer": t.UID, "sender": t.Sender, "subject": t.Subject, "message": t.Message,
		"answers":   t.Answers,
		"createdAt": t.CreatedAt, "files": files}, "", "  ")
	if err != nil {
		return err
	}
	if err := r.root.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	part := path.Join(dir, "."+metadata+".part")
	f, err := r.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := r.root.Rename(part, path.Join(dir, metadata)); err != nil {
		return err
	}
	return syncDir(r.root, dir)
}
