package handler_test

import (
	"archive/zip"
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/testkit"
)

// TestArchiveOfSelection: an archive of some objects has these only, under the names of the whole archive, and counts for these only.
func TestArchiveOfSelection(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	d, _ := begin(ann, nil)
	for _, clientID := range []string{"a", "b", "c"} {
		d.Post(d.path+"/objects", object{"clientId": clientID, "name": "same.bin", "intendedSize": 1}).Want(http.StatusCreated)
		d.Put(d.path+"/objects/"+clientID+"/content", []byte(clientID)).Want(http.StatusOK)
	}
	done := d.Post(d.path+"/confirm", nil).Want(http.StatusOK)
	link := s.Transfer + "/public/transfers/" + linkKey(t, s, done.String("link"))
	uid := func(i string) string { return done.String("objects." + i + ".uid") }
	guest := s.Stranger().As(s.Stranger().Post(link+"/access", nil).Want(http.StatusOK).String("token"))
	for _, at := range []struct {
		who  *testkit.Person
		path string
	}{{guest, link}, {ann, s.Transfer + "/transfers/" + done.String("uid")}} {
		got := at.who.Get(at.path + "/archive?objects=" + uid("2") + "," + uid("0") + "," + uid("2")).Want(http.StatusOK)
		z, err := zip.NewReader(bytes.NewReader(got.Body), int64(len(got.Body)))
		if err != nil || len(z.File) != 2 || z.File[0].Name != "same.bin" || z.File[1].Name != "same (3).bin" {
			t.Fatalf("%v: %+v", err, z.File)
		}
		other := at.who.Head(at.path + "/archive?objects=" + uid("1")).Want(http.StatusOK)
		whole := at.who.Head(at.path + "/archive").Want(http.StatusOK)
		if e := got.Header.Get("ETag"); e == other.Header.Get("ETag") || e == whole.Header.Get("ETag") {
			t.Errorf("one ETag for several archives: %s", e)
		}
		at.who.Get(at.path + "/archive?objects=" + uuid.NewString()).Want(http.StatusNotFound)
		s.SendUndocumented()
		at.who.Get(at.path + "/archive?objects=x").Want(http.StatusBadRequest)
		at.who.Get(at.path + "/archive?objects=").Want(http.StatusBadRequest)
		at.who.Get(at.path + "/archive?objects=" + strings.TrimSuffix(strings.Repeat(uid("0")+",", 201), ",")).Want(http.StatusBadRequest)
	}
	key := guest.Post(link+"/otk", object{}).Want(http.StatusOK).String("key")
	s.Stranger().Get(link + "/archive?objects=" + uid("1") + "&otk=" + key).Want(http.StatusOK)
	seen := ann.Get(s.Transfer + "/transfers/" + done.String("uid")).Want(http.StatusOK)
	for i, want := range map[string]float64{"0": 1, "1": 1, "2": 1} {
		if seen.Value("objects."+i+".downloads") != want {
			t.Errorf("downloads of object %s: %s", i, seen.Body)
		}
	}
}

// TestPreviews: a preview is an access but no download.
func TestPreviews(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, ben := s.SignUp("ann@example.com"), s.SignUp("ben@example.com")
	d, _ := begin(ann, object{"recipients": []object{{"email": "ben@example.com", "destinationType": "to"}}})
	d.send("plan", []byte("bytes"))
	one := s.Transfer + "/transfers/" + d.confirm()
	file := one + "/objects/" + ann.Get(one).String("objects.0.uid") + "/content"
	if got := ben.Get(file + "?preview=true").Want(http.StatusOK); string(got.Body) != "bytes" {
		t.Errorf("%q", got.Body)
	}
	seen := ann.Get(one).Want(http.StatusOK)
	if seen.String("state") != "accessed" || seen.String("recipients.0.accessedAt") == "" || seen.Value("recipients.0.downloads") != nil ||
		seen.Value("objects.0.downloads") != 0.0 {
		t.Errorf("after a preview: %s", seen.Body)
	}
	ben.Get(file).Want(http.StatusOK)
	if after := ann.Get(one); after.Value("recipients.0.downloads") != 1.0 || after.Value("objects.0.downloads") != 1.0 {
		t.Errorf("after a download: %s", after.Body)
	}
}
