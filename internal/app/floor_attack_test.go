// Tests of rows that fill the disk.

package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
)

// grows are the calls that make rows for content, besides those that take Idempotency-Key.
var grows = []string{
	"POST /id/v3/device/authorization", "POST /id/v3/signup", "POST /transfer/v2/public/requests/{key}",
	"POST /transfer/v2/public/requests/{key}/parties", "POST /transfer/v2/reservations/{uid}/objects",
	"POST /transfer/v2/reservations/{uid}/objects/{clientId}/parts", "POST /transfer/v2/reservations/{uid}/objects/{clientId}/tus",
	"POST /transfer/v2/reservations/{uid}/tus", "POST /transfer/v2/reservations/{uid}/uploads", "PUT /transfer/v2/mailbox",
}

// TestAttackRowsFillTheDisk: two free accounts attach empty files with long names in parallel, on a volume that loses 4 kB with each. Below
// half the floor nothing is stored for content, by anybody. Signing in, mails and deletions go on, and /readyz says why.
func TestAttackRowsFillTheDisk(t *testing.T) {
	t.Parallel()
	const gib, row = 1 << 30, 4 << 10
	var rows, used atomic.Int64
	free := func() int64 { return gib + 100*row - rows.Load()*row - used.Load() }
	s := testkit.New(t, testkit.Space(func(string) (int64, int64, error) { return free(), 100 * gib, nil }),
		testkit.Env("CONSIGN_RATE_LIMIT", "off"))
	used.Store(-10 * gib)
	ann, sam := mailboxOwner(s), s.SignUp("sam@example.com")
	made := ann.Post(s.Transfer+"/reservations", nil).Want(http.StatusCreated)
	used.Store(0)
	attack := func(p *testkit.Person) {
		for i := range 10 {
			reserved := p.Post(s.Transfer+"/reservations", nil)
			if reserved.Status != http.StatusCreated {
				reserved.WantError(fault.ErrUnavailable)
				return
			}
			for j := range 20 {
				got := p.Post(s.Transfer+"/reservations/"+reserved.String("uid")+"/objects",
					map[string]any{"clientId": fmt.Sprint(i, "-", j), "name": strings.Repeat("n", 240) + ".txt", "intendedSize": 0})
				if got.Status != http.StatusCreated {
					got.WantError(fault.ErrUnavailable)
					return
				}
				rows.Add(1)
			}
		}
	}
	var attackers sync.WaitGroup
	for _, p := range []*testkit.Person{ann, sam} {
		attackers.Go(func() { attack(p) })
	}
	attackers.Wait()
	if floor := int64(gib); free() < floor-3*row || free() >= floor {
		t.Fatalf("%d bytes below the lower floor", floor-free())
	}
	account := map[string]any{"address": "eve@example.com", "password": testkit.Password}
	for what, got := range map[string]*testkit.Response{
		"a mailbox's reservation": s.Stranger().Post(s.Transfer+"/public/mailbox/dr-ann", nil),
		"a reservation":           sam.Post(s.Transfer+"/reservations", nil),
		"attaching":               ann.Post(s.Transfer+"/reservations/"+made.String("uid")+"/objects", nil),
		"a sign-up":               s.Stranger().Post(s.Identity+"/signup", account),
		"a webhook":               sam.Post(s.Identity+"/webhooks", map[string]any{"url": "https://example.org", "events": []string{}}),
		"a request":               sam.Post(s.Transfer+"/requests", nil),
		"a forward":               sam.Post(s.Transfer+"/transfers/"+made.String("uid")+"/forward", nil),
	} {
		checkUnavailable(t, what, got.WantError(fault.ErrUnavailable))
	}
	ann.Login().Get(s.Identity + "/profile").Want(http.StatusOK)
	s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": ann.Email}).Want(http.StatusNoContent)
	poll.Until(t, "/readyz is degraded", func() bool {
		_, text := fetch(t, s.Admin+"/readyz")
		return strings.HasPrefix(text, "degraded: uploads and new transfers, accounts and webhooks are refused")
	})
	ann.Delete(s.Transfer + "/reservations/" + made.String("uid")).Want(http.StatusNoContent)
	used.Store(-gib)
	sam.Post(s.Transfer+"/reservations", nil).Want(http.StatusCreated)
}

// TestRoutesThatMakeRows: what takes Idempotency-Key makes rows, and so do those of grows.
func TestRoutesThatMakeRows(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	var got []string
	for _, r := range s.App.API.Routes() {
		if r.Grows {
			got = append(got, r.Method+" "+r.Path)
		}
		if r.Auth.IsOperator() && r.MakesRows() || !r.Auth.IsOperator() && r.MakesRows() != (r.Creates || r.Grows) {
			t.Errorf("%s %s: makes rows %t", r.Method, r.Path, r.MakesRows())
		}
	}
	if slices.Sort(got); !slices.Equal(got, grows) {
		t.Errorf("these make rows: %q", got)
	}
}

// TestAttackOpenObjects: a person's open reservations have a bounded number of files together, also in parallel, and a file without bytes
// costs volume.
func TestAttackOpenObjects(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_RATE_LIMIT", "off"), testkit.Constants(func(c *config.Constants) { c.OpenObjects = 100 }))
	ann := s.SignUp("ann@example.com")
	var attached atomic.Int64
	var wait sync.WaitGroup
	for range 8 {
		path := s.Transfer + "/reservations/" + ann.Post(s.Transfer+"/reservations", nil).Want(http.StatusCreated).String("uid")
		wait.Go(func() {
			files := make([]map[string]any, 30)
			for j := range files {
				files[j] = map[string]any{"clientId": fmt.Sprint(j), "name": "a.txt", "intendedSize": 0}
			}
			if got := ann.Post(path+"/objects", map[string]any{"objects": files}); got.Status == http.StatusCreated {
				attached.Add(int64(len(files)))
			} else {
				got.WantError(transfer.ErrTooManyFiles)
			}
		})
	}
	wait.Wait()
	if n := attached.Load(); n != 90 {
		t.Errorf("%d files are attached", n)
	}
	if got := ann.Get(s.Transfer + "/usage").Want(http.StatusOK); !strings.Contains(string(got.Body), "360000") {
		t.Errorf("90 files without bytes cost %s", got.Body)
	}
}
