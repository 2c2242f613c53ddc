package app_test

import (
	"net/http"
	"testing"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer"
)

// TestAttackHoldIsFreeStorage: an administrator holds a member, who sends and deletes a file of 40 kB again and again. What the hold keeps
// counts against the storage volume of 100 kB, so that the third file is refused. Without a hold, each deletion makes room.
func TestAttackHoldIsFreeStorage(t *testing.T) {
	t.Parallel()
	const size, rounds = 40_000, 5
	for name, c := range map[string]struct {
		held bool
		sent int
	}{"held": {true, 2}, "not held": {false, rounds}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testkit.New(t)
			own := addFirm(t, s, "org.test", "")
			if err := s.App.Identity.SetLimits(t.Context(), testkit.Command, "org.test",
				identity.LimitsChange{StorageVolumeGB: identity.To(0.0001)}); err != nil {
				t.Fatal(err)
			}
			if c.held {
				own.ann.Post(own.at+"/holds", holding("person", "bob@example.com")).Want(http.StatusCreated)
			}
			sent := 0
			for range rounds {
				made := own.bob.Post(s.Transfer+"/reservations", map[string]any{"subject": "Plans", "ttl": 7,
					"recipients": []map[string]any{{"email": "kim@example.org", "destinationType": "to"}}}).Want(http.StatusCreated)
				at := s.Transfer + "/reservations/" + made.String("uid")
				own.bob.Post(at+"/objects", map[string]any{"clientId": "a", "name": "plans.pdf", "intendedSize": size}).Want(http.StatusCreated)
				put := own.bob.Put(at+"/objects/a/content", make([]byte, size))
				if put.Status != http.StatusOK {
					put.WantError(transfer.ErrStorageVolume)
					break
				}
				uid := own.bob.Post(at+"/confirm", nil).Want(http.StatusOK).String("uid")
				own.bob.Delete(s.Transfer + "/transfers/" + uid).Want(http.StatusNoContent)
				sent++
			}
			if sent != c.sent {
				t.Errorf("%d files were sent, want %d", sent, c.sent)
			}
		})
	}
}
