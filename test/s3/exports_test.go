//go:build s3

package s3

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// TestExportToBucket: an export target in a bucket gets a file of several parts, a small and an empty one, and its manifest last.
func TestExportToBucket(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(storage(t))
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := url.Parse(u.Query().Get("endpoint"))
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := u.User.Password()
	folder := strings.Trim(u.Path, "/") + "/export"
	s := testkit.New(t, testkit.Env("CONSIGN_WEBHOOK_ALLOW", endpoint.Hostname()))
	ann := mailboxOf(s)
	hook := map[string]any{
		"url":  "s3+" + endpoint.String() + "/" + u.Hostname() + "/" + folder + "?region=" + u.Query().Get("region"),
		"user": u.User.Username(), "password": secret, "events": []string{"TRANSFER_RECEIVED"},
	}
	made := ann.Post(s.Identity+"/webhooks", hook).Want(http.StatusCreated)
	path := s.Identity + "/webhooks/" + made.String("uid")

	large := random(40 << 20)
	up := reserve(t, s, "ann-box", large)
	up.put(0, len(large)).Want(http.StatusOK)
	up.sam.Post(up.reservation+"/objects", map[string]any{"clientId": "empty", "name": "dir/empty.txt", "intendedSize": 0}).Want(
		http.StatusCreated)
	uid := up.sam.Post(up.reservation+"/confirm", nil).Want(http.StatusOK).String("uid")
	poll.Until(t, "the copy", func() bool { return strings.Contains(string(ann.Get(path+"/deliveries").Body), `"state":"delivered"`) })

	bucket, err := minio.New(endpoint.Host, &minio.Options{Creds: credentials.NewStaticV4(u.User.Username(), secret, ""),
		Region: u.Query().Get("region")})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for o := range bucket.ListObjectsIter(context.Background(), u.Hostname(), minio.ListObjectsOptions{Prefix: folder, Recursive: true}) {
		content, err := bucket.GetObject(t.Context(), u.Hostname(), o.Key, minio.GetObjectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if found[o.Key[strings.Index(o.Key, uid)+len(uid)+1:]], err = io.ReadAll(content); err != nil {
			t.Fatal(err)
		}
	}
	var m struct {
		Files []struct{ Path, SHA256 string }
	}
	if err := json.Unmarshal(found["manifest.json"], &m); err != nil || len(m.Files) != 2 || len(found) != 3 {
		t.Fatalf("%d objects, manifest %s, %v", len(found), found["manifest.json"], err)
	}
	if !bytes.Equal(found["a.bin"], large) || found["dir/empty.txt"] == nil || len(found["dir/empty.txt"]) != 0 {
		t.Errorf("a.bin has %d bytes", len(found["a.bin"]))
	}

	hook["password"] = "wrong-secret"
	ann.Put(path, hook).Want(http.StatusOK)
	ping := ann.Post(path+"/ping", nil).Want(http.StatusAccepted).String("uid")
	poll.Until(t, "the refusal", func() bool {
		log := ann.Get(path + "/deliveries?state=dead").Want(http.StatusOK)
		return strings.Contains(string(log.Body), ping) && log.String("deliveries.0.reason") == "STATUS" &&
			log.Value("deliveries.0.status") == 403.0
	})
}
