//go:build bench

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// startReplica starts another Consign on the database and files of the first, with further settings.
func (b *bench) startReplica(ctx context.Context, settings ...string) (*process, error) {
	secret, err := os.ReadFile(filepath.Join(b.dataDir(), "secret.key"))
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.dir, "replica")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return b.startConsign(ctx, dir, append([]string{
		"CONSIGN_DATABASE_URL=" + b.database, "CONSIGN_SECRET_KEY=" + strings.TrimSpace(string(secret)),
		"CONSIGN_STORAGE_URL=file://" + filepath.Join(b.dataDir(), "objects"),
	}, settings...))
}

const starts = 5

// startRow compares the time from exec to the first answer with that of a program that only looks up a mailbox.
func startRow(ctx context.Context, b *bench) ([]result, error) {
	var ours, bare []time.Duration
	for range starts {
		replica, err := b.startReplica(ctx)
		if err != nil {
			return nil, err
		}
		ours = append(ours, replica.took)
		if err := replica.stop(); err != nil {
			return nil, err
		}
		began := time.Now()
		reference, err := b.startReference(ctx, "mailbox", "-database", b.database)
		if err != nil {
			return nil, err
		}
		err = waitFor(ctx, "http://"+reference.addr+demoMailbox)
		bare = append(bare, time.Since(began))
		if err := errors.Join(err, reference.stop()); err != nil {
			return nil, err
		}
	}
	o, r := median(ours), median(bare)
	return []result{{
		name:   "start to first 200 (migrated database)",
		checks: []check{atMost("time", float64(o)/float64(r), 5)},
		ours:   milliseconds(o), bare: milliseconds(r), bareIs: "bare",
	}}, nil
}

// binaryRow measures the size of the binary without the fonts for documents.
func binaryRow(_ context.Context, b *bench) ([]result, error) {
	info, err := os.Stat(b.binary)
	if err != nil {
		return nil, err
	}
	size := info.Size()
	fonts, err := filepath.Glob("internal/pdf/fonts/*.ttf")
	if err != nil {
		return nil, err
	}
	for _, path := range fonts {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		size -= info.Size()
	}
	return []result{{name: "binary, stripped, without fonts", checks: []check{atMost("MB", float64(size)/1e6, 45)},
		ours: fmt.Sprintf("%.1f MB", float64(size)/1e6)}}, nil
}

const (
	settle    = 3 * time.Second // after a start, until the server is idle
	transfers = 16              // parallel transfers, whose memory is divided by their number
	slice     = 64 << 20        // size of each
)

// memoryRow measures the resident memory of a new replica: idle, at the peak of a load of requests, and the growth for each transfer.
func memoryRow(ctx context.Context, b *bench) ([]result, error) {
	replica, err := b.startReplica(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = replica.stop() }()
	time.Sleep(settle)
	idle, err := memory(replica.pid, "VmRSS")
	if err != nil {
		return nil, err
	}
	bareIdle, err := b.bareMemory(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.load(ctx, replica); err != nil {
		return nil, err
	}
	peak, err := memory(replica.pid, "VmHWM")
	if err != nil {
		return nil, err
	}
	up, down, err := b.transferMemory(ctx, replica)
	if err != nil {
		return nil, err
	}
	return []result{
		{name: "resident memory, idle", checks: []check{atMost("MB", megabytes(idle), 45)}, ours: megabytesName(idle),
			bare: megabytesName(bareIdle), bareIs: "bare"},
		{name: "resident memory under a load of requests", checks: []check{atMost("MB", megabytes(peak), 80)}, ours: megabytesName(peak)},
		{name: "resident memory for each upload", checks: []check{atMost("MB", megabytes(up), 3)}, ours: megabytesName(up)},
		{name: "resident memory for each download", checks: []check{atMost("MB", megabytes(down), 3)}, ours: megabytesName(down)},
	}, nil
}

func (b *bench) bareMemory(ctx context.Context) (int64, error) {
	reference, err := b.startReference(ctx, "mailbox", "-database", b.database)
	if err != nil {
		return 0, err
	}
	defer func() { _ = reference.stop() }()
	if err := waitFor(ctx, "http://"+reference.addr+demoMailbox); err != nil {
		return 0, err
	}
	return memory(reference.pid, "VmRSS")
}

// load runs several kinds of requests, one kind after the other.
func (b *bench) load(ctx context.Context, p *process) error {
	for _, w := range []work{
		repeat(request("GET", environmentPath, "", nil)),
		repeat(request("GET", mailboxPath, "", nil)),
		repeat(request("POST", identityAPI+"/auth/access", b.idToken, nil)),
		repeat(request("GET", identityAPI+"/profile", b.accessToken, nil)),
	} {
		reads := side{addr: p.addr, work: w}
		err := reads.connect(ctx, connections)
		if err == nil {
			_, _, err = reads.saturate(ctx, b.options.sample)
		}
		reads.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// transferMemory returns the growth of the peak memory of a warm server for each of several parallel uploads, and downloads.
func (b *bench) transferMemory(ctx context.Context, p *process) (up, down int64, err error) {
	d, err := b.reserve(ctx, p)
	if err != nil {
		return 0, 0, err
	}
	paths := make([]string, transfers)
	for i := range paths {
		if paths[i], err = b.attach(ctx, p, d, fmt.Sprintf("file%d", i), slice); err != nil {
			return 0, 0, err
		}
	}
	up, err = growth(p, func() error {
		_, _, _, err := parallel(transfers, func(i int) (int64, error) {
			return slice, send(ctx, p.addr, asPUT, paths[i]+asPUT.path, d.token, slice)
		})
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	var transfer struct {
		UID     string
		Objects []struct{ UID string }
	}
	if _, err := b.call(ctx, p, "POST", d.path+"/confirm", d.token, nil, &transfer); err != nil {
		return 0, 0, err
	}
	path := transferAPI + "/transfers/" + transfer.UID
	if _, err := b.call(ctx, p, "GET", path, b.accessToken, nil, &transfer); err != nil {
		return 0, 0, err
	}
	down, err = growth(p, func() error {
		_, _, _, err := parallel(transfers, func(i int) (int64, error) {
			return fetch(ctx, p.addr, path+"/objects/"+transfer.Objects[i].UID+"/content", b.accessToken)
		})
		return err
	})
	return up, down, err
}

// growth returns how far resident memory rises above its value before run, for each transfer.
func growth(p *process, run func() error) (int64, error) {
	before, err := memory(p.pid, "VmRSS")
	if err != nil {
		return 0, err
	}
	if err := resetPeak(p.pid); err != nil {
		return 0, err
	}
	if err := run(); err != nil {
		return 0, err
	}
	peak, err := memory(p.pid, "VmHWM")
	return max(0, peak-before) / transfers, err
}
