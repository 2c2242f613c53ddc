package mail

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
)

// Directory is the transport of an installation without SMTP: each mail becomes a file that any mail program opens.
// It logs the links of the mails, keys included, so that a newcomer can follow them: the one place where a secret
// reaches the log, and only when no SMTP server is configured.
type Directory struct {
	dir string
	log *slog.Logger
}

// NewDirectory makes the directory if it is missing (0700).
func NewDirectory(dir string, log *slog.Logger) (*Directory, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make mail directory: %w", err)
	}
	return &Directory{dir: dir, log: log}, nil
}

// Send writes UID-TEMPLATE.eml (0600); it is on disk when Send returns. A repeated attempt replaces the file by itself.
func (d *Directory) Send(ctx context.Context, e Envelope) (answer string, err error) {
	name := filepath.Join(d.dir, e.UID.String()+"-"+e.Template+".eml")
	if err := writeFile(name, e.Bytes); err != nil {
		return "", fmt.Errorf("write mail: %w", err)
	}
	d.log.InfoContext(ctx, "mail written", slog.String("file", name), slog.String("template", e.Template),
		slog.String("to", e.To), slog.Any("links", e.Links))
	return "written to " + filepath.Base(name), nil
}

// writeFile replaces a file durably: no reader, and no power cut, ever shows a part of it.
func writeFile(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".mail-*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // fails once it has its name
	defer f.Close()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
