// Mails about changes of an account, each with a link that undoes the change, and what the link does.

package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
)

// notice is a change of what an account depends on, or a sign-in, that its owner is mailed about.
type notice struct {
	template string
	detail   string // distinguishes kinds of changes with one template; may be empty
	data     map[string]any
	leaves   string // the address that the change removes; empty: none
	joins    string // the address that the change verifies; empty: none
}

// secure stores the state of an account before a change and mails every address concerned, with a link that undoes the
// change (contract 3.23). A change of the same kind within identity.SecurityMailInterval is neither stored nor mailed:
// undoing the earlier one undoes it too. The person is locked, and the change comes afterwards in the same transaction.
func (s *Service) secure(ctx context.Context, tx *postgres.Store, p id.Person, c token.Client, n notice) error {
	undo, end, now := seal.NewKey(), seal.NewKey(), s.now()
	o, err := tx.KeepChange(ctx, p, postgres.SecurityChange{
		Kind: n.template + n.detail, UndoHash: seal.Hash(undo), EndHash: seal.Hash(end), Now: now, Since: now.Add(-identity.SecurityMailInterval),
	})
	if err != nil || len(o.Addresses) == 0 {
		return err
	}
	trusted := s.trusted(o, n.leaves)
	addresses := o.Addresses
	if n.joins != "" && !slices.Contains(addresses, n.joins) {
		addresses = append(addresses, n.joins)
	}
	expires := now.Add(s.settings.Undo)
	msgs := make([]mail.Message, len(addresses))
	for i, a := range addresses {
		key, power := end, mail.PowerEnd
		if slices.Contains(trusted, a) {
			key, power = undo, mail.PowerUndo
		}
		msgs[i] = s.securityMail(o, p, a, c, n)
		msgs[i].Data["power"], msgs[i].Data["expiresAt"] = power, expires
		msgs[i].Secret = map[string]string{"link": s.link(o.Host, "/undo/"+key)}
	}
	_, err = s.mailer.QueueAll(ctx, tx.Tx(), msgs)
	return err
}

// trusted returns the addresses whose mails may undo a change: those verified at least Settings.Undo before it, and the
// one verified first, however young. An address that an attacker has just added is not among them. Nor is the address that the
// change removes: the person may have lost it.
func (s *Service) trusted(o postgres.Addressee, leaves string) []string {
	oldest := slices.MinFunc(o.VerifiedAt, time.Time.Compare)
	var list []string
	for i, a := range o.Addresses {
		at := o.VerifiedAt[i]
		if a != leaves && (!at.After(s.undoableSince()) || at.Equal(oldest)) {
			list = append(list, a)
		}
	}
	return list
}

// undoableSince returns the time of the oldest change that can still be undone.
func (s *Service) undoableSince() time.Time { return s.now().Add(-s.settings.Undo) }

// securityMail returns a mail without link about an account to one of its addresses.
func (s *Service) securityMail(o postgres.Addressee, p id.Person, to string, c token.Client, n notice) mail.Message {
	data := map[string]any{"at": s.now()}
	for k, v := range n.data {
		data[k] = v
	}
	if c.Address.IsValid() {
		data["clientAddress"] = c.Address.String()
	}
	return mail.Message{
		Host: o.Host, To: to, ToName: o.Name, Locale: o.Locale, TimeZone: o.TimeZone, Template: n.template, Reference: p.String(), Data: data,
	}
}

// inform queues a mail without link to every verified address of an account.
func (s *Service) inform(ctx context.Context, tx *postgres.Store, o postgres.Addressee, p id.Person, c token.Client, n notice) error {
	msgs := make([]mail.Message, len(o.Addresses))
	for i, a := range o.Addresses {
		msgs[i] = s.securityMail(o, p, a, c, n)
	}
	_, err := s.mailer.QueueAll(ctx, tx.Tx(), msgs)
	return err
}

// Undo consumes the key of a mail about a change. It ends every session of the person. If the key was mailed to an address
// that may undo, it also restores addresses and second factors from before the change, locks the password and mails a
// reset to the primary address of that time (contract 3.23). undone reports which of both happened. The key of a mail about an
// organization undoes that change (contract 3.29).
// Errors: identity.ErrKeyNotFound; identity.ErrAddressInUse when other persons have verified all of the addresses since.
func (s *Service) Undo(ctx context.Context, c token.Client, key string) (undone bool, err error) {
	hash := seal.Hash(key)
	change, err := s.store.ChangeOfKey(ctx, hash, s.undoableSince())
	if errors.Is(err, identity.ErrKeyNotFound) {
		return true, s.undoOrganization(ctx, c, hash)
	}
	if err != nil {
		return false, err
	}
	var nobodys []byte // hash of a password that nobody knows
	if change.Undoes {
		if nobodys, err = s.hasher.Hash(ctx, seal.NewKey()); err != nil {
			return false, err
		}
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if change.Undoes {
			for _, a := range slices.Sorted(slices.Values(change.Addresses)) {
				if err := tx.LockAddress(ctx, a); err != nil {
					return err
				}
			}
		}
		if err := tx.LockPerson(ctx, change.Person); err != nil {
			return err
		}
		if err := tx.TakeChangeKey(ctx, change.Seq, hash, s.undoableSince()); err != nil {
			return err
		}
		if err := s.endAll(ctx, tx, change.Person, audit.By(id.Person{}, c), id.Organization{}); err != nil {
			return err
		}
		if !change.Undoes {
			return s.ended(ctx, tx, c, change)
		}
		return s.undo(ctx, tx, c, change, nobodys)
	})
	if errors.Is(err, identity.ErrPersonNotFound) {
		err = identity.ErrKeyNotFound
	}
	return change.Undoes, err
}

// ended mails and records the use of an ending key: it has ended all sessions and undoes nothing.
func (s *Service) ended(ctx context.Context, tx *postgres.Store, c token.Client, change postgres.KeptChange) error {
	to, err := tx.Addressee(ctx, change.Person)
	if err != nil {
		return err
	}
	if err := s.inform(ctx, tx, to, change.Person, c, notice{template: mail.SessionsEnded}); err != nil {
		return err
	}
	return s.recordUndo(ctx, tx, c, change, "security.end")
}

// undo restores the state before a change whose key was taken. The addresses of that time and the person are locked.
func (s *Service) undo(ctx context.Context, tx *postgres.Store, c token.Client, change postgres.KeptChange, nobodys []byte) error {
	before, err := tx.Addressee(ctx, change.Person)
	if err != nil {
		return err
	}
	primary, err := s.restoreAddresses(ctx, tx, change)
	if err != nil {
		return err
	}
	// A TOTP code that was used before the factor was removed must not work again.
	if err := tx.RestoreFactors(ctx, change.Person, change.Seq, credential.LastTOTPStep(s.now())); err != nil {
		return err
	}
	locked, err := tx.LockPassword(ctx, change.Person, nobodys, s.now())
	if err != nil {
		return err
	}
	if err := tx.DropChanges(ctx, change.Person, change.Seq); err != nil {
		return err
	}
	after, err := tx.Addressee(ctx, change.Person)
	if err != nil {
		return err
	}
	for _, a := range before.Addresses {
		if !slices.Contains(after.Addresses, a) {
			after.Addresses = append(after.Addresses, a)
		}
	}
	n := notice{template: mail.ChangeUndone}
	if locked {
		n.data = map[string]any{"password": "locked"}
		to := postgres.Resettable{Person: change.Person, Name: after.Name, Locale: after.Locale, TimeZone: after.TimeZone,
			Home: postgres.Home{Host: after.Host}}
		if err := s.mailReset(ctx, tx, audit.By(id.Person{}, c), to, primary); err != nil {
			return err
		}
	}
	if err := s.inform(ctx, tx, after, change.Person, c, n); err != nil {
		return err
	}
	return s.recordUndo(ctx, tx, c, change, "security.undo")
}

// restoreAddresses gives a person the addresses from before a change. Other persons who hold one of them unverified lose it.
// Errors: identity.ErrAddressInUse.
func (s *Service) restoreAddresses(ctx context.Context, tx *postgres.Store, change postgres.KeptChange) (primary string, err error) {
	for _, a := range change.Addresses {
		holders, err := tx.Holders(ctx, a)
		if err != nil {
			return "", err
		}
		others := slices.DeleteFunc(holders, func(h postgres.Holder) bool { return h.Person == change.Person })
		if err := s.evict(ctx, tx, a, others); err != nil {
			return "", err
		}
	}
	return tx.RestoreAddresses(ctx, change.Person, change.Seq)
}

func (s *Service) recordUndo(ctx context.Context, tx *postgres.Store, c token.Client, change postgres.KeptChange, action string) error {
	return s.record(ctx, tx, audit.Entry{
		Actor: audit.By(id.Person{}, c), Action: action, Object: change.Person.String(), Target: change.Person,
		Details: map[string]string{"kind": change.Kind},
	})
}
