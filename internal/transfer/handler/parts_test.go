// Tests of uploads in parts over HTTP.

package handler_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
)

const mib = 1 << 20

// planned attaches the file a and plans it in parts of one MiB. It returns the path of its parts.
func (d draft) planned(data []byte) string {
	d.Server.T.Helper()
	d.attach("a", len(data))
	parts := d.path + "/objects/a/parts"
	made := d.Post(parts, map[string]any{"partSize": mib}).Want(http.StatusCreated)
	if made.Number("count") != float64((len(data)+mib-1)/mib) || made.Header.Get("Location") != d.Server.URL+parts {
		d.Server.T.Errorf("%s %s", made.Header.Get("Location"), made.Body)
	}
	return parts
}

// confirmJoined confirms the reservation as soon as the parts are joined.
func (d draft) confirmJoined() string {
	d.Server.T.Helper()
	uid := ""
	poll.Until(d.Server.T, "the parts are joined", func() bool {
		r := d.Post(d.path+"/confirm", nil)
		if r.Status != http.StatusOK {
			r.WantError(transfer.ErrJoining)
			if r.Header.Get("Retry-After") == "" {
				d.Server.T.Error("no Retry-After")
			}
			return false
		}
		uid = r.String("uid")
		return true
	})
	return uid
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// TestUploadInParts: Sam sends a file in parts, of which one resumes, and Ann downloads it.
func TestUploadInParts(t *testing.T) {
	t.Parallel()
	for _, encryption := range []string{"off", "on"} {
		t.Run(encryption, func(t *testing.T) {
			t.Parallel()
			s, ann := newMailbox(t, testkit.Env("CONSIGN_STORAGE_ENCRYPTION", encryption))
			d := reserve(s)
			data := random(3*mib + 12345)
			parts := d.planned(data)
			d.Post(parts, map[string]any{}).Want(http.StatusOK)
			last := d.With("Repr-Digest", digestOf(data[3*mib:])).Put(parts+"/4", data[3*mib:]).Want(http.StatusOK)
			if last.Number("held") != 12345 || last.Number("offset") != 3*mib {
				t.Errorf("%s", last.Body)
			}
			d.With("Content-Digest", digestOf(data)).Put(parts+"/2", data[mib:2*mib]).WantError(transfer.ErrDigest)
			first := d.With("Content-Range", rangeOf(0, 599_999, mib)).Put(parts+"/1", data[:600_000]).Want(http.StatusOK)
			held := int(first.Number("held"))
			if held != 600_000 {
				t.Errorf("%d held of a part", held)
			}
			wrong := d.With("Content-Range", rangeOf(600_001, mib-1, mib)).Put(parts+"/1", data[600_001:mib])
			wrong.WantError(transfer.ErrRange)
			if got := wrong.Header.Get("Content-Range"); got != fmt.Sprintf("bytes */%d", held) {
				t.Errorf("Content-Range: %s", got)
			}
			d.Put(d.path+"/objects/a/content", data).WantError(transfer.ErrOtherWay)
			d.Post(d.path+"/confirm", nil).WantError(transfer.ErrUnconfirmable)
			d.With("Content-Range", rangeOf(held, mib-1, mib)).Put(parts+"/1", data[held:mib]).Want(http.StatusOK)
			d.Put(parts+"/3", data[2*mib:3*mib]).Want(http.StatusOK)
			poll.Until(t, "the first part is joined before the last is sent", func() bool {
				state := d.Get(parts).Want(http.StatusOK)
				return len(state.Value("parts").([]any)) == 3 && state.Number("joined") == mib
			})
			d.Put(parts+"/2", data[mib:2*mib]).Want(http.StatusOK)
			d.Put(parts+"/2", data[mib:2*mib]).WantError(transfer.ErrRange)
			uid := d.confirmJoined()
			got := ann.Get(s.Transfer + "/transfers/" + uid).Want(http.StatusOK)
			if sum := sha256.Sum256(data); got.String("objects.0.sha256") != fmt.Sprintf("%x", sum) {
				t.Errorf("%s", got.Body)
			}
			file := ann.Get(s.Transfer + "/transfers/" + uid + "/objects/" + got.String("objects.0.uid") + "/content").Want(http.StatusOK)
			if !bytes.Equal(file.Body, data) {
				t.Error("Ann gets other bytes")
			}
			d.Put(parts+"/2", data[mib:2*mib]).WantError(transfer.ErrConfirmed)
			after := d.Get(parts).Want(http.StatusOK)
			if n := len(after.Value("parts").([]any)); n != 4 || after.String("sha256") != got.String("objects.0.sha256") {
				t.Errorf("%s", after.Body)
			}
		})
	}
}

func TestPartsRefused(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	d := reserve(s)
	d.attach("big", 2_000_000_000)
	big := d.path + "/objects/big/parts"
	for _, bad := range []any{0, -1, 1, mib + 1, 1 << 41, mib, 1.5, "x"} { // parts of one MiB would be more than 1,000
		d.Post(big, map[string]any{"partSize": bad}).WantError(fault.ErrInvalid)
	}
	if got := d.Post(big, map[string]any{}).Want(http.StatusCreated); got.Number("partSize") != 16*mib {
		t.Errorf("%s", got.Body)
	}
	d.attach("empty", 0)
	d.Post(d.path+"/objects/empty/parts", map[string]any{}).WantError(fault.ErrInvalid)
	d.Get(d.path + "/objects/empty/parts").WantError(transfer.ErrNotFound)
	d.Post(d.path+"/objects/none/parts", map[string]any{}).WantError(transfer.ErrNotFound)
	for _, never := range []string{"0", "-1", "121", "1001", "x", "99999999999999999999"} {
		s.SendUndocumented()
		d.Put(big+"/"+never, "x").WantError(transfer.ErrNotFound)
	}
	d.Put(big+"/1", "x").WantError(transfer.ErrBodyLength)
	d.With("Content-Range", "bytes x").Put(big+"/1", "x").WantError(transfer.ErrRange)
	d.With("Content-Range", rangeOf(0, 0, 16*mib)).With("Repr-Digest", digestOf([]byte("x"))).Put(big+"/1", "x").WantError(fault.ErrInvalid)
	d.With("Content-Encoding", "gzip").Put(big+"/1", "x").WantError(fault.ErrUnsupported)
	d.Delete(d.path + "/objects/big").Want(http.StatusNoContent)
	d.Get(big).WantError(transfer.ErrNotFound)
}

// TestPartsOfRefusedContent: a mailbox that does not accept the content gets the object deleted, as in one stream.
func TestPartsOfRefusedContent(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann", "mimeTypeFilter": []string{"image/*"}}).Want(http.StatusOK)
	d := reserve(s)
	d.Post(d.path+"/objects", map[string]any{"clientId": "a", "name": "a.png", "intendedSize": 2 * mib}).Want(http.StatusCreated)
	parts := d.path + "/objects/a/parts"
	d.Post(parts, map[string]any{"partSize": mib}).Want(http.StatusCreated)
	d.Put(parts+"/2", make([]byte, mib)).Want(http.StatusOK)
	d.Put(parts+"/1", append([]byte("%PDF-1.7\n"), make([]byte, mib-9)...)).WantError(transfer.ErrMIMEType)
	d.Get(parts).WantError(transfer.ErrNotFound)
	d.Post(d.path+"/objects", map[string]any{"clientId": "a", "name": "a.png", "intendedSize": 2 * mib}).Want(http.StatusCreated)
	d.Post(parts, map[string]any{"partSize": mib}).Want(http.StatusCreated)
	begin := append([]byte("%PDF-1.7\n"), make([]byte, 9991)...)
	// long before the part is complete
	d.With("Content-Range", rangeOf(0, len(begin)-1, mib)).Put(parts+"/1", begin).WantError(transfer.ErrMIMEType)
	d.Get(parts).WantError(transfer.ErrNotFound)
	d.Post(d.path+"/objects", map[string]any{"clientId": "a", "name": "a.png", "intendedSize": 9}).Want(http.StatusCreated)
	d.Post(parts, map[string]any{"partSize": mib}).Want(http.StatusCreated)
	d.With("Content-Range", rangeOf(0, 4, 9)).Put(parts+"/1", begin[:5]).Want(http.StatusOK) // too little to tell
	d.With("Content-Range", rangeOf(5, 8, 9)).Put(parts+"/1", begin[5:9]).WantError(transfer.ErrMIMEType)
	d.Get(parts).WantError(transfer.ErrNotFound)
}
