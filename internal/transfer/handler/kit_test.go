package handler_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/testkit"
)

// newMailbox returns a server and Ann, who has the mailbox "ann" on it.
func newMailbox(t *testing.T, options ...testkit.Option) (*testkit.Server, *testkit.Person) {
	t.Helper()
	s := testkit.New(t, options...)
	ann := s.SignUp("ann@example.com")
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann"}).Want(http.StatusCreated)
	return s, ann
}

// hold runs a statement in a transaction that keeps its locks. The end of the test rolls it back.
func hold(t *testing.T, s *testkit.Server, sql string, args ...any) database.Tx {
	t.Helper()
	tx, err := s.App.DB.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	if _, err := tx.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
	return tx
}

// draft is a reservation, and a client with its token.
type draft struct {
	*testkit.Person
	uid  string
	path string
}

// reserve makes a reservation of Sam for Ann. It lacks only files to be confirmed.
func reserve(s *testkit.Server) draft {
	s.T.Helper()
	return reserveAs(s.Stranger(), "sam@example.com")
}

// reserveAs makes a reservation of p for Ann, with the name Sam and an address.
func reserveAs(p *testkit.Person, address string) draft {
	p.Server.T.Helper()
	return reserveAt(p, "ann", address)
}

// reserveAt makes a reservation of p for a mailbox.
func reserveAt(p *testkit.Person, mailbox, address string) draft {
	s := p.Server
	s.T.Helper()
	made := p.Post(s.Transfer+"/public/mailbox/"+mailbox, map[string]any{"anonSender": "Sam", "anonEmail": address}).Want(http.StatusCreated)
	raw, ok := strings.CutPrefix(made.Header.Get("Authorization"), "Bearer ")
	if !ok {
		s.T.Fatal("no reservation token")
	}
	uid := made.String("uid")
	return draft{Person: s.Stranger().As(raw), uid: uid, path: s.Transfer + "/reservations/" + uid}
}

// attach announces a file and returns the path of its content.
func (d draft) attach(clientID string, size int) string {
	d.Server.T.Helper()
	d.Post(d.path+"/objects", map[string]any{"clientId": clientID, "name": clientID + ".bin", "intendedSize": size}).Want(http.StatusCreated)
	return d.path + "/objects/" + clientID + "/content"
}

// send uploads a whole file.
func (d draft) send(clientID string, data []byte) {
	d.Server.T.Helper()
	d.Put(d.attach(clientID, len(data)), data).Want(http.StatusOK)
}

// confirm confirms the reservation and returns the transfer's uid.
func (d draft) confirm() string {
	d.Server.T.Helper()
	return d.Post(d.path+"/confirm", nil).Want(http.StatusOK).String("uid")
}

func rangeOf(first, last, total int) string { return fmt.Sprintf("bytes %d-%d/%d", first, last, total) }
