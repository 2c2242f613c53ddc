package service_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// strange opens a reservation of a stranger at a client address, and announces a file of 4000 bytes.
func (w *world) strange(mailbox, address string) (token.Caller, id.Reservation) {
	w.t.Helper()
	c := w.at(token.Caller{})
	c.Client.Address = netip.MustParseAddr(address)
	made, err := w.ReserveMailbox(w.t.Context(), c, mailbox, service.BasicMetadata{})
	if err != nil {
		w.t.Fatal(err)
	}
	stranger := w.at(token.Caller{Kind: token.KindReservation, Reservation: made.Reservation.UID})
	w.attach(stranger, made.Reservation.UID, "a", 4000)
	return stranger, made.Reservation.UID
}

// wrongSums returns how many strangers' reservations have another sum than their objects.
func (w *world) wrongSums() int64 {
	return w.count(`
		SELECT count(*) FROM transfer.stranger_reservations x
		WHERE bytes <> (SELECT coalesce(sum(o.held + o.reserved), 0) FROM transfer.objects o WHERE o.reservation = x.reservation)`)
}

// TestUnconfirmedBytesOfAnOrganization: the unconfirmed bytes of all strangers, and of one client network, at all mailboxes of an
// organization are limited. One network is bounded at the people without an organization, too; all networks together are not.
func TestUnconfirmedBytesOfAnOrganization(t *testing.T) {
	t.Parallel()
	for name, member := range map[string]bool{"organization": true, "people without one": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, who := range []string{"bob", "cid", "dora", "eve"} {
				p := w.person(who + "@example.com")
				if _, _, err := w.PutMailbox(t.Context(), p, transfer.Mailbox{VanityLink: who}); err != nil {
					t.Fatal(err)
				}
				if member {
					w.exec(`INSERT INTO identity.memberships (person, organization, roles, created_at) VALUES ($1, $2, '{Service.Transfer.Use}', now())`, p.Person, w.free)
				}
			}
			w.within(func(l *content.Limits) {
				l.Window, l.Organization = 700, content.StrangerBytes{All: 5000, Network: 3000}
			})
			others, second, third := transfer.ErrClientUnconfirmed, int64(3000), int64(3000)
			if member {
				others, second, third = transfer.ErrMailboxUnconfirmed, 2000, 0
			}
			for i, want := range []struct {
				mailbox, address string
				refusal          error
				held             int64
			}{
				{"bob", "192.0.2.1", transfer.ErrClientUnconfirmed, 3000}, {"cid", "192.0.2.1", transfer.ErrClientUnconfirmed, 0},
				{"dora", "192.0.2.2", others, second}, {"eve", "192.0.2.3", others, third},
			} {
				stranger, r := w.strange(want.mailbox, want.address)
				if _, err := w.Upload(t.Context(), stranger, r, "a", whole(random(4000))); !errors.Is(err, want.refusal) {
					t.Errorf("%d: answered %v", i, err)
				}
				if held := w.held(stranger, r); held != want.held {
					t.Errorf("%d: %d bytes are held", i, held)
				}
			}
			if n := w.wrongSums(); n != 0 {
				t.Errorf("%d sums are wrong", n)
			}
		})
	}
}

// TestSumsOfStrangers: after parallel requests of strangers and after a crash, the sum of each reservation is that of its objects.
func TestSumsOfStrangers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mailbox()
	w.within(func(l *content.Limits) { l.Window = 700 })
	var open []id.Reservation
	var callers []token.Caller
	for i := range 4 {
		c, r := w.strange("ann", fmt.Sprintf("192.0.2.%d", i+1))
		for _, name := range []string{"b", "c", "d"} {
			w.attach(c, r, name, 4000)
		}
		open, callers = append(open, r), append(callers, c)
	}
	var wait sync.WaitGroup
	for i := range open {
		for _, name := range []string{"a", "b", "c", "d"} {
			wait.Go(func() {
				for range 6 {
					switch rand.N(4) {
					case 0:
						_ = w.DeleteObject(t.Context(), callers[i], open[i], name)
						_, _, _ = w.Attach(t.Context(), callers[i], open[i], []service.Attachment{{ClientID: name, Name: name, IntendedSize: 4000}})
					case 1:
						_, _ = w.Upload(t.Context(), callers[i], open[i], name, content.Part{Length: 4000, Body: whole(random(1500)).Body}) // breaks off
					default:
						_, _ = w.Upload(t.Context(), callers[i], open[i], name, whole(random(4000)))
					}
				}
			})
		}
	}
	wait.Wait()
	if n := w.wrongSums(); n != 0 {
		t.Errorf("%d sums are wrong", n)
	}
	if n := w.count(`SELECT sum(bytes) FROM transfer.stranger_reservations`); n == 0 {
		t.Error("nothing was counted")
	}
	// A server crashed while a request had reserved 500 bytes. Later a job gives them back.
	w.exec(`UPDATE transfer.objects SET reserved = reserved + 500, reserved_month = '2026-11-01', lease_until = now() - interval '1 hour' WHERE reservation = $1 AND client_id = 'a'`, open[0])
	w.exec(`UPDATE transfer.stranger_reservations SET bytes = bytes + 500 WHERE reservation = $1`, open[0])
	if err := w.content.ReleaseVolumes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.wrongSums(); n != 0 {
		t.Errorf("after a crash %d sums are wrong", n)
	}
	// An older version that runs beside this one does not know the sums.
	w.exec(`UPDATE transfer.stranger_reservations SET bytes = bytes + 7 WHERE reservation = ANY ($1)`, open[1:])
	if err := w.content.RecountStrangers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.wrongSums(); n != 0 {
		t.Errorf("after the job %d sums are wrong", n)
	}
	for i := range open {
		if err := w.CancelReservation(t.Context(), callers[i], open[i]); err != nil {
			t.Error(err)
		}
	}
	if n := w.count(`SELECT count(*) FROM transfer.stranger_reservations`); n != 0 {
		t.Errorf("%d rows stay", n)
	}
}
