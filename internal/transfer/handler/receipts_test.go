package handler_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// trusted returns the policy of somebody who has pinned the keys of the server's log.
func trusted(t *testing.T, s *testkit.Server) proof.Policy {
	t.Helper()
	var policy proof.Policy
	for line := range strings.Lines(string(s.Stranger().Get("/log/keys").Want(http.StatusOK).Body)) {
		key, _, _ := strings.Cut(line, " ")
		v, err := note.NewVerifier(key)
		if err != nil {
			t.Fatal(err)
		}
		policy.Logs = append(policy.Logs, v)
	}
	return policy
}

// receipt fetches a receipt once it is signed, and verifies its proof.
func receipt(t *testing.T, p *testkit.Person, path string) transfer.Statement {
	t.Helper()
	file := receiptFile(t, p, path)
	statement, pr, err := proof.Split(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proof.Verify(pr, proof.Entry(statement), trusted(t, p.Server)); err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	parsed, err := transfer.ParseStatement(statement)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func receiptFile(t *testing.T, p *testkit.Person, path string) []byte {
	t.Helper()
	var file []byte
	poll.Until(t, "the receipt is signed", func() bool {
		r := p.Get(path)
		if r.Status == http.StatusAccepted {
			if r.Header.Get("Retry-After") != "1" {
				t.Fatal("202 without Retry-After")
			}
			return false
		}
		file = r.Want(http.StatusOK).Body
		return true
	})
	return file
}

// TestReceiptOfUpload: the uploader and the owner of the mailbox get the same receipt, which lists the files, and nobody else does.
func TestReceiptOfUpload(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	d.Patch(d.path, map[string]any{"subject": `a\b ünï`}).Want(http.StatusOK)
	d.Get(d.path + "/receipt").Want(http.StatusNotFound)
	d.send("one", []byte("hello"))
	d.send("two", nil)
	uid := d.confirm()

	r := receipt(t, d.Person, d.path+"/receipt")
	sum := sha256.Sum256([]byte("hello"))
	if len(r.Objects) != 2 || r.Objects[0] != (transfer.StatedObject{Name: "one.bin", Size: 5, SHA256: hex.EncodeToString(sum[:])}) {
		t.Errorf("objects %v", r.Objects)
	}
	for name, want := range map[string]string{
		"transfer": uid, "type": "mailbox", "sender-name": "Sam", "sender-email": "sam@example.com", "sender-checked": "no", "subject": `a\b ünï`,
		"recipient": "to ann@example.com Ann", "objects": "2 5", "host": "localhost",
	} {
		if got := r.Get(name); got != want {
			t.Errorf("%s is %q instead of %q", name, got, want)
		}
	}
	of := s.Transfer + "/transfers/" + uid + "/receipt"
	if own := receiptFile(t, ann, of); string(own) != string(receiptFile(t, d.Person, d.path+"/receipt")) {
		t.Error("owner and uploader have different receipts")
	}
	bob := s.SignUp("bob@example.com")
	bob.Get(of).WantError(transfer.ErrNotFound)
	bob.Get(d.path + "/receipt").WantError(transfer.ErrNotFound)
	ann.Get(of + "?of=nothing").Want(http.StatusBadRequest)
	ann.Get(of + "?of=erased").WantError(transfer.ErrNotFound)
}

// TestReceiptOutlivesTransfer: the receipt stays for sender and recipient after the transfer was revoked and its record deleted, and goes
// with the account of one of them.
func TestReceiptOutlivesTransfer(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	d := ann.Post(s.Transfer+"/reservations", map[string]any{
		"recipients": []map[string]any{{"email": "bob@example.com", "name": "Bob", "destinationType": "to"},
			{"email": "eve@example.com", "destinationType": "bcc"}},
	}).Want(http.StatusCreated)
	mine := draft{Person: ann, path: s.Transfer + "/reservations/" + d.String("uid")}
	mine.send("one", []byte("hello"))
	uid := mine.confirm()
	of := s.Transfer + "/transfers/" + uid + "/receipt"
	r := receipt(t, bob, of)
	if r.Get("bcc") != "1" || strings.Contains(fmt.Sprint(r), "eve@") {
		t.Errorf("the receipt shows a bcc recipient: %v", r.Lines)
	}
	before := receiptFile(t, ann, of)
	ann.Delete(s.Transfer + "/transfers/" + uid).Want(http.StatusNoContent)
	if _, err := s.App.DB.Pool.Exec(t.Context(), `DELETE FROM transfer.transfers WHERE uid = $1`, uid); err != nil {
		t.Fatal(err)
	}
	if after := receiptFile(t, bob, of); string(after) != string(before) {
		t.Error("the receipt has changed")
	}
	ann.Do("DELETE", s.Identity+"/profile", map[string]any{"authKey": testkit.Password}).Want(http.StatusNoContent)
	poll.Until(t, "the receipt is erased", func() bool { return bob.Get(of).Status == http.StatusNotFound })
	statement, p, err := proof.Split(before)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proof.Verify(p, proof.Entry(statement), trusted(t, s)); err != nil {
		t.Errorf("the copy no longer verifies: %v", err)
	}
}

// TestReceiptOfProtectedLink: a link shows the receipt only with the token that opens the transfer.
func TestReceiptOfProtectedLink(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	made := ann.Post(s.Transfer+"/reservations", map[string]any{"protection": "password", "password": "correct horse"}).Want(
		http.StatusCreated)
	mine := draft{Person: ann, path: s.Transfer + "/reservations/" + made.String("uid")}
	mine.send("one", []byte("hello"))
	link := ann.Post(mine.path+"/confirm", nil).Want(http.StatusOK).String("link")
	public := s.Transfer + "/public/transfers/" + link[strings.LastIndexByte(link, '/')+1:]
	stranger := s.Stranger()
	stranger.Get(public + "/receipt").WantError(transfer.ErrLocked)
	opened := stranger.Post(public+"/access", map[string]any{"password": "correct horse"}).Want(http.StatusOK)
	if r := receipt(t, stranger.As(opened.String("token")), public+"/receipt"); r.Get("type") != "drop" {
		t.Errorf("type %s", r.Get("type"))
	}
}

// TestReceiptOfManyObjects: a receipt of more objects than one part has lists each of them. The confirm takes a second, not a minute.
func TestReceiptOfManyObjects(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Constants(func(c *config.Constants) { c.StrangerMaxFiles = 20_000 }))
	ann := s.SignUp("ann@example.com")
	made := ann.Post(s.Transfer+"/reservations", map[string]any{}).Want(http.StatusCreated)
	mine := draft{Person: ann, path: s.Transfer + "/reservations/" + made.String("uid")}
	mine.send("first", []byte("hello"))
	if _, err := s.App.DB.Pool.Exec(t.Context(), `
		WITH o AS (
			INSERT INTO transfer.objects (uid, reservation, client_id, name, intended_size, held, sha256, created_at)
			SELECT gen_random_uuid(), $1, 'c' || i, 'file ' || i, 7, 7, sha256(convert_to('x' || i, 'UTF8')), now() FROM generate_series(1, 9999) i
		) UPDATE transfer.reservations SET object_count = 10000, max_files = 20000 WHERE uid = $1`, made.String("uid")); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	uid := mine.confirm()
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("the confirm took %v", took)
	} else {
		t.Logf("the confirm took %v", took)
	}
	r := receipt(t, ann, s.Transfer+"/transfers/"+uid+"/receipt")
	if len(r.Objects) != 10_000 || r.Objects[9999].Name != "file 9999" || r.Get("objects") != "10000 69998" {
		t.Errorf("%d objects, %s", len(r.Objects), r.Get("objects"))
	}
}

// TestStatements: what happens to a transfer is stated in the log: opened, downloaded, revoked, and erased once its bytes are deleted.
func TestStatements(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	made := ann.Post(s.Transfer+"/reservations", map[string]any{
		"recipients": []map[string]any{{"email": "bob@example.com", "destinationType": "to"}}}).Want(http.StatusCreated)
	mine := draft{Person: ann, path: s.Transfer + "/reservations/" + made.String("uid")}
	mine.send("one", []byte("hello"))
	uid := mine.confirm()
	at := s.Transfer + "/transfers/" + uid
	for _, of := range []string{"opened", "downloaded", "revoked", "erased"} {
		bob.Get(at + "/receipt?of=" + of).WantError(transfer.ErrNotFound)
	}
	object := bob.Get(at).Want(http.StatusOK).String("objects.0.uid")
	bob.Get(at + "/objects/" + object + "/content").Want(http.StatusOK)
	poll.Until(t, "the download is stated", func() bool { return bob.Get(at+"/receipt?of=downloaded").Status != http.StatusNotFound })
	ann.Delete(at).Want(http.StatusNoContent)
	if err := s.App.Content.PurgeBytes(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.App.Transfer.CertifyErasure(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	statement, _, err := proof.Split(receiptFile(t, ann, at+"/receipt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"opened", "downloaded", "revoked", "erased"} {
		r := receipt(t, bob, at+"/receipt?of="+of)
		if r.Receipt() || r.Get("event") != of || r.Get("transfer") != uid || r.Get("receipt") != hex.EncodeToString(proof.Entry(statement)) {
			t.Errorf("%s: %v", of, r.Lines)
		}
	}
	ann.Get(at + "/receipt?of=expired").WantError(transfer.ErrNotFound)
}

// TestExpiryIsStated: the end of a transfer by time is stated once, when nobody can extend it any more.
func TestExpiryIsStated(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	s.SignUp("bob@example.com")
	x := deliver(ann, object{"subject": "Plans", "recipients": []object{to("bob@example.com")}}, [2]string{"plan.pdf", "%PDF-1.4"})
	delivered := receiptFile(t, ann, x.path+"/receipt")
	s.Clock.Advance(8 * 24 * time.Hour)
	ann = ann.Login()
	run(t, s, service.ExpireTransfersJob)
	ann.Get(x.path + "/receipt?of=expired").WantError(transfer.ErrNotFound)
	s.Clock.Advance(8 * 24 * time.Hour)
	ann = ann.Login()
	for range 2 {
		run(t, s, service.ExpireTransfersJob)
	}
	statement, _, err := proof.Split(delivered)
	if err != nil {
		t.Fatal(err)
	}
	r := receipt(t, ann, x.path+"/receipt?of=expired")
	if r.Get("event") != "expired" || r.Get("transfer") != x.uid || r.Get("receipt") != hex.EncodeToString(proof.Entry(statement)) {
		t.Errorf("%v", r.Lines)
	}
	if n := count(t, s, `SELECT count(*) FROM transfer.receipts WHERE kind = 'expired'`); n != 1 {
		t.Errorf("stated %d times", n)
	}
	ann.Get(x.path + "/receipt?of=revoked").WantError(transfer.ErrNotFound)
	if after := receiptFile(t, ann, x.path+"/receipt"); string(after) != string(delivered) {
		t.Error("the receipt has changed")
	}
}

// TestReceiptInConfirmation: the confirmation to a checked address carries the signed receipt. While the log does not sign, the mail waits
// for 30 s and then goes without. A mail to an address that was not checked carries nothing.
func TestReceiptInConfirmation(t *testing.T) {
	t.Parallel()
	s, ann := careful(t)
	upload := func(address string) string {
		d := reserveAs(s.Stranger(), address)
		d.send("one", []byte("hello"))
		d.Post(d.path+"/code", nil).Want(http.StatusNoContent)
		d.Post(d.path+"/verify", object{"code": senderCode(s, address, 1)}).Want(http.StatusNoContent)
		return d.confirm()
	}
	uid := upload("sam@example.org")
	m := s.Mail.Wait(t, "sam@example.org", "one.bin", 1)
	of := receiptFile(t, ann, s.Transfer+"/transfers/"+uid+"/receipt")
	if string(m.Files[proof.FileName]) != string(of) || !strings.Contains(m.Text, "The signed receipt is attached.") ||
		!strings.Contains(m.Text, "/verify") {
		t.Errorf("attached %q\n%s", m.Files, m.Text)
	}
	if _, err := s.App.DB.Pool.Exec(t.Context(), `UPDATE log.keys SET private_key = NULL`); err != nil {
		t.Fatal(err)
	}
	upload("sue@example.org")
	poll.Until(t, "the log refuses", func() bool { return s.App.Proofs.Trouble() != nil })
	if got := s.Mail.To("sue@example.org"); len(got) != 1 { // the code
		t.Errorf("%d mails before the receipt is signed", len(got))
	}
	s.Clock.Advance(31 * time.Second)
	m = s.Mail.Wait(t, "sue@example.org", "one.bin", 1)
	if len(m.Files) != 0 || !strings.Contains(m.Text, "could not be attached. You can ask Ann for it.") ||
		strings.Contains(m.Text, "/verify") {
		t.Errorf("attached %q\n%s", m.Files, m.Text)
	}
	d := reserve(s)
	ann.Login().Put(s.Transfer+"/mailbox", object{"vanityLink": "ann", "verifySender": false}).Want(http.StatusOK)
	d.send("one", []byte("hello"))
	d.confirm()
	if m = s.Mail.Wait(t, "sam@example.com", "Your files have reached", 1); len(m.Files) != 0 || strings.Contains(m.Text, "attached") {
		t.Errorf("attached %q\n%s", m.Files, m.Text)
	}
}

// TestReceiptAsPDF: the document names what was delivered in the reader's language, whatever its script, and carries the file that proves
// it.
func TestReceiptAsPDF(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	ann.Put(s.Transfer+"/mailbox", object{"vanityLink": "ann",
		"fieldsSchema": object{"type": "object", "title": "Case", "required": []string{},
			"properties": object{"case": object{"type": "string", "title": "Case number"}}}}).Want(http.StatusOK)
	s.Clock.Advance(time.Second) // past the microcache
	d := reserve(s)
	d.Patch(d.path, object{"subject": "مرحبا 図面 😀 ünï", "fields": object{"case": "4711"}}).Want(http.StatusOK)
	d.Post(d.path+"/objects", object{"clientId": "one", "name": "größe 図面 تقرير.pdf", "intendedSize": 5}).Want(http.StatusCreated)
	d.Put(d.path+"/objects/one/content", []byte("hello")).Want(http.StatusOK)
	uid := d.confirm()
	file := receiptFile(t, d.Person, d.path+"/receipt")
	for _, locale := range []string{"de-DE", "ja", "zh-TW", "en"} {
		got := d.With("Accept", "application/pdf").With("Accept-Language", locale).Get(d.path + "/receipt").Want(http.StatusOK)
		if kind := got.Header.Get("Content-Type"); kind != "application/pdf" || !strings.HasPrefix(string(got.Body), "%PDF-") {
			t.Fatalf("%s: %s", locale, kind)
		}
		if !slices.ContainsFunc(pdfStreams(t, got.Body), func(b []byte) bool { return bytes.Equal(b, file) }) {
			t.Errorf("%s: the receipt is not attached", locale)
		}
		if !bytes.Equal(proof.Attached(got.Body), file) {
			t.Errorf("%s: consign verify does not find the receipt", locale)
		}
		if at := os.Getenv("RECEIPT_PDF"); at != "" {
			_ = os.WriteFile(at+locale+".pdf", got.Body, 0o600)
		}
	}
	preferred := ann.With("Accept", "application/pdf;q=0.5, application/vnd.consign.receipt").Get(s.Transfer + "/transfers/" + uid +
		"/receipt").Want(http.StatusOK)
	if kind := preferred.Header.Get("Content-Type"); kind != proof.MediaType {
		t.Errorf("the less preferred form %s", kind)
	}
	poll.Until(t, "the erasure of a revoked transfer can be printed, too", func() bool {
		ann.Delete(s.Transfer + "/transfers/" + uid)
		return ann.With("Accept", "application/pdf").Get(s.Transfer+"/transfers/"+uid+"/receipt?of=revoked").Status == http.StatusOK
	})
	ann.With("Accept", "application/pdf").Get(s.Transfer + "/transfers/" + uid + "/receipt").Want(http.StatusOK) // without answers
}

// pdfStreams returns the compressed streams of a PDF file.
func pdfStreams(t *testing.T, file []byte) (streams [][]byte) {
	t.Helper()
	for _, part := range bytes.Split(file, []byte("stream\n"))[1:] {
		r, err := zlib.NewReader(bytes.NewReader(part))
		if err != nil {
			continue // the end of one
		}
		b, err := io.ReadAll(r)
		if err == nil {
			streams = append(streams, b)
		}
	}
	return streams
}
