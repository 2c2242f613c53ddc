// Checks of the data directory, free space, speed of the disk, and the limit of open files.

package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/blob/floor"
	"github.com/consign-dev/consign/internal/doctor/probe"
)

const (
	slowSync     = 50 * time.Millisecond
	slowWrite    = 20 << 20 // bytes a second
	writtenBytes = 16 << 20
	syncs        = 9
)

// data: the data directory can be written.
func (r *run) data(context.Context) []Finding {
	if _, err := os.Stat(r.DataDir); errors.Is(err, os.ErrNotExist) {
		return found("data.missing", Warning, "The first start makes it, if its parent can be written.", "There is no data directory %s.",
			r.DataDir)
	}
	f, err := os.CreateTemp(r.DataDir, ".doctor-")
	if err != nil {
		return found("data.read-only", Error, "Give it to the user of the server, and mount it writable. Run this as that user.",
			"The data directory cannot be written: %s.", short(err))
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return found("data.read-only", Error, "Look at the system's log.", "The data directory cannot be written: %s.", short(err))
	}
	return append(r.room("data", r.DataDir), fine("data", "The data directory %s can be written.", r.DataDir)...)
}

// room judges the free space of a directory's volume.
func (r *run) room(id, dir string) []Finding {
	o := r.Floor
	o.Dir, o.Log = dir, slog.New(slog.DiscardHandler)
	s := floor.New(o).State()
	switch {
	case !s.Known:
		return nil
	case s.Low():
		return found(id+".full", Error, "Make room, or use a larger volume.",
			"The volume of %s has %s free, and CONSIGN_STORAGE_FLOOR keeps %s: uploads are refused.", dir, size(s.Free), size(s.Floor))
	case s.Free < 2*s.Floor:
		return found(id+".low", Warning, "Make room soon.", "The volume of %s has %s free; uploads are refused below %s.", dir, size(s.Free),
			size(s.Floor))
	}
	return nil
}

// size returns a size for people, in decimal units.
func size(n int64) string {
	switch {
	case n >= 1e12:
		return fmt.Sprintf("%.1f TB", float64(n)/1e12)
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// storage: files can be stored on the disk, durably and fast.
func (r *run) storage(ctx context.Context) []Finding {
	if r.StorageDir == "" {
		return nil // the check bucket
	}
	if _, err := os.Stat(r.StorageDir); errors.Is(err, os.ErrNotExist) {
		return found("storage.missing", Warning, "Mount its file system. The first start makes the directory.",
			"There is no directory of files %s.", r.StorageDir)
	}
	all := r.room("storage", r.StorageDir)
	if Worst(all) == Error {
		return all
	}
	if probe.WithoutJournal(r.StorageDir) {
		all = append(all, found("storage.no-journal", Warning, "Add one (tune2fs -O has_journal, unmounted), or use another file system.",
			"The file system of %s is an ext4 without a journal: a power cut can take files from it that were stored.", r.StorageDir)...)
	}
	speed, wait, err := r.write(ctx)
	if err != nil {
		return append(all, found("storage.read-only", Error, "Give it to the user of the server, and mount it writable.",
			"Files cannot be stored: %s.", short(err))...)
	}
	if lost := r.lost(); lost != nil {
		return append(all, lost...)
	}
	if wait > slowSync || speed < slowWrite {
		return append(all, found("storage.slow", Warning, "Use a faster disk: each upload waits for it.",
			"The disk of files is slow: %s a second, and %s for a small write to be durable.", size(speed), inWords(wait))...)
	}
	return append(all, fine("storage", "Files are stored in %s with %s a second; a small write is durable after %s.", r.StorageDir,
		size(speed), inWords(wait))...)
}

// lost looks for the directories in which files are.
func (r *run) lost() []Finding {
	for _, name := range disk.Directories() {
		dir := filepath.Join(r.StorageDir, name)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return found("storage.lost", Error, "Mount its file system, or bring back a backup. The first start makes the directory.",
				"There is no directory %s, so files are neither stored nor read.", dir)
		}
	}
	return nil
}

// write measures the disk of files: bytes a second, and the median time until a small write is durable.
func (r *run) write(ctx context.Context) (speed int64, wait time.Duration, err error) {
	f, err := os.CreateTemp(r.StorageDir, ".doctor-")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	began := time.Now()
	piece := make([]byte, 1<<20)
	for range writtenBytes / len(piece) {
		if _, err := f.Write(piece); err != nil {
			return 0, 0, err
		}
		if ctx.Err() != nil {
			break
		}
	}
	if err := f.Sync(); err != nil {
		return 0, 0, err
	}
	speed = int64(writtenBytes / time.Since(began).Seconds())
	var waits []time.Duration
	for len(waits) < syncs && ctx.Err() == nil {
		began := time.Now()
		if _, err := f.WriteAt(piece[:4096], 0); err != nil {
			return 0, 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, 0, err
		}
		waits = append(waits, time.Since(began))
	}
	slices.Sort(waits)
	if len(waits) > 0 {
		wait = waits[len(waits)/2]
	}
	return speed, wait, nil
}

// files: the process may open as many files as its uploads need. The limit is the server's if it answers, else this process's.
func (r *run) files(context.Context) []Finding {
	whose, limit := "this process", r.OpenFiles()
	if a := r.asked(); a.known && a.answer.OpenFiles > 0 {
		whose, limit = "the server", a.answer.OpenFiles
	}
	least, enough := uint64(r.Uploads), uint64(2*r.Uploads+256) // a connection and a file each, and some for the rest
	advice := "Raise it (LimitNOFILE of the systemd unit, ulimits of the container), or lower CONSIGN_UPLOADS."
	switch {
	case limit == 0:
		return found("files.unknown", Hint, "", "How many files a process may open is not known on this system.")
	case limit < least:
		return found("files.few", Error, advice, "%s may open %d files; %d parallel uploads (CONSIGN_UPLOADS) need %d.", capital(whose), limit,
			r.Uploads, enough)
	case limit < enough:
		return found("files.few", Warning, advice, "%s may open %d files; %d parallel uploads (CONSIGN_UPLOADS) need %d.", capital(whose), limit,
			r.Uploads, enough)
	}
	return fine("files", "%s may open %d files.", capital(whose), limit)
}

// memory: the server is not near the limit of its container or unit.
func (r *run) memory(context.Context) []Finding {
	asked := r.asked()
	used, limit := asked.answer.MemoryUsed, asked.answer.MemoryLimit
	if !asked.known || limit == 0 {
		return nil
	}
	if float64(used) > probe.MemoryHigh*float64(limit) {
		return found("memory.low", Warning,
			"Give the container or unit more memory, or lower CONSIGN_UPLOADS. The kernel ends a server at its limit.",
			"The server uses %s of the %s of memory that it may have.", size(used), size(limit))
	}
	return fine("memory", "The server uses %s of the %s of memory that it may have.", size(used), size(limit))
}

func capital(s string) string { return string(s[0]-'a'+'A') + s[1:] }

// spool returns the directory in which parts of files wait for the bucket.
func (r *run) spool() string {
	if r.Bucket.SpoolDir != "" {
		return r.Bucket.SpoolDir
	}
	return filepath.Join(r.DataDir, "spool")
}
