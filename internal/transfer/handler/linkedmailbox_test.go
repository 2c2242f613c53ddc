package handler_test

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"testing"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit"
)

// putPicture gives a person's mailbox a picture.
func putPicture(t *testing.T, p *testkit.Person) {
	t.Helper()
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewNRGBA(image.Rect(0, 0, 300, 200))); err != nil {
		t.Fatal(err)
	}
	p.With("Content-Type", "image/png").With("Accept", "image/jpeg, application/json").Put(p.Server.Transfer+"/mailbox/picture",
		file.Bytes()).Want(http.StatusOK)
}

// TestMailboxBehindALink: a link names the mailbox of the sender, whose picture its page shows and which takes replies. The owner of a
// mailbox sees the own.
func TestMailboxBehindALink(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	link := deliver(ann, object{"recipients": []object{to("bob@example.org")}}, [2]string{"a", "b"}).public
	if got := s.Stranger().Get(link).Want(http.StatusOK); got.String("mailbox.uid") != got.String("sender.uid") ||
		got.Value("mailbox.hasPicture") != false {
		t.Errorf("%s", got.Body)
	}
	putPicture(t, ann)
	at := s.Transfer + "/public/mailbox/" + s.Stranger().Get(link).String("mailbox.uid")
	s.Stranger().With("Accept", "image/*").Get(at + "/picture").Want(http.StatusOK)

	bob := s.SignUp("bob@example.com") // without a mailbox
	if got := s.Stranger().Get(deliver(bob, object{}, [2]string{"a", "b"}).public).Want(http.StatusOK); got.Value("mailbox") != nil {
		t.Errorf("%s", got.Body)
	}
	d := reserve(s)
	d.send("plan", []byte("plan"))
	d.confirm()
	if got := s.Stranger().Get(linkTo(s, "ann@example.com")).Want(http.StatusOK); got.Value("mailbox.hasPicture") != true ||
		got.Value("sender.uid") != nil {
		t.Errorf("%s", got.Body)
	}
}

// TestAttackMailboxBehindALink: a locked link, a revoked one and that of a suspended person name no mailbox.
func TestAttackMailboxBehindALink(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	putPicture(t, ann)
	locked := deliver(ann, object{"protection": "password", "password": "quiet-heron-17"}, [2]string{"a", "b"})
	if got := s.Stranger().Get(locked.public).Want(http.StatusOK); got.Value("locked") != true || got.Value("mailbox") != nil {
		t.Errorf("locked: %s", got.Body)
	}
	opened := openLink(s, locked.public, object{"password": "quiet-heron-17"})
	if got := opened.Get(locked.public).Want(http.StatusOK); got.Value("mailbox.hasPicture") != true {
		t.Errorf("opened: %s", got.Body)
	}
	ann.Delete(locked.path).Want(http.StatusNoContent)
	if got := opened.Get(locked.public); got.Status == http.StatusOK || bytes.Contains(got.Body, []byte("hasPicture")) {
		t.Errorf("revoked: %s", got.Body)
	}
	mailed := deliver(ann, object{}, [2]string{"a", "b"})
	person, err := id.Parse[id.Person](uidOf(ann))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.App.Transfer.SuspendMailbox(t.Context(), testkit.Command, person); err != nil {
		t.Fatal(err)
	}
	if got := s.Stranger().Get(mailed.public).Want(http.StatusOK); got.Value("mailbox") != nil {
		t.Errorf("suspended: %s", got.Body)
	}
}
