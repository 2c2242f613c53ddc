package mail

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
)

// Directory is the transport of an installation without SMTP. It writes each mail as an .eml file and logs the links of
// the mail, including their keys, so that a newcomer can open them. This is the only place that logs a secret.
type Directory struct {
	dir string
	log *slog.Logger
}

// NewDirectory returns a Directory. It creates the directory with mode 0700 if it is missing.
func NewDirectory(dir string, log *slog.Logger) (*Directory, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make mail directory: %w", err)
	}
	return &Directory{dir: dir, log: log}, nil
}

// Send writes UID-TEMPLATE.eml with mode 0600 and syncs it. A retry replaces the file with the same content.
func (d *Directory) Send(ctx context.Context, e Envelope) (answer string, err error) {
	name := filepath.Join(d.dir, e.UID.String()+"-"+e.Template+".eml")
	if err := writeFile(name, e.Bytes); err != nil {
		return "", fmt.Errorf("write mail: %w", err)
	}
	d.log.InfoContext(ctx, "mail written", slog.String("file", name), slog.String("template", e.Template),
		slog.String("to", e.To), slog.Any("links", e.Links))
	return "written to " + filepath.Base(name), nil
}

// writeFile replaces a file atomically and durably.
func writeFile(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".mail-*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // fails after the rename
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
