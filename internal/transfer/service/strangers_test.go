package service_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// strange opens a reservation of a stranger at a client address, and announces a file of 10,000 bytes.
func (w *world) strange(mailbox, address string) (token.Caller, id.Reservation) {
	w.t.Helper()
	c := w.at(token.Caller{})
	c.Client.Address = netip.MustParseAddr(address)
	made, err := w.ReserveMailbox(w.t.Context(), c, mailbox, transfer.BasicMetadata{})
	if err != nil {
		w.t.Fatal(err)
	}
	stranger := w.at(token.Caller{Kind: token.KindReservation, Reservation: made.Reservation.UID})
	w.attach(stranger, made.Reservation.UID, "a", 10_000)
	return stranger, made.Reservation.UID
}

// wantRefusal uploads the file of strange and checks the error and how many bytes are held then.
func (w *world) wantRefusal(stranger token.Caller, r id.Reservation, refusal error, want int64) {
	w.t.Helper()
	if _, err := w.Upload(w.t.Context(), stranger, r, "a", whole(random(10_000))); !errors.Is(err, refusal) {
		w.t.Errorf("answered %v, want %v", err, refusal)
	}
	if held := w.held(stranger, r); held != want {
		w.t.Errorf("%d bytes are held, want %d", held, want)
	}
}

// wrongSums returns how many strangers' reservations have another sum than their objects.
func (w *world) wrongSums() int64 {
	return w.count(`
		SELECT count(*) FROM transfer.stranger_reservations x
		JOIN transfer.reservations r ON r.uid = x.reservation
		WHERE bytes <> r.metadata + (SELECT coalesce(sum(o.metadata + (SELECT coalesce(sum(s.held + s.reserved), 0) FROM transfer.segments s
			WHERE s.object = o.uid)), 0)
			FROM transfer.objects o WHERE o.reservation = x.reservation)`)
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
					w.exec(`INSERT INTO identity.memberships (person, organization, roles, created_at) VALUES ($1, $2, '{Service.Transfer.Use}', now())`,
						p.Person, w.free)
				}
			}
			w.within(func(l *content.Limits) {
				l.Window, l.OrganizationBytes, l.NetworkShare = 700, 6000+4*transfer.ObjectCost, 50
			})
			others, second, third := transfer.ErrClientUnconfirmed, int64(3000+transfer.ObjectCost), int64(3000+transfer.ObjectCost)
			if member {
				others, second, third = transfer.ErrMailboxUnconfirmed, 3000, 0
			}
			wants := []struct {
				mailbox, address string
				refusal          error
				held             int64
			}{
				{"bob", "192.0.2.1", transfer.ErrClientUnconfirmed, 3000}, {"cid", "192.0.2.1", transfer.ErrClientUnconfirmed, 0},
				{"dora", "198.51.100.2", others, second}, {"eve", "203.0.113.3", others, third},
			}
			callers, open := make([]token.Caller, len(wants)), make([]id.Reservation, len(wants))
			for i, want := range wants {
				callers[i], open[i] = w.strange(want.mailbox, want.address)
			}
			for i, want := range wants {
				w.wantRefusal(callers[i], open[i], want.refusal, want.held)
			}
			if n := w.wrongSums(); n != 0 {
				t.Errorf("%d sums are wrong", n)
			}
		})
	}
}

// TestUnconfirmedMetadataIsBounded: texts and names of strangers count as their unconfirmed bytes. Parallel requests do not exceed the
// bound, and a refused one counts nothing.
func TestUnconfirmedMetadataIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mailbox()
	w.within(func(l *content.Limits) { l.UnconfirmedBytes, l.NetworkShare = 5000, 60 })
	message := strings.Repeat("m", 400)
	given := transfer.BasicMetadata{Message: &message}
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			c := w.at(token.Caller{})
			c.Client.Address = netip.MustParseAddr(fmt.Sprintf("192.0.%d.1", 1+i%2))
			made, err := w.ReserveMailbox(t.Context(), c, "ann", transfer.BasicMetadata{})
			if err != nil {
				t.Error(err)
				return
			}
			r := made.Reservation.UID
			stranger := w.at(token.Caller{Kind: token.KindReservation, Reservation: r})
			if made, err = w.ReserveMailbox(t.Context(), c, "ann", given); err != nil {
				t.Error(err)
				return
			}
			another := w.at(token.Caller{Kind: token.KindReservation, Reservation: made.Reservation.UID})
			_, _, err = w.Attach(t.Context(), another, made.Reservation.UID, []service.Attachment{{ClientID: "a", Name: "a", IntendedSize: 1}})
			_, _, second := w.PatchReservation(t.Context(), stranger, r, transfer.Metadata{BasicMetadata: given})
			_, _, third := w.Attach(t.Context(), stranger, r, []service.Attachment{{ClientID: "a", Name: message, IntendedSize: 1}})
			for _, err := range []error{err, second, third} {
				if err != nil && !errors.Is(err, transfer.ErrMailboxUnconfirmed) && !errors.Is(err, transfer.ErrClientUnconfirmed) {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if n := w.wrongSums(); n != 0 {
		t.Errorf("%d sums are wrong", n)
	}
	if n := w.count(`SELECT sum(bytes) FROM transfer.stranger_reservations`); n > 5000 || n <= 4500 {
		t.Errorf("%d unconfirmed bytes", n)
	}
	if n := w.count(`SELECT max(n) FROM (SELECT sum(bytes) AS n FROM transfer.stranger_reservations GROUP BY client) c`); n > 3000 {
		t.Errorf("%d unconfirmed bytes of a network", n)
	}
	if n := w.count(`SELECT sum(held) FROM transfer.volume_totals`); n != w.metadata() {
		t.Errorf("%d bytes are charged for %d", n, w.metadata())
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
					switch rand.N(5) {
					case 4:
						message := string(bytes.Repeat([]byte("m"), rand.N(1000)))
						_, _, _ = w.PatchReservation(t.Context(), callers[i], open[i],
							transfer.Metadata{BasicMetadata: transfer.BasicMetadata{Message: &message}})
					case 0:
						_ = w.DeleteObject(t.Context(), callers[i], open[i], name)
						_, _, _ = w.Attach(t.Context(), callers[i], open[i], []service.Attachment{{ClientID: name, Name: name, IntendedSize: 4000}})
					case 1:
						_, _ = w.Upload(t.Context(), callers[i], open[i], name, content.WholeObject(4000, whole(random(1500)).Body)) // breaks off
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
	held := w.count(`SELECT sum(held) FROM transfer.objects`) + w.metadata()
	if person, stored := w.count(`SELECT sum(held) FROM transfer.volume_totals WHERE kind = 'person'`),
		w.count(`SELECT sum(bytes) FROM transfer.stored_totals`); person != held || stored != held {
		t.Errorf("%d and %d bytes are charged for %d", person, stored, held)
	}
	if n := w.count(`SELECT sum(bytes) FROM transfer.stranger_reservations`); n == 0 {
		t.Error("nothing was counted")
	}
	// A server crashed while a request had reserved 500 bytes. Later a job gives them back.
	w.exec(`INSERT INTO transfer.segments AS s (uid, object, number, size, reserved, reserved_month, lease_until)
		SELECT uid, uid, 1, intended_size, 500, '2026-11-01', now() - interval '1 hour' FROM transfer.objects WHERE reservation = $1
			AND client_id = 'a'
		ON CONFLICT (uid) DO UPDATE SET reserved = s.reserved + 500, reserved_month = excluded.reserved_month,
			lease_until = excluded.lease_until`, open[0])
	w.exec(`UPDATE transfer.stranger_reservations SET bytes = bytes + 500 WHERE reservation = $1`, open[0])
	if err := w.content.ReleaseVolumes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.wrongSums(); n != 0 {
		t.Errorf("after a crash %d sums are wrong", n)
	}
	for i := range open {
		if err := w.CancelReservation(t.Context(), callers[i], open[i]); err != nil {
			t.Error(err)
		}
	}
	if n := w.count(`SELECT count(*) FROM transfer.stranger_reservations`); n != 0 {
		t.Errorf("%d rows stay", n)
	}
	if n := w.count(`SELECT (SELECT sum(held + reserved) FROM transfer.volume_totals)
		+ (SELECT sum(bytes + reserved) FROM transfer.stored_totals)`); n != 0 {
		t.Errorf("%d bytes stay charged", n)
	}
}
