// Tests of holds: whatever erases is answered as ever, and what it erases stays until the hold ends.

package app_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/hold"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/scanner"
	transferservice "github.com/consign-dev/consign/internal/transfer/service"
)

// unheld are the tables whose rows no hold keeps, with the reason. Every other one needs a trigger.
var unheld = map[string]string{
	"secrets, and sessions, which end": `identity.api_tokens identity.authenticators identity.recovery_codes identity.passkeys
		identity.used_challenges identity.factor_tries identity.id_tokens identity.pending_logins identity.parked_tokens identity.reset_keys
		identity.external_logins identity.external_tokens identity.device_logins identity.known_clients identity.security_changes
		identity.security_change_factors identity.operators transfer.one_time_keys transfer.sender_codes signing_keys revocations
		idempotency_keys`,
	"of organizations and of the installation": `identity.organizations identity.hosts identity.host_claims identity.limits
		identity.subscriptions identity.invitations identity.organization_changes transfer.adminunits transfer.mailbox_groups
		transfer.mailbox_group_members settings samples migrations transfer.storage_checks transfer.heartbeats`,
	"programs of people, which stop": `webhook.webhooks webhook.deliveries`,
	"counts and limits": `transfer.volumes transfer.stored_volumes transfer.volume_advances transfer.volume_samples transfer.daily_sender_codes
		transfer.daily_mailbox_mails transfer.upload_confirmations transfer.daily_recipients transfer.stranger_reservations
		transfer.segment_charges`,
	"follow from rows that are kept": `events event_feeds transfer.search_texts transfer.thumbnails transfer.mailbox_suspensions`,
	"go with the stored bytes, which stay": `transfer.segments transfer.sealed_segments transfer.shared_contents
		transfer.discarded_objects transfer.erasing transfer.inspections transfer.damaged_contents`,
	"counts of an erasure, which is kept, and what it waits for": `transfer.person_erasures transfer.held_erasures`,
	"holds":                         `holds hold_scope hold_rows hold_contents`,
	"its whole table has a trigger": `audit_default`,
	"entries of the audit, which is held, on their way to a receiver": `audit_stream audit_pending audit_outbox`,
}

// TestHoldsCoverEveryTable: a table whose rows can be deleted has a trigger that holds them, or says why not. Statements need not know.
func TestHoldsCoverEveryTable(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	rows, err := s.App.DB.Pool.Query(t.Context(), `
		SELECT CASE nspname WHEN 'public' THEN '' ELSE nspname || '.' END || c.relname, EXISTS (
			SELECT FROM pg_trigger g WHERE g.tgrelid = c.oid AND g.tgname ~ '_held_(deleted|erased)$')
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p') AND nspname IN ('public', 'identity', 'transfer', 'webhook') AND c.relname NOT LIKE 'river%'
			AND c.relname !~ '^audit_[0-9]'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	exempt := map[string]bool{}
	for _, list := range unheld {
		for table := range strings.FieldsSeq(list) {
			exempt[table] = true
		}
	}
	for rows.Next() {
		var table string
		var held bool
		if err := rows.Scan(&table, &held); err != nil {
			t.Fatal(err)
		}
		if held == exempt[table] {
			t.Errorf("%s: has a trigger of holds: %t, is listed as not held: %t", table, held, exempt[table])
		}
		delete(exempt, table)
	}
	if err := rows.Err(); err != nil || len(exempt) > 0 {
		t.Errorf("there are no tables %v, %v", exempt, err)
	}
}

// heldWorld is a transfer from Ann to Bob and one to Ann's mailbox, with a hold.
type heldWorld struct {
	*testkit.Server
	ann, bob       *testkit.Person
	sent, received string // uids
	hold           uuid.UUID
}

func handOver(p *testkit.Person, reservation string) string {
	p.Post(reservation+"/objects", map[string]any{"clientId": "a", "name": "plan.txt", "intendedSize": 5}).Want(http.StatusCreated)
	p.Put(reservation+"/objects/a/content", []byte("hello")).Want(http.StatusOK)
	return p.Post(reservation+"/confirm", nil).Want(http.StatusOK).String("uid")
}

func newHeldWorld(t *testing.T, kind string, options ...testkit.Option) heldWorld {
	t.Helper()
	s := testkit.New(t, options...)
	w := heldWorld{Server: s, ann: s.SignUp("ann@example.com"), bob: s.SignUp("bob@example.com")}
	mailbox := w.ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann", "slogan": "Send it"}).Want(http.StatusCreated)
	subject := mailbox.String("uid")
	made := w.ann.Post(s.Transfer+"/reservations", map[string]any{"subject": "Plans", "message": "Secret words",
		"recipients": []map[string]any{{"email": "bob@example.com", "destinationType": "to"}}}).Want(http.StatusCreated)
	w.sent = handOver(w.ann, s.Transfer+"/reservations/"+made.String("uid"))
	sam := s.Stranger().Post(s.Transfer+"/public/mailbox/ann", map[string]any{"subject": "X-ray",
		"anonSender": "Sam", "anonEmail": "sam@example.com"}).Want(http.StatusCreated)
	w.received = handOver(s.Stranger().As(bearer(sam)), s.Transfer+"/reservations/"+sam.String("uid"))
	if kind == hold.Transfer {
		subject = w.sent
	}
	var err error
	if w.hold, err = hold.Add(t.Context(), s.App.DB, testkit.Command,
		hold.Hold{Kind: kind, Subject: uuid.MustParse(subject), Name: "Case 7", Reason: "court order"}, s.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	return w
}

// kept returns the tables and the text of what a hold has kept.
func (w heldWorld) kept(t *testing.T) (tables []string, text string) {
	t.Helper()
	if err := hold.Export(t.Context(), w.App.DB, testkit.Command, id.Organization{}, w.hold, w.Clock.Now(), func(r hold.Row) error {
		tables, text = append(tables, r.Source), text+string(r.Data)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return tables, text
}

// stored purges, and returns how many segments have rows, which go with their bytes.
func (w heldWorld) stored(t *testing.T) (n int) {
	t.Helper()
	if err := w.App.Content.PurgeBytes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM transfer.segments`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (w heldWorld) run(t *testing.T, job string) {
	t.Helper()
	if err := w.App.Jobs.RunOnce(t.Context(), job); err != nil {
		t.Fatalf("%s: %v", job, err)
	}
}

// erasures are routes, jobs and commands that erase. Each answers with a status, 0 without one.
var erasures = map[string]struct {
	kind  string
	erase func(t *testing.T, w heldWorld) int
	table string // of which a row is kept
	words string // in kept rows
}{
	"revocation": {hold.Transfer, func(_ *testing.T, w heldWorld) int {
		return w.ann.Delete(w.Transfer + "/transfers/" + w.sent).Status
	}, "transfer.transfers", "Secret words"},
	"revocation, of a held person": {hold.Person, func(_ *testing.T, w heldWorld) int {
		return w.ann.Delete(w.Transfer + "/transfers/" + w.sent).Status
	}, "transfer.objects", "Secret words"},
	"removal by an operator": {hold.Transfer, func(t *testing.T, w heldWorld) int {
		uid, err := id.Parse[id.Transfer](w.sent)
		if err == nil {
			err = w.App.Transfer.RemoveTransfer(t.Context(), testkit.Command, uid)
		}
		if err != nil {
			t.Error(err)
		}
		return 0
	}, "transfer.deliveries", "Secret words"},
	"the last recipient": {hold.Mailbox, func(_ *testing.T, w heldWorld) int {
		return w.ann.Delete(w.Transfer + "/transfers/" + w.received).Status
	}, "transfer.objects", "plan.txt"},
	"expiry and retention": {hold.Transfer, func(t *testing.T, w heldWorld) int {
		for _, job := range []string{transferservice.ExpireTransfersJob, transferservice.PurgeJob} {
			w.Clock.Advance(400 * 24 * time.Hour)
			w.run(t, job)
		}
		return 0
	}, "transfer.deliveries", "Secret words"},
	"a removed recipient": {hold.Transfer, func(_ *testing.T, w heldWorld) int {
		got := w.ann.Get(w.Transfer + "/transfers/" + w.sent).Want(http.StatusOK)
		return w.ann.Delete(w.Transfer + "/transfers/" + w.sent + "/recipients/" + got.String("recipients.0.delivery")).Status
	}, "transfer.deliveries", "bob@example.com"},
	"the mailbox": {hold.Mailbox, func(_ *testing.T, w heldWorld) int {
		return w.ann.Delete(w.Transfer + "/mailbox").Status
	}, "transfer.mailboxes", "Send it"},
	"the account": {hold.Person, func(_ *testing.T, w heldWorld) int {
		return w.ann.Delete(w.Identity + "/profile").Status
	}, "identity.addresses", "ann@example.com"},
	"mails": {hold.Person, func(t *testing.T, w heldWorld) int {
		w.Clock.Advance(90 * 24 * time.Hour)
		if err := w.App.Mail.Clean(t.Context()); err != nil {
			t.Error(err)
		}
		return 0
	}, "public.mails", "ann@example.com"},
	"a request": {hold.Person, func(t *testing.T, w heldWorld) int {
		made := w.ann.Post(w.Transfer+"/requests", map[string]any{"title": "Statement", "items": []any{map[string]any{"name": "Lease"}},
			"parties": []any{map[string]any{"email": "bob@example.com", "name": "Bob"}}}).Want(http.StatusCreated)
		uid := made.String("uid")
		if _, err := w.App.DB.Pool.Exec(t.Context(), `
			INSERT INTO transfer.party_items (party, item, state, reason, changed_at)
			SELECT p.uid, i.uid, 'returned', 'Page 2 is missing', now() FROM transfer.request_parties p
				JOIN transfer.request_items i ON i.request = p.request WHERE p.request = $1`, uid); err != nil {
			t.Error(err)
		}
		return w.ann.Delete(w.Transfer + "/requests/" + uid).Status
	}, "transfer.party_items", "Page 2 is missing"},
}

// TestHolds runs what erases, held and not. The answers are the same, and only with a hold rows and bytes are kept. Once the hold has ended
// they go by themselves.
func TestHolds(t *testing.T) {
	t.Parallel()
	for name, c := range erasures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, free := newHeldWorld(t, c.kind), newHeldWorld(t, c.kind)
			if err := hold.End(t.Context(), free.App.DB, testkit.Command, id.Organization{}, free.hold, free.Clock.Now()); err != nil {
				t.Fatal(err)
			}
			if got, want := c.erase(t, w), c.erase(t, free); got != want || got >= 300 {
				t.Errorf("held it answers %d, else %d", got, want)
			}
			poll.Until(t, "it is kept", func() bool {
				tables, text := w.kept(t)
				return slices.Contains(tables, c.table) && strings.Contains(text, c.words)
			})
			if _, text := w.kept(t); strings.Contains(text, "_hash\"") || strings.Contains(text, `"secret"`) {
				t.Errorf("it keeps secrets: %s", text)
			}
			if n := w.stored(t); n != 2 && name != "expiry and retention" || n == 0 {
				t.Errorf("%d of 2 files are stored", n)
			}
			if err := hold.End(t.Context(), w.App.DB, testkit.Command, id.Organization{}, w.hold, w.Clock.Now()); err != nil {
				t.Fatal(err)
			}
			poll.Until(t, "the files go as without a hold", func() bool { return w.stored(t) == free.stored(t) })
			var rows int
			if err := w.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM hold_rows`).Scan(&rows); err != nil || rows > 0 {
				t.Errorf("%d rows are left, %v", rows, err)
			}
		})
	}
}

// TestHoldEndsAccess: a held transfer that is revoked is gone for everybody.
func TestHoldEndsAccess(t *testing.T) {
	t.Parallel()
	w := newHeldWorld(t, hold.Person)
	path := w.Transfer + "/transfers/" + w.sent
	object := path + "/objects/" + w.bob.Get(path).Want(http.StatusOK).String("objects.0.uid") + "/content"
	w.bob.Get(object).Want(http.StatusOK)
	w.ann.Delete(path).Want(http.StatusNoContent)
	w.bob.Get(object).Want(http.StatusNotFound)
	w.ann.Get(object).Want(http.StatusNotFound)
	if got := w.ann.Get(path); strings.Contains(string(got.Body), "Secret words") {
		t.Errorf("the sender still sees %s", got.Body)
	}
}

// TestHoldsExpire: a hold whose time is over ends by a job, others stay.
func TestHoldsExpire(t *testing.T) {
	t.Parallel()
	w := newHeldWorld(t, hold.Person)
	until := w.Clock.Now().Add(time.Hour)
	add := func(subject string) error {
		_, err := hold.Add(t.Context(), w.App.DB, testkit.Command, hold.Hold{Kind: hold.Transfer, Subject: uuid.MustParse(subject),
			Name: "Case 8", Reason: "court order", Until: &until}, w.Clock.Now())
		return err
	}
	if err := add(w.sent); err != nil {
		t.Fatal(err)
	}
	if err := add(uuid.NewString()); err == nil {
		t.Error("an unknown transfer is held")
	}
	for hours, want := range []int{2, 1} {
		if err := hold.Expire(t.Context(), w.App.DB, w.Clock.Now().Add(time.Duration(2*hours)*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if list, err := hold.List(t.Context(), w.App.DB, id.Organization{}); err != nil || len(list) != want {
			t.Errorf("%d holds, %v", len(list), err)
		}
	}
}

// TestHoldKeepsInfected: the bytes of an infected file are deleted while its object stays, and a hold keeps them.
func TestHoldKeepsInfected(t *testing.T) {
	t.Parallel()
	w := newHeldWorld(t, hold.Transfer, testkit.Env("CONSIGN_SCANNER_URL", scanner.NewClamd(t).URL))
	poll.Until(t, "both files are inspected", func() bool {
		n, err := database.Exec(t.Context(), w.App.DB.Pool, "find", `
			UPDATE transfer.inspections SET state = 'infected', finding = 'Eicar', scanned_at = $1, due_at = NULL WHERE state <> 'scanning'`,
			w.Clock.Now().Add(-30*24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return n == 2
	})
	w.run(t, transferservice.InspectJob)
	if n := w.stored(t); n != 1 {
		t.Errorf("%d files are stored, want that of the held transfer", n)
	}
	if err := hold.End(t.Context(), w.App.DB, testkit.Command, id.Organization{}, w.hold, w.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	if n := w.stored(t); n != 0 {
		t.Errorf("%d files are stored after the hold", n)
	}
}

// holdRounds is the count of rounds of TestHoldRaces: some beside the other tests, 200 in make test-holds.
func holdRounds(t *testing.T) int {
	t.Helper()
	raw := os.Getenv("ROUNDS")
	if raw == "" {
		return 20
	}
	n, err := strconv.Atoi(raw)
	if err != nil || n < 1 {
		t.Fatalf("ROUNDS: %q", raw)
	}
	return n
}

// heldRaces are what ends a transfer, or deletes the record of one that has ended: then a hold finds nothing, or keeps a copy.
var heldRaces = []struct {
	name   string
	before func(w heldWorld, uid string)
	end    func(w heldWorld, uid string) error
}{
	{"revocation", nil, func(w heldWorld, uid string) error {
		_, err := w.ann.Try(w.T.Context(), "DELETE", w.Transfer+"/transfers/"+uid, nil)
		return err
	}},
	{"expiry", func(w heldWorld, uid string) {
		w.set(uid, `created_at = created_at - interval '2 days', expires_at = created_at - interval '1 day'`)
	},
		func(w heldWorld, _ string) error { return w.App.Transfer.ExpireTransfers(w.T.Context()) }},
	{"retention", func(w heldWorld, uid string) {
		w.ann.Delete(w.Transfer + "/transfers/" + uid).Want(http.StatusNoContent)
		w.set(uid, `ended_at = created_at - interval '400 days'`)
	}, func(w heldWorld, _ string) error { return w.App.Transfer.Purge(w.T.Context()) }},
}

func (w heldWorld) set(uid, columns string) {
	w.T.Helper()
	if _, err := w.App.DB.Pool.Exec(w.T.Context(), `UPDATE transfer.transfers SET `+columns+` WHERE uid = $1`, uid); err != nil {
		w.T.Fatal(err)
	}
}

// TestHoldRaces: holds beside revocation, expiry, the deletion of records, and the purge of bytes. A hold keeps a transfer whole or has
// found it ended or gone: never rows without bytes.
func TestHoldRaces(t *testing.T) {
	t.Parallel()
	w := heldWorld{Server: testkit.New(t, testkit.Env("CONSIGN_EXPIRY_GRACE", "1h"))}
	w.ann = w.SignUp("ann@example.com")
	rounds := holdRounds(t)
	if err := w.App.Identity.SetLimits(t.Context(), testkit.Command, "free",
		identity.LimitsChange{NewTransferLimit: identity.To(len(heldRaces)*rounds + 100)}); err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]int{}
	for i := range len(heldRaces) * rounds {
		race := heldRaces[i%len(heldRaces)]
		made := w.ann.Post(w.Transfer+"/reservations", map[string]any{"subject": fmt.Sprint("Plan ", i)}).Want(http.StatusCreated)
		uid := handOver(w.ann, w.Transfer+"/reservations/"+made.String("uid"))
		if race.before != nil {
			race.before(w, uid)
		}
		outcomes[race.name+": "+w.race(uid, func() error { return race.end(w, uid) })]++
	}
	t.Log(outcomes)
}

// race holds a transfer while end ends it and the bytes are purged, and returns what has become of it: kept whole, ended or gone before.
func (w heldWorld) race(uid string, end func() error) string {
	t := w.T
	t.Helper()
	var all sync.WaitGroup
	var held uuid.UUID
	var refused error
	all.Go(func() {
		held, refused = hold.Add(t.Context(), w.App.DB, testkit.Command,
			hold.Hold{Kind: hold.Transfer, Subject: uuid.MustParse(uid), Name: "Case", Reason: "court order"}, w.Clock.Now())
	})
	all.Go(func() {
		if err := errors.Join(end(), w.App.Content.PurgeBytes(t.Context())); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	// A job skips what is locked until its next run.
	if err := errors.Join(end(), w.App.Content.PurgeBytes(t.Context())); err != nil {
		t.Fatal(err)
	}
	if errors.Is(refused, hold.ErrNotFound) {
		return "gone before"
	} else if refused != nil {
		t.Fatal(refused)
	}
	var copies, objects, contents, bytes, left int
	var recorded bool
	if err := w.App.DB.Pool.QueryRow(t.Context(), `
		SELECT (SELECT count(*) FROM hold_rows WHERE hold = $1 AND source = 'transfer.transfers'),
			(SELECT count(*) FROM hold_rows WHERE hold = $1 AND source = 'transfer.objects'),
			(SELECT count(*) FROM hold_contents WHERE hold = $1),
			(SELECT count(*) FROM hold_contents c JOIN transfer.segments g ON g.object = c.content WHERE c.hold = $1),
			(SELECT count(*) FROM transfer.objects o JOIN transfer.transfers t ON t.reservation = o.reservation WHERE t.uid = $2),
			EXISTS (SELECT FROM transfer.transfers WHERE uid = $2)`,
		held, uid).Scan(&copies, &objects, &contents, &bytes, &left, &recorded); err != nil {
		t.Fatal(err)
	}
	if objects != contents || contents != bytes || left > 0 || copies != 1 && (objects > 0 || !recorded) {
		t.Fatalf("%s: %d copies of the transfer, %d of its objects, %d files, %d stored, %d left; it is recorded: %t", uid, copies, objects,
			contents, bytes, left, recorded)
	}
	if copies > 0 {
		return "kept"
	}
	return "ended before"
}
