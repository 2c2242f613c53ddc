//go:build bench

// The rows of uploads in parts at once.

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	partsAtOnce = 4        // of one object
	partSize    = 16 << 20 // what the server chooses
)

// plan is a file that is uploaded in parts.
type plan struct {
	path           string // of its parts
	token          string
	size, partSize int64
}

// plan makes a file of a reservation one that is uploaded in parts.
func (b *bench) plan(ctx context.Context, p *process, d reservation, name string, size, partSize int64) (plan, error) {
	path, err := b.attach(ctx, p, d, name, size)
	if err != nil {
		return plan{}, err
	}
	_, err = b.call(ctx, p, "POST", path+"/parts", d.token, map[string]any{"partSize": partSize}, nil)
	return plan{path + "/parts", d.token, size, partSize}, err
}

// sendParts sends the parts of a file, several at once, each on a connection that stays.
func sendParts(ctx context.Context, addr string, f plan) (float64, []time.Duration, time.Duration, error) {
	count := (f.size + f.partSize - 1) / f.partSize
	numbers := make(chan int64, count)
	for n := range count {
		numbers <- n
	}
	close(numbers)
	return parallel(partsAtOnce, func(int) (sent int64, err error) {
		c, err := dial(ctx, addr)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		for n := range numbers {
			length := min(f.partSize, f.size-n*f.partSize)
			if err := c.send(asPUT, fmt.Sprintf("%s/%d", f.path, n+1), f.token, length); err != nil {
				return sent, err
			}
			sent += length
		}
		return sent, nil
	})
}

// joined waits until the server has joined the parts, and so knows the SHA-256.
func (b *bench) joined(ctx context.Context, p *process, f plan) error {
	for {
		var state struct{ SHA256 string }
		if _, err := b.call(ctx, p, "GET", f.path, f.token, nil, &state); err != nil || state.SHA256 != "" {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// uploadParts uploads a file in parts, until its SHA-256 is known, and cancels the reservation.
func (b *bench) uploadParts(ctx context.Context, t *tally, p *process, size, partSize int64) error {
	d, err := b.reserve(ctx, p)
	if err != nil {
		return err
	}
	f, err := b.plan(ctx, p, d, "parts", size, partSize)
	if err != nil {
		return err
	}
	err = t.sample(b, p.pid, func() (float64, []time.Duration, time.Duration, error) {
		began := time.Now()
		sent, _, _, err := sendParts(ctx, p.addr, f)
		err = errors.Join(err, b.joined(ctx, p, f))
		return sent, nil, time.Since(began), err
	})
	_, cancelled := b.call(ctx, p, "DELETE", d.path, d.token, nil, nil)
	return errors.Join(err, cancelled)
}

// partsRow compares one file in parts with as many files at once that have the same bytes together, and measures the memory of a part.
func partsRow(ctx context.Context, b *bench) ([]result, error) {
	var parts, files tally
	each := max(b.options.size/partsAtOnce, partSize)
	turns := []func() error{
		func() error { return b.uploadParts(ctx, &parts, b.consign, partsAtOnce*each, partSize) },
		func() error { return b.upload(ctx, &files, b.consign, partsAtOnce, each) },
	}
	for round := range b.options.rounds {
		for i := range turns {
			if err := turns[(round+i)%len(turns)](); err != nil {
				return nil, err
			}
		}
	}
	o, f := parts.figures(gib), files.figures(gib)
	name := fmt.Sprintf("upload %s, %d parts of %s at once, until the SHA-256 is known, on loopback", sizeName(partsAtOnce*each), partsAtOnce,
		sizeName(partSize))
	speed := fileResult(name, o, f, atLeast(fmt.Sprintf("MB/s of %d files", partsAtOnce), speedRatio(o, f), 1))
	speed.bareIs = fmt.Sprintf("%d files", partsAtOnce)
	memory, err := b.partMemory(ctx)
	if err != nil {
		return nil, err
	}
	download, err := b.partsDownload(ctx)
	if err != nil {
		return nil, err
	}
	return []result{
		speed, download,
		{name: "resident memory for each part that is being sent", checks: []check{atMost("MB", megabytes(memory), 1)},
			ours: megabytesName(memory)},
	}, nil
}

// partsDownload compares the download of a file that is stored in eight segments with that of one in one segment.
func (b *bench) partsDownload(ctx context.Context) (result, error) {
	const segments = 8
	size := b.options.size / (segments << 20) * (segments << 20)
	d, err := b.reserve(ctx, b.consign)
	if err != nil {
		return result{}, err
	}
	f, err := b.plan(ctx, b.consign, d, "parts", size, size/segments)
	if err != nil {
		return result{}, err
	}
	_, _, _, err = sendParts(ctx, b.consign.addr, f)
	if err := errors.Join(err, b.joined(ctx, b.consign, f)); err != nil {
		return result{}, err
	}
	var paths [2]string
	if paths[0], err = b.confirm(ctx, b.consign, d); err != nil {
		return result{}, err
	}
	if paths[1], err = b.deliver(ctx, b.consign); err != nil {
		return result{}, err
	}
	parts, stream, err := b.turns(func(i int, t *tally) error {
		return t.sample(b, b.consign.pid, func() (float64, []time.Duration, time.Duration, error) {
			return parallel(1, func(int) (int64, error) { return fetch(ctx, b.consign.addr, paths[i], b.accessToken) })
		})
	})
	r := fileResult(fmt.Sprintf("download %s that came in %d parts", sizeName(size), segments), parts, stream,
		atLeast("MB/s of one stream", speedRatio(parts, stream), 0.9))
	r.bareIs = "one stream"
	return r, err
}

// partMemory returns the growth of the peak memory of a warm replica for each part that is sent to it, of several files at once.
func (b *bench) partMemory(ctx context.Context) (int64, error) {
	replica, err := b.startReplica(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = replica.stop() }()
	if err := b.load(ctx, replica); err != nil {
		return 0, err
	}
	d, err := b.reserve(ctx, replica)
	if err != nil {
		return 0, err
	}
	var plans [transfers / partsAtOnce]plan
	for i := range plans {
		if plans[i], err = b.plan(ctx, replica, d, fmt.Sprintf("file%d", i), 2*partsAtOnce*partSize, partSize); err != nil {
			return 0, err
		}
	}
	grown, err := growth(replica, func() error {
		_, _, _, err := parallel(len(plans), func(i int) (int64, error) {
			sent, _, _, err := sendParts(ctx, replica.addr, plans[i])
			return int64(sent), err
		})
		return err
	})
	_, cancelled := b.call(ctx, replica, "DELETE", d.path, d.token, nil, nil)
	return grown, errors.Join(err, cancelled)
}

// The long line: a round trip of 100 ms, and of 1,000 packets each way one is lost.
const (
	lineDelay    = 50 * time.Millisecond
	lineLoss     = 0.001
	lineFile     = 32 << 20
	linePartSize = 4 << 20
)

// lineRow compares a file in parts with one in one stream, over a line that is long and loses packets.
func lineRow(ctx context.Context, b *bench) ([]result, error) {
	l, err := openLine(ctx, lineDelay, lineLoss, b.consign.addr)
	if err != nil {
		return nil, err
	}
	defer l.close()
	far := *b.consign
	far.addr = l.addr
	parts, stream, err := b.turns(func(i int, t *tally) error {
		if i == 0 {
			return b.uploadParts(ctx, t, &far, lineFile, linePartSize)
		}
		return b.upload(ctx, t, &far, 1, lineFile)
	})
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("upload %s in parts, %d at once, over a line of 100 ms and 0.1 %% loss (CUBIC)", sizeName(lineFile), partsAtOnce)
	r := fileResult(name, parts, stream, atLeast("MB/s of one stream", speedRatio(parts, stream), 3))
	r.bareIs = "one stream"
	return []result{r}, nil
}
