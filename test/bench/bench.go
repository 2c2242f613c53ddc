//go:build bench

// What the measurements of uploads, downloads and requests share: people, mailboxes and files of the measured server.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/consign-dev/consign/internal/localpg"
	"github.com/consign-dev/consign/internal/testkit/wire"
)

const (
	transferAPI     = "/transfer/v2"
	identityAPI     = "/id/v3"
	environmentPath = transferAPI + "/environment"
	publicMailboxes = transferAPI + "/public/mailbox/"
	demoMailbox     = "/demo" // of a reference
	mailboxPath     = transferAPI + "/public/mailbox" + demoMailbox
	connections     = 16 // of a load of requests
)

// bench is a running Consign and the state that the rows share.
type bench struct {
	options         options
	dir             string // holds all files of this run
	binary          string
	version         string
	postgresVersion string
	cluster         *localpg.Cluster
	database        string // URL
	postmaster      int
	consign         *process
	admin           map[int]string // admin listeners by process
	mailboxesMade   bool
	owner           string // uid of the demo's owner
	idToken         string // of the owner
	accessToken     string
}

// newBench starts Consign in a directory of its own, with the demo's mailbox.
func newBench(ctx context.Context, o options) (_ *bench, err error) {
	b := &bench{options: o, admin: map[int]string{}}
	if b.binary, err = filepath.Abs("bin/consign"); err != nil {
		return nil, err
	}
	version, err := exec.CommandContext(ctx, b.binary, "version").Output()
	if err != nil {
		return nil, fmt.Errorf("run make build first: %w", err)
	}
	b.version = strings.TrimSpace(strings.TrimPrefix(string(version), "consign "))
	if b.dir, err = os.MkdirTemp("", "consign-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if err := os.Chmod(b.dir, 0o755); err != nil { // user postgres must reach the cluster when this runs as root
		return nil, err
	}
	if b.consign, err = b.startConsign(ctx, b.dataDir(), nil, "--demo"); err != nil {
		return nil, err
	}
	// attaches to the server's cluster
	b.cluster, err = localpg.Start(ctx, localpg.Options{Dir: filepath.Join(b.dataDir(), "postgres"), Fsync: true})
	if err != nil {
		return nil, err
	}
	b.database = b.cluster.URL("consign")
	if b.postmaster, err = postmaster(b.cluster.Dir()); err != nil {
		return nil, err
	}
	if b.postgresVersion, err = postgresVersion(ctx, b.database); err != nil {
		return nil, err
	}
	return b, b.logIn(ctx)
}

func (b *bench) dataDir() string { return filepath.Join(b.dir, "var") }

// close stops all processes and removes their files.
func (b *bench) close() error {
	err := b.consign.stop()
	if b.cluster != nil {
		err = errors.Join(err, b.cluster.Close())
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}

// logIn gets the tokens of the demo's owner.
func (b *bench) logIn(ctx context.Context) error {
	demo, err := os.ReadFile(filepath.Join(b.dataDir(), "demo.txt"))
	if err != nil {
		return err
	}
	values := map[string]string{}
	for line := range strings.Lines(string(demo)) {
		name, value, _ := strings.Cut(line, ":")
		values[name] = strings.TrimSpace(value)
	}
	b.owner = values["email"]
	var out struct{ Token string }
	in := map[string]string{"email": b.owner, "type": "bcrypt", "key": values["password"]}
	if _, err := b.call(ctx, b.consign, "POST", identityAPI+"/auth/login", "", in, &out); err != nil {
		return err
	}
	b.idToken = out.Token
	if _, err := b.call(ctx, b.consign, "POST", identityAPI+"/auth/access", b.idToken, nil, &out); err != nil {
		return err
	}
	b.accessToken = out.Token
	return nil
}

// call makes one request that is not measured. in and out may be nil.
func (b *bench) call(ctx context.Context, p *process, method, path, token string, in, out any) (http.Header, error) {
	body, err := wire.Body(in)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+p.addr+path, body)
	if err != nil {
		return nil, err
	}
	r.Host = "localhost"
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	got, err := wire.Read(func() (*http.Response, error) { return http.DefaultClient.Do(r) })
	if err != nil {
		return nil, err
	}
	if got.Status >= 300 {
		return nil, fmt.Errorf("%s %s answered %d: %.300s", method, path, got.Status, got.Body)
	}
	if out == nil {
		return got.Header, nil
	}
	return got.Header, json.Unmarshal(got.Body, out)
}
