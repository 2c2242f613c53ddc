// Attacks of somebody who has a whole prefix, on what is counted in the database.

package handler_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer"
)

// prefixes are networks as formats of addresses in client networks of their own, with how many quarters of a bound they may take.
var prefixes = map[string]struct {
	format   string
	quarters int
}{
	"home line": {"2001:db8:0:%x::1", 2}, "site": {"2001:db8:0:%x00::1", 3}, "IPv4 network": {"203.0.113.%d", 3},
}

// forEachPrefix runs a test for each of them. All have a server of their own.
func forEachPrefix(t *testing.T, test func(t *testing.T, at func(i int) string, quarters int)) {
	t.Helper()
	for name, p := range prefixes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(i int) string { return fmt.Sprintf(p.format, i+1) }, p.quarters)
		})
	}
}

func honest(i int) string { return fmt.Sprintf("198.51.%d.7", i) }

// TestAttackPrefixReservations: one prefix leaves room for the open reservations of others, at a mailbox and at an organization.
func TestAttackPrefixReservations(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"CONSIGN_STRANGER_RESERVATIONS", "CONSIGN_STRANGER_ORGANIZATION_RESERVATIONS"} {
		forEachPrefix(t, func(t *testing.T, at func(int) string, quarters int) {
			s, _ := newMailbox(t, behindProxy(testkit.Env("CONSIGN_NEW_TRANSFER_BUCKET", "1000,1/s"), testkit.Env(setting, "20"))...)
			public, made := s.Transfer+"/public/mailbox/ann", 0
			for i := range 40 {
				if got := strangerAt(s, at(i)).Post(public, nil); got.Status == http.StatusCreated {
					made++
				} else {
					got.WantError(transfer.ErrClientBusy)
				}
			}
			if made != 5*quarters {
				t.Errorf("%s: the prefix has %d of 20", setting, made)
			}
			for i := range 5 {
				strangerAt(s, honest(i)).Post(public, nil).Want(http.StatusCreated)
			}
		})
	}
}

// TestAttackNetworksReservations: somebody with many networks, each of which has asked little, leaves room for the open reservations of
// others, at a mailbox and at an organization. Nor does one of these get a second one there.
func TestAttackNetworksReservations(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"CONSIGN_STRANGER_RESERVATIONS", "CONSIGN_STRANGER_ORGANIZATION_RESERVATIONS"} {
		s, _, _, _, _ := newOffice(t, behindProxy(testkit.Env("CONSIGN_NEW_TRANSFER_BUCKET", "1000,1/s"), testkit.Env(setting, "20"))...)
		public, made := s.Transfer+"/public/mailbox/ann", 0
		attack := func(i int) *testkit.Response {
			return strangerAt(s, fmt.Sprintf("203.0.%d.7", i)).Post(public, nil)
		}
		for i := range 200 {
			if attack(i/5).Status == http.StatusCreated {
				made++
			}
		}
		if made != 20+36 { // five of each of four networks, and one of each other
			t.Errorf("%s: many networks have %d of 20", setting, made)
		}
		for i := range 4 {
			strangerAt(s, honest(i)).Post(public, nil).Want(http.StatusCreated)
		}
		attack(1).WantError(transfer.ErrClientBusy)
		strangerAt(s, honest(0)).Post(public, nil).WantError(transfer.ErrMailboxBusy)
	}
}

// TestAttackNetworksTransfers: somebody with many networks leaves room in a mailbox's bucket of new transfers.
func TestAttackNetworksTransfers(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t, behindProxy(ofTwenty)...)
	public := s.Transfer + "/public/mailbox/ann"
	for i := range 16 * 5 {
		strangerAt(s, fmt.Sprintf("203.0.%d.7", i%16)).Post(public, nil)
		strangerAt(s, fmt.Sprintf("2001:db8:0:%x00::1", i)).Post(public, nil)
	}
	for i := range 20 {
		strangerAt(s, honest(i)).Post(public, nil).Want(http.StatusCreated)
	}
}

// TestAttackNetworksBytes: unconfirmed bytes of many networks leave room for the files of one that has sent little.
func TestAttackNetworksBytes(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"CONSIGN_STRANGER_UNCONFIRMED_GB", "CONSIGN_STRANGER_ORGANIZATION_UNCONFIRMED_GB"} {
		s, _, _, _, _ := newOffice(t, behindProxy(testkit.Env(setting, "1"))...)
		for i := range 5 {
			reserveAs(strangerAt(s, fmt.Sprintf("203.0.%d.7", i)), "eve@example.org")
		}
		if _, err := s.App.DB.Pool.Exec(t.Context(), `UPDATE transfer.stranger_reservations SET bytes = 200000000`); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			d := reserveAs(strangerAt(s, honest(i)), "sam@example.org")
			d.send("a", random(900_000))
			d.Put(d.attach("b", 900_000), random(900_000)).WantError(transfer.ErrMailboxUnconfirmed)
		}
	}
}

// TestAttackPrefixBytes: one prefix leaves room for the unconfirmed bytes of others, at a mailbox and at an organization.
func TestAttackPrefixBytes(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"CONSIGN_STRANGER_UNCONFIRMED_GB", "CONSIGN_STRANGER_ORGANIZATION_UNCONFIRMED_GB"} {
		forEachPrefix(t, func(t *testing.T, at func(int) string, quarters int) {
			s, _ := newMailbox(t, behindProxy(testkit.Env(setting, "1"))...)
			for i := range quarters {
				reserveAs(strangerAt(s, at(i)), "eve@example.org")
			}
			// Each network holds a little less than what it may alone.
			if _, err := s.App.DB.Pool.Exec(t.Context(), `UPDATE transfer.stranger_reservations SET bytes = 249900000`); err != nil {
				t.Fatal(err)
			}
			one := reserveAs(strangerAt(s, at(quarters)), "eve@example.org")
			one.Put(one.attach("a", 1_000_000), random(1_000_000)).WantError(transfer.ErrClientUnconfirmed)
			other := reserveAs(strangerAt(s, honest(1)), "sam@example.org")
			other.send("a", random(1_000_000))
		})
	}
}

// TestAttackPrefixMails: one prefix leaves room for others among the mails of a day to the owner of a mailbox, and the codes to an address.
func TestAttackPrefixMails(t *testing.T) {
	t.Parallel()
	forEachPrefix(t, func(t *testing.T, at func(int) string, quarters int) {
		s, _ := careful(t, behindProxy(testkit.Env("CONSIGN_NEW_TRANSFER_BUCKET", "1000,1/s"))...)
		code := func(address string) *testkit.Response {
			d := reserveAs(strangerAt(s, address), "victim@example.org")
			return d.Post(d.path+"/code", nil)
		}
		sent := 0
		for i := range 20 {
			if code(at(i)).Status == http.StatusNoContent {
				sent++
			}
		}
		if sent != 3*quarters { // CONSIGN_SENDER_CODES_PER_DAY is 12
			t.Errorf("%d codes", sent)
		}
		code(honest(1)).Want(http.StatusNoContent)
	})
	forEachPrefix(t, func(t *testing.T, at func(int) string, quarters int) {
		s, ann := newMailbox(t, behindProxy(testkit.Env("CONSIGN_NEW_TRANSFER_BUCKET", "1000,1/s"),
			testkit.Env("CONSIGN_STRANGER_MAILS_PER_DAY", "8"))...)
		mails := func() (n int) {
			if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM mails WHERE recipient = $1 AND template = 'transfer-delivered'`,
				ann.Email).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for i := range 10 {
			reserveAs(strangerAt(s, at(i)), "eve@example.org").confirm()
		}
		if n := mails(); n != 2*quarters {
			t.Errorf("%d mails of the prefix", n)
		}
		reserveAs(strangerAt(s, honest(1)), "sam@example.org").confirm()
		if n := mails(); n != 2*quarters+1 {
			t.Errorf("an honest delivery is not mailed")
		}
	})
}
