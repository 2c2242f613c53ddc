// The attachment of a mail, for which the mail waits a short time.

package mail

import (
	"bytes"
	"context"
	"encoding/base64"
	"log/slog"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/jobs"
)

const (
	attachmentWithin = 30 * time.Second // age at which a mail goes without the attachment that it waits for
	attachmentPause  = time.Second
)

// MaxAttachment bounds an attachment in bytes. Its base64 is within what mail servers accept.
const MaxAttachment = 2 << 20

// Attachment is a file that a mail carries. Name and Kind are ASCII.
type Attachment struct {
	Name, Kind string
	Bytes      []byte
}

// attachment returns what the mail carries: nil for mails that carry nothing, and when it was not ready in time. wait is true while the
// mail is young and Options.Attach fails.
func (m *Mailer) attachment(ctx context.Context, r row) (a *Attachment, wait bool) {
	data, err := decodeValues(r.Data)
	if err != nil || !data.flag("attach") || m.options.Attach == nil {
		return nil, false
	}
	if a, err = m.options.Attach(ctx, r.Reference); err == nil {
		return a, false
	}
	if m.now().Before(r.CreatedAt.Add(attachmentWithin)) {
		return nil, true
	}
	m.log.WarnContext(ctx, "a mail goes without its attachment", slog.String("mail", r.UID.String()), slog.Any("error", err))
	return nil, false
}

// awaitAttachment gives the lease of a mail back. It does not count as an attempt.
func (m *Mailer) awaitAttachment(ctx context.Context, c *claimed) error {
	_, err := database.Exec(ctx, m.db.Pool, "postpone mail", `
		UPDATE mails SET attempts = attempts - 1, next_attempt_at = clock_timestamp() + $2::interval, busy_until = NULL
		WHERE uid = $1 AND state = 'queued' AND attempts = $3`, c.UID, attachmentPause, c.Attempts)
	if err != nil {
		return err
	}
	return jobs.Again(attachmentPause)
}

// mixed writes a multipart/mixed message (RFC 2046, 5.1.3) of a body, which write writes with its headers, and an attachment.
func mixed(b *bytes.Buffer, boundary string, a Attachment, write func() error) error {
	header := headersOf(b)
	header("Content-Type", `multipart/mixed; boundary="`+boundary+`"`)
	b.WriteString("\r\n--" + boundary + "\r\n")
	if err := write(); err != nil {
		return err
	}
	b.WriteString("\r\n--" + boundary + "\r\n")
	header("Content-Type", a.Kind)
	header("Content-Transfer-Encoding", "base64")
	header("Content-Disposition", `attachment; filename="`+a.Name+`"`)
	b.WriteString("\r\n")
	based(b, a.Bytes)
	b.WriteString("\r\n--" + boundary + "--\r\n")
	return nil
}

// based writes bytes as lines of base64.
func based(b *bytes.Buffer, content []byte) {
	for encoded := base64.StdEncoding.EncodeToString(content); encoded != ""; {
		n := min(len(encoded), foldAt)
		b.WriteString(encoded[:n] + "\r\n")
		encoded = encoded[n:]
	}
}
