package app_test

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/testkit"
)

// TestDemo: the demo is seeded once, later starts change nothing, and a database that has other persons is refused.
func TestDemo(t *testing.T) {
	t.Parallel()
	first := testkit.New(t, testkit.Demo())
	value, credentials := demoValues(t, first)
	if info, err := os.Stat(filepath.Join(first.DataDir, "demo.txt")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("demo.txt: %v, %v", info, err)
	}
	login := map[string]any{"email": value("email"), "type": "bcrypt", "key": value("password")}
	first.Stranger().Post(first.Identity+"/auth/login", login).Want(200)
	first.Stranger().Get(first.Transfer + "/public/mailbox/demo").Want(200)
	if got := first.Stranger().Get(first.Identity + "/environment").Want(200); got.Number("limitations.storageVolumeGb") != 1000 ||
		got.Number("limitations.transferVolumeGb") != 1000 {
		t.Errorf("strangers may fill the demo: %s", got.Body)
	}
	first.SignUp("ann@example.com")
	first.Stop()

	again := testkit.New(t, testkit.Beside(first), testkit.Demo())
	again.Stranger().Post(again.Identity+"/auth/login", login).Want(200)
	again.Stranger().Get(again.Transfer + "/public/mailbox/demo").Want(200)
	if after, err := os.ReadFile(filepath.Join(first.DataDir, "demo.txt")); err != nil || !bytes.Equal(after, credentials) {
		t.Errorf("demo.txt changed: %v", err)
	}
}

// demoValues returns the values in demo.txt by their names, and the file.
func demoValues(t *testing.T, s *testkit.Server) (value func(name string) string, file []byte) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(s.DataDir, "demo.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return func(name string) string {
		for line := range strings.Lines(string(file)) {
			if v, ok := strings.CutPrefix(line, name+": "); ok {
				return strings.TrimSpace(v)
			}
		}
		t.Fatalf("demo.txt has no %s:\n%s", name, file)
		return ""
	}, file
}

// TestDemoReplicas: two replicas that start together seed one demo.
func TestDemoReplicas(t *testing.T) {
	t.Parallel()
	first := testkit.New(t)
	replicas := make([]*testkit.Server, 2)
	var both sync.WaitGroup
	for i := range replicas {
		both.Go(func() { replicas[i] = testkit.New(t, testkit.Beside(first), testkit.Demo()) })
	}
	both.Wait()
	value, _ := demoValues(t, first)
	var inbox struct{ Transfers []any }
	replicas[1].Stranger().As(value("token")).Get(replicas[1].Transfer + "/transfers?location=received").Want(200).JSON(&inbox)
	if len(inbox.Transfers) != 3 {
		t.Errorf("the inbox has %d transfers, want 3", len(inbox.Transfers))
	}
}

// TestDemoRefused: on a database with people that the demo did not make.
func TestDemoRefused(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	s.SignUp("ann@example.com")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), s.Config, app.Options{Log: slog.New(slog.DiscardHandler), Listener: listener, Demo: true, NoPeriodic: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "without --demo") {
		t.Errorf("started with --demo: %v", err)
	}
	if _, err := os.Stat(filepath.Join(s.DataDir, "demo.txt")); err == nil {
		t.Error("demo.txt was written")
	}
}
