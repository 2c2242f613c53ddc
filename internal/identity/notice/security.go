// Mails about changes of an account, to all its addresses.

package notice

import (
	"context"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
)

// Notice is a change of what an account depends on, or a sign-in, that its owner is mailed about.
type Notice struct {
	Template string
	Detail   string // distinguishes kinds of changes with one template; may be empty
	Data     map[string]any
	Leaves   string // the address that the change removes; empty: none
	Joins    string // the address that the change verifies; empty: none
	Link     string // of Inform: with a key, sealed until it is sent; empty: none
}

// Secure stores the state of an account before a change and mails every address concerned, with a link that undoes the
// change (contract 3.23). A change of the same kind within identity.SecurityMailInterval is neither stored nor mailed:
// undoing the earlier one undoes it too. The person is locked, and the change comes afterwards in the same transaction.
func (ns *Notices) Secure(ctx context.Context, tx *postgres.Store, p id.Person, c token.Client, n Notice) error {
	undo, end, now := seal.NewKey(), seal.NewKey(), ns.now()
	o, err := tx.KeepChange(ctx, p, postgres.SecurityChange{
		Kind: n.Template + n.Detail, UndoHash: seal.Hash(undo), EndHash: seal.Hash(end), Now: now, Since: now.Add(-identity.SecurityMailInterval),
	})
	if err != nil || len(o.Addresses) == 0 {
		return err
	}
	trusted := ns.trusted(o, n.Leaves)
	addresses := o.Addresses
	if n.Joins != "" && !slices.Contains(addresses, n.Joins) {
		addresses = append(addresses, n.Joins)
	}
	expires := now.Add(ns.undo)
	msgs := make([]mail.Message, len(addresses))
	for i, a := range addresses {
		key, power := end, mail.PowerEnd
		if slices.Contains(trusted, a) {
			key, power = undo, mail.PowerUndo
		}
		msgs[i] = ns.Mail(o, p, a, c, n)
		msgs[i].Data["power"], msgs[i].Data["expiresAt"] = power, expires
		msgs[i].Secret = map[string]string{"link": ns.Link(o.Host, "/undo/"+key)}
	}
	_, err = ns.mailer.QueueAll(ctx, tx.Tx(), msgs)
	return err
}

// trusted returns the addresses whose mails may undo a change: those verified at least Settings.Undo before it, and the
// one verified first, however young. An address that an attacker has just added is not among them. Nor is the address that the
// change removes: the person may have lost it.
func (ns *Notices) trusted(o postgres.Addressee, leaves string) []string {
	oldest := slices.MinFunc(o.VerifiedAt, time.Time.Compare)
	var list []string
	for i, a := range o.Addresses {
		at := o.VerifiedAt[i]
		if a != leaves && (!at.After(ns.UndoableSince()) || at.Equal(oldest)) {
			list = append(list, a)
		}
	}
	return list
}

// UndoableSince returns the time of the oldest change that can still be undone.
func (ns *Notices) UndoableSince() time.Time { return ns.now().Add(-ns.undo) }

// Mail returns a mail without link about an account to one of its addresses.
func (ns *Notices) Mail(o postgres.Addressee, p id.Person, to string, c token.Client, n Notice) mail.Message {
	data := map[string]any{"at": ns.now()}
	for k, v := range n.Data {
		data[k] = v
	}
	if c.Address.IsValid() {
		data["clientAddress"] = c.Address.String()
	}
	return mail.Message{
		Host: o.Host, To: to, ToName: o.Name, Locale: o.Locale, TimeZone: o.TimeZone, Template: n.Template, Reference: p.String(), Data: data,
	}
}

// Inform queues a mail to every verified address of an account.
func (ns *Notices) Inform(ctx context.Context, tx *postgres.Store, o postgres.Addressee, p id.Person, c token.Client, n Notice) error {
	msgs := make([]mail.Message, len(o.Addresses))
	for i, a := range o.Addresses {
		msgs[i] = ns.Mail(o, p, a, c, n)
		if n.Link != "" {
			msgs[i].Secret = map[string]string{"link": n.Link}
		}
	}
	_, err := ns.mailer.QueueAll(ctx, tx.Tx(), msgs)
	return err
}
