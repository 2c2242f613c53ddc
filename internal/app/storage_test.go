package app_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/testkit"
)

// TestStorageNotMounted: the disk with half of Sam's upload is not mounted when the server starts. The start fails
// with a message and writes nothing to the empty directory. With the disk mounted the server starts, and Sam
// continues.
func TestStorageNotMounted(t *testing.T) {
	t.Parallel()
	first := testkit.New(t)
	first.SignUp("ann@example.com").Put(first.Transfer+"/mailbox", map[string]any{"vanityLink": "dr-ann"}).Want(http.StatusCreated)
	sam, reservation := reserve(first.Stranger(), "dr-ann", 200_000)
	data := strings.Repeat("consign ", 25_000)
	sam.With("Content-Range", "bytes 0-99999/200000").Put(reservation+"/objects/a/content", []byte(data[:100_000])).Want(http.StatusOK)
	first.Stop()

	mount := filepath.Join(first.DataDir, "objects")
	disk := filepath.Join(first.DataDir, "disk")
	move(t, mount, disk)
	for _, there := range []bool{true, false} { // the empty mount point exists, then it is missing
		if there {
			mkdir(t, mount)
		}
		a, err := app.New(t.Context(), first.Config, app.Options{Now: first.Clock.Now})
		if err == nil {
			t.Fatal("the server starts without its files", a.Close())
		}
		for _, want := range []string{"CONSIGN_STORAGE_URL", mount, "mounted?", "make both directories"} {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the refusal does not say %q in a line: %v", want, err)
			}
		}
		if there {
			if err := os.Remove(mount); err != nil { // only if it is still empty
				t.Error(err)
			}
		}
		if _, err := os.Stat(mount); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the start made the directory: %v", err)
		}
	}

	move(t, disk, mount)
	again := testkit.New(t, testkit.Beside(first))
	finish(t, sam.At(again), reservation, []byte(data))
	again.Stop()

	// The files are lost for good, and the operator confirms that.
	move(t, mount, disk)
	mkdir(t, mount)
	mkdir(t, filepath.Join(mount, "uploads"))
	mkdir(t, filepath.Join(mount, "objects"))
	testkit.New(t, testkit.Beside(first)).Stranger().Get(first.Transfer + "/public/mailbox/dr-ann").Want(http.StatusOK)
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, name string) {
	t.Helper()
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
}
