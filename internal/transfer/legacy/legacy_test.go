package legacy_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer"
)

// original sends what the original's client sends.
type original struct {
	*testkit.Person
}

const skp, identity = "/api/skp/v1", "/api/id/v3"

func legacy(t *testing.T) *testkit.Server {
	t.Helper()
	return testkit.New(t, testkit.Env("CONSIGN_LEGACY_API", "on"))
}

// signIn signs in as the original's client does: it looks for the server and the account, logs in, and gets an access token for each API.
func signIn(s *testkit.Server, email string) original {
	s.T.Helper()
	c := s.Stranger()
	c.Get(skp + "/environment").Want(http.StatusOK)
	c.Get(identity + "/environment").Want(http.StatusOK)
	c.Post(identity+"/auth/exists", map[string]any{"address": email}).Want(http.StatusOK)
	token := c.Post(identity+"/auth/login", map[string]any{"email": email, "key": testkit.Password, "type": "bcrypt"}).Want(
		http.StatusOK).String("token")
	addresses := c.As(c.As(token).Post(identity+"/auth/access", nil).Want(http.StatusOK).String("token")).Get(identity +
		"/profile/emails").Want(http.StatusOK)
	if got := addresses.String("emails.0.address"); got != email {
		s.T.Errorf("the first address is %q", got)
	}
	return original{c.As(c.As(token).Post(skp+"/auth/access", nil).Want(http.StatusOK).String("token"))}
}

// upload sends a chunk as a form.
func (c original) upload(objectID, reservation string, chunk []byte, first, total int) *testkit.Response {
	c.Server.T.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("objectId", objectID)
	_ = form.WriteField("authToken", reservation)
	f, err := form.CreateFormFile("f", "chunk")
	if err != nil {
		c.Server.T.Fatal(err)
	}
	_, _ = f.Write(chunk)
	_ = form.Close()
	p := c.With("Content-Type", form.FormDataContentType()).With("Content-Range",
		fmt.Sprintf("bytes %d-%d/%d", first, first+len(chunk)-1, total))
	return p.Post(skp+"/upload", body.Bytes())
}

func (c original) held(objectID, reservation string) int {
	c.Server.T.Helper()
	n, err := strconv.Atoi(c.With("X-Skp-Auth", reservation).Head(skp + "/upload/" + objectID).Want(http.StatusOK).Header.Get(
		"Content-Length"))
	if err != nil {
		c.Server.T.Fatal(err)
	}
	return n
}

func randomBytes(n int) []byte {
	data := make([]byte, n)
	rand.Read(data)
	return data
}

// TestOriginalClient: Ann sends two files in chunks with an interruption; Ben lists, looks and downloads.
func TestOriginalClient(t *testing.T) {
	t.Parallel()
	s := legacy(t)
	s.SignUp("ann@example.com")
	s.SignUp("ben@example.com")
	ann, ben := signIn(s, "ann@example.com"), signIn(s, "ben@example.com")
	files := [][]byte{randomBytes(300_000), randomBytes(10)}

	made := ann.Post(skp+"/reservations", map[string]any{
		"receivers": []any{map[string]any{"email": "ben@example.com", "type": "to"}}, "subject": "Plans", "description": "As agreed.", "ttl": 3,
		"files": []any{map[string]any{"name": "plan.pdf", "size": len(files[0]), "id": "0"},
			map[string]any{"name": "note.txt", "size": len(files[1]), "id": "1"}},
	}).Want(http.StatusOK)
	reservation := made.String("token")
	if made.Number("totalSize") != 300_010 || made.String("files.1.id") != "1" {
		t.Errorf("%s", made.Body)
	}
	object := made.String("files.0.objectId")
	if n := ann.held(object, reservation); n != 0 {
		t.Errorf("%d bytes are held before the upload", n)
	}
	if sent := ann.upload(object, reservation, files[0][:100_000], 0, len(files[0])).Want(http.StatusOK); sent.Number("size") != 100_000 ||
		sent.Number("totalSize") != 300_000 {
		t.Errorf("%s", sent.Body)
	}
	ann.upload(object, reservation, files[0][200_000:], 200_000, len(files[0])).Want(http.StatusRequestedRangeNotSatisfiable)
	if n := ann.held(object, reservation); n != 100_000 {
		t.Errorf("%d bytes are held, want 100000", n)
	}
	ann.Post(skp+"/reservations/"+reservation+"/confirm", nil).Want(http.StatusBadRequest)
	ann.upload(object, reservation, files[0][100_000:], 100_000, len(files[0])).Want(http.StatusOK)
	ann.upload(made.String("files.1.objectId"), reservation, files[1], 0, len(files[1])).Want(http.StatusOK)
	confirmed := ann.Post(skp+"/reservations/"+reservation+"/confirm", nil).Want(http.StatusOK)
	uid := confirmed.String("result.0.recipientId")
	if to := ann.Get("/transfer/get/" + uid).Want(http.StatusSeeOther).Header.Get("Location"); to != "/inbox" {
		t.Errorf("the page leads to %q", to)
	}

	list := ben.Get(skp + "/transfers?location=received").Want(http.StatusOK)
	if list.Number("total") != 1 || list.String("transfers.0.recipientId") != uid || list.String("transfers.0.subject") != "Plans" ||
		list.Value("transfers.0.isUnread") != true {
		t.Errorf("%s", list.Body)
	}
	for location, total := range map[string]float64{"sent": 0, "drive": 0, "sentandreceived": 1} {
		if got := ben.Get(skp + "/transfers?location=" + location).Want(http.StatusOK).Number("total"); got != total {
			t.Errorf("%s: %v transfers", location, got)
		}
	}
	one := ben.Get(skp + "/transfers/" + uid).Want(http.StatusOK)
	if one.String("sender.email") != "ann@example.com" || one.String("receiver.email") != "ben@example.com" ||
		one.String("description") != "As agreed." {
		t.Errorf("%s", one.Body)
	}
	sum := sha256.Sum256(files[0])
	if one.String("files.0.hashsum") != hex.EncodeToString(sum[:]) {
		t.Errorf("hashsum is %s", one.String("files.0.hashsum"))
	}
	path := one.String("files.0.url")
	if got := ben.Get(path).Want(http.StatusOK); !bytes.Equal(got.Body, files[0]) {
		t.Errorf("%d bytes were downloaded", len(got.Body))
	}
	ben.Post(skp+"/transfers/"+uid+"/copy", map[string]any{"idx": 1}).WantError(fault.ErrForbidden)
}

// TestOriginalClientIsRefused: what the original's client may not do, and what is malformed.
func TestOriginalClientIsRefused(t *testing.T) {
	t.Parallel()
	s := legacy(t)
	s.SignUp("ann@example.com")
	s.SignUp("eve@example.com")
	ann, eve := signIn(s, "ann@example.com"), signIn(s, "eve@example.com")
	file := map[string]any{"name": "a.txt", "size": 3, "id": "0"}
	made := ann.Post(skp+"/reservations", map[string]any{"receivers": []any{}, "files": []any{file}}).Want(http.StatusOK)
	reservation, object := made.String("token"), made.String("files.0.objectId")

	// The name of a reservation is not enough: it takes its creator's token.
	eve.upload(object, reservation, []byte("abc"), 0, 3).WantError(transfer.ErrNotFound)
	eve.With("X-Skp-Auth", reservation).Head(skp + "/upload/" + object).Want(http.StatusNotFound)
	eve.Post(skp+"/reservations/"+reservation+"/confirm", nil).WantError(transfer.ErrNotFound)
	nobody := original{s.Stranger()}
	nobody.upload(object, reservation, []byte("abc"), 0, 3).Want(http.StatusUnauthorized)
	nobody.Get(skp + "/transfers").Want(http.StatusUnauthorized)

	ann.upload(object, "no-uid", []byte("abc"), 0, 3).WantError(transfer.ErrNotFound)
	ann.upload("../x", reservation, []byte("abc"), 0, 3).WantError(transfer.ErrNotFound)
	ann.upload(strings.Repeat("x", 5000), reservation, []byte("abc"), 0, 3).WantError(fault.ErrInvalid)
	ann.Post(skp+"/upload", map[string]any{"objectId": object}).Want(http.StatusUnsupportedMediaType)
	ann.With("Content-Type", "multipart/form-data; boundary=b").Post(skp+"/upload",
		"--b\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\nabc\r\n--b--\r\n").WantError(fault.ErrInvalid)
	ann.With("Content-Range", "bytes 3").With("Content-Type", "multipart/form-data; boundary=b").Post(skp+"/upload",
		"--b--\r\n").WantError(fault.ErrInvalid)
	ann.Get(skp + "/transfers?location=moon").WantError(fault.ErrInvalid)
	ann.Get(skp + "/transfers/x").WantError(transfer.ErrNotFound)
	ann.Post(skp+"/reservations", map[string]any{"receivers": []any{}, "files": []any{}}).WantError(fault.ErrInvalid)

	// A refused file leaves no reservation behind.
	ann.Post(skp+"/reservations", map[string]any{"receivers": []any{},
		"files": []any{file, map[string]any{"name": "", "size": 3, "id": "1"}}}).WantError(fault.ErrInvalid)
	var n int
	if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM transfer.reservations WHERE state = 'open'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if n != 1 {
		t.Errorf("%d reservations are open, want 1", n)
	}
}

// TestAttackLockedTransfer: the older API lists nothing of a transfer that its password locks.
func TestAttackLockedTransfer(t *testing.T) {
	t.Parallel()
	s := legacy(t)
	ann, _ := s.SignUp("ann@example.com"), s.SignUp("ben@example.com")
	made := ann.Post(s.Transfer+"/reservations", map[string]any{
		"recipients": []any{map[string]any{"email": "ben@example.com", "destinationType": "to"}}, "protection": "password",
		"password": "vermilion",
	}).Want(http.StatusCreated)
	at := s.Transfer + "/reservations/" + made.String("uid")
	ann.Post(at+"/objects", map[string]any{"clientId": "a", "name": "secret.txt", "intendedSize": 1}).Want(http.StatusCreated)
	ann.Put(at+"/objects/a/content", []byte("x")).Want(http.StatusOK)
	uid := ann.Post(at+"/confirm", nil).Want(http.StatusOK).String("uid")
	got := signIn(s, "ben@example.com").Get(skp + "/transfers/" + uid).Want(http.StatusOK)
	if got.Value("isLocked") != true || got.Value("files.0") != nil || strings.Contains(string(got.Body), "secret") {
		t.Errorf("%s", got.Body)
	}
}

// TestOlderAPIIsDeprecated: each answer says so; without the setting there is nothing.
func TestOlderAPIIsDeprecated(t *testing.T) {
	t.Parallel()
	s := legacy(t)
	for _, path := range []string{skp + "/environment", identity + "/environment"} {
		answer := s.Stranger().Get(path).Want(http.StatusOK)
		if !strings.HasPrefix(answer.Header.Get("Deprecation"), "@") || !strings.Contains(answer.Header.Get("Warning"), "299") {
			t.Errorf("%s: %v", path, answer.Header)
		}
	}
	if values := s.Stranger().Get(skp + "/environment").Value("expiration.values"); fmt.Sprint(values) != "[1 3 7 14 30]" {
		t.Errorf("expiration values are %v", values)
	}
	off := testkit.New(t)
	off.Stranger().Get(skp + "/environment").Want(http.StatusNotFound)
	off.Stranger().Post(identity+"/auth/exists", map[string]any{"address": "ann@example.com"}).Want(http.StatusNotFound)
}
