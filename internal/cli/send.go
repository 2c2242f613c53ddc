package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/client"
	"github.com/consign-dev/consign/client/transferapi"
)

// send begins or continues a send.
func (p *Program) send(ctx context.Context, f *sendFlags, paths []string) error {
	server, err := p.target(f.recipients.server)
	if err != nil {
		return err
	}
	stdin := paths[0] == "-"
	id, err := p.sendIDOf(f, server, paths)
	if err != nil {
		return err
	}
	s, found, err := p.openSending(id)
	if err != nil {
		return fmt.Errorf("send %s: %w", id, err)
	}
	defer s.unlock()
	if found && (f.restart || time.Since(s.Began) > sendLife || stdin) {
		p.abandon(ctx, s)
		s.Upload, found = client.Upload{}, false
	}
	if !found {
		if err := p.begin(ctx, s, f, server, paths); err != nil {
			return err
		}
	} else if err := p.unchanged(s, f, paths); err != nil {
		return err
	}
	return p.finish(ctx, s, f)
}

// sendIDOf returns the id of a send. One from stdin is new each time: nobody knows what comes.
func (p *Program) sendIDOf(f *sendFlags, server string, paths []string) (string, error) {
	if paths[0] == "-" {
		return sendID(os.Getpid(), time.Now())
	}
	var abs []string
	for _, one := range paths {
		a, err := filepath.Abs(one)
		if err != nil {
			return "", err
		}
		abs = append(abs, a)
	}
	return sendID(server, f.to, f.from, f.subject, f.message, f.fields, f.expires, f.protection, f.link, f.anonymous, f.name, abs)
}

// abandon cancels a send that is not continued, so that the server frees its space at once.
func (p *Program) abandon(ctx context.Context, s *sending) {
	if c, _, err := p.connect(ctx, s.Server); err == nil && s.Upload.UID != "" {
		u := s.Upload
		u.Objects = nil
		if c.Continue(&u) == nil {
			_ = u.Cancel(ctx) // it expires by itself
		}
	}
	_ = s.forget()
}

// begin collects the files, asks the server for a reservation and stores it.
func (p *Program) begin(ctx context.Context, s *sending, f *sendFlags, server string, paths []string) error {
	c, err := p.sender(ctx, f, server)
	if err != nil {
		return err
	}
	s.Server, s.To, s.Began = server, strings.Join(f.to, ", "), time.Now().UTC()
	if s.Spooled = paths[0] == "-"; s.Spooled {
		spooled, err := p.spool(ctx, f.name)
		if err != nil {
			return err
		}
		s.Files = []source{spooled}
	} else if s.Files, err = collect(paths, f.name, p.skipped); err != nil {
		return err
	}
	err = p.reserve(ctx, c, s, f)
	if err != nil && s.Spooled && s.Upload.UID == "" {
		_ = os.Remove(s.Files[0].Path)
	}
	return err
}

func (p *Program) skipped(path, why string) { p.notice()("skipped %s: %s", path, why) }

// reserve makes the reservation.
func (p *Program) reserve(ctx context.Context, c *client.Client, s *sending, f *sendFlags) error {
	d := client.Delivery{Mailbox: f.recipients.mailbox, SenderName: f.senderName, SenderEmail: f.senderEmail, Subject: f.subject,
		Message: f.message,
		Fields:  f.answers, TTL: f.expires, Password: f.password}
	if d.Password == "-" {
		typed, err := p.ask("Password for the recipients:", true, "--password - needs a terminal")
		if err != nil {
			return err
		}
		d.Password = typed
	}
	if f.protection != "" && f.protection != "password" {
		d.Protection = transferapi.Protection(f.protection)
	}
	for _, a := range f.recipients.addresses {
		d.Recipients = append(d.Recipients, transferapi.Recipient{Email: a, DestinationType: "to"})
	}
	if d.Mailbox != "" {
		box, err := p.checkMailbox(ctx, c, d, s.Files)
		if err != nil {
			return err
		}
		if box.VerifySender {
			s.Unverified = d.SenderEmail
		}
	}
	u, err := c.Reserve(ctx, d)
	if err != nil {
		return err
	}
	s.Upload = client.Upload{UID: u.UID, Token: u.Token}
	return s.save()
}

// unchanged checks that the files of an interrupted send are those that it began with.
func (p *Program) unchanged(s *sending, f *sendFlags, paths []string) error {
	now, err := collect(paths, f.name, func(string, string) {})
	if err != nil {
		return err
	}
	same := func(a, b source) bool { return a.Path == b.Path && a.Name == b.Name }
	if !slices.EqualFunc(now, s.Files, same) {
		return localError("other files are there than when this send began; --restart begins again")
	}
	for _, file := range s.Files {
		if err := file.changed(); err != nil {
			return err
		}
	}
	return nil
}

// finish attaches and uploads what is missing, and confirms.
func (p *Program) finish(ctx context.Context, s *sending, f *sendFlags) error {
	c, _, err := p.connect(ctx, s.Server)
	if err != nil {
		return p.paused(s, err)
	}
	transfer, err := p.deliver(ctx, c, s, f)
	if s.Upload.UID != "" && (client.HasStatus(err, 401) || client.HasStatus(err, 404) || client.HasStatus(err, 410)) {
		_ = s.forget()
		return fmt.Errorf("the reservation of this send has ended at the server; run the command again, it begins anew: %w", err)
	}
	if client.HasStatus(err, 400) { // it would be refused again
		p.abandon(ctx, s)
		return err
	}
	if err != nil {
		return p.paused(s, err)
	}
	if err := s.forget(); err != nil {
		return err
	}
	return p.delivered(s, transfer)
}

// paused adds to an error how the send continues.
func (p *Program) paused(s *sending, err error) error {
	if !errors.Is(err, client.ErrChanged) {
		p.notice()("not delivered yet; continue within 48 hours with: %s resume %s", p.Name, s.ID)
	} else {
		p.notice()("--restart sends the file as it is now")
	}
	return err
}

// deliver uploads and confirms.
func (p *Program) deliver(ctx context.Context, c *client.Client, s *sending, f *sendFlags) (*transferapi.Transfer, error) {
	files := make([]client.File, len(s.Files))
	var total int64
	for i, from := range s.Files {
		file, err := client.LocalFile(from.Path, from.Name)
		if err != nil {
			return nil, err
		}
		if file.Size != from.Size {
			return nil, from.changed()
		}
		files[i], total = file, total+file.Size
	}
	u := s.Upload
	u.Objects = slices.Clone(u.Objects)
	if len(u.Objects) == len(files) {
		if err := c.Continue(&u, files...); err != nil {
			return nil, err
		}
	} else {
		u.Objects = nil
		if err := c.Continue(&u); err != nil {
			return nil, err
		}
		if err := u.Attach(ctx, files...); err != nil {
			return nil, err
		}
		s.Upload.Objects = slices.Clone(u.Objects)
		if err := s.save(); err != nil {
			return nil, err
		}
	}
	if s.Unverified != "" {
		if err := p.verifySender(ctx, c, &u, s.Unverified, f.code); err != nil {
			return nil, err
		}
		s.Unverified = ""
		if err := s.save(); err != nil {
			return nil, err
		}
	}
	if err := p.upload(ctx, &u, s, f, total); err != nil {
		return nil, err
	}
	return u.Confirm(ctx)
}

// upload uploads with progress and stores how far it is.
func (p *Program) upload(ctx context.Context, u *client.Upload, s *sending, f *sendFlags, total int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g := p.progress("sending", total)
	defer g.end()
	for i, o := range u.Objects {
		if o.Complete {
			g.begin(i, o.Size)
		} else {
			g.begin(i, o.Sent)
		}
	}
	store := func(i int, o client.UploadObject) {
		if err := s.object(i, o); err != nil {
			cancel(err)
		}
	}
	return u.Upload(ctx, client.UploadOptions{Parallel: f.parallel, Limit: f.limit.limit(), Progress: g.set, Sent: store,
		Complete: func(i int, o client.UploadObject) {
			store(i, o)
			if !g.bar && !p.json && !p.quiet {
				p.notice()("sent %s (%s)", o.Name, size(o.Size))
			}
		}})
}

// delivered prints the result.
func (p *Program) delivered(s *sending, t *transferapi.Transfer) error {
	type sentFile struct {
		Name   string `json:"name"`
		Size   int64  `json:"size"`
		SHA256 string `json:"sha256"`
	}
	var files []sentFile
	for _, o := range s.Upload.Objects {
		files = append(files, sentFile{o.Name, o.Size, o.SHA256})
	}
	if p.json {
		result := map[string]any{"transfer": t.UID, "server": s.Server, "files": files}
		if t.Link != nil {
			result["link"] = *t.Link
		}
		if !t.ExpiresAt.IsZero() {
			result["expiresAt"] = t.ExpiresAt
		}
		return p.emit(result)
	}
	fmt.Fprintf(p.Stdout, "delivered as transfer %s\n", t.UID)
	if t.Link != nil {
		fmt.Fprintln(p.Stdout, "link:", printable(*t.Link))
	}
	if !t.ExpiresAt.IsZero() {
		fmt.Fprintln(p.Stdout, "expires:", t.ExpiresAt.Local().Format("2006-01-02 15:04"))
	}
	return nil
}
