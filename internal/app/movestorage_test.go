// Tests of moving stored files to another place beside servers.

package app_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/doctor"
	"github.com/consign-dev/consign/internal/hold"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// segmentsIn returns how many segments lie in a place on the disk.
func segmentsIn(t *testing.T, dir string) (n int) {
	t.Helper()
	store, err := disk.New(dir, disk.OS())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.List(t.Context(), func(i blob.Info) error {
		if _, err := id.Parse[id.Segment](strings.TrimSuffix(string(i.Key), "-sealed")); err == nil {
			n++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// places sets the storage to one place and the second to another; "": none.
func places(one, two string) []testkit.Option {
	all := []testkit.Option{testkit.Env("CONSIGN_STORAGE_URL", "file://"+one)}
	if two != "" {
		all = append(all, testkit.Env("CONSIGN_STORAGE_SECOND_URL", "file://"+two))
	}
	return all
}

// TestDoctorOfTheSecondStorage: while the second place is away, doctor says so, as readyz does.
func TestDoctorOfTheSecondStorage(t *testing.T) {
	t.Parallel()
	old, fresh := t.TempDir(), t.TempDir()
	s := testkit.New(t, places(old, fresh)...)
	if f := examineWith(t, s.Config, app.DoctorOptions{})["second-storage.ok"]; !strings.Contains(f.Sentence, "SECOND_URL") ||
		!strings.Contains(f.Sentence, fresh) {
		t.Errorf("found %+v", f)
	}
	for _, name := range disk.Directories() {
		if err := os.Rename(filepath.Join(fresh, name), filepath.Join(fresh, name+".gone")); err != nil {
			t.Fatal(err)
		}
	}
	found := examineWith(t, s.Config, app.DoctorOptions{})
	if f := found["second-storage.lost"]; f.Severity != doctor.Error || !strings.Contains(f.Sentence, fresh) {
		t.Errorf("the second place is away: %+v", found)
	}
	if found["storage.ok"].Severity != doctor.OK && found["storage.slow"].Severity != doctor.Warning {
		t.Errorf("the first place: %+v", found)
	}
	cfg := s.Config
	bucketRefusing("PUT")(t, &cfg, nil)
	cfg.StorageURL, cfg.StorageSecondURL = s.Config.StorageURL, cfg.StorageURL
	if f := examineWith(t, cfg, app.DoctorOptions{})["second-bucket.write-objects"]; f.Severity != doctor.Error {
		t.Errorf("a second bucket that cannot be written: %+v", f)
	}
}

// TestMoveStorage follows the steps of operations.md, with files in plain and encrypted. Sam's upload begins before the move, goes on at
// each server, and is delivered after it. Ann downloads all files at each step, at each server.
func TestMoveStorage(t *testing.T) {
	t.Parallel()
	first := testkit.New(t, encrypted())
	old, fresh := filepath.Join(first.DataDir, "objects"), filepath.Join(first.DataDir, "fresh")
	ann := mailboxOwner(first)
	files := map[string][]byte{}
	deliver := func(s *testkit.Server, n int) {
		data := canaries(n)
		_, object := send(t, s, data, n/3)
		files[object[strings.Index(object, "/transfer"):]] = data
	}
	check := func(when string, servers ...*testkit.Server) {
		t.Helper()
		for i, s := range servers {
			for path, data := range files {
				if got := ann.At(s).Get(s.URL + path).Want(http.StatusOK).Body; !bytes.Equal(got, data) {
					t.Errorf("%s, server %d: %d bytes that differ", when, i, len(got))
				}
			}
		}
	}
	deliver(first, 300_000)
	plain := testkit.New(t, testkit.Beside(first), testkit.Env("CONSIGN_STORAGE_ENCRYPTION", "off"))
	deliver(plain, 200_000)
	whole := canaries(90_000)
	sam, reservation := reserve(first.Stranger(), "dr-ann", len(whole))
	put := func(s *testkit.Server, from, to int) {
		t.Helper()
		sam = sam.At(s)
		sam.With("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(whole))).
			Put(reservation+"/objects/a/content", whole[from:to]).Want(http.StatusOK)
	}
	put(first, 0, 20_000)

	beside := func(options []testkit.Option, more ...testkit.Option) *testkit.Server {
		return testkit.New(t, append(append(options, testkit.Beside(first)), more...)...)
	}
	wrong := first.Config
	wrong.StorageURL, wrong.StorageSecondURL = "file://"+fresh, "file://"+old
	if _, err := app.New(t.Context(), wrong, app.Options{Now: first.Clock.Now}); err == nil || !strings.Contains(err.Error(), "SECOND_URL") {
		t.Errorf("new files may begin where no server looks: %v", err)
	}

	looks := beside(places(old, fresh), encrypted())
	check("the servers look in both", first, looks)
	exchanged := beside(places(fresh, old), encrypted())
	deliver(looks, 50_000)
	deliver(exchanged, 60_000)
	put(exchanged, 20_000, 50_000)
	put(looks, 50_000, 60_000)
	check("settings are exchanged", looks, exchanged)
	if n := segmentsIn(t, fresh); n != 1 {
		t.Errorf("%d segments began in the new place, want 1", n)
	}

	for _, to := range []string{"file://" + old, "s3://elsewhere"} {
		if _, err := exchanged.App.MoveStored(t.Context(), to, nil); err == nil || !strings.Contains(err.Error(), "is not "+to) {
			t.Errorf("moved to %s: %v", to, err)
		}
	}
	var last content.Progress
	move := func() content.MoveResult {
		t.Helper()
		// The leases are of the writers just now.
		if _, err := looks.App.DB.Pool.Exec(t.Context(), `UPDATE transfer.segments SET lease_until = NULL`); err != nil {
			t.Fatal(err)
		}
		result, err := exchanged.App.MoveStored(t.Context(), "file://"+fresh, func(p content.Progress) { last = p })
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	if got := move(); got.Segments != 3 || got.Bytes < 550_000 || got.Busy != 1 || got.Discarded+got.Unassigned != 0 {
		t.Errorf("moved %+v", got)
	}
	if last.Objects != 4 || last.TotalObjects < 4 || last.Bytes == 0 {
		t.Errorf("progress %+v", last)
	}
	check("moved beside an upload", looks, exchanged)
	put(looks, 60_000, len(whole))
	if got := move(); got.Segments != 1 || got.Busy+got.Discarded+got.Unassigned != 0 {
		t.Errorf("the upload that was complete then: %+v", got)
	}
	made := sam.At(looks).Post(reservation+"/confirm", nil).Want(http.StatusOK)
	files["/transfer/v2/transfers/"+made.String("uid")+"/objects/"+made.String("objects.0.uid")+"/content"] = whole
	check("all is moved", looks, exchanged)
	if n := segmentsIn(t, old); n != 0 {
		t.Errorf("%d segments are left", n)
	}

	alone := beside(places(fresh, ""), encrypted())
	check("without the old place", alone)
	report := func(f content.Finding) error { t.Errorf("fsck: %v", f); return nil }
	if result, err := alone.App.Content.Fsck(t.Context(), content.FsckOptions{}, report); err != nil || result.SweepOff {
		t.Errorf("fsck: %+v, %v", result, err)
	}

	// The old disk is not mounted while a server still has it.
	unmounted := exchanged.Config
	for _, s := range []*testkit.Server{looks, exchanged} {
		s.Stop()
	}
	if err := os.Rename(old, old+"-away"); err != nil {
		t.Fatal(err)
	}
	_, err := app.New(t.Context(), unmounted, app.Options{Now: first.Clock.Now})
	if err == nil || !strings.Contains(err.Error(), "is it mounted?") {
		t.Errorf("a second place that is away: %v", err)
	}
}

// TestMoveLeavesPurged: what is revoked while it is moved is erased in both places, and what is held stays.
func TestMoveLeavesPurged(t *testing.T) {
	t.Parallel()
	first := testkit.New(t)
	old, fresh := filepath.Join(first.DataDir, "objects"), filepath.Join(first.DataDir, "fresh")
	ann := mailboxOwner(first)
	send(t, first, canaries(10_000))
	held, _ := send(t, first, canaries(20_000))
	testkit.New(t, append(places(old, fresh), testkit.Beside(first))...)
	s := testkit.New(t, append(places(fresh, old), testkit.Beside(first))...)
	if _, err := s.App.DB.Pool.Exec(t.Context(), `UPDATE transfer.segments SET lease_until = NULL`); err != nil {
		t.Fatal(err)
	}
	if _, err := hold.Add(t.Context(), s.App.DB, testkit.Command, hold.Hold{Kind: hold.Transfer,
		Subject: uuid.MustParse(held[strings.LastIndex(held, "/")+1:]), Name: "Case 7", Reason: "court order"}, s.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.App.DB.Pool.Exec(t.Context(), `
		INSERT INTO transfer.discarded_objects (object, discarded_at, busy_until)
		SELECT object, now(), 'infinity' FROM transfer.segments WHERE size = 10000`); err != nil { // revoked, while its writer may still write
		t.Fatal(err)
	}
	ann.Delete(held).Want(http.StatusNoContent)
	result, err := s.App.MoveStored(t.Context(), "file://"+fresh, nil)
	if err != nil || result.Segments != 1 || result.Discarded != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	if _, err := s.App.DB.Pool.Exec(t.Context(), `UPDATE transfer.discarded_objects SET busy_until = NULL`); err != nil {
		t.Fatal(err)
	}
	if err := s.App.Content.PurgeBytes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if in, left := segmentsIn(t, fresh), segmentsIn(t, old); in != 1 || left != 0 {
		t.Errorf("%d segments in the new place and %d in the old, want the held one in the new", in, left)
	}
}
