// Tests of the profile, its avatar, and the deletion of an account.

package handler_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

func TestUpdateProfile(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	profile := s.Identity + "/profile"
	before := ann.Get(profile).Want(http.StatusOK)
	after := ann.Put(profile, map[string]any{"name": "Änne", "locale": "de_DE", "timeZone": "Asia/Seoul", "uid": "x", "emails": 7}).Want(
		http.StatusOK)
	if after.String("name") != "Änne" || after.String("locale") != "de_DE" || after.String("timeZone") != "Asia/Seoul" ||
		after.String("uid") != before.String("uid") {
		t.Errorf("the profile is %s", after.Body)
	}
	if again := ann.With("Content-Type", "application/json").Put(profile, after.Body).Want(http.StatusOK); !bytes.Equal(again.Body,
		after.Body) {
		t.Errorf("PUT of the answer of GET changed it to %s", again.Body)
	}
	if unset := ann.Put(profile, map[string]any{"name": "", "locale": nil}).Want(http.StatusOK); unset.Value("name") != nil ||
		unset.String("locale") != "de_DE" {
		t.Errorf("without name the profile is %s", unset.Body)
	}
	for name, c := range map[string]struct {
		body   map[string]any
		detail string
	}{
		"all at once":  {map[string]any{"name": "a\x00b", "locale": "de", "timeZone": "Mars/Base"}, ""},
		"wrong types":  {map[string]any{"name": 1, "locale": []string{}, "timeZone": true}, "name"},
		"locale":       {map[string]any{"locale": "xx_XX"}, "locale: must be one of de_DE, en_US"},
		"empty locale": {map[string]any{"locale": ""}, "locale: is empty"},
		"time zone":    {map[string]any{"timeZone": "../etc/passwd"}, "timeZone: is not a name of"},
		"empty zone":   {map[string]any{"timeZone": ""}, "timeZone: is empty"},
		"host's zone":  {map[string]any{"timeZone": "localtime"}, "timeZone: is not a name of"},
		"host's rules": {map[string]any{"timeZone": "posixrules"}, "timeZone: is not a name of"},
		"leap seconds": {map[string]any{"timeZone": "right/Europe/Berlin"}, "timeZone: is not a name of"},
		"host's copy":  {map[string]any{"timeZone": "posix/Europe/Berlin"}, "timeZone: is not a name of"},
		"zone not set": {map[string]any{"timeZone": "Factory"}, "timeZone: is not a name of"},
		"long name":    {map[string]any{"name": strings.Repeat("ä", 128)}, "name: is longer than 255 bytes"},
	} {
		if resp := ann.Put(profile, c.body).WantError(fault.ErrInvalid); !strings.Contains(resp.Details(), c.detail) {
			t.Errorf("%s: details are %q", name, resp.Details())
		}
	}
	s.SignUpUnconfirmed("bob@example.com").Put(profile, map[string]any{"name": "Bob"}).Want(http.StatusOK)
}

func TestDeleteProfile(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	other := ann.Login()
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann-files"}).Want(http.StatusCreated)
	s.Stranger().Get(s.Transfer + "/public/mailbox/ann-files").Want(http.StatusOK)
	resp := ann.Delete(s.Identity + "/profile").Want(http.StatusNoContent)
	if c := resp.Header.Get("Set-Cookie"); !strings.HasPrefix(c, "acct=;") {
		t.Errorf("the cookie is not deleted: %q", c)
	}
	for _, p := range []*testkit.Person{ann, other} {
		p.As(p.ID).Post(s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
		poll.Until(t, "the end of access", func() bool { return p.Get(s.Identity+"/profile").Status == http.StatusUnauthorized })
	}
	s.Stranger().Post(s.Identity+"/auth/login", credentials("ann@example.com", "bcrypt", testkit.Password)).WantError(identity.ErrCredentials)
	poll.Until(t, "the end of the mailbox", func() bool {
		return s.Stranger().Get(s.Transfer+"/public/mailbox/ann-files").Status == http.StatusNotFound
	})
	s.Mail.Wait(t, "ann@example.com", "/confirm/", 1)
	again := s.SignUpUnconfirmed("ann@example.com")
	key := s.Mail.Wait(t, "ann@example.com", "/confirm/", 2).Key(t, "/confirm/")
	again.Post(s.Identity+"/confirm/"+key, nil).Want(http.StatusNoContent)

	s.SignUpUnconfirmed("bob@example.com").Delete(s.Identity + "/profile").Want(http.StatusNoContent)
}

// TestDeletionMail: the mail about a deleted account says what was deleted, and what stays with others.
func TestDeletionMail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ben.Put(w.s.Transfer+"/mailbox", map[string]any{"vanityLink": "ben-files"}).Want(http.StatusCreated)
	for range 2 {
		send(t, w.s, w.ben, "ann@example.com", "Plans")
	}
	send(t, w.s, w.ann, "ben@example.com", "Answer")
	w.ben.Delete(w.s.Identity + "/profile").Want(http.StatusNoContent)
	m := w.s.Mail.Wait(t, "ben@example.com", "Your account was deleted", 1)
	for _, fact := range []string{"/m/ben-files", "you received: 1", "until they expire: 2", "Bolt"} {
		if !strings.Contains(m.Text, fact) {
			t.Errorf("the mail lacks %q: %s", fact, m.Text)
		}
	}
}

func TestDeleteProfileOfAdmin(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	c := createOrganization(ann, "Works")
	c.join(ann, bob, identity.RoleTransferUse)
	ann.Delete(s.Identity + "/profile").WantError(identity.ErrLastAdmin)
	ann.Put(c.member(bob), map[string]any{"roles": []string{identity.RoleOrganizationAdmin}}).Want(http.StatusOK)
	bob.Refresh()
	// Now each of the two may leave, but not both.
	statuses := parallel(t,
		func() (*testkit.Response, error) { return ann.Try(t.Context(), "DELETE", s.Identity+"/profile", nil) },
		func() (*testkit.Response, error) { return bob.Try(t.Context(), "DELETE", s.Identity+"/profile", nil) },
	)
	if statuses[http.StatusNoContent] != 1 || statuses[http.StatusForbidden] != 1 {
		t.Errorf("the two administrators got %v", statuses)
	}
	last := s.SignUp("eve@example.com")
	works := createOrganization(last, "Alone")
	last.Delete(s.Identity + "/profile").WantError(identity.ErrLastAdmin)
	useTokens(last, last.Delete(works.path).Want(http.StatusNoContent))
	last.Delete(s.Identity + "/profile").Want(http.StatusNoContent)
}

// testImage returns an image that is not square.
func testImage(width, height int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for x := range width {
		for y := range height {
			m.Set(x, y, color.NRGBA{R: uint8(x), G: uint8(y), B: 90, A: 255})
		}
	}
	return m
}

func jpegOf(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, testImage(width, height), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// hugePNG returns a PNG whose header states 30000 × 30000 pixels.
func hugePNG() []byte {
	header := append([]byte("IHDR"), 0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30, 8, 2, 0, 0, 0)
	b := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	return binary.BigEndian.AppendUint32(append(b, header...), crc32.ChecksumIEEE(header))
}

func TestProfileAvatar(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	avatar := s.Identity + "/profile/avatar"
	ann.Get(avatar).WantError(identity.ErrAvatarNotFound)
	ann.Delete(avatar).WantError(identity.ErrAvatarNotFound)
	put := ann.With("Content-Type", "image/jpeg").Put(avatar, jpegOf(t, 700, 400)).Want(http.StatusOK)
	if put.Header.Get("Content-Type") != "image/jpeg" || put.Header.Get("Location") != s.URL+avatar || put.Header.Get("ETag") == "" {
		t.Errorf("headers are %v", put.Header)
	}
	if ann.Get(s.Identity+"/profile").Value("hasAvatar") != true {
		t.Error("the profile has no avatar")
	}
	for asked, stored := range map[string]int{"": 500, "?height=500": 500, "?height=9999": 500, "?height=300": 240, "?height=201": 240,
		"?height=199": 160, "?height=120": 160, "?height=1": 80, "?height=80.5": 80} {
		got := ann.Get(avatar + asked).Want(http.StatusOK)
		m, err := jpeg.DecodeConfig(bytes.NewReader(got.Body))
		if err != nil || m.Width != stored || m.Height != stored {
			t.Errorf("%q gives %d × %d, %v, want %d", asked, m.Width, m.Height, err, stored)
		}
		if cached := ann.With("If-None-Match", got.Header.Get("ETag")).Get(avatar + asked).Want(http.StatusNotModified); len(cached.Body) != 0 {
			t.Errorf("%q: 304 with a body", asked)
		}
	}
	for _, bad := range []string{"?height=0", "?height=-1", "?height=x", "?height=NaN", "?height=80&height=160"} {
		ann.Get(avatar + bad).WantError(fault.ErrInvalid)
	}
	ann.With("If-None-Match", `"other"`).Get(avatar).Want(http.StatusOK)
	ann.With("Accept", "application/json").Get(avatar).WantError(fault.ErrNotAcceptable)
	cookie := s.Stranger().With("Cookie", "acct="+ann.Access)
	cookie.Get(avatar).Want(http.StatusOK)
	cookie.With("Authorization", "Bearer nonsense").Get(avatar).Want(http.StatusUnauthorized) // the header wins
	cookie.With("Content-Type", "image/jpeg").Put(avatar, jpegOf(t, 10, 10)).Want(http.StatusUnauthorized)

	first := put.Header.Get("ETag")
	var animated bytes.Buffer
	frame := func(c color.Color) *image.Paletted {
		m := image.NewPaletted(image.Rect(0, 0, 30, 20), color.Palette{color.Black, c})
		for i := range m.Pix {
			m.Pix[i] = 1
		}
		return m
	}
	if err := gif.EncodeAll(&animated, &gif.GIF{Image: []*image.Paletted{frame(color.White), frame(color.Black)},
		Delay: []int{5, 5}}); err != nil {
		t.Fatal(err)
	}
	var single bytes.Buffer
	if err := png.Encode(&single, testImage(1, 1)); err != nil {
		t.Fatal(err)
	}
	for kind, body := range map[string][]byte{"image/gif": animated.Bytes(), "image/png": single.Bytes()} {
		if resp := ann.With("Content-Type", kind).Put(avatar, body).Want(http.StatusOK); resp.Header.Get("ETag") == first {
			t.Errorf("%s: the avatar is the same", kind)
		}
	}
	ann.Delete(avatar).Want(http.StatusNoContent)
	ann.Get(avatar).WantError(identity.ErrAvatarNotFound)
	if e := lastEvent(t, ann); e["kind"] != events.ProfileAvatarUpdated || e["subject"] != uid(t, ann.ID).String() {
		t.Errorf("the last event is %v", e)
	}
	if n := len(feed(t, ann, 4)); n != 4 {
		t.Errorf("%d events for four changes", n)
	}
}

func TestProfileAvatarRefuses(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	avatar := s.Identity + "/profile/avatar"
	whole := jpegOf(t, 300, 200)
	for name, c := range map[string]struct {
		kind string
		body []byte
		want *fault.Error
	}{
		"no picture":      {"image/png", []byte("<svg/>"), fault.ErrInvalid},
		"nothing":         {"image/png", nil, fault.ErrInvalid},
		"cut off":         {"image/jpeg", whole[:len(whole)/2], fault.ErrInvalid},
		"900 megapixels":  {"image/png", hugePNG(), fault.ErrInvalid},
		"over 10 MiB":     {"image/jpeg", append(bytes.Clone(whole), make([]byte, 10<<20)...), fault.ErrTooLarge},
		"another type":    {"image/webp", whole, fault.ErrUnsupported},
		"no type":         {"", whole, fault.ErrUnsupported},
		"JSON":            {"application/json", []byte("{}"), fault.ErrUnsupported},
		"type with quirk": {"image/jpeg; x", whole, fault.ErrUnsupported},
	} {
		t.Log(name)
		ann.With("Content-Type", c.kind).Put(avatar, c.body).WantError(c.want)
	}
	// Without a Content-Length, the size limit applies while the body is read.
	ann.With("Content-Type", "image/png").Put(avatar, io.LimitReader(endless{}, 11<<20)).WantError(fault.ErrTooLarge)
	ann.Get(avatar).WantError(identity.ErrAvatarNotFound)
	bob := s.SignUpUnconfirmed("bob@example.com")
	bob.With("Content-Type", "image/jpeg").Put(avatar, whole).WantError(token.ErrUnverified)
	bob.Get(avatar).WantError(token.ErrUnverified)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestAvatarEventReachesTheOrganization(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob, eve := s.SignUp("ann@example.com"), s.SignUp("bob@example.com"), s.SignUp("eve@example.com")
	c := createOrganization(ann, "Works")
	c.join(ann, bob, identity.RoleTransferUse)
	bob.With("Content-Type", "image/jpeg").Put(s.Identity+"/profile/avatar", jpegOf(t, 90, 90)).Want(http.StatusOK)
	for _, p := range []*testkit.Person{ann, bob} {
		if e := lastEvent(t, p); e["kind"] != events.ProfileAvatarUpdated || e["subject"] != uid(t, bob.ID).String() {
			t.Errorf("the last event of %s is %v", p.Email, e)
		}
	}
	var n int
	if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM events WHERE person = $1`, uid(t, eve.ID).UUID).Scan(&n); err != nil ||
		n != 0 {
		t.Errorf("a person of no organization got %d events, %v", n, err)
	}
}

// TestAvatarRace: after parallel uploads and deletes, the four stored sizes are of one picture.
func TestAvatarRace(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	avatar := s.Identity + "/profile/avatar"
	done := make(chan struct{})
	for i := range 12 {
		go func() {
			defer func() { done <- struct{}{} }()
			method, body := "PUT", any(jpegOf(t, 40+i, 40))
			if i%4 == 3 {
				method, body = "DELETE", nil
			}
			resp, err := ann.With("Content-Type", "image/jpeg").Try(t.Context(), method, avatar, body)
			if err != nil || resp.Status >= 500 {
				t.Errorf("%s: %v, %v", method, resp, err)
			}
		}()
	}
	for range 12 {
		<-done
	}
	var sizes, times int
	if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*), count(DISTINCT updated_at) FROM identity.avatars`).Scan(&sizes,
		&times); err != nil || sizes != 0 && sizes != 4 || times > 1 {
		t.Errorf("%d sizes of %d uploads are stored, %v", sizes, times, err)
	}
	s.Clock.Advance(time.Second)
	ann.With("Content-Type", "image/jpeg").Put(avatar, jpegOf(t, 40, 40)).Want(http.StatusOK)
}
