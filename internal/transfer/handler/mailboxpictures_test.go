package handler_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"net/http"
	"testing"
)

// TestMailboxPicture: the owner sets the picture behind the page of the mailbox, everybody reads it as a JPEG, a PUT of the mailbox keeps
// it.
func TestMailboxPicture(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	public, own := s.Transfer+"/public/mailbox/ann", s.Transfer+"/mailbox/picture"
	wide := image.NewNRGBA(image.Rect(0, 0, 4000, 1000))
	for i := range wide.Pix {
		wide.Pix[i] = 0x80
	}
	var file bytes.Buffer
	if err := png.Encode(&file, wide); err != nil {
		t.Fatal(err)
	}
	picture := ann.With("Content-Type", "image/png").With("Accept", "image/jpeg, application/json")
	s.SignUp("bob@example.com").With("Content-Type", "image/png").With("Accept", "image/jpeg, application/json").Put(own,
		file.Bytes()).Want(http.StatusNotFound)
	s.Stranger().With("Accept", "image/*").Get(public + "/picture").Want(http.StatusNotFound)
	picture.Put(own, []byte("no picture")).Want(http.StatusBadRequest)
	ann.Delete(own).Want(http.StatusNotFound)

	put := picture.Put(own, file.Bytes()).Want(http.StatusOK)
	got := s.Stranger().With("Accept", "image/*").Get(public + "/picture").Want(http.StatusOK)
	if !bytes.Equal(got.Body, put.Body) || got.Header.Get("ETag") == "" || got.Header.Get("ETag") != put.Header.Get("ETag") {
		t.Errorf("%v", got.Header)
	}
	stored, err := jpeg.Decode(bytes.NewReader(got.Body))
	if err != nil || stored.Bounds().Dx() > 1600 || stored.Bounds().Dx()/stored.Bounds().Dy() != 3 ||
		color.GrayModel.Convert(stored.At(5, 5)).(color.Gray).Y < 0x80 {
		t.Errorf("%v, %v", err, stored.Bounds())
	}
	s.Stranger().With("Accept", "image/*").With("If-None-Match", got.Header.Get("ETag")).Get(public + "/picture").Want(http.StatusNotModified)
	if body := ann.Put(s.Transfer+"/mailbox", object{"vanityLink": "ann", "prefillLocked": true}).Want(http.StatusOK); body.Value(
		"hasPicture") != true || body.Value("prefillLocked") != true {
		t.Errorf("%s", body.Body)
	}
	ann.Delete(own).Want(http.StatusNoContent)
	if body := ann.Get(s.Transfer + "/mailbox").Want(http.StatusOK); body.Value("hasPicture") != false || body.Value("prefillLocked") != true {
		t.Errorf("%s", body.Body)
	}
	s.Stranger().With("Accept", "image/*").Get(public + "/picture").Want(http.StatusNotFound)
}
