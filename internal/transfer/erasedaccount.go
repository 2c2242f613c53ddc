package transfer

import (
	"encoding/hex"
	"strconv"
	"time"

	"github.com/consign-dev/consign/internal/id"
)

// Who deleted an account.
const (
	DeletedByPerson   = "person"
	DeletedByOperator = "operator"
)

// ErasedAccount is what was erased with the account of a person.
type ErasedAccount struct {
	Person    id.Person
	Reason    string
	DeletedAt time.Time
	Mailboxes int64
	Requests  int64
	Received  int64 // transfers that left the account
	Files     int64 // stored ones that nobody else had
	Sent      int64 // transfers that lost the account as their sender
	Receipts  int64
}

// FormatErasedAccount returns the certificate of erasure of an account. It names nobody: strangers learn a uid and counts.
func FormatErasedAccount(salt []byte, at time.Time, e ErasedAccount) []byte {
	b := []byte(eventMagic + "\n")
	b = appendLine(b, "salt", hex.EncodeToString(salt))
	b = appendLine(b, "person", e.Person.String())
	b = appendLine(b, "event", StatedErased)
	b = appendLine(b, "at", at.UTC().Format(statedTime))
	b = appendLine(b, "reason", e.Reason)
	b = appendLine(b, "ended", e.DeletedAt.UTC().Format(statedTime))
	for _, c := range []struct {
		name string
		n    int64
	}{{"mailboxes", e.Mailboxes}, {"requests", e.Requests}, {"received", e.Received}, {"files", e.Files}, {"sent", e.Sent},
		{"receipts", e.Receipts}} {
		b = appendLine(b, c.name, strconv.FormatInt(c.n, 10))
	}
	return b
}
