package handler_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit"
)

// attachMany announces n empty files, which are complete at once.
func (d draft) attachMany(n int) {
	d.Server.T.Helper()
	files := make([]object, n)
	for i := range files {
		files[i] = object{"clientId": fmt.Sprint(i), "name": fmt.Sprint("sheet ", i), "intendedSize": 0}
	}
	for part := range slices.Chunk(files, 1000) {
		d.Post(d.path+"/objects", object{"objects": part}).Want(http.StatusCreated)
	}
}

// wantSheets checks that an answer lists what attachMany announced, each once and in order.
func wantSheets(t *testing.T, where string, list any, n int) {
	t.Helper()
	objects, _ := list.([]any)
	if len(objects) != n {
		t.Errorf("%s: %d objects, want %d", where, len(objects), n)
		return
	}
	for i, o := range objects {
		if name := o.(map[string]any)["name"]; name != fmt.Sprint("sheet ", i) {
			t.Errorf("%s: object %d is %v", where, i, name)
			return
		}
	}
}

// TestLongLists: answers that are read from the database in several parts are whole, whatever the length of the last part.
func TestLongLists(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	for _, n := range []int{0, 1, 249, 250, 251, 500, 613, 1000, 1250} {
		where := fmt.Sprintf("%d objects", n)
		d, _ := begin(ann, nil)
		if n > 0 {
			d.attachMany(n)
		}
		wantSheets(t, where, d.Get(d.path).Want(http.StatusOK).Value("objects"), n)
		patched := d.Patch(d.path, object{"subject": where}).Want(http.StatusOK)
		wantSheets(t, where, patched.Value("objects"), n)
		if patched.String("subject") != where {
			t.Errorf("%s: %s", where, patched.Body)
		}
		done := d.Post(d.path+"/confirm", nil).Want(http.StatusOK)
		wantSheets(t, where, done.Value("objects"), n)
		seen := ann.Get(s.Transfer + "/transfers/" + done.String("uid")).Want(http.StatusOK)
		wantSheets(t, where, seen.Value("objects"), n)
		if seen.Value("objectCount") != float64(n) || seen.String("link") != done.String("link") {
			t.Errorf("%s: %s", where, seen.Body)
		}
		public := s.Stranger().Get(s.Transfer + "/public/transfers/" + linkKey(t, s, done.String("link"))).Want(http.StatusOK)
		wantSheets(t, where, public.Value("objects"), n)
	}
}

// TestPagesOfManyObjects: a page lists the objects of each transfer that has up to a hundred, however many there are in all; an operator's
// export lists all.
func TestPagesOfManyObjects(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	sizes := []int{100, 0, 101, 99, 100, 1, 100, 100, 2}
	for _, n := range sizes {
		d, _ := begin(ann, object{"subject": fmt.Sprint(n)})
		if n > 0 {
			d.attachMany(n)
		}
		d.confirm()
		s.Clock.Advance(time.Second)
	}
	list := ann.Get(s.Transfer + "/transfers?location=sent").Want(http.StatusOK)
	slices.Reverse(sizes) // newest first
	for i, n := range sizes {
		at := fmt.Sprintf("transfers.%d.", i)
		if list.String(at+"subject") != fmt.Sprint(n) || list.Value(at+"objectCount") != float64(n) {
			t.Fatalf("%s is %s", at, list.String(at+"subject"))
		}
		if n > 100 {
			if list.Value(at+"objects") != nil {
				t.Errorf("%d objects are listed", n)
			}
			continue
		}
		wantSheets(t, at, list.Value(at+"objects"), n)
	}
	part := ann.Get(s.Transfer + "/transfers?location=sent&limit=8").Want(http.StatusOK)
	rest := ann.Get(s.Transfer + "/transfers?location=sent&limit=8&after=" + part.String("next")).Want(http.StatusOK)
	if got := rest.Value("transfers").([]any); len(got) != 1 {
		t.Errorf("%d transfers on the last page", len(got))
	}
	i := 0
	for exported, err := range s.App.Transfer.PersonTransfers(t.Context(), id.Person{UUID: uuid.MustParse(uidOf(ann))}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(exported.Objects) != sizes[i] || exported.Brief {
			t.Errorf("%d of %d objects are exported", len(exported.Objects), sizes[i])
		}
		i++
	}
	if i != len(sizes) {
		t.Errorf("%d transfers are exported", i)
	}
}

// TestConfirmingManyFiles: the mail to a checked uploader lists fifty files, and it and the audit record count all.
func TestConfirmingManyFiles(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t, testkit.Constants(func(c *config.Constants) { c.StrangerMaxFiles = 10_000 }))
	d := reserveAs(s.SignUp("sam@example.com"), "sam@example.com")
	d.attachMany(1001)
	d.send("plan", []byte("1234567890"))
	uid := d.confirm()
	text := s.Mail.Wait(t, "sam@example.com", "sheet 0", 1).Text
	if !strings.Contains(text, "Content: 1002 files, 10\u00a0B\n") || !strings.Contains(text, "\nand 952 more files\n") ||
		strings.Count(text, "- sheet ") != 50 {
		t.Errorf("%.300s … %s", text, text[max(0, len(text)-300):])
	}
	var objects, bytes string
	err := s.App.DB.Pool.QueryRow(t.Context(),
		`SELECT details->>'objects', details->>'bytes' FROM audit WHERE action = 'transfer.deliver' AND object = $1`, uid).Scan(&objects, &bytes)
	if err != nil || objects != "1002" || bytes != "10" {
		t.Errorf("the audit record has %s objects, %s bytes, %v", objects, bytes, err)
	}
}

// TestPageOfLongFields: a page may have two hundred transfers with long fields. Transfers from before the bound of
// 64 KiB may have a megabyte of them. The page is streamed, so that a slow reader does not hold it all in memory. It is
// not parallel, because it measures the memory of the process.
func TestPageOfLongFields(t *testing.T) { //nolint:paralleltest // measures memory
	s, ann := newMailbox(t, testkit.Env("CONSIGN_NEW_TRANSFER_BUCKET", "100,1/s"))
	const transfers = 24
	fields := map[string]string{}
	for i := range 250 {
		fields[fmt.Sprint(i)] = strings.Repeat("x", 4000)
	}
	for i := range transfers {
		r := s.Stranger().Post(s.Transfer+"/public/mailbox/ann",
			object{"anonSender": "Sam", "anonEmail": "sam@example.com", "message": strings.Repeat("m", i*100)}).Want(http.StatusCreated)
		sam := s.Stranger().As(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		reservation := s.Transfer + "/reservations/" + r.String("uid")
		if i != 3 && i != 22 {
			sam.Patch(reservation, object{"fields": object{"0": "x"}}).Want(http.StatusOK)
		}
		sam.Post(reservation+"/confirm", nil).Want(http.StatusOK)
	}
	long, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := s.App.DB.Pool.Exec(t.Context(), `UPDATE transfer.transfers SET fields = $1::text::json WHERE fields IS NOT NULL`,
		string(long)); err != nil || done.RowsAffected() != transfers-2 {
		t.Fatalf("%d transfers got long fields, %v", done.RowsAffected(), err)
	}
	list, _ := ann.Get(s.Transfer + "/transfers").Want(http.StatusOK).Value("transfers").([]any)
	if len(list) != transfers {
		t.Fatalf("%d transfers, want %d", len(list), transfers)
	}
	for n, one := range list {
		i := transfers - 1 - n
		shown, _ := one.(map[string]any)["fields"].(map[string]any)
		if message, _ := one.(map[string]any)["message"].(string); len(message) != i*100 || (len(shown) == 250) == (i == 3 || i == 22) {
			t.Errorf("transfer %d: message of %d bytes and %d fields", i, len(message), len(shown))
		}
	}

	if held := heldFor(t, s, ann, s.Transfer+"/transfers"); held > 8<<20 {
		t.Errorf("the answer to a slow reader holds %d MB", held>>20)
	}
}

// heldFor returns how many bytes the server holds for a client that reads only the beginning of an answer.
func heldFor(t *testing.T, s *testkit.Server, p *testkit.Person, path string) int64 {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	before := heap()
	authorization := ""
	if p.Access != "" {
		authorization = "Authorization: Bearer " + p.Access + "\r\n"
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path, authorization)
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return heap() - before
}

// heap is what is in use of the process's memory.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSearchFindsAnswers: a search finds what a sender has answered to a mailbox's fields, until the transfer ends.
func TestSearchFindsAnswers(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	d.Patch(d.path, object{"fields": object{"number": "K-\u00c4 4711", "town": "Lindau"}}).Want(http.StatusOK)
	uid := d.confirm()
	search := func(text string) []any {
		return ann.Get(s.Transfer + "/transfers?search=" + url.QueryEscape(text)).Want(http.StatusOK).Value("transfers").([]any)
	}
	for text, want := range map[string]int{"k-\u00e4 4711": 1, "lindau": 1, "4711 lin": 1, "number": 0, "Konstanz": 0} {
		if found := search(text); len(found) != want {
			t.Errorf("%s: %d transfers, want %d", text, len(found), want)
		}
	}
	if n := count(t, s, `SELECT count(*) FROM transfer.search_texts`); n != 1 {
		t.Errorf("%d search texts", n)
	}
	ann.Delete(s.Transfer + "/transfers/" + uid).Want(http.StatusNoContent)
	if n := count(t, s, `SELECT count(*) FROM transfer.search_texts`); n != 0 {
		t.Errorf("%d search texts of transfers that have ended", n)
	}
}
