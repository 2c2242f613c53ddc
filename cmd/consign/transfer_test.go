package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/output"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// send makes a request and returns the members of the answer, and its Authorization.
func send(t *testing.T, method, url, authorization, body string) (members map[string]any, granted string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	if strings.HasPrefix(body, "{") {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s, %v", method, url, resp.StatusCode, raw, err)
	}
	if err := json.Unmarshal(raw, &members); err != nil && len(raw) > 0 {
		t.Fatal(err)
	}
	return members, resp.Header.Get("Authorization")
}

// TestTransferCommand: an operator shows, extends and revokes what a stranger has sent to the demo's mailbox.
func TestTransferCommand(t *testing.T) {
	t.Parallel()
	port, admin := testkit.FreePort(t), testkit.FreePort(t)
	base := "http://localhost:" + port
	environ := append(external(t, pgtest.URL(t)), "CONSIGN_PUBLIC_URL="+base, "CONSIGN_LISTEN=127.0.0.1:"+port,
		"CONSIGN_ADMIN_LISTEN=127.0.0.1:"+admin, "SUDO_USER=olga")
	var out, log output.Buffer
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"serve", "--demo", "--migrate"}, environ, &out, &log) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serve ended with %v\n%s", err, log.String())
		}
	}()
	poll.Until(t, "ready", func() bool { return get(t, base+"/readyz") == http.StatusOK })
	made, key := send(t, "POST", base+"/transfer/v2/public/mailbox/demo", "",
		`{"anonSender": "Sam", "anonEmail": "sam@example.com", "subject": "Secret plans"}`)
	r := base + "/transfer/v2/reservations/" + made["uid"].(string)
	send(t, "POST", r+"/objects", key, `{"clientId": "a", "name": "plan.pdf", "intendedSize": 5}`)
	send(t, "PUT", r+"/objects/a/content", key, "bytes")
	delivered, _ := send(t, "POST", r+"/confirm", key, "")
	uid := delivered["uid"].(string)

	do := runOperator(t, environ)
	shown := do("transfer", "show", uid)
	for _, want := range []string{"mailbox", "delivered", "sam@example.com", "owner@example.com, downloads 0", uid} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %s in\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "plan") {
		t.Errorf("content is shown:\n%s", shown)
	}
	if extended := do("transfer", "extend", uid, "400"); extended == shown {
		t.Errorf("not extended:\n%s", extended)
	}
	for _, args := range [][]string{{"extend", uid, "10"}, {"show", made["uid"].(string)}} {
		if _, _, err := consign(t.Context(), environ, append([]string{"transfer"}, args...)...); err == nil {
			t.Errorf("%v was done", args)
		}
	}
	if revoked := do("transfer", "revoke", uid); !strings.Contains(revoked, "revoked") {
		t.Errorf("after the end:\n%s", revoked)
	}
	for _, args := range [][]string{{"extend", uid, "10"}, {"revoke", uid}} {
		if _, _, err := consign(t.Context(), environ, append([]string{"transfer"}, args...)...); err == nil ||
			!strings.Contains(err.Error(), "ended") {
			t.Errorf("%v after the end: %v", args, err)
		}
	}
	if audit := do("audit"); strings.Count(audit, "olga") != 2 {
		t.Errorf("the audit names the operator not twice:\n%s", audit)
	}
}
