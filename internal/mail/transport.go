package mail

import (
	"context"
	"errors"

	"github.com/consign-dev/consign/internal/id"
)

// ErrPermanent is wrapped by a Transport's error when repeating the attempt cannot help, because this mail or its
// recipient was refused. Any other error is temporary: the network, a login, a full disk.
var ErrPermanent = errors.New("refused for good")

// Envelope is a mail as it leaves: where to, and the bytes of the message (RFC 5322, CRLF line ends).
type Envelope struct {
	UID      id.Mail
	Template string
	From     string // bare address
	To       string // bare address
	Bytes    []byte
	Links    []string // links in the mail, keys included
}

// Transport takes a mail to where it goes: SMTP or Directory. answer is what the receiving server said.
type Transport interface {
	Send(ctx context.Context, e Envelope) (answer string, err error)
}
