package database

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// SettingsChannel is notified with a setting's name when PutSetting's transaction commits.
const SettingsChannel = "settings"

// Setting reads a fact about the installation into dst and reports whether it is set.
func Setting(ctx context.Context, q Querier, name string, dst any) (bool, error) {
	var raw []byte
	err := q.QueryRow(ctx, `SELECT value FROM settings WHERE name = $1`, name).Scan(&raw)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read setting %s: %w", name, err)
	}
	if err := json.Unmarshal(raw, dst); err != nil {
		return false, fmt.Errorf("read setting %s: %w", name, err)
	}
	return true, nil
}

// PutSetting sets a fact about the installation and tells every replica.
func PutSetting(ctx context.Context, q Querier, now time.Time, name string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("set %s: %w", name, err)
	}
	_, err = q.Exec(ctx, `
		WITH stored AS (
			INSERT INTO settings AS s (name, value, updated_at) VALUES ($1, $2, $3)
			ON CONFLICT ON CONSTRAINT settings_pkey DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at
			RETURNING s.name
		)
		SELECT pg_notify($4, name) FROM stored`, name, raw, now, SettingsChannel)
	if err != nil {
		return fmt.Errorf("set %s: %w", name, err)
	}
	return nil
}
