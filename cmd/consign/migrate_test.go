package main

import (
	"context"
	"net/http"
	"strings"
	"testing"

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
