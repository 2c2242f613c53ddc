package app_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// encrypted switches the encryption of stored files on.
func encrypted() testkit.Option { return testkit.Env("CONSIGN_STORAGE_ENCRYPTION", "on") }

// canaries returns n bytes with a sentence in every kilobyte that nothing else contains.
func canaries(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "canary %032x", sha256.Sum256(fmt.Append(nil, i)))
		b.Write(bytes.Repeat([]byte("."), 1024-len("canary ")-64))
	}
	return b.Bytes()[:n]
}

// filesWith returns the files of the server that contain one of the canaries.
func filesWith(t *testing.T, s *testkit.Server) (found []string) {
	t.Helper()
	err := filepath.WalkDir(s.DataDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte("canary ")) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// send delivers a file to the mailbox dr-ann in parts and returns the paths of its transfer and of the object.
func send(t *testing.T, s *testkit.Server, data []byte, ends ...int) (transfer, object string) {
	t.Helper()
	sam, reservation := reserve(s.Stranger(), "dr-ann", len(data))
	at := 0
	for _, end := range append(ends, len(data)) {
		part := fmt.Sprintf("bytes %d-%d/%d", at, end-1, len(data))
		sam.With("Content-Range", part).Put(reservation+"/objects/a/content", data[at:end]).Want(http.StatusOK)
		at = end
	}
	made := sam.Post(reservation+"/confirm", nil).Want(http.StatusOK)
	transfer = s.Transfer + "/transfers/" + made.String("uid")
	return transfer, transfer + "/objects/" + made.String("objects.0.uid") + "/content"
}

// TestEncryptedStorage: files lie encrypted on the disk. Ann downloads a file, a range of it and the zip, at two replicas of which one no
// longer encrypts. When the transfer is revoked, the key is gone too.
func TestEncryptedStorage(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, encrypted())
	ann := mailboxOwner(s)
	data := canaries(300_000)
	transfer, object := send(t, s, data, 100_000, 100_001, 250_000)
	if found := filesWith(t, s); len(found) > 0 {
		t.Errorf("plain bytes lie in %q", found)
	}
	if strings.Contains(s.Log(), "canary ") {
		t.Error("the log has bytes of the file")
	}
	for _, replica := range []*testkit.Server{s, testkit.New(t, testkit.Beside(s), testkit.Env("CONSIGN_STORAGE_ENCRYPTION", "off"))} {
		reader := ann.At(replica)
		if got := reader.Get(object).Want(http.StatusOK).Body; !bytes.Equal(got, data) {
			t.Errorf("%d bytes that differ", len(got))
		}
		if got := reader.With("Range", "bytes=99990-250009").Get(object).Want(http.StatusPartialContent).Body; !bytes.Equal(got,
			data[99_990:250_010]) {
			t.Errorf("a range of %d bytes that differs", len(got))
		}
		if zip := reader.Get(transfer + "/archive").Want(http.StatusOK).Body; !bytes.Contains(zip, data) {
			t.Error("the zip lacks the file")
		}
	}
	report := func(f content.Finding) error { t.Errorf("fsck: %v", f); return nil }
	if result, err := s.App.Content.Fsck(t.Context(), content.FsckOptions{}, report); err != nil || result.Objects != 1 {
		t.Errorf("fsck: %+v, %v", result, err)
	}
	ann.Delete(transfer).Want(http.StatusNoContent)
	if err := s.App.Content.PurgeBytes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "SELECT count(*) FROM transfer.sealed_segments"); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

func count(t *testing.T, s *testkit.Server, sql string, args ...any) (n int) {
	t.Helper()
	if err := s.App.DB.Pool.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestChangedStorage: somebody changes one byte of a stored file. The download is cut before that byte's segment, and fsck names the file.
func TestChangedStorage(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, encrypted())
	ann := mailboxOwner(s)
	data := canaries(1 << 20)
	_, object := send(t, s, data)
	files, err := filepath.Glob(filepath.Join(s.DataDir, "objects", "objects", "*", "*", "*-sealed"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	stored, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	stored[500_000] ^= 1
	if err := os.WriteFile(files[0], stored, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := ann.Try(context.Background(), http.MethodGet, object, nil); err == nil {
		t.Errorf("the download ended well with %d bytes", len(r.Body))
	}
	endLeases(t, s)
	var findings []content.Finding
	collect := func(f content.Finding) error { findings = append(findings, f); return nil }
	if _, err := s.App.Content.Fsck(t.Context(), content.FsckOptions{}, collect); err != nil {
		t.Fatal(err)
	}
	if len(findings) != 1 || findings[0].Kind != content.FindingDamaged || !strings.Contains(findings[0].Detail, "do not decrypt") {
		t.Errorf("fsck: %+v", findings)
	}
}

// TestEncryptStored: an operator switches encryption on and encrypts what is stored. A damaged file stays as it is. A file whose transfer
// was forwarded, one that is being uploaded and one that is deleted meanwhile are no trouble.
func TestEncryptStored(t *testing.T) {
	t.Parallel()
	off := testkit.Env("CONSIGN_STORAGE_ENCRYPTION", "off")
	plain := testkit.New(t, off)
	ann := mailboxOwner(plain)
	data := canaries(200_000)
	var objects []string
	for range 3 {
		_, object := send(t, plain, data, 70_000)
		objects = append(objects, object)
	}
	sam, open := reserve(plain.Stranger(), "dr-ann", len(data))
	sam.With("Content-Range", fmt.Sprintf("bytes 0-99999/%d", len(data))).Put(open+"/objects/a/content", data[:100_000]).Want(http.StatusOK)

	files := filesWith(t, plain)
	if len(files) != 4 {
		t.Fatalf("plain bytes lie in %q", files)
	}
	if _, err := plain.App.EncryptStored(t.Context(), nil, nil); err == nil {
		t.Error("files were encrypted although encryption is off")
	}
	s := testkit.New(t, testkit.Beside(plain), encrypted())
	damage(t, plain, objects[2])
	setLeases(t, plain, `clock_timestamp() + interval '1 hour'`) // as when the uploads have just ended, on a slow machine too
	if got, err := s.App.EncryptStored(t.Context(), nil, nil); err != nil || got != (content.EncryptResult{Busy: 3}) {
		t.Errorf("right after the uploads: %+v, %v", got, err)
	}
	endLeases(t, plain)
	var damaged []id.Object
	note := func(o id.Object) error { damaged = append(damaged, o); return nil }
	for i, want := range []content.EncryptResult{{Objects: 2, Bytes: 400_000, Damaged: 1}, {Damaged: 1}} {
		if got, err := s.App.EncryptStored(t.Context(), note, nil); err != nil || got != want {
			t.Errorf("run %d: %+v, %v", i, got, err)
		}
	}
	if len(damaged) != 2 {
		t.Errorf("damaged: %v", damaged)
	}
	if left := filesWith(t, plain); len(left) != 2 {
		t.Errorf("plain bytes lie in %q", left)
	}
	for _, replica := range []*testkit.Server{plain, s} {
		for _, object := range objects[:2] {
			if got := ann.At(replica).Get(object).Want(http.StatusOK).Body; !bytes.Equal(got, data) {
				t.Errorf("%d bytes that differ", len(got))
			}
		}
	}
	// The upload that began in plain goes on, at the replica that encrypts.
	later := sam.At(s)
	later.With("Content-Range", fmt.Sprintf("bytes 100000-199999/%d", len(data))).Put(open+"/objects/a/content",
		data[100_000:]).Want(http.StatusOK)
	later.Post(open+"/confirm", nil).Want(http.StatusOK)
	endLeases(t, plain)
	var far content.Progress
	if got, err := s.App.EncryptStored(t.Context(), note, func(p content.Progress) { far = p }); err != nil || got.Objects != 1 ||
		far.Objects == 0 || far.Objects != far.TotalObjects || far.Bytes != far.TotalBytes {
		t.Errorf("the progress at the end is %+v", far)
		t.Errorf("%+v, %v", got, err)
	}
}

// endLeases ends the leases of uploads that have just ended. Until then fsck and the encryption leave their objects alone.
func endLeases(t *testing.T, s *testkit.Server) {
	t.Helper()
	setLeases(t, s, "NULL")
}

func setLeases(t *testing.T, s *testkit.Server, until string) {
	t.Helper()
	if _, err := s.App.DB.Pool.Exec(t.Context(), `UPDATE transfer.segments SET lease_until = `+until); err != nil {
		t.Fatal(err)
	}
}

// sendParts delivers a file to the mailbox dr-ann in parts of 1 MiB, each a segment of its own, and returns the path of its content.
func sendParts(t *testing.T, s *testkit.Server, data []byte) (object string) {
	t.Helper()
	const part = 1 << 20
	sam, reservation := reserve(s.Stranger(), "dr-ann", len(data))
	parts := reservation + "/objects/a/parts"
	sam.Post(parts, map[string]any{"partSize": part}).Want(http.StatusCreated)
	for n := 0; n*part < len(data); n++ {
		sam.Put(fmt.Sprintf("%s/%d", parts, n+1), data[n*part:min((n+1)*part, len(data))]).Want(http.StatusOK)
	}
	made := sam.Post(reservation+"/confirm", nil).Want(http.StatusOK)
	return s.Transfer + "/transfers/" + made.String("uid") + "/objects/" + made.String("objects.0.uid") + "/content"
}

// TestEncryptStoredSegments: an operator encrypts a file of three segments. When one of them is damaged, all three stay as they are.
func TestEncryptStoredSegments(t *testing.T) {
	t.Parallel()
	plain := testkit.New(t, testkit.Env("CONSIGN_STORAGE_ENCRYPTION", "off"))
	ann := mailboxOwner(plain)
	data := canaries(5 << 19)
	whole, broken := sendParts(t, plain, data), sendParts(t, plain, data)
	damage(t, plain, broken)
	endLeases(t, plain)
	s := testkit.New(t, testkit.Beside(plain), encrypted())
	var damaged id.Object
	note := func(o id.Object) error { damaged = o; return nil }
	want := content.EncryptResult{Objects: 1, Bytes: int64(len(data)), Damaged: 1}
	if got, err := s.App.EncryptStored(t.Context(), note, nil); err != nil || got != want || !strings.Contains(broken, damaged.String()) {
		t.Errorf("%+v, %v, want %+v; damaged is %s, not %s", got, err, want, damaged, broken)
	}
	if left := filesWith(t, plain); len(left) != 3 {
		t.Errorf("plain bytes lie in %q", left)
	}
	if n := count(t, plain, "SELECT count(*) FROM transfer.sealed_segments"); n != 3 {
		t.Errorf("%d keys", n)
	}
	if got := ann.Get(whole).Want(http.StatusOK).Body; !bytes.Equal(got, data) {
		t.Errorf("%d bytes that differ", len(got))
	}
}

// TestSegmentsStayInTheirPlaces: somebody who can write to the database exchanges the segments of encrypted files, within one and between
// two. The keys do not open there, so no byte is shown in another place.
func TestSegmentsStayInTheirPlaces(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, encrypted())
	ann := mailboxOwner(s)
	data := canaries(2 << 20)
	objects := []string{sendParts(t, s, data), sendParts(t, s, data)}
	exchange := func(one, other string) {
		t.Helper()
		_, err := s.App.DB.Pool.Exec(t.Context(), `
			WITH seg AS (SELECT s.uid, s.number, dense_rank() OVER (ORDER BY s.object) AS file FROM transfer.segments s)
			UPDATE transfer.segments t SET number = t.number + 100 FROM seg WHERE seg.uid = t.uid AND `+one+` OR seg.uid = t.uid AND `+other)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.App.DB.Pool.Exec(t.Context(), `
			WITH moved AS (SELECT uid, object, number - 100 AS number, row_number() OVER (ORDER BY object, number) AS n
				FROM transfer.segments WHERE number > 100)
			UPDATE transfer.segments t SET object = b.object, number = b.number FROM moved a JOIN moved b ON b.n <> a.n WHERE t.uid = a.uid`)
		if err != nil {
			t.Fatal(err)
		}
	}
	readable := func(object string) bool {
		r, err := ann.Try(context.Background(), http.MethodGet, object, nil)
		return err == nil && r.Status == http.StatusOK && len(r.Body) == len(data)
	}
	for what, places := range map[string][2]string{
		"two places of one file":        {"seg.file = 1 AND seg.number = 1", "seg.file = 1 AND seg.number = 2"},
		"the same place of two files":   {"seg.file = 1 AND seg.number = 2", "seg.file = 2 AND seg.number = 2"},
		"different places of two files": {"seg.file = 1 AND seg.number = 1", "seg.file = 2 AND seg.number = 2"},
	} {
		exchange(places[0], places[1])
		if readable(objects[0]) && readable(objects[1]) {
			t.Errorf("%s were exchanged, and both files can be read", what)
		}
		exchange(places[0], places[1])
		if !readable(objects[0]) || !readable(objects[1]) {
			t.Fatalf("%s were exchanged and put back, and a file cannot be read", what)
		}
	}
}

// TestEncryptStoredRace: two commands encrypt at the same time. Each file is encrypted once.
func TestEncryptStoredRace(t *testing.T) {
	t.Parallel()
	plain := testkit.New(t, testkit.Env("CONSIGN_STORAGE_ENCRYPTION", "off"))
	ann := mailboxOwner(plain)
	data := canaries(500_000)
	var objects []string
	for range 6 {
		_, object := send(t, plain, data)
		objects = append(objects, object)
	}
	endLeases(t, plain)
	results, errs := make([]content.EncryptResult, 2), make([]error, 2)
	var wait sync.WaitGroup
	for i := range results {
		s := testkit.New(t, testkit.Beside(plain), encrypted())
		wait.Go(func() { results[i], errs[i] = s.App.EncryptStored(context.WithoutCancel(t.Context()), nil, nil) })
	}
	wait.Wait()
	if sum := results[0].Objects + results[1].Objects; sum != len(objects) || results[0].Damaged+results[1].Damaged > 0 ||
		errors.Join(errs...) != nil {
		t.Errorf("%d objects were encrypted, %v", sum, errs)
	}
	for _, object := range objects {
		if got := ann.Get(object).Want(http.StatusOK).Body; !bytes.Equal(got, data) {
			t.Errorf("%d bytes that differ", len(got))
		}
	}
}

// stored returns the path of the bytes of an object, in plain or encrypted.
func stored(t *testing.T, s *testkit.Server, object string) string {
	t.Helper()
	uid := strings.TrimSuffix(strings.Split(object, "/objects/")[1], "/content")
	files, err := filepath.Glob(filepath.Join(s.DataDir, "objects", "objects", "*", "*", uid+"*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	return files[0]
}

// damage changes a byte of an object.
func damage(t *testing.T, s *testkit.Server, object string) {
	t.Helper()
	f, err := os.OpenFile(stored(t, s, object), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	_, err = f.ReadAt(b, 123_456)
	b[0] ^= 1
	if _, failed := f.WriteAt(b, 123_456); errors.Join(err, failed) != nil {
		t.Fatal(err, failed)
	}
}

// TestResealObjectKeys: after the secret key was changed, the keys of files are sealed with the new one, and the old one is not needed any
// more.
func TestResealObjectKeys(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, encrypted())
	ann := mailboxOwner(s)
	data := canaries(100_000)
	_, object := send(t, s, data)
	const old, next = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=", "bm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm5ubm4="
	both := testkit.New(t, testkit.Beside(s), encrypted(), testkit.Env("CONSIGN_SECRET_KEY", next),
		testkit.Env("CONSIGN_SECRET_KEY_PREVIOUS", old))
	if got := ann.At(both).Get(object).Want(http.StatusOK).Body; !bytes.Equal(got, data) {
		t.Errorf("%d bytes that differ", len(got))
	}
	for _, want := range []int{1, 0} {
		if n, err := both.App.Content.Reseal(t.Context()); err != nil || n != want {
			t.Errorf("%d keys resealed, %v", n, err)
		}
	}
	if _, err := both.App.Keys.Reseal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := both.App.Proofs.Reseal(t.Context()); err != nil {
		t.Fatal(err)
	}
	both.Clock.Advance(time.Second)
	after := testkit.New(t, testkit.Beside(s), encrypted(), testkit.Env("CONSIGN_SECRET_KEY", next))
	if got := ann.At(after).Get(object).Want(http.StatusOK).Body; !bytes.Equal(got, data) {
		t.Errorf("%d bytes that differ", len(got))
	}
}

// TestKMSCommand: an operator lets a program wrap the key of the keys of files. Older files stay readable, and their keys are sealed anew.
// Without the program no server starts.
func TestKMSCommand(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, encrypted())
	ann := mailboxOwner(s)
	data := canaries(100_000)
	_, before := send(t, s, data)
	script := filepath.Join(t.TempDir(), "kms.sh")
	if err := os.WriteFile(script, []byte(
		`case "$1" in wrap) base64 -d | { printf wrapped; cat; } | base64;; unwrap) base64 -d | tail -c +8 | base64;; esac`), 0o600); err != nil {
		t.Fatal(err)
	}
	program := testkit.Env("CONSIGN_KMS_COMMAND", "/bin/sh "+script)
	wraps := testkit.New(t, testkit.Beside(s), encrypted(), program)
	sam, reservation := reserve(wraps.Stranger(), "dr-ann", len(data))
	sam.Put(reservation+"/objects/a/content", data).Want(http.StatusOK)
	made := sam.Post(reservation+"/confirm", nil).Want(http.StatusOK)
	after := s.Transfer + "/transfers/" + made.String("uid") + "/objects/" + made.String("objects.0.uid") + "/content"
	if n, err := wraps.App.Content.Reseal(t.Context()); err != nil || n != 1 {
		t.Errorf("%d keys resealed, %v", n, err)
	}
	again := testkit.New(t, testkit.Beside(s), encrypted(), program)
	for _, object := range []string{before, after} {
		if got := ann.At(again).Get(object).Want(http.StatusOK).Body; !bytes.Equal(got, data) {
			t.Errorf("%d bytes that differ", len(got))
		}
	}
	if _, err := app.New(t.Context(), s.Config, app.Options{Log: slog.New(slog.DiscardHandler), NoPeriodic: true}); err == nil ||
		!strings.Contains(err.Error(), "CONSIGN_KMS_COMMAND is not set") {
		t.Errorf("without the program: %v", err)
	}
	without := s.Config
	without.KMSCommand = "/bin/false"
	if _, err := app.New(t.Context(), without, app.Options{Log: slog.New(slog.DiscardHandler), NoPeriodic: true}); err == nil ||
		!strings.Contains(err.Error(), "CONSIGN_KMS_COMMAND: /bin/false unwrap") {
		t.Errorf("with a program that fails: %v", err)
	}
}
