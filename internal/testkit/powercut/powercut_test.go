// Tests of the simulated disk itself.

package powercut_test

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit/powercut"
)

func check(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// write writes data at offset, and syncs the file if asked to.
func write(t testing.TB, d *powercut.Disk, name string, offset int64, data string, sync bool) {
	t.Helper()
	f, err := d.OpenWrite(name, true)
	check(t, err)
	_, err = f.WriteAt([]byte(data), offset)
	check(t, err)
	if sync {
		check(t, f.Sync())
	}
	check(t, f.Close())
}

// read returns the content, or "-" if there is no such file.
func read(t testing.TB, d *powercut.Disk, name string) string {
	t.Helper()
	r, err := d.OpenRead(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	check(t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	check(t, err)
	return string(b)
}

// wantF checks the content of /f.
func wantF(t testing.TB, d *powercut.Disk, want string) {
	t.Helper()
	if got := read(t, d, "/f"); got != want {
		t.Errorf("/f reads %q, want %q", got, want)
	}
}

var fates = map[string]powercut.Fate{
	"nothing": powercut.Nothing, "names": powercut.NamesOnly, "content": powercut.ContentOnly, "garbage": powercut.Garbage,
}

func TestCrash(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		run  func(t *testing.T, d *powercut.Disk)
		want map[string]string // fate → content of /f
	}{
		"nothing synced": {
			func(t *testing.T, d *powercut.Disk) { write(t, d, "/f", 0, "abc", false) },
			map[string]string{"nothing": "-", "names": "", "content": "-", "garbage": "\xdb\xdb\xdb"},
		},
		"file synced": {
			func(t *testing.T, d *powercut.Disk) { write(t, d, "/f", 0, "abc", true) },
			map[string]string{"nothing": "-", "names": "abc", "content": "-", "garbage": "abc"},
		},
		"name synced": {
			func(t *testing.T, d *powercut.Disk) {
				write(t, d, "/f", 0, "abc", false)
				check(t, d.SyncDir("/"))
			},
			map[string]string{"nothing": "", "names": "", "content": "abc", "garbage": "\xdb\xdb\xdb"},
		},
		"both synced, then extended": {
			func(t *testing.T, d *powercut.Disk) {
				write(t, d, "/f", 0, "abc", true)
				check(t, d.SyncDir("/"))
				write(t, d, "/f", 4, "e", false)
			},
			map[string]string{"nothing": "abc", "names": "abc", "content": "abc\x00e", "garbage": "abc\x00\xdb"},
		},
		"truncated": {
			func(t *testing.T, d *powercut.Disk) {
				write(t, d, "/f", 0, "abc", true)
				check(t, d.SyncDir("/"))
				f, err := d.OpenWrite("/f", false)
				check(t, err, f.Truncate(1))
			},
			map[string]string{"nothing": "abc", "names": "abc", "content": "a", "garbage": "a"},
		},
		"truncated and synced": {
			func(t *testing.T, d *powercut.Disk) {
				write(t, d, "/f", 0, "abc", true)
				check(t, d.SyncDir("/"))
				f, err := d.OpenWrite("/f", false)
				check(t, err, f.Truncate(1), f.Sync())
			},
			map[string]string{"nothing": "a", "names": "a", "content": "a", "garbage": "a"},
		},
		"removed": {
			func(t *testing.T, d *powercut.Disk) {
				write(t, d, "/f", 0, "abc", true)
				check(t, d.SyncDir("/"), d.Remove("/f"))
			},
			map[string]string{"nothing": "abc", "names": "-", "content": "abc", "garbage": "-"},
		},
		"in a directory without a durable name": {
			func(t *testing.T, d *powercut.Disk) {
				check(t, d.Mkdir("/d"))
				write(t, d, "/d/f", 0, "abc", true)
				check(t, d.SyncDir("/d"))
				_, err := d.Stat("/d/f")
				check(t, err)
			},
			map[string]string{"nothing": "-", "names": "-", "content": "-", "garbage": "-"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := powercut.New(powercut.Options{})
			test.run(t, d)
			before := read(t, d, "/f")
			for fate, want := range test.want {
				t.Log(fate)
				wantF(t, d.Crash(fates[fate], powercut.Options{}), want)
			}
			wantF(t, d, before)
			wantF(t, d.Restart(powercut.Options{}), before)
		})
	}
}

// TestRename checks that a rename can leave both names, but never none, whichever directory is synced first.
func TestRename(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		syncs    []string
		old, new string // after a crash in which nothing else survives
	}{
		{nil, "abc", "-"},
		{[]string{"/old"}, "abc", "-"},
		{[]string{"/new"}, "abc", "abc"},
		{[]string{"/old", "/new"}, "abc", "abc"},
		{[]string{"/new", "/old"}, "-", "abc"},
	} {
		d := powercut.New(powercut.Options{})
		check(t, d.Mkdir("/old"), d.Mkdir("/new"), d.SyncDir("/"))
		write(t, d, "/old/f", 0, "abc", true)
		check(t, d.SyncDir("/old"), d.Rename("/old/f", "/new/f"))
		for _, dir := range test.syncs {
			check(t, d.SyncDir(dir))
		}
		for what, crashed := range map[string]*powercut.Disk{
			"cut":             d.Crash(powercut.Nothing, powercut.Options{}),
			"killed, and cut": d.Restart(powercut.Options{}).Crash(powercut.Nothing, powercut.Options{}),
		} {
			if o, n := read(t, crashed, "/old/f"), read(t, crashed, "/new/f"); o != test.old || n != test.new {
				t.Errorf("%s after syncing %v: old %q, new %q, want %q and %q", what, test.syncs, o, n, test.old, test.new)
			}
		}
		for seed := range uint64(20) {
			crashed := d.Crash(powercut.Random(seed), powercut.Options{})
			if read(t, crashed, "/old/f") == "-" && read(t, crashed, "/new/f") == "-" {
				t.Errorf("seed %d lost the file", seed)
			}
		}
	}
}

func TestRandomRepeats(t *testing.T) {
	t.Parallel()
	d := powercut.New(powercut.Options{})
	for _, name := range strings.Split("abcdefghijklmnop", "") {
		check(t, d.Mkdir("/"+name))
		write(t, d, "/"+name+"/f", 0, name, false)
	}
	look := func(d *powercut.Disk) (found []string) {
		for _, name := range strings.Split("abcdefghijklmnop", "") {
			found = append(found, read(t, d, "/"+name+"/f"))
		}
		return found
	}
	first := look(d.Crash(powercut.Random(1), powercut.Options{}))
	if again := look(d.Crash(powercut.Random(1), powercut.Options{})); !slices.Equal(first, again) {
		t.Errorf("seed 1 gave %q, then %q", first, again)
	}
	if other := look(d.Crash(powercut.Random(2), powercut.Options{})); slices.Equal(first, other) {
		t.Errorf("seeds 1 and 2 both gave %q", first)
	}
}

func TestCutAfter(t *testing.T) {
	t.Parallel()
	d := powercut.New(powercut.Options{CutAfter: 2})
	f, err := d.OpenWrite("/f", true)
	check(t, err)
	_, err = f.WriteAt([]byte("abc"), 0)
	check(t, err)
	if d.Steps() != 2 {
		t.Errorf("Steps = %d, want 2", d.Steps())
	}
	_, writeErr := f.WriteAt([]byte("d"), 3)
	_, sizeErr := f.Size()
	_, openErr := d.OpenWrite("/f", true)
	_, readErr := d.OpenRead("/f")
	_, statErr := d.Stat("/f")
	scanErr := d.Scan("/", func(fs.FileInfo) error { return nil })
	for what, err := range map[string]error{
		"WriteAt": writeErr, "Sync": f.Sync(), "Truncate": f.Truncate(0), "Size": sizeErr, "OpenWrite": openErr, "OpenRead": readErr,
		"Stat": statErr, "Scan": scanErr, "Mkdir": d.Mkdir("/d"), "Rename": d.Rename("/f", "/g"), "Remove": d.Remove("/f"),
		"SyncDir": d.SyncDir("/"),
	} {
		if !errors.Is(err, powercut.ErrCut) {
			t.Errorf("%s after the cut: %v", what, err)
		}
	}
	wantF(t, d.Restart(powercut.Options{}), "abc")
}

func TestHooks(t *testing.T) {
	t.Parallel()
	mode := ""
	d := powercut.New(powercut.Options{
		SkipSync: func(s powercut.Sync) bool { return mode == "skip" && !s.Dir },
		FailSync: func(powercut.Sync) error {
			if mode == "fail" {
				return syscall.EIO
			}
			return nil
		},
	})
	write(t, d, "/f", 0, "a", true)
	check(t, d.SyncDir("/"))
	mode = "skip"
	write(t, d, "/f", 1, "b", true)
	wantF(t, d.Crash(powercut.Nothing, powercut.Options{}), "a")
	mode = ""
	write(t, d, "/f", 2, "c", true)
	wantF(t, d.Crash(powercut.Nothing, powercut.Options{}), "abc")
	mode = "fail"
	f, err := d.OpenWrite("/f", false)
	check(t, err)
	_, err = f.WriteAt([]byte("d"), 3)
	check(t, err)
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("Sync = %v, want EIO", err)
	}
	mode = ""
	check(t, f.Sync())
	wantF(t, d, "abcd")
	wantF(t, d.Crash(powercut.ContentOnly, powercut.Options{}), "abc")
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	d := powercut.New(powercut.Options{Capacity: 5, Now: func() time.Time { return now }})
	write(t, d, "/f", 0, "abc", false)
	f, err := d.OpenWrite("/g", true)
	check(t, err)
	if n, err := f.WriteAt([]byte("def"), 0); n != 2 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("WriteAt = %d, %v, want 2 and ENOSPC", n, err)
	}
	check(t, f.Truncate(1))
	if n, err := f.WriteAt([]byte("e"), 1); n != 1 || err != nil {
		t.Errorf("WriteAt = %d, %v", n, err)
	}
	check(t, d.Remove("/f"))
	d = d.Restart(powercut.Options{Capacity: 5})
	write(t, d, "/h", 0, "abc", false)
	info, err := d.Stat("/g")
	if check(t, err); !info.ModTime().Equal(now) || info.Size() != 2 || info.IsDir() {
		t.Errorf("Stat = %v", info)
	}
}

func TestWrongKinds(t *testing.T) {
	t.Parallel()
	d := powercut.New(powercut.Options{})
	check(t, d.Mkdir("/d"))
	write(t, d, "/f", 0, "x", false)
	_, openErr := d.OpenWrite("/d", true)
	for what, got := range map[string]struct{ err, want error }{
		"Mkdir twice":       {d.Mkdir("/d"), fs.ErrExist},
		"Mkdir below":       {d.Mkdir("/x/y"), fs.ErrNotExist},
		"Mkdir in file":     {d.Mkdir("/f/y"), syscall.ENOTDIR},
		"open directory":    {openErr, syscall.EISDIR},
		"remove directory":  {d.Remove("/d"), syscall.EISDIR},
		"remove nothing":    {d.Remove("/x"), fs.ErrNotExist},
		"rename nothing":    {d.Rename("/x", "/d/x"), fs.ErrNotExist},
		"rename to nowhere": {d.Rename("/f", "/x/f"), fs.ErrNotExist},
	} {
		if !errors.Is(got.err, got.want) {
			t.Errorf("%s: %v, want %v", what, got.err, got.want)
		}
	}
}
