// The stream of the audit (package audit/stream), with the setting.

package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/audit/stream"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/operator"
)

// auditStream returns the stream of CONSIGN_AUDIT_STREAM.
func auditStream(c config.Config, db *database.DB, now func() time.Time, log *slog.Logger) (*stream.Stream, error) {
	if c.AuditStream == "" {
		return stream.New(db, nil, now, log), nil
	}
	target, err := stream.Parse(c.AuditStream, c.PublicURL.Hostname())
	if err != nil {
		return nil, fmt.Errorf("CONSIGN_AUDIT_STREAM %w", err)
	}
	return stream.New(db, target, now, log), nil
}

// auditState returns the state of the stream for the console.
func (a *App) auditState(ctx context.Context) (operator.Audit, error) {
	s, err := a.stream.State(ctx)
	o := operator.Audit{State: operator.OK, Waiting: s.Waiting, OldestDue: s.Oldest, Trouble: s.Trouble}
	switch {
	case err != nil:
		return o, err
	case s.On && s.Late():
		o.State = operator.Failed
	case s.Active && (s.Trouble != "" || !s.On):
		o.State = operator.Warning
	case !s.On:
		o.State = operator.Off
	}
	return o, nil
}

// RestartAuditStream begins a new chain (stream.Stream.Restart).
func (a *App) RestartAuditStream(ctx context.Context, by audit.Actor) error {
	return a.stream.Restart(ctx, by)
}

// AuditSent returns sequence and hash of the last entry of the audit that the receiver has. Like OpenDoctor, it creates nothing.
func AuditSent(ctx context.Context, cfg config.Config) (sequence int64, hash []byte, err error) {
	if err := missingCluster(cfg); err != nil {
		return 0, nil, err
	}
	opened, err := OpenDatabase(ctx, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	db, err := database.New(ctx, opened.URL, 1)
	if err != nil {
		return 0, nil, err
	}
	defer db.Close()
	return stream.New(db, nil, time.Now, slog.New(slog.DiscardHandler)).Head(ctx)
}
