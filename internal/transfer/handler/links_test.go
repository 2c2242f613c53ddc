// Tests of released short links.

package handler_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

const quarantine = 90 * 24 * time.Hour

// claim asks for a mailbox with a vanity link.
func claim(p *testkit.Person, link string) *testkit.Response {
	return p.Put(p.Server.Transfer+"/mailbox", object{"vanityLink": link})
}

// TestAttackReleasedLink: Eve waits until Ann renames, clears or deletes her link, and takes it to receive what is meant for Ann.
func TestAttackReleasedLink(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]func(ann *testkit.Person){
		"renamed": func(ann *testkit.Person) { claim(ann, "ann-lee").Want(http.StatusOK) },
		"cleared": func(ann *testkit.Person) { claim(ann, "").Want(http.StatusOK) },
		"mailbox deleted": func(ann *testkit.Person) {
			ann.Delete(ann.Server.Transfer + "/mailbox").Want(http.StatusNoContent)
		},
		"account deleted": func(ann *testkit.Person) {
			ann.Delete(ann.Server.Identity + "/profile").Want(http.StatusNoContent)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ann := newMailbox(t)
			eve := s.SignUp("eve@example.com")
			claim(eve, "ann").WantError(transfer.ErrVanityLink)
			release(ann)
			poll.Until(t, "the link is in quarantine", func() bool { // a job deletes the mailbox of a deleted account
				return int(claim(eve, "ann").Number("error.code")) == transfer.ErrLinkQuarantined.Code
			})
			for _, spelling := range []string{"ann", "ANN"} {
				if got := claim(eve, spelling); got.Status != http.StatusConflict {
					t.Errorf("%s answers %d %s", spelling, got.Status, got.Body)
				}
			}
			s.Stranger().Get(s.Transfer + "/public/mailbox/ann").WantError(transfer.ErrNotFound)
			s.Clock.Advance(quarantine - time.Minute)
			eve = eve.Login()
			if got := claim(eve, "ann"); got.Status != http.StatusConflict {
				t.Errorf("after 89 days: %d", got.Status)
			}
			s.Clock.Advance(2 * time.Minute)
			claim(eve, "ann").Want(http.StatusCreated)
			s.Stranger().Get(s.Transfer + "/public/mailbox/ann").Want(http.StatusOK)
		})
	}
}

// TestFormerOwnerTakesTheLinkBack: a rename can be undone at once, and the quarantine then protects the other name.
func TestFormerOwnerTakesTheLinkBack(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	eve := s.SignUp("eve@example.com")
	claim(ann, "ann-lee").Want(http.StatusOK)
	claim(eve, "ann").WantError(transfer.ErrLinkQuarantined)
	claim(ann, "ann").Want(http.StatusOK)
	claim(eve, "ann").WantError(transfer.ErrVanityLink)
	claim(eve, "ann-lee").WantError(transfer.ErrLinkQuarantined)
	ann.Delete(s.Transfer + "/mailbox").Want(http.StatusNoContent)
	claim(ann, "ann").Want(http.StatusCreated)
	if got := s.Stranger().Get(s.Transfer + "/public/mailbox/ann").Want(http.StatusOK); got.String("uid") != uidOf(ann) {
		t.Errorf("%s", got.Body)
	}
	s.Clock.Advance(quarantine)
	if err := s.App.Jobs.RunOnce(t.Context(), service.PurgeJob); err != nil {
		t.Fatal(err)
	}
	claim(eve.Login(), "ann-lee").Want(http.StatusCreated)
	claim(ann.Login(), "ann").Want(http.StatusOK) // the link that is held has no quarantine
}

// TestReleaseRace: of many who ask for a link while its owner renames it, none gets it.
func TestReleaseRace(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	eve := s.SignUp("eve@example.com")
	names := []string{"ann-lee", "ann"}
	var wait sync.WaitGroup
	var done atomic.Bool
	wait.Go(func() {
		defer done.Store(true)
		for i := range 40 {
			if got, err := ann.Try(t.Context(), "PUT", s.Transfer+"/mailbox", object{"vanityLink": names[i%2]}); err != nil ||
				got.Status != http.StatusOK {
				t.Errorf("rename: %+v %v", got, err)
			}
		}
	})
	for range 4 {
		wait.Go(func() {
			for !done.Load() {
				if got, err := eve.Try(t.Context(), "PUT", s.Transfer+"/mailbox", object{"vanityLink": "ann"}); err != nil ||
					got.Status != http.StatusConflict {
					t.Errorf("takeover: %+v %v", got, err)
				}
			}
		})
	}
	wait.Wait()
}

// TestReleasedLinkOfAGroup: the link of a group stays with its organization.
func TestReleasedLinkOfAGroup(t *testing.T) {
	t.Parallel()
	s, _, ann, bob, eve := newOffice(t)
	groups := s.Transfer + "/mailboxgroups"
	group := func(name, link string) object {
		return object{"name": name, "vanityLink": link, "mailboxUids": []string{}}
	}
	made := ann.Post(groups, group("Plans", "plans")).Want(http.StatusCreated).String("uid")
	ann.Put(groups+"/"+made, group("Plans", "permits")).Want(http.StatusOK)
	claim(eve, "plans").WantError(transfer.ErrLinkQuarantined)
	claim(bob, "plans").WantError(transfer.ErrLinkQuarantined) // a member is not the organization
	ann.Delete(groups + "/" + made).Want(http.StatusNoContent)
	claim(eve, "permits").WantError(transfer.ErrLinkQuarantined)
	zed := s.SignUp("zed@example.com")
	createOrganization(zed, "Zed & Co")
	zed.Post(groups, group("Plans", "plans")).WantError(transfer.ErrLinkQuarantined)
	ann.Post(groups, group("New plans", "plans")).Want(http.StatusCreated)
	zed.Post(groups, group("Plans", "plans")).WantError(transfer.ErrVanityLink)
	s.Clock.Advance(quarantine)
	claim(eve.Login(), "permits").Want(http.StatusOK)
}

// TestReservedLinks: nobody takes a name that looks like the operator's. A link that was taken before stays.
func TestReservedLinks(t *testing.T) {
	t.Parallel()
	s, _, ann, bob, _ := newOffice(t)
	for _, link := range []string{"support", "Admin", "post-master", "no.reply", "noreply", "WWW", "security"} {
		claim(bob, link).WantError(transfer.ErrLinkReserved)
		ann.Post(s.Transfer+"/mailboxgroups", object{"name": "x", "vanityLink": link, "mailboxUids": []string{}}).WantError(
			transfer.ErrLinkReserved)
	}
	claim(bob, "bob-support").Want(http.StatusOK)
	uid, err := id.Parse[id.Person](uidOf(bob))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.App.Transfer.SetMailbox(t.Context(), testkit.Command, transfer.Mailbox{Person: uid, VanityLink: "support"}); err != nil {
		t.Fatalf("the operator cannot give a reserved link: %v", err)
	}
	bob.Put(s.Transfer+"/mailbox", object{"vanityLink": "Support", "slogan": "We help."}).Want(http.StatusOK)
	claim(bob, "help").WantError(transfer.ErrLinkReserved)

	own, eve := newMailbox(t, testkit.Env("CONSIGN_RESERVED_LINKS", "Chef, big-boss"),
		testkit.Constants(func(c *config.Constants) { c.LinkQuarantine = time.Hour }))
	claim(eve, "support").Want(http.StatusOK)
	claim(eve, "bigboss").WantError(transfer.ErrLinkReserved)
	claim(eve, "").Want(http.StatusOK)
	own.Clock.Advance(time.Hour)
	claim(own.SignUp("bob@example.com"), "support").Want(http.StatusCreated)
}
