package service_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/imaging"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/password"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/testkit/clock"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/postgres"
	requestpostgres "github.com/consign-dev/consign/internal/transfer/request/postgres"
	requestservice "github.com/consign-dev/consign/internal/transfer/request/service"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// world is the service with a private database and directory. Tests over HTTP are in transfer/handler. Here are those that
// control the body of an upload.
type world struct {
	*service.Service
	content *content.Service
	t       *testing.T
	db      *database.DB
	blobs   blob.Store
	free    id.Organization
	clock   *clock.Manual
	limits  content.Limits // of the services that serve makes
}

const home = "localhost"

// all collects a stream.
func all[T any](items iter.Seq2[T, error]) (list []T, err error) {
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, nil
}

// Confirm calls the service and collects all objects.
func (w *world) Confirm(ctx context.Context, caller token.Caller, r id.Reservation) (service.SeenTransfer, error) {
	t, objects, err := w.Service.Confirm(ctx, caller, r)
	if err != nil {
		return service.SeenTransfer{}, err
	}
	list, err := all(objects)
	return service.SeenTransfer{Transfer: t, Objects: list}, err
}

// page returns a page of a person's transfers.
func (w *world) page(p token.Caller, q service.TransferQuery) ([]service.SeenTransfer, string, error) {
	items, next, err := w.Transfers(w.t.Context(), p, q)
	if err != nil {
		return nil, "", err
	}
	list, err := all(items)
	return list, next, err
}

// seen returns a transfer as a person sees it, with all objects.
func (w *world) seen(p token.Caller, uid id.Transfer) (service.SeenTransfer, error) {
	t, objects, err := w.Transfer(w.t.Context(), p, uid)
	if err == nil {
		t.Objects, err = all(objects)
	}
	return t, err
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := database.New(t.Context(), pgtest.URL(t), 16)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	store, err := disk.New(t.TempDir(), disk.OS())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, db: db, blobs: store, free: id.New[id.Organization](), clock: clock.New(), limits: unlimited}
	w.exec(`INSERT INTO identity.organizations (uid, free, locale, time_zone, created_at, updated_at) VALUES ($1, true, 'en_US', 'Europe/Berlin', now(), now())`, w.free)
	w.exec(`INSERT INTO identity.hosts (host, organization, active, created_at) VALUES ($1, $2, true, now())`, home, w.free)
	w.exec(`INSERT INTO identity.limits VALUES ($1, true, 100000, 1000000000000, 1000000000000, true, false, true, 1000, 1, 100, false, 10, 'noChange')`, w.free)
	w.Service, w.content = w.serve(store)
	return w
}

// serve returns the service of one more replica on the world's database, with changed options.
func (w *world) serve(store blob.Store, change ...func(*service.Options)) (*service.Service, *content.Service) {
	w.t.Helper()
	log := slog.New(slog.DiscardHandler)
	sealer, err := seal.New(bytes.Repeat([]byte("k"), 32), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	catalog, err := i18n.New()
	if err != nil {
		w.t.Fatal(err)
	}
	runner := jobs.New(w.db, jobs.Options{Log: log, NoPeriodic: true})
	transport, err := mail.NewDirectory(w.t.TempDir(), log)
	if err != nil {
		w.t.Fatal(err)
	}
	mailer, err := mail.New(w.db, runner, sealer, catalog, transport, mail.Options{From: "consign@example.com", ProductName: "Consign"},
		w.clock.Now, log)
	if err != nil {
		w.t.Fatal(err)
	}
	ring := token.NewKeyRing(w.db, sealer, token.KeyPolicy{Lead: time.Hour, Lifetime: 30 * 24 * time.Hour, LongestToken: 48 * time.Hour},
		w.clock.Now, log)
	if err := ring.Ensure(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	public, err := url.Parse("http://localhost:8080")
	if err != nil {
		w.t.Fatal(err)
	}
	hasher, err := password.New(4, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	rows := postgres.New(w.db)
	files := content.New(content.Options{Store: rows, Blobs: store, Jobs: runner, OrphanAge: 7 * day,
		Limits: w.limits, Thumbnails: sealer.Box("thumbnail"),
		Pictures: imaging.New(imaging.Options{MaxPixels: 1_000_000}), Now: w.clock.Now,
		Log: log})
	o := service.Options{
		Requests: requestservice.New(requestservice.Options{Store: requestpostgres.New(w.db), Jobs: runner, Now: w.clock.Now, Log: log}),
		Hasher:   hasher,
		Store:    rows, Content: files, Issuer: token.NewIssuer(ring, "http://localhost:8080/id/v3", "https://consign.dev/", token.Lifetimes{},
			w.clock.Now),
		Revocations: token.NewRevocations(w.db, nil, time.Minute, w.clock.Now, log), Mailer: mailer, Jobs: runner, Sealer: sealer,
		Limiter: ratelimit.NewLimiter(ratelimit.NewMemory(w.clock.Now), true, log), Hosts: hosts.New(nil, public, time.Minute, w.clock.Now),
		Version: "test", Defaults: transfer.Defaults{Adminunit: transfer.DefaultAdminunit([]int32{1, 3, 7, 14, 30}, 7),
			UploadVolume: 50 * transfer.GB},
		ReservationLifetime: 48 * time.Hour, OpenObjects: 10_000, ExpiryWarning: 3 * day, ResumeLifetime: time.Hour, RecordAge: 90 * day,
		UploadConfirmations: 10, Strangers: strangers, Recipients: transfer.RecipientLimits{PerDay: 1000, Young: 1000}, Now: w.clock.Now,
		Log:            log,
		DownloadBudget: 2, Links: service.LinkRules{Quarantine: 90 * day},
	}
	for _, apply := range change {
		apply(&o)
	}
	return service.New(o), files
}

// unlimited are limits of uploads that no test reaches without lowering them.
var unlimited = content.Limits{
	Window: 64 << 20, UnconfirmedBytes: 1 << 50, NetworkShare: 100, ReservationUploads: 1 << 20, NetworkUploads: 1 << 20,
	Uploads: 1 << 20,
}

// strangers are the limits of a world's strangers: none that a test reaches without lowering them.
var strangers = transfer.StrangerLimits{NetworkShare: 100, Reservations: 10_000, MaxFiles: 10_000, Mails: 10_000}

const day = 24 * time.Hour

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.db.Pool.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatal(err)
	}
}

// count returns the result of a statement that yields one number.
func (w *world) count(sql string, args ...any) int64 {
	w.t.Helper()
	var n int64
	if err := w.db.Pool.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// metadata returns how many bytes the names and texts of all objects and reservations are charged.
func (w *world) metadata() int64 {
	w.t.Helper()
	return w.count(`SELECT (SELECT coalesce(sum(metadata), 0) FROM transfer.objects) + (SELECT coalesce(sum(metadata), 0) FROM transfer.reservations)`)
}

// person adds a person with a verified address and returns the person as a caller.
func (w *world) person(email string) token.Caller {
	w.t.Helper()
	p := id.New[id.Person]()
	w.exec(`INSERT INTO identity.persons (uid, name, locale, time_zone, created_at) VALUES ($1, $2, 'en_US', 'Europe/Berlin', now())`, p,
		strings.ToUpper(email[:1])+email[1:3])
	w.exec(`INSERT INTO identity.addresses (person, address, is_primary, verified_at, created_at) VALUES ($1, $2, true, now(), now())`, p,
		email)
	return w.at(token.Caller{Kind: token.KindAccess, Person: p, Session: id.New[id.Session](), AuthLevel: 1})
}

// organization adds an organization with a host.
func (w *world) organization(host string) id.Organization {
	w.t.Helper()
	org := id.New[id.Organization]()
	w.exec(`INSERT INTO identity.organizations (uid, free, locale, time_zone, created_at, updated_at) VALUES ($1, false, 'en_US', 'Europe/Berlin', now(), now())`, org)
	w.exec(`INSERT INTO identity.hosts (host, organization, active, created_at) VALUES ($1, $2, true, now())`, host, org)
	w.exec(`INSERT INTO identity.limits (organization) VALUES ($1)`, org)
	return org
}

// hold keeps the locks of a statement until release.
func (w *world) hold(sql string, args ...any) (release func()) {
	w.t.Helper()
	tx, err := w.db.Pool.Begin(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := tx.Exec(w.t.Context(), sql, args...); err != nil {
		w.t.Fatal(err)
	}
	release = func() { _ = tx.Rollback(context.WithoutCancel(w.t.Context())) }
	w.t.Cleanup(release)
	return release
}

// nothingReserved checks that no bytes of volume are reserved.
func (w *world) nothingReserved() {
	w.t.Helper()
	if n := w.count(`SELECT sum(reserved) FROM transfer.volume_totals`); n != 0 {
		w.t.Errorf("%d bytes of volume are reserved", n)
	}
}

// waiting waits until n requests wait for locks in the database.
func (w *world) waiting(n int) {
	w.t.Helper()
	poll.Until(w.t, fmt.Sprint(n, " requests wait"), func() bool { return pgtest.Waiting(w.t, w.db.Pool) == n })
}

func (w *world) at(caller token.Caller) token.Caller {
	caller.Client.Host = hosts.Host{Name: home, Organization: w.free, Free: true, Own: true}
	return caller
}

// mailbox adds Ann, who keeps a mailbox under the vanity link ann.
func (w *world) mailbox() token.Caller {
	w.t.Helper()
	p := w.person("ann@example.com")
	if _, _, err := w.PutMailbox(w.t.Context(), p, transfer.Mailbox{VanityLink: "ann"}); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// reserve creates a reservation for Ann's mailbox with everything that a confirm needs except files.
func (w *world) reserve() (token.Caller, id.Reservation) {
	w.t.Helper()
	sender, email := "Stranger", "stranger@example.org"
	made, err := w.ReserveMailbox(w.t.Context(), w.at(token.Caller{}), "ann",
		transfer.BasicMetadata{AnonSender: &sender, AnonEmail: &email, Locale: "en_US"})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.at(token.Caller{Kind: token.KindReservation, Reservation: made.Reservation.UID}), made.Reservation.UID
}

// newReservation returns a world in which a stranger has opened a reservation on Ann's mailbox.
func newReservation(t *testing.T) (*world, token.Caller, id.Reservation) {
	t.Helper()
	w := newWorld(t)
	w.mailbox()
	c, r := w.reserve()
	return w, c, r
}

func (w *world) attach(caller token.Caller, r id.Reservation, clientID string, size int64) {
	w.t.Helper()
	if _, _, err := w.Attach(w.t.Context(), caller, r,
		[]service.Attachment{{ClientID: clientID, Name: clientID + ".bin", IntendedSize: size}}); err != nil {
		w.t.Fatal(err)
	}
}

// upload uploads to the object a in a goroutine of its own. The channel gets its error.
func (w *world) upload(caller token.Caller, r id.Reservation, in content.Write) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := w.Upload(w.t.Context(), caller, r, "a", in)
		ended <- err
	}()
	return ended
}

// held returns how many bytes of the object a are held.
func (w *world) held(caller token.Caller, r id.Reservation) int64 {
	w.t.Helper()
	o, err := w.Object(w.t.Context(), caller, r, "a")
	if err != nil {
		w.t.Fatal(err)
	}
	return o.Held
}

// whole returns a request part with a whole object.
func whole(data []byte) content.Write {
	return content.WholeObject(int64(len(data)), &body{Reader: bytes.NewReader(data)})
}

// part returns a request part with data at offset of total bytes.
func part(data []byte, offset, total int64) content.Write {
	r := transfer.ContentRange{First: offset, Last: offset + int64(len(data)) - 1, Total: total}
	return content.RangeOfObject(r, int64(len(data)), &body{Reader: bytes.NewReader(data)})
}

type body struct{ io.Reader }

func (*body) Interrupt() {}

// slowBody returns its data, then blocks until it is interrupted or gets an error from next.
type slowBody struct {
	data    io.Reader
	waiting chan struct{} // closed when a Read blocks
	next    chan error    // error of the blocked Read
	once    sync.Once
}

func newSlowBody(data []byte) *slowBody {
	return &slowBody{data: bytes.NewReader(data), waiting: make(chan struct{}), next: make(chan error, 2)}
}

// slowly returns a request part that announces data and sends the bytes of first, and its body.
func slowly(first, data []byte) (content.Write, *slowBody) {
	b, in := newSlowBody(first), whole(data)
	in.Body = b
	return in, b
}

// mustWait returns once a Read blocks. The upload, which ended tells of, must not end before.
func (b *slowBody) mustWait(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case <-b.waiting:
	case err := <-ended:
		t.Fatal("the upload ended: ", err)
	}
}

func (b *slowBody) Read(p []byte) (int, error) {
	n, err := b.data.Read(p)
	if n > 0 || !errors.Is(err, io.EOF) {
		return n, err
	}
	b.once.Do(func() { close(b.waiting) })
	return 0, <-b.next
}

func (b *slowBody) Interrupt() { b.next <- errors.New("interrupted") }

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}
