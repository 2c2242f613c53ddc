package app_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
)

// TestMainJob is the main use case: Sam, who has no account, sends Ann a file in two parts, and Ann receives exactly
// that file.
func TestMainJob(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "dr-ann"}).Want(http.StatusCreated)

	sam := s.Stranger()
	made := sam.Post(s.Transfer+"/public/mailbox/Dr-Ann",
		map[string]any{"subject": "X-ray", "anonSender": "Sam", "anonEmail": "sam@example.com"}).Want(http.StatusCreated)
	sam = sam.As(strings.TrimPrefix(made.Header.Get("Authorization"), "Bearer "))
	reservation := s.Transfer + "/reservations/" + made.String("uid")
	data := bytes.Repeat([]byte("consign "), 50_000)
	sam.Post(reservation+"/objects", map[string]any{"clientId": "a", "name": "Röntgen.bin", "intendedSize": len(data)}).Want(
		http.StatusCreated)
	content := reservation + "/objects/a/content"
	sam.With("Content-Range", "bytes 0-99999/400000").Put(content, data[:100_000]).Want(http.StatusOK)
	if held := sam.Head(content).Want(http.StatusOK).Header.Get("Content-Length"); held != "100000" {
		t.Fatalf("HEAD says %s bytes are stored", held)
	}
	sam.With("Content-Range", "bytes 100000-399999/400000").Put(content, data[100_000:]).Want(http.StatusOK)
	transfer := sam.Post(reservation+"/confirm", nil).Want(http.StatusOK).String("uid")

	inbox := ann.Get(s.Transfer + "/transfers?location=received").Want(http.StatusOK)
	if got := inbox.String("transfers.0.uid"); got != transfer {
		t.Fatalf("the inbox begins with %s, want %s", got, transfer)
	}
	sum := sha256.Sum256(data)
	got := ann.Get(s.Transfer + "/transfers/" + transfer).Want(http.StatusOK)
	if got.String("objects.0.sha256") != hex.EncodeToString(sum[:]) {
		t.Errorf("the transfer says SHA-256 %s", got.String("objects.0.sha256"))
	}
	file := ann.Get(s.Transfer + "/transfers/" + transfer + "/objects/" + got.String("objects.0.uid") + "/content").Want(http.StatusOK)
	if !bytes.Equal(file.Body, data) {
		t.Error("the file differs")
	}
	s.Mail.Wait(t, "ann@example.com", "Sam", 1)
	s.Mail.Wait(t, "sam@example.com", "1 file, 400", 1)
}
