package main

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/output"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// TestServeMigrates: with --migrate the server migrates an external database, then serves.
func TestServeMigrates(t *testing.T) {
	t.Parallel()
	port := testkit.FreePort(t)
	environ := append(external(t, pgtest.EmptyURL(t)), "CONSIGN_PUBLIC_URL=http://localhost:"+port, "CONSIGN_LISTEN=127.0.0.1:"+port, "CONSIGN_ADMIN_LISTEN=127.0.0.1:"+testkit.FreePort(t))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var out, log output.Buffer
	go func() { ended <- run(ctx, []string{"serve", "--migrate"}, environ, &out, &log) }()
	poll.Until(t, "ready", func() bool { return get(t, "http://localhost:"+port+"/readyz") == http.StatusOK })
	stop()
	if err := <-ended; err != nil {
		t.Errorf("serve ended with %v\n%s", err, log.String())
	}
	status, _, err := consign(t.Context(), environ, "migrate", "status")
	if err != nil || strings.Contains(status, "pending") || !strings.Contains(log.String(), "0001_settings.sql") {
		t.Errorf("%v\n%s\n%s", err, status, log.String())
	}
}

// TestMigrateRefusesNewer: with the binary of a former version an operator learns that there is no way back. A server of that version
// goes on, as it must during an upgrade.
func TestMigrateRefusesNewer(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	environ := external(t, url)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := consign(t.Context(), environ, "migrate", "up"); err == nil || !strings.Contains(err.Error(), "migration 9999") {
		t.Errorf("migrate up: %v", err)
	}
	if _, _, err := consign(t.Context(), environ, "keys", "list"); err != nil {
		t.Errorf("keys list: %v", err)
	}
}
