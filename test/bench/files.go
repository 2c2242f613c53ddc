//go:build bench

// The rows of files: uploads and downloads.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// noise is the content of files: random bytes, repeated.
var noise = func() []byte {
	b := make([]byte, pieceSize)
	source := rand.NewChaCha8([32]byte{'b', 'e', 'n', 'c', 'h'})
	_, _ = source.Read(b) // never fails
	return b
}()

// dialect is a protocol of uploads: how the bytes of an attached file are sent.
type dialect struct {
	method, path string // the path is below the object
	headers      string
	status       int
}

var (
	asPUT = dialect{"PUT", "/content", "Content-Type: application/octet-stream\r\n", 200}
	asTus = dialect{"PATCH", "/tus", "Tus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\nContent-Type: application/offset+octet-stream\r\n",
		204}
	asResumable = dialect{"PATCH", "/upload", "Upload-Complete: ?1\r\nUpload-Offset: 0\r\nContent-Type: application/partial-upload\r\n", 200}
)

// send uploads size bytes over a new connection and checks the answer.
func send(ctx context.Context, addr string, as dialect, path, token string, size int64) error {
	c, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.send(as, path, token, size)
}

// send uploads size bytes over the connection and reads the answer.
func (c *conn) send(as dialect, path, token string, size int64) error {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n%sContent-Length: %d\r\n\r\n", as.method, path,
		token, as.headers, size)
	if _, err := io.WriteString(c, head); err != nil {
		return err
	}
	for rest := size; rest > 0; {
		n, err := c.Write(noise[:min(rest, int64(len(noise)))])
		if err != nil {
			return err
		}
		rest -= int64(n)
	}
	status, length, err := c.head()
	if err == nil && status != as.status {
		err = fmt.Errorf("%s %s answered %d", as.method, path, status)
	}
	if err == nil {
		_, err = c.reader.Discard(int(length))
	}
	return err
}

// fetch downloads a file over a new connection and discards the bytes. It returns their number.
func fetch(ctx context.Context, addr, path, token string) (int64, error) {
	c, err := dial(ctx, addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if _, err := c.Write(request("GET", path, token, nil)); err != nil {
		return 0, err
	}
	status, length, err := c.head()
	if err != nil {
		return 0, err
	}
	if status != 200 {
		return 0, fmt.Errorf("GET %s answered %d", path, status)
	}
	left := length - int64(c.reader.Buffered())
	buffer := make([]byte, pieceSize)
	for left > 0 {
		n, err := c.Read(buffer)
		left -= int64(n)
		if err != nil && left > 0 {
			return 0, err
		}
	}
	return length, nil
}

// parallel calls move n times at once and returns the sum of the bytes.
func parallel(n int, move func(i int) (int64, error)) (float64, []time.Duration, time.Duration, error) {
	began := time.Now()
	moved, errs := make([]int64, n), make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { moved[i], errs[i] = move(i) })
	}
	group.Wait()
	var sum int64
	for _, m := range moved {
		sum += m
	}
	return float64(sum), nil, time.Since(began), errors.Join(errs...)
}

// reservation is an open reservation on the demo's mailbox.
type reservation struct {
	path, token string
}

func (b *bench) reserve(ctx context.Context, p *process) (reservation, error) {
	var out struct{ UID string }
	header, err := b.call(ctx, p, "POST", mailboxPath, "",
		map[string]string{"subject": "bench", "anonSender": "Sam Stranger", "anonEmail": "sam@example.com"}, &out)
	if err != nil {
		return reservation{}, err
	}
	return reservation{path: transferAPI + "/reservations/" + out.UID, token: strings.TrimPrefix(header.Get("Authorization"), "Bearer ")}, nil
}

// attach adds a file to a reservation and returns its path.
func (b *bench) attach(ctx context.Context, p *process, d reservation, name string, size int64) (string, error) {
	_, err := b.call(ctx, p, "POST", d.path+"/objects", d.token, map[string]any{"clientId": name, "name": name, "intendedSize": size}, nil)
	return d.path + "/objects/" + name, err
}

// upload uploads n files at once to a Consign by PUT.
func (b *bench) upload(ctx context.Context, t *tally, p *process, n int, size int64) error {
	return b.uploadAs(ctx, t, p, asPUT, n, size)
}

// uploadAs uploads n files at once to a Consign in a dialect. It cancels the reservation afterwards, which frees the disk.
func (b *bench) uploadAs(ctx context.Context, t *tally, p *process, as dialect, n int, size int64) error {
	d, err := b.reserve(ctx, p)
	if err != nil {
		return err
	}
	paths := make([]string, n)
	for i := range paths {
		if paths[i], err = b.attach(ctx, p, d, fmt.Sprintf("file%d", i), size); err != nil {
			return err
		}
	}
	err = t.sample(b, p.pid, func() (float64, []time.Duration, time.Duration, error) {
		return parallel(n, func(i int) (int64, error) { return size, send(ctx, p.addr, as, paths[i]+as.path, d.token, size) })
	})
	_, cancelled := b.call(ctx, p, "DELETE", d.path, d.token, nil, nil)
	return errors.Join(err, cancelled)
}

// uploadTo uploads n files at once to a reference and removes them.
func (b *bench) uploadTo(ctx context.Context, t *tally, p *process, n int, size int64) error {
	err := t.sample(b, p.pid, func() (float64, []time.Duration, time.Duration, error) {
		return parallel(n, func(i int) (int64, error) { return size, send(ctx, p.addr, asPUT, fmt.Sprintf("/bare%d", i), "", size) })
	})
	for i := range n {
		err = errors.Join(err, os.Remove(filepath.Join(b.dir, fmt.Sprintf("bare%d", i))))
	}
	return err
}

const gib = 1 << 30

// uploadRow compares one upload with two references that stream the body to disk, one with its SHA-256 and one without.
func uploadRow(ctx context.Context, b *bench) ([]result, error) {
	t, err := b.uploads(ctx, 1, b.options.rounds)
	if err != nil {
		return nil, err
	}
	o, h, w, beside := t.ours.figures(gib), t.hashed.figures(gib), t.written.figures(gib), t.beside.figures(gib)
	size := sizeName(b.options.size)
	raw := fileResult(fmt.Sprintf("upload %s, fsync: against a stream without SHA-256, which Consign always computes: %.2f× MB/s", size,
		speedRatio(o, w)), o, w)
	limit := fileResult(fmt.Sprintf(
		"the same against a stream with SHA-256 in a goroutine beside the writing, which has %.2f× the MB/s of one without: %.2f×",
		speedRatio(beside, w), speedRatio(o, beside)), o, beside)
	return []result{
		raw, limit,
		fileResult("upload "+size+" with SHA-256 while streaming, fsync", o, h, atLeast("MB/s", speedRatio(o, h), 1.3)),
	}, nil
}

// uploadsRow compares four parallel uploads.
func uploadsRow(ctx context.Context, b *bench) ([]result, error) {
	t, err := b.uploads(ctx, 4, max(1, b.options.rounds/2))
	if err != nil {
		return nil, err
	}
	o, h := t.ours.figures(gib), t.hashed.figures(gib)
	return []result{fileResult("upload 4 × "+sizeName(b.options.size)+" at once", o, h, atLeast("MB/s", speedRatio(o, h), 1.3))}, nil
}

// dialectsRow compares uploads by tus and by the IETF's protocol with PUT of the same file.
func dialectsRow(ctx context.Context, b *bench) ([]result, error) {
	var tallies [3]tally
	turns := []dialect{asPUT, asTus, asResumable}
	for round := range b.options.rounds {
		for i := range turns {
			at := (round + i) % len(turns)
			if err := b.uploadAs(ctx, &tallies[at], b.consign, turns[at], 1, b.options.size); err != nil {
				return nil, err
			}
		}
	}
	put := tallies[0].figures(gib)
	var results []result
	for i, name := range []string{"tus", "the IETF's resumable upload"} {
		f := tallies[i+1].figures(gib)
		r := fileResult("upload "+sizeName(b.options.size)+" by PATCH of "+name, f, put, atLeast("MB/s of PUT", speedRatio(f, put), 0.95))
		r.bareIs = "PUT"
		results = append(results, r)
	}
	return results, nil
}

// uploadTallies are uploads to Consign and to the references: with SHA-256, without, and with SHA-256 beside the writing.
type uploadTallies struct{ ours, hashed, written, beside tally }

// uploads measures n parallel uploads to Consign and to the references, alternately; several at once to "hash" only.
func (b *bench) uploads(ctx context.Context, n, rounds int) (t uploadTallies, err error) {
	turns := []func() error{func() error { return b.upload(ctx, &t.ours, b.consign, n, b.options.size) }}
	references := []struct {
		mode string
		into *tally
	}{{"hash", &t.hashed}, {"write", &t.written}, {"beside", &t.beside}}
	if n > 1 {
		references = references[:1]
	}
	for _, r := range references {
		p, err := b.startReference(ctx, r.mode, "-dir", b.dir)
		if err != nil {
			return t, err
		}
		defer func() { _ = p.stop() }()
		turns = append(turns, func() error { return b.uploadTo(ctx, r.into, p, n, b.options.size) })
	}
	for round := range rounds {
		for i := range turns {
			if err := turns[(round+i)%len(turns)](); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

// downloadRow compares downloads of a delivered file with http.ServeContent, on one connection and on four.
func downloadRow(ctx context.Context, b *bench) ([]result, error) {
	path, err := b.deliver(ctx, b.consign)
	if err != nil {
		return nil, err
	}
	reference, err := b.startReference(ctx, "files", "-dir", b.dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reference.stop() }()
	if err := writeFile(filepath.Join(b.dir, "bare"), b.options.size); err != nil {
		return nil, err
	}
	var results []result
	for _, at := range []struct {
		conns int
		speed float64
	}{{1, 0.90}, {4, 0.85}} {
		var ours, bare tally
		turns := []func() error{
			func() error {
				return ours.sample(b, b.consign.pid, func() (float64, []time.Duration, time.Duration, error) {
					return parallel(at.conns, func(int) (int64, error) { return fetch(ctx, b.consign.addr, path, b.accessToken) })
				})
			},
			func() error {
				return bare.sample(b, reference.pid, func() (float64, []time.Duration, time.Duration, error) {
					return parallel(at.conns, func(int) (int64, error) { return fetch(ctx, reference.addr, "/bare", "") })
				})
			},
		}
		for round := range b.options.rounds + 1 {
			if round == 1 {
				ours, bare = tally{}, tally{} // the first round only fills the page cache
			}
			for i := range turns {
				if err := turns[(round+i)%len(turns)](); err != nil {
					return nil, err
				}
			}
		}
		o, r := ours.figures(gib), bare.figures(gib)
		name := fmt.Sprintf("download %s, plain HTTP, %d at once", sizeName(b.options.size), at.conns)
		results = append(results, fileResult(name, o, r, atLeast("MB/s", speedRatio(o, r), at.speed)))
	}
	return results, nil
}

// deliver uploads a file to a Consign, confirms it, and returns the path of its download.
func (b *bench) deliver(ctx context.Context, p *process) (string, error) {
	d, err := b.reserve(ctx, p)
	if err != nil {
		return "", err
	}
	content, err := b.attach(ctx, p, d, "file", b.options.size)
	if err != nil {
		return "", err
	}
	if err := send(ctx, p.addr, asPUT, content+asPUT.path, d.token, b.options.size); err != nil {
		return "", err
	}
	return b.confirm(ctx, p, d)
}

// confirm confirms a reservation with one file, and returns the path of its download.
func (b *bench) confirm(ctx context.Context, p *process, d reservation) (string, error) {
	var transfer struct {
		UID     string
		Objects []struct{ UID string }
	}
	if _, err := b.call(ctx, p, "POST", d.path+"/confirm", d.token, nil, &transfer); err != nil {
		return "", err
	}
	path := transferAPI + "/transfers/" + transfer.UID
	if _, err := b.call(ctx, p, "GET", path, b.accessToken, nil, &transfer); err != nil {
		return "", err
	}
	if len(transfer.Objects) != 1 {
		return "", fmt.Errorf("the transfer has %d objects", len(transfer.Objects))
	}
	return path + "/objects/" + transfer.Objects[0].UID + "/content", nil
}

func writeFile(path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for rest := size; rest > 0 && err == nil; {
		var n int
		n, err = f.Write(noise[:min(rest, int64(len(noise)))])
		rest -= int64(n)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

func sizeName(size int64) string {
	if size%gib == 0 {
		return fmt.Sprintf("%d GiB", size/gib)
	}
	return fmt.Sprintf("%d MiB", size>>20)
}
