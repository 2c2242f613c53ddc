// The text of receipts and of statements about later events, and its parser.

package transfer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/consign-dev/consign/internal/id"
)

// The kinds of statements about a transfer that the transparency log proves: the receipt of its delivery, and what happened later.
const (
	StatedDelivered  = "delivered"
	StatedOpened     = "opened"     // a recipient had access for the first time
	StatedDownloaded = "downloaded" // everything was sent to a recipient for the first time
	StatedRevoked    = "revoked"
	StatedExpired    = "expired"
	StatedErased     = "erased" // the stored bytes are deleted
)

// The reasons of an erasure.
const (
	ErasedByExpiry    = "expiry"
	ErasedByRetention = "retention" // the organization keeps it no longer
	ErasedByDeletion  = "deletion"  // it was revoked or deleted, or its downloads were used up
	ErasedWithAccount = "account"   // the account of the last person who had it was deleted
)

// The first lines of statements. docs/use/receipts.md describes the format.
const (
	receiptMagic = "consign-receipt/v1"
	eventMagic   = "consign-event/v1"

	// heartbeatMagic is that of package request: the service answered at a time.
	heartbeatMagic = "consign-heartbeat/v1"
)

const statedTime = "2006-01-02T15:04:05.000Z"

// SaltBytes is the length of a statement's salt, which keeps its hash from being guessed.
const SaltBytes = 16

// Receipt is the head of a receipt: everything but the objects.
type Receipt struct {
	Salt       []byte
	Host       string // where the transfer is at home
	Transfer   id.Transfer
	Kind       Kind
	CreatedAt  time.Time // of the reservation
	Confirmed  time.Time
	Due        time.Time // of the request that it answers; zero: none
	ExpiresAt  time.Time
	Sender     Sender
	Recipients []Delivery // bcc recipients are only counted
	Subject    string
	Message    string
	Fields     []byte // JSON object of strings, or nil
	Objects    int32
	TotalBytes int64
}

// AppendReceipt appends the lines of a receipt that precede those of its objects.
func AppendReceipt(b []byte, r Receipt) []byte {
	b = append(b, receiptMagic+"\n"...)
	b = appendLine(b, "salt", hex.EncodeToString(r.Salt))
	b = appendLine(b, "host", r.Host)
	b = appendLine(b, "transfer", r.Transfer.String())
	b = appendLine(b, "type", string(r.Kind))
	b = appendLine(b, "created", r.CreatedAt.UTC().Format(statedTime))
	b = appendLine(b, "confirmed", r.Confirmed.UTC().Format(statedTime))
	if !r.Due.IsZero() {
		b = appendLine(b, "due", r.Due.UTC().Format(statedTime))
	}
	b = appendLine(b, "expires", r.ExpiresAt.UTC().Format(statedTime))
	b = appendLine(b, "sender-name", r.Sender.Name)
	b = appendLine(b, "sender-email", r.Sender.Email)
	checked := "no"
	if r.Sender.Verified {
		checked = "yes"
	}
	b = appendLine(b, "sender-checked", checked)
	hidden := 0
	for _, d := range r.Recipients {
		switch d.Destination {
		case ToLink:
		case Bcc:
			hidden++
		default:
			b = appendLine(b, "recipient", strings.TrimSpace(string(d.Destination)+" "+d.Email+" "+d.Name))
		}
	}
	if hidden > 0 {
		b = appendLine(b, "bcc", strconv.Itoa(hidden))
	}
	b = appendLine(b, "subject", r.Subject)
	if r.Message != "" {
		sum := sha256.Sum256([]byte(r.Message))
		b = appendLine(b, "message", hex.EncodeToString(sum[:]))
	}
	if answers := AnswersHash(r.Fields); answers != nil {
		b = appendLine(b, "answers", hex.EncodeToString(answers))
	}
	return appendLine(b, "objects", strconv.Itoa(int(r.Objects))+" "+strconv.FormatInt(r.TotalBytes, 10))
}

// AppendReceiptObject appends the line of an object to a receipt.
func AppendReceiptObject(b []byte, o Object) []byte {
	b = append(b, "object "...)
	b = strconv.AppendInt(b, o.Held, 10)
	b = append(b, ' ')
	b = hex.AppendEncode(b, o.SHA256)
	b = append(b, ' ')
	return append(appendEscaped(b, o.Name), '\n')
}

// Event is a statement about what happened to a transfer after its delivery.
type Event struct {
	Salt     []byte
	Transfer id.Transfer
	Kind     string
	At       time.Time
	Receipt  []byte // SHA-256 of the receipt

	Reason string    // of an erasure; empty: not known
	Ended  time.Time // of an erasure: when the transfer ended; zero: not known
	Files  int       // of an erasure with a reason: how many stored files were deleted
}

// FormatEvent returns the statement.
func FormatEvent(e Event) []byte {
	b := []byte(eventMagic + "\n")
	b = appendLine(b, "salt", hex.EncodeToString(e.Salt))
	b = appendLine(b, "transfer", e.Transfer.String())
	b = appendLine(b, "event", e.Kind)
	b = appendLine(b, "at", e.At.UTC().Format(statedTime))
	b = appendLine(b, "receipt", hex.EncodeToString(e.Receipt))
	if e.Reason == "" {
		return b
	}
	b = appendLine(b, "reason", e.Reason)
	if !e.Ended.IsZero() {
		b = appendLine(b, "ended", e.Ended.UTC().Format(statedTime))
	}
	return appendLine(b, "files", strconv.Itoa(e.Files))
}

// appendLine appends "name value" and a line feed, nothing for an empty value.
func appendLine(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(append(b, name...), ' ')
	return append(appendEscaped(b, value), '\n')
}

// appendEscaped appends a value of one line. A backslash is doubled. A control or separator character, which no client can send, becomes
// \u and four digits.
func appendEscaped(b []byte, s string) []byte {
	if !strings.ContainsFunc(s, escaped) {
		return append(b, s...)
	}
	for _, r := range s {
		switch {
		case r == '\\':
			b = append(b, `\\`...)
		case escaped(r):
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = append(b, string(r)...)
		}
	}
	return b
}

func escaped(r rune) bool {
	return r == '\\' || unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}

// AnswersHash returns the SHA-256 of the answers to a mailbox's form, nil when there are none. It is taken of each name and value in the
// order of the names' bytes, each preceded by its length in bytes as eight bytes, big-endian.
func AnswersHash(fields []byte) []byte {
	var answers map[string]string
	if json.Unmarshal(fields, &answers) != nil || len(answers) == 0 {
		return nil
	}
	h := sha256.New()
	var length [8]byte
	write := func(s string) {
		binary.BigEndian.PutUint64(length[:], uint64(len(s)))
		h.Write(length[:])
		h.Write([]byte(s))
	}
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		write(name)
		write(answers[name])
	}
	return h.Sum(nil)
}

// Statement is a parsed receipt or event: its lines in order.
type Statement struct {
	Format  string // receiptMagic or eventMagic
	Lines   []StatementLine
	Objects []StatedObject
}

// StatementLine is one line: what precedes the first blank, and the rest, unescaped.
type StatementLine struct{ Name, Value string }

// StatedObject is an object that a receipt lists.
type StatedObject struct {
	Name   string
	Size   int64
	SHA256 string
}

// Receipt reports whether it is the receipt of a delivery, and not a statement about a later event.
func (s Statement) Receipt() bool { return s.Format == receiptMagic }

// Heartbeat reports whether it states only that the service answered.
func (s Statement) Heartbeat() bool { return s.Format == heartbeatMagic }

// Margin returns how long before the due time of a request a receipt was confirmed, negative for a late one. ok is false when it answers no
// request with a due time.
func (s Statement) Margin() (margin time.Duration, ok bool) {
	due, at := s.Time("due"), s.Time("confirmed")
	return due.Sub(at), !due.IsZero() && !at.IsZero()
}

// Time returns the time in the first line with a name; zero: there is none.
func (s Statement) Time(name string) time.Time {
	at, err := time.Parse(statedTime, s.Get(name))
	if err != nil {
		return time.Time{}
	}
	return at
}

// Get returns the value of the first line with a name.
func (s Statement) Get(name string) string {
	for _, l := range s.Lines {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// errStatement means that a statement does not have the documented form.
var errStatement = errors.New("it is no statement of this program, or of a newer version")

// ParseStatement reads a receipt or an event.
// Errors: when it does not have the documented form.
func ParseStatement(text []byte) (Statement, error) {
	lines := strings.Split(string(text), "\n")
	if len(lines) < 2 || lines[len(lines)-1] != "" || lines[0] != receiptMagic && lines[0] != eventMagic &&
		lines[0] != heartbeatMagic {
		return Statement{}, errStatement
	}
	s := Statement{Format: lines[0]}
	for _, line := range lines[1 : len(lines)-1] {
		name, value, found := strings.Cut(line, " ")
		if !found || name == "" {
			return Statement{}, errStatement
		}
		if name != "object" {
			s.Lines = append(s.Lines, StatementLine{name, unescape(value)})
			continue
		}
		parts := strings.SplitN(value, " ", 3)
		if len(parts) != 3 || len(parts[1]) != 2*sha256.Size {
			return Statement{}, errStatement
		}
		size, err := strconv.ParseInt(parts[0], 10, 64)
		if err != nil || size < 0 {
			return Statement{}, errStatement
		}
		s.Objects = append(s.Objects, StatedObject{Name: unescape(parts[2]), Size: size, SHA256: parts[1]})
	}
	return s, nil
}

// unescape reverses appendEscaped.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '\\':
			b.WriteByte('\\')
			i++
		case s[i] == '\\' && i+5 < len(s) && s[i+1] == 'u':
			if n, err := strconv.ParseUint(s[i+2:i+6], 16, 32); err == nil {
				b.WriteRune(rune(n))
				i += 5
				continue
			}
			b.WriteByte('\\')
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
