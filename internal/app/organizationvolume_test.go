package app_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer"
)

// TestVolumeOfOrganization: what Ann and Bob upload at once to an organization without limits counts to the byte. A limit that Olga sets
// later binds both of them at its last byte, and what Ann cancels is free for Bob.
func TestVolumeOfOrganization(t *testing.T) {
	t.Parallel()
	const files, size, names = 8, 1000, 4000
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	f := addFirm(t, s, "volume.test", "")
	at := operatorOrganizations + "/" + organizationAt(t, olga, "volume.test")
	want := func(bytes float64) {
		t.Helper()
		got := olga.Get(at + "/usage").Want(http.StatusOK)
		if got.Number("storedBytes") != bytes || got.Number("transferBytes") != bytes {
			t.Errorf("the organization uses %s, want %.0f bytes", got.Body, bytes)
		}
	}
	reserve := func(p *testkit.Person) string {
		return s.Transfer + "/reservations/" + p.Post(s.Transfer+"/reservations", map[string]any{}).Want(http.StatusCreated).String("uid")
	}
	add := func(p *testkit.Person, reservation, name string) *testkit.Response {
		return p.Post(reservation+"/objects", map[string]any{"clientId": name, "name": name, "intendedSize": size})
	}
	upload := func(p *testkit.Person, reservation, name string) {
		add(p, reservation, name).Want(http.StatusCreated)
		p.Put(reservation+"/objects/"+name+"/content", make([]byte, size)).Want(http.StatusOK)
	}
	anns, bobs := reserve(f.ann), reserve(f.bob)
	var uploads sync.WaitGroup
	for n := range files {
		uploads.Go(func() { upload(f.ann, anns, fmt.Sprint("x", n)) })
		uploads.Go(func() { upload(f.bob, bobs, fmt.Sprint("x", n)) })
	}
	uploads.Wait()
	const held = 2 * files * (size + names)
	want(held)

	olga.Post(at+"/limits", because("storageVolumeGb", (held+size+names)/1e9)).Want(http.StatusNoContent)
	upload(f.ann, anns, "last")
	want(held + size + names)
	add(f.bob, bobs, "more").WantError(transfer.ErrStorageVolume)
	want(held + size + names)
	f.ann.Delete(anns).Want(http.StatusNoContent)
	want(held / 2)
	upload(f.bob, bobs, "more")
	want(held/2 + size + names)
}
