//go:build rsyslog

package stream_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/testkit/freeport"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// TestRsyslog: rsyslog confirms what it has read, and the file that it writes is whole; also after it was killed between.
func TestRsyslog(t *testing.T) {
	t.Parallel()
	db, dir := open(t), t.TempDir()
	cert, ca := certificate(t)
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	keyFile, out, conf := filepath.Join(dir, "key.pem"), filepath.Join(dir, "audit.log"), filepath.Join(dir, "rsyslog.conf")
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600); err != nil {
		t.Fatal(err)
	}
	port, err := freeport.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`
global(workDirectory="%[1]s" maxMessageSize="64k" defaultNetstreamDriver="gtls" defaultNetstreamDriverCAFile="%[2]s"
  defaultNetstreamDriverCertFile="%[2]s" defaultNetstreamDriverKeyFile="%[3]s")
module(load="imtcp" streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="anon")
input(type="imtcp" port="%[4]s" address="127.0.0.1")
template(name="whole" type="string" string="%%timestamp%% %%hostname%% %%msgid%% %%msg%%\n")
action(type="omfile" file="%[5]s" template="whole")
`, dir, ca, keyFile, port, out)
	if err := os.WriteFile(conf, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() *exec.Cmd {
		c := exec.Command("rsyslogd", "-n", "-f", conf, "-i", filepath.Join(dir, "pid"))
		c.Stderr, c.Stdout = os.Stderr, os.Stdout
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		poll.Until(t, "rsyslog listens", func() bool {
			conn, err := net.Dial("tcp", "127.0.0.1:"+port)
			if err == nil {
				_ = conn.Close()
			}
			return err == nil
		})
		return c
	}
	daemon := start()
	s := sender(t, db, "syslog+tls://127.0.0.1:"+port+"?ca="+ca)
	if err := s.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop := run(t, s)
	defer stop()
	write(t, db, 0, 2500)
	sent(t, s)
	_ = daemon.Process.Kill()
	_, _ = daemon.Process.Wait()
	_ = os.Remove(filepath.Join(dir, "pid"))
	write(t, db, 2500, 3000)
	daemon = start()
	defer func() { _ = daemon.Process.Kill(); _, _ = daemon.Process.Wait() }()
	sent(t, s)
	poll.Until(t, "rsyslog has written all", func() bool {
		text, err := os.ReadFile(out)
		return err == nil && strings.Contains(string(text), `"object":"2999"`)
	})
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	c := whole(t, s, string(text))
	t.Logf("%d entries, %d repeated", c.Last, c.Repeated)
}
