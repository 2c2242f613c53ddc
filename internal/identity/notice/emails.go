package notice

import (
	"context"
	"net/url"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
)

// Verification is the input of a mail with a verification key.
type Verification struct {
	Person  id.Person
	Address string // the address that the key verifies
	Key     string
	Expires time.Time
	Next    string // path that the confirmation page opens afterwards; empty: none
	Host    string // a configured hostname: where the person began
}

// Verify queues the mail with a verification key, to the address that the key verifies. Its link leads to the
// home host. Who is at home at every host is led back to the host where they began.
func (ns *Notices) Verify(ctx context.Context, tx *postgres.Store, v Verification) error {
	to, err := tx.Contact(ctx, v.Person)
	if err != nil {
		return err
	}
	host, path := to.Host, "/confirm/"+v.Key
	if to.Everywhere && v.Host != "" {
		host = v.Host
	}
	if v.Next != "" {
		path += "?next=" + url.QueryEscape(v.Next)
	}
	// Without the name: the address may be somebody else's, and the name a text of a stranger.
	_, err = ns.mailer.Queue(ctx, tx.Tx(), mail.Message{
		To: v.Address, Locale: to.Locale, TimeZone: to.TimeZone, Template: mail.VerifyEmail, Reference: v.Person.String(),
		Data:     map[string]any{"address": v.Address, "expiresAt": v.Expires},
		Secret:   map[string]string{"link": ns.Link(host, path)},
		GiveUpAt: v.Expires,
	})
	return err
}
