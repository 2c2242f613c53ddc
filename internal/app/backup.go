package app

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
)

const backupSetting = "backup"

// RecordBackup records that a backup was completed now. Metrics and doctor report its age.
func (a *App) RecordBackup(ctx context.Context) error {
	return database.PutSetting(ctx, a.DB.Pool, a.now(), backupSetting, a.now())
}

// BackedUp returns when the last backup was recorded; the zero time: none was.
func (a *App) BackedUp(ctx context.Context) (at time.Time, err error) {
	_, err = database.Setting(ctx, a.DB.Pool, backupSetting, &at)
	return at, err
}
