package handler_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
)

// picture returns a PNG file.
func picture(t testing.TB, width, height int) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for x := range width {
		m.Set(x, height/2, color.RGBA{R: uint8(x), A: 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// size returns the width of a square JPEG file.
func size(t testing.TB, file []byte) int {
	t.Helper()
	c, err := jpeg.DecodeConfig(bytes.NewReader(file))
	if err != nil || c.Width != c.Height {
		t.Fatalf("%v: %d × %d", err, c.Width, c.Height)
	}
	return c.Width
}

func TestOrganizationAvatar(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.acme.path + "/avatar"
	w.amy.Get(path).WantError(identity.ErrAvatarNotFound)
	w.ann.Delete(path).WantError(identity.ErrAvatarNotFound)
	up := w.ann.With("Content-Type", "image/png").Put(path, picture(t, 640, 320)).Want(http.StatusOK)
	if up.Header.Get("Content-Type") != "image/jpeg" || up.Header.Get("Location") != w.s.URL+path || size(t, up.Body) != 500 {
		t.Errorf("the answer is %v", up.Header)
	}
	for _, p := range []*testkit.Person{w.ann, w.amy} {
		if event := lastEvent(t, p); event["kind"] != "ORGANIZATION_AVATAR_UPDATED" || event["subject"] != w.acme.uid {
			t.Errorf("the event is %v", event)
		}
	}
	for query, want := range map[string]int{"": 500, "?height=1": 80, "?height=119": 80, "?height=130": 160, "?height=201": 240,
		"?height=370": 500, "?height=99999": 500} {
		if got := size(t, w.amy.Get(path+query).Want(http.StatusOK).Body); got != want {
			t.Errorf("%s gives %d, want %d", query, got, want)
		}
	}
	small := w.amy.Get(path + "?height=80").Want(http.StatusOK)
	w.amy.With("If-None-Match", small.Header.Get("ETag")).Get(path + "?height=80").Want(http.StatusNotModified)
	for _, height := range []string{"0", "-1", "x", "", "NaN", "1&height=2"} {
		w.amy.Get(path + "?height=" + height).WantError(fault.ErrInvalid)
	}
	cookie := w.s.Stranger().With("Cookie", "acct="+w.amy.Access)
	cookie.Get(path).Want(http.StatusOK)
	cookie.As(w.bob.Access).Get(path).WantError(identity.ErrNotMember) // the header wins
	cookie.Delete(path).WantError(token.ErrMissing)
	w.amy.With("Content-Type", "image/png").Put(path, picture(t, 10, 10)).WantError(identity.ErrRoleMissing)
	w.bob.With("Content-Type", "image/png").Put(path, picture(t, 10, 10)).WantError(identity.ErrNotMember)
	w.ann.With("Content-Type", "image/webp").Put(path, picture(t, 10, 10)).WantError(fault.ErrUnsupported)
	w.ann.With("Content-Type", "image/jpeg").Put(path, "no picture").WantError(fault.ErrInvalid)
	w.ann.With("Content-Type", "image/png").Put(path, picture(t, 100, 100)[:60]).WantError(fault.ErrInvalid)
	w.ann.With("Content-Type", "image/png").Put(path, nil).WantError(fault.ErrInvalid)
	w.ann.With("Content-Type", "image/png").Put(path, strings.Repeat("x", 10<<20+1)).WantError(fault.ErrTooLarge.AtMost(10 << 20))
	if got := w.amy.Get(w.acme.path).Value("hasAvatar"); got != true {
		t.Errorf("hasAvatar is %v", got)
	}
	w.ann.Delete(path).Want(http.StatusNoContent)
	w.amy.Get(path).WantError(identity.ErrAvatarNotFound)
	if got := w.amy.Get(w.acme.path).Value("hasAvatar"); got != false {
		t.Errorf("hasAvatar is %v", got)
	}
}
