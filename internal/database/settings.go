package database

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// SettingsChannel is notified with a setting's name when the transaction of PutSetting commits.
const SettingsChannel = "settings"

// Setting reads a setting of the installation from JSON into dst. It reports whether the setting is set.
func Setting(ctx context.Context, q Querier, name string, dst any) (bool, error) {
	raw, err := Scalar[[]byte](ctx, q, "read setting "+name, nil, `SELECT value FROM settings WHERE name = $1`, name)
	if err != nil || raw == nil {
		return false, err
	}
	if err := json.Unmarshal(raw, dst); err != nil {
		return false, fmt.Errorf("read setting %s: %w", name, err)
	}
	return true, nil
}

// PutSetting stores a setting of the installation as JSON and notifies every replica on SettingsChannel.
func PutSetting(ctx context.Context, q Querier, now time.Time, name string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("put setting %s: %w", name, err)
	}
	_, err = Exec(ctx, q, "put setting "+name, `
		WITH stored AS (
			INSERT INTO settings AS s (name, value, updated_at) VALUES ($1, $2, $3)
			ON CONFLICT ON CONSTRAINT settings_pkey DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at
			RETURNING s.name
		)
		SELECT pg_notify($4, name) FROM stored`, name, raw, now, SettingsChannel)
	return err
}

// LockSetting takes the advisory lock of a setting until the transaction ends, so that replicas do what it records one after the other.
func LockSetting(ctx context.Context, tx Tx, name string) error {
	_, err := Exec(ctx, tx, "lock setting "+name, `SELECT pg_advisory_xact_lock(hashtextextended('setting ' || $1, 0))`, name)
	return err
}
