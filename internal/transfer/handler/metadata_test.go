package handler_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer"
)

// used returns the upload volume that a person sees as used this month.
func used(p *testkit.Person) int {
	p.Server.T.Helper()
	return int(p.Get(p.Server.Transfer + "/usage").Want(http.StatusOK).Value("uploadBytes").(float64))
}

// TestMetadataIsVolume: texts, fields, recipients and names count as volume from when they are stored. An object of no bytes counts
// 1000. What is changed, deleted or cancelled releases exactly what it counted.
func TestMetadataIsVolume(t *testing.T) {
	t.Parallel()
	s, _, ann, _, _ := newOffice(t)
	begin(ann, object{"message": "before"})
	before := used(ann)
	if before != len("before") {
		t.Errorf("a message of 6 bytes counts %d", before)
	}
	own := len("Plans") + len("Hello.") + len(`{"floor":"3"}`) + len("Carl"+"carl@example.org")
	recipients := []object{{"name": "Carl", "email": "carl@example.org", "destinationType": "to"}}
	d, _ := begin(ann, object{"subject": "Plans", "message": "Hello.", "fields": object{"floor": "3"}, "recipients": recipients})
	want := func(step string, bytes int) {
		t.Helper()
		if got := used(ann) - before; got != bytes {
			t.Errorf("%s: %d bytes count, want %d", step, got, bytes)
		}
	}
	want("POST", own)
	for range 2 { // a repeated request counts once
		d.Patch(d.path, object{"message": "Hello, Carl."}).Want(http.StatusOK)
		d.Post(d.path+"/objects", object{"clientId": "a", "name": "a.bin", "intendedSize": 100})
	}
	own += len(", Carl") + transfer.ObjectCost
	want("PATCH and attach", own)
	d.Put(d.attach("empty", 0), nil).Want(http.StatusOK)
	want("an empty object", own+transfer.ObjectCost)
	d.Put(d.path+"/objects/a/content", random(100)).Want(http.StatusOK)
	d.Put(d.path+"/objects/a/content", random(100)).Want(http.StatusOK)
	want("uploaded twice", own+transfer.ObjectCost+100)
	d.Delete(d.path + "/objects/empty").Want(http.StatusNoContent)
	d.Patch(d.path, object{"message": "", "fields": object{}, "recipients": []object{}}).Want(http.StatusOK)
	want("deleted and shortened", len("Plans")+len(`{}`)+transfer.ObjectCost+100)
	s.Clock.Advance(-24 * time.Hour) // it counts in the month in which it was made
	d.Delete(d.path).Want(http.StatusNoContent)
	want("cancelled", 0)

	// A transfer keeps its volume of the month, and releases the storage when it is revoked.
	stored := func() any { return ann.Get(s.Transfer + "/usage").Want(http.StatusOK).Value("storedBytes") }
	kept := stored()
	d, _ = begin(ann, object{"message": "Hello."})
	d.Put(d.attach("empty", 0), nil).Want(http.StatusOK)
	uid := d.confirm()
	want("confirmed", len("Hello.")+transfer.ObjectCost)
	ann.Delete(s.Transfer + "/transfers/" + uid).Want(http.StatusNoContent)
	want("revoked", len("Hello.")+transfer.ObjectCost)
	if got := stored(); got != kept {
		t.Errorf("%v bytes stay stored after a revocation, want %v", got, kept)
	}
}

// TestMetadataOfStrangers: the texts of a stranger's new reservation count from the next request that changes it, or from its confirm.
func TestMetadataOfStrangers(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	const message = "The drawings."
	strange := func() draft {
		made := s.Stranger().Post(s.Transfer+"/public/mailbox/ann",
			object{"message": message, "anonSender": "Sam", "anonEmail": "sam@example.com"}).Want(http.StatusCreated)
		return draft{Person: s.Stranger().As(strings.TrimPrefix(made.Header.Get("Authorization"), "Bearer ")), uid: made.String("uid"),
			path: s.Transfer + "/reservations/" + made.String("uid")}
	}
	d := strange()
	d.attach("a", 1)
	d.attach("b", 1)
	if n := used(ann); n != len(message)+2*transfer.ObjectCost {
		t.Errorf("with two objects %d bytes count", n)
	}
	d.Delete(d.path).Want(http.StatusNoContent)
	d = strange()
	d.Patch(d.path, object{"subject": "Plans"}).Want(http.StatusOK)
	if n := used(ann); n != len(message+"Plans") {
		t.Errorf("after a change %d bytes count", n)
	}
	d.Delete(d.path).Want(http.StatusNoContent)
	strange()
	if n := used(ann); n != 0 {
		t.Errorf("after the cancels %d bytes count", n)
	}
	d = strange()
	d.confirm()
	if n := used(ann); n != len(message) {
		t.Errorf("confirmed without a file, %d bytes count", n)
	}
	d = strange()
	if _, err := s.App.DB.Pool.Exec(t.Context(), `UPDATE identity.persons SET upload_volume_bytes = 20`); err != nil {
		t.Fatal(err)
	}
	d.Post(d.path+"/confirm", nil).WantError(transfer.ErrPersonalVolume)
	if n := used(ann); n != len(message) {
		t.Errorf("after a refused confirm %d bytes count", n)
	}
	d.Patch(d.path, object{"message": "short"}).Want(http.StatusOK)
	d.confirm()
}

// TestMetadataOfTheLastMonth: metadata counts in the month in which the reservation or the object was made, and is released there.
func TestMetadataOfTheLastMonth(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	volume := func(month string) (held int) {
		t.Helper()
		if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT coalesce(sum(held), 0) FROM transfer.volume_totals WHERE month = $1::text::date`,
			month).Scan(&held); err != nil {
			t.Fatal(err)
		}
		return held
	}
	now := s.Clock.Now().UTC()
	s.Clock.Advance(time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC).Sub(now))
	d := reserve(s)
	d.attach("a", 1)
	s.Clock.Advance(2 * time.Hour)
	d.Patch(d.path, object{"message": "late"}).Want(http.StatusOK)
	d.attach("bb", 1)
	if november, december := volume("2026-11-01"), volume("2026-12-01"); november != len("late")+transfer.ObjectCost ||
		december != transfer.ObjectCost {
		t.Errorf("%d and %d bytes count", november, december)
	}
	ann.Refresh()
	d.Delete(d.path).Want(http.StatusNoContent)
	if november, december := volume("2026-11-01"), volume("2026-12-01"); november != 0 || december != 0 {
		t.Errorf("after the cancel %d and %d bytes count", november, december)
	}
}

// TestMetadataMeetsTheLimits: each volume refuses texts and names that do not fit, and counts nothing of them. What a confirm requires
// counts nothing, so that an upload that has filled the volume can be confirmed.
func TestMetadataMeetsTheLimits(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]struct {
		sql     string
		refusal *fault.Error
	}{
		"person":       {`UPDATE identity.persons SET upload_volume_bytes = 5010`, transfer.ErrPersonalVolume},
		"organization": {`UPDATE identity.limits SET transfer_volume_bytes = 5010`, transfer.ErrSubscriptionVolume},
		"storage":      {`UPDATE identity.limits SET storage_volume_bytes = 5010`, transfer.ErrStorageVolume},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, ann, _, _ := newOffice(t)
			if _, err := s.App.DB.Pool.Exec(context.Background(), limit.sql); err != nil {
				t.Fatal(err)
			}
			s.App.Transfer.ForgetOrganizations() // without waiting for the microcache
			public, long := s.Transfer+"/public/mailbox/ann", strings.Repeat("m", 5011)
			s.Stranger().Post(public, object{"message": long}).WantError(limit.refusal)
			ann.Post(s.Transfer+"/reservations", object{"message": long}).WantError(limit.refusal)
			d := reserve(s)
			if n := used(ann); n != 0 {
				t.Errorf("refused metadata counts %d bytes", n)
			}
			d.Patch(d.path, object{"message": long}).WantError(limit.refusal)
			d.Patch(d.path, object{"message": "hello"}).Want(http.StatusOK)
			d.attach("a", 4)
			d.Post(d.path+"/objects", object{"clientId": "empty", "name": "empty", "intendedSize": 0}).WantError(limit.refusal)
			if n := used(ann); n != len("hello")+transfer.ObjectCost {
				t.Errorf("%d bytes count", n)
			}
			d.Patch(d.path, object{"message": strings.Repeat("m", 1006)}).Want(http.StatusOK)
			d.Put(d.path+"/objects/a/content", []byte("abcd")).Want(http.StatusOK) // the volume is full
			d.Patch(d.path, object{"subject": "s"}).WantError(limit.refusal)
			d.Patch(d.path, object{"anonSender": "Samantha", "anonEmail": "samantha@example.com"}).Want(http.StatusOK)
			d.confirm()
			if n := used(ann); n != 5010 {
				t.Errorf("%d bytes count at the end", n)
			}
		})
	}
}
