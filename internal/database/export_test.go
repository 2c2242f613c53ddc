package database

import (
	"context"
	"time"
)

// OpenImpatient is Open with d as the limit of statements and of waiting for a connection.
func OpenImpatient(ctx context.Context, url string, maxConns int, d time.Duration) (*DB, error) {
	return open(ctx, url, maxConns, patience{statement: d, acquire: d})
}
