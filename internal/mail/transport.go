package mail

import (
	"context"
	"errors"

	"github.com/consign-dev/consign/internal/id"
)

// ErrPermanent is wrapped by a Transport's error when a retry cannot succeed because this mail or its recipient was
// rejected. Any other error is temporary: network, login, full disk.
var ErrPermanent = errors.New("refused for good")

// Envelope is a mail ready to send: its addresses, and the bytes of the message (RFC 5322, CRLF line ends).
type Envelope struct {
	UID      id.Mail
	Template string
	From     string // bare address
	To       string // bare address
	Bytes    []byte
	Links    []string // links in the mail, including their keys
}

// Transport delivers mails: SMTP or Directory. Send returns the answer of the receiving server.
type Transport interface {
	Send(ctx context.Context, e Envelope) (answer string, err error)
}
