//go:build s3

package s3

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
)

// TestDirectDownloads: with the setting, the bucket serves whole files to programs. Everything else, and everything without the
// setting, comes from the server.
func TestDirectDownloads(t *testing.T) {
	t.Parallel()
	bucket := testkit.Env("CONSIGN_STORAGE_URL", storage(t))
	direct, plain := testkit.Env("CONSIGN_S3_DIRECT_DOWNLOADS", "on"), testkit.Env("CONSIGN_STORAGE_ENCRYPTION", "off")
	s := testkit.New(t, bucket, direct, plain)
	ann := mailboxOf(s)
	u := reserve(t, s, "ann-box", random(300_000))
	u.put(0, len(u.data)).Want(http.StatusOK)
	path := s.Transfer + "/transfers/" + u.sam.Post(u.reservation+"/confirm", nil).Want(http.StatusOK).String("uid")
	o := ann.Get(path).Want(http.StatusOK).Value("objects").([]any)[0].(map[string]any)
	file := path + "/objects/" + o["uid"].(string) + "/content"
	downloads := func() float64 {
		return ann.Get(path).Want(http.StatusOK).Value("objects").([]any)[0].(map[string]any)["downloads"].(float64)
	}

	to := ann.Get(file).Want(http.StatusFound).Header.Get("Location")
	if downloads() != 1 {
		t.Errorf("%v downloads, want 1", downloads())
	}
	status, header, body := fetch(t, to)
	if status != http.StatusOK || !bytes.Equal(body, u.data) {
		t.Fatalf("the bucket answers %d with %d bytes", status, len(body))
	}
	if d := header.Get("Content-Disposition"); !strings.HasPrefix(d, `attachment; filename="a.bin"`) ||
		header.Get("Content-Type") != o["mimeType"] {
		t.Errorf("the bucket serves it as %q %q", d, header.Get("Content-Type"))
	}
	if status, _, _ := fetch(t, strings.Replace(to, "a.bin", "b.exe", 1)); status != http.StatusForbidden {
		t.Errorf("with another name the bucket answers %d", status)
	}
	if !strings.Contains(to, "X-Amz-Expires=60&") {
		t.Errorf("the link is not for 60 seconds: %s", to)
	}

	for name, p := range map[string]*testkit.Person{
		"range": ann.With("Range", "bytes=5-9"), "script": ann.With("Sec-Fetch-Mode", "cors"),
	} {
		if r := p.Get(file); r.Status != http.StatusOK && r.Status != http.StatusPartialContent {
			t.Errorf("%s: %d, want the bytes from the server", name, r.Status)
		}
	}
	ann.Head(file).Want(http.StatusOK)
	ann.Get(file + "?preview=true").Want(http.StatusOK)
	ann.Get(path + "/archive").Want(http.StatusOK)
	key := ann.Post(s.Transfer+"/auth/otk", map[string]any{"transferUid": path[strings.LastIndex(path, "/")+1:], "objectUid": o["uid"]}).Want(
		http.StatusOK).String("key")
	s.Stranger().Get(file + "?otk=" + key).Want(http.StatusOK)

	off := testkit.New(t, testkit.Beside(s), bucket, plain, testkit.Env("CONSIGN_DATA_DIR", t.TempDir()))
	ann.At(off).Get(file).Want(http.StatusOK)

	// An encrypted file comes from the server.
	if _, err := s.App.DB.Pool.Exec(t.Context(), `UPDATE transfer.segments SET lease_until = NULL`); err != nil { // of the upload
		t.Fatal(err)
	}
	encrypts := testkit.New(t, testkit.Beside(s), bucket, direct, testkit.Env("CONSIGN_DATA_DIR", t.TempDir()))
	if result, err := encrypts.App.EncryptStored(t.Context(), nil, nil); err != nil || result.Objects != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	for _, replica := range []*testkit.Server{encrypts, s} {
		if got := ann.At(replica).Get(file).Want(http.StatusOK).Body; !bytes.Equal(got, u.data) {
			t.Errorf("%d bytes that differ", len(got))
		}
	}
}

// fetch gets a URL of the bucket without any token.
func fetch(t *testing.T, url string) (int, http.Header, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, body
}
