package service

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hold"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/notice"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/token"
)

// Profile returns the caller's own profile.
// Errors: identity.ErrPersonNotFound.
func (s *Service) Profile(ctx context.Context, caller token.Caller) (identity.Person, error) {
	return s.store.Profile(ctx, caller.Person)
}

// Held reports whether copies of the caller's deleted data are kept for a legal reason, and the caller may know (contract 4.30).
func (s *Service) Held(ctx context.Context, caller token.Caller) (bool, error) {
	return hold.Noticed(ctx, s.store.Querier(), hold.Person, caller.Person.UUID)
}

// PutProfile changes the caller's profile and returns the new state.
// Errors: fault.ErrInvalid, identity.ErrPersonNotFound.
func (s *Service) PutProfile(ctx context.Context, caller token.Caller, c identity.ProfileChange) (after identity.Person, err error) {
	if err := c.Check(); err != nil {
		return after, err
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.UpdateProfile(ctx, caller.Person, postgres.ProfileChange(c)); err != nil {
			return err
		}
		if err := s.recordOwn(ctx, tx, caller, "profile.update", caller.Person.String(), nil); err != nil {
			return err
		}
		after, err = tx.Profile(ctx, caller.Person)
		return err
	})
	return after, err
}

// DeleteProfile deletes the caller for good and ends all sessions. The hooks delete the data of other domains.
// Errors: identity.ErrLastAdmin, identity.ErrPersonNotFound, and those of stepUp.
func (s *Service) DeleteProfile(ctx context.Context, caller token.Caller, proof token.Proof) error {
	use, err := s.stepUp(ctx, caller, proof)
	if err != nil {
		return err
	}
	return s.deletePerson(ctx, caller.Person, audit.Of(caller), "own wish", use)
}

// ExportProfile returns the caller's data for an export, mails the caller and records the export.
// Errors: identity.ErrPersonNotFound, and those of stepUp.
func (s *Service) ExportProfile(ctx context.Context, caller token.Caller, proof token.Proof) (r PersonRecord, err error) {
	use, err := s.stepUp(ctx, caller, proof)
	if err != nil {
		return r, err
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, caller.Person); err != nil {
			return err
		}
		if err := use(ctx, tx); err != nil {
			return err
		}
		if err := s.notices.Secure(ctx, tx, caller.Person, caller.Client, notice.Notice{Template: mail.DataExported}); err != nil {
			return err
		}
		return s.recordOwn(ctx, tx, caller, "person.export", caller.Person.String(), nil)
	})
	if err != nil {
		return r, err
	}
	return s.ExportPerson(ctx, caller.Person.String())
}

// Watch returns a context that is cancelled within a second after the caller's session has ended (contract 2.8). The caller
// calls cancel.
func (s *Service) Watch(ctx context.Context, caller token.Caller) (context.Context, context.CancelFunc) {
	return s.revocations.WatchContext(ctx, caller)
}

// errMembershipChanged says that a person's organization changed before it was locked.
var errMembershipChanged = errors.New("the person's membership has changed since it was read")

// deletePerson deletes a person who is not the last administrator of an organization, and mails the person. first runs before it in the
// same transaction, with the person locked; nil: nothing.
// Errors: identity.ErrLastAdmin, identity.ErrPersonNotFound.
func (s *Service) deletePerson(ctx context.Context, p id.Person, by audit.Actor, reason string,
	first func(context.Context, *postgres.Store) error) error {
	const tries = 3
	for range tries {
		err := s.store.InTx(ctx, func(tx *postgres.Store) error {
			if err := s.lockForDeletion(ctx, tx, p); err != nil {
				return err
			}
			if first != nil {
				if err := first(ctx, tx); err != nil {
					return err
				}
			}
			return s.eraseAndInform(ctx, tx, p, by, reason)
		})
		if !errors.Is(err, errMembershipChanged) {
			return err
		}
	}
	return fault.ErrConflict.WithMessage(fault.MessageNotStored).Because(errMembershipChanged)
}

// eraseAndInform deletes a locked person and mails it what was deleted.
// Errors: identity.ErrPersonNotFound.
func (s *Service) eraseAndInform(ctx context.Context, tx *postgres.Store, p id.Person, by audit.Actor, reason string) error {
	to, err := tx.Addressee(ctx, p) // erase deletes the addresses and the membership
	if err != nil {
		return err
	}
	before, err := tx.Profile(ctx, p)
	if err != nil {
		return err
	}
	if before.Organization != nil {
		standing, err := tx.Standing(ctx, before.Organization.UID, p)
		if err != nil {
			return err
		}
		standing.Member = false // it cannot be restored
		if err := s.administratorsChanged(ctx, tx, by, before.Organization.UID, p, standing, nil, false); err != nil {
			return err
		}
	}
	lost, err := s.erase(ctx, tx, p, by, reason)
	if err != nil {
		return err
	}
	link, err := s.certify(ctx, tx, p, by, to)
	if err != nil {
		return err
	}
	data := map[string]any{"received": lost.received, "sent": lost.sent, "mostCounted": mostCounted}
	if lost.mailbox != "" {
		data["mailbox"] = s.notices.Link(to.Host, "/m/"+lost.mailbox)
	}
	if before.Organization != nil {
		data["organization"] = cmp.Or(before.Organization.Name, before.Organization.Hostname, before.Organization.UID.String())
	}
	return s.notices.Inform(ctx, tx, to, p, by.Client, notice.Notice{Template: mail.AccountDeleted, Data: data, Link: link})
}

// certify begins the certificate of the erasure of a deleted person, and returns the link to it. One without a verified address, and that
// of consign selftest, get none: there is nobody to give it to.
func (s *Service) certify(ctx context.Context, tx *postgres.Store, p id.Person, by audit.Actor, to postgres.Addressee) (string, error) {
	if s.hooks == nil || !slices.ContainsFunc(to.Addresses, func(address string) bool { return !mail.SelfTest(address) }) {
		return "", nil
	}
	key, err := s.hooks.PersonErased(ctx, tx.Tx(), p, by.Person != p)
	if err != nil {
		return "", err
	}
	return s.notices.Link(to.Host, "/r/"+key), nil
}

// lockForDeletion locks a person's organization, if any, and then the person. It refuses the last administrator of an
// organization.
// Errors: identity.ErrLastAdmin, identity.ErrPersonNotFound, errMembershipChanged.
func (s *Service) lockForDeletion(ctx context.Context, tx *postgres.Store, p id.Person) error {
	before, err := tx.Membership(ctx, p)
	if err != nil {
		return err
	}
	if !before.Organization.IsZero() {
		if err := tx.LockOrganizations(ctx, before.Organization); err != nil {
			return err
		}
	}
	if err := tx.LockPerson(ctx, p); err != nil {
		return err
	}
	current, err := tx.Membership(ctx, p)
	switch {
	case err != nil:
		return err
	case current.Organization != before.Organization:
		return errMembershipChanged
	case current.Organization.IsZero():
		return nil
	}
	return s.checkNotLastAdmin(ctx, tx, current.Organization, p, current.Roles)
}

// ProfileAvatar returns the caller's avatar in the stored size closest to height (pixels; 0: the largest).
// Errors: identity.ErrAvatarNotFound.
func (s *Service) ProfileAvatar(ctx context.Context, caller token.Caller, height int) (identity.Avatar, error) {
	return s.avatar(ctx, postgres.AvatarOwner{Person: caller.Person}, height)
}

// PutProfileAvatar stores a picture as the caller's avatar and returns its largest size. It reads the picture from the
// start.
// Errors: fault.ErrInvalid, identity.ErrPersonNotFound.
func (s *Service) PutProfileAvatar(ctx context.Context, caller token.Caller, picture io.ReadSeeker) (identity.Avatar, error) {
	sizes, err := s.avatarSizes(ctx, picture)
	if err != nil {
		return identity.Avatar{}, err
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, caller.Person); err != nil {
			return err
		}
		if err := tx.PutAvatar(ctx, postgres.AvatarOwner{Person: caller.Person}, sizes, s.now()); err != nil {
			return err
		}
		return s.profileAvatarChanged(ctx, tx, caller)
	})
	return sizes[0], err
}

// DeleteProfileAvatar deletes the caller's avatar.
// Errors: identity.ErrAvatarNotFound, identity.ErrPersonNotFound.
func (s *Service) DeleteProfileAvatar(ctx context.Context, caller token.Caller) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, caller.Person); err != nil {
			return err
		}
		existed, err := tx.DeleteAvatar(ctx, postgres.AvatarOwner{Person: caller.Person})
		if err != nil {
			return err
		}
		if !existed {
			return identity.ErrAvatarNotFound
		}
		return s.profileAvatarChanged(ctx, tx, caller)
	})
}

// profileAvatarChanged writes the event for the person and the members of its organization, and the audit entry.
func (s *Service) profileAvatarChanged(ctx context.Context, tx *postgres.Store, caller token.Caller) error {
	if err := s.recordOwn(ctx, tx, caller, "profile.avatar", caller.Person.String(), nil); err != nil {
		return err
	}
	m, err := tx.Membership(ctx, caller.Person)
	if err != nil {
		return err
	}
	if m.Organization.IsZero() {
		return s.notices.Event(ctx, tx, events.ProfileAvatarUpdated, caller.Person.String(), []id.Person{caller.Person})
	}
	return s.notices.Announce(ctx, tx, notice.Announcement{
		Organization: m.Organization, Event: events.ProfileAvatarUpdated, Subject: caller.Person.String(),
	})
}

// recordOwn appends an audit entry about a caller's change of its own account.
func (s *Service) recordOwn(ctx context.Context, tx *postgres.Store, caller token.Caller, action, object string,
	details map[string]string) error {
	return s.record(ctx, tx, audit.Entry{
		Actor: audit.Of(caller), Action: action, Object: object, Target: caller.Person, Details: details,
	})
}
