package cli

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consign-dev/consign/client"
)

// TestSafeNames: whatever a server calls files, they are written inside the folder, are not hidden at its top, replace nothing, and have
// names that a terminal shows as they are.
func TestSafeNames(t *testing.T) {
	t.Parallel()
	hostile := []string{"../../etc/passwd", "/etc/passwd", `..\..\x`, `C:\x`, "a\x00b", "\x1b]0;t\a", ".bashrc", ".ssh/authorized_keys", "...",
		"", "\xff", "a/../../b", "./.x",
		"transfer.json", "TRANSFER.JSON", "CON", "con.txt", "x\u202egpj.exe", strings.Repeat("ü", 300), "same", "same", "Same", "dir/file", "dir",
		" . /x", "//.profile", `\.profile`, "./.profile", "C:.profile"}
	var objects []client.Object
	for _, name := range hostile {
		objects = append(objects, client.Object{UID: "01a208b1-233b-70e0-8c5d-770ad546c297", Name: name})
	}
	outside := t.TempDir()
	folder := filepath.Join(outside, "folder")
	root, err := openFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.Symlink(outside, filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	names := safeNames(objects, metadata)
	for i, name := range names {
		if !filepath.IsLocal(name) || strings.HasPrefix(name, ".") || printable(name) != name || strings.EqualFold(name, metadata) {
			t.Errorf("%q becomes %q", hostile[i], name)
		}
		if err := root.WriteFile("part", []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := place(root, "part", name); err != nil {
			t.Errorf("%q becomes %q: %v", hostile[i], name, err)
		}
		if err := root.WriteFile("part", []byte("y"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := place(root, "part", name); err == nil {
			t.Errorf("%q replaces a file", name)
		}
	}
	if err := place(root, "part", path.Join("link", "escaped")); err == nil {
		t.Error("a file was placed through a symbolic link")
	}
	if found, _ := os.ReadDir(outside); len(found) != 1 {
		t.Errorf("written outside: %v", found)
	}
}
