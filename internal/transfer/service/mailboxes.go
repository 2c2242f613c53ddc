// Rules of a person's mailbox.

package service

import (
	"context"
	"fmt"
	"strings"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/imaging"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// mailboxOnHost is the microcache key of a public mailbox.
type mailboxOnHost struct {
	key  transfer.Key
	host hosts.Host
}

// PublicMailbox returns the mailbox under key on the caller's host, from a microcache.
// Errors: transfer.ErrKeyInvalid, transfer.ErrNotFound.
func (s *Service) PublicMailbox(ctx context.Context, caller token.Caller, key string) (transfer.PublicMailbox, error) {
	k, err := transfer.ParseKey(key)
	if err != nil {
		return transfer.PublicMailbox{}, err
	}
	return s.mailboxes.Get(mailboxOnHost{k, caller.Client.Host}, func() (transfer.PublicMailbox, error) {
		m, err := s.store.PublicMailbox(ctx, k, s.scope(caller))
		return s.strangersView(m), err
	})
}

// strangersView returns a mailbox with the file limit of strangers' reservations.
func (s *Service) strangersView(m transfer.PublicMailbox) transfer.PublicMailbox {
	m.MaxFiles = min(m.FileLimit(), s.strangers.MaxFiles)
	return m
}

// Mailbox returns the caller's own mailbox.
// Errors: transfer.ErrNotFound.
func (s *Service) Mailbox(ctx context.Context, caller token.Caller) (transfer.PublicMailbox, error) {
	return s.store.PublicMailbox(ctx, transfer.Key{UID: caller.Person.String()}, s.scope(caller))
}

// PutMailbox creates or replaces the caller's mailbox, and reports whether it created it. Members that m leaves empty get
// their defaults.
// Errors: fault.ErrInvalid, transfer.ErrNotFound on another host than the caller's home host, transfer.ErrServiceDisabled,
// transfer.ErrRoleMissing, transfer.ErrAddressNotOwn, transfer.ErrLimitRaised, transfer.ErrFilterUnavailable,
// transfer.ErrLinkReserved, transfer.ErrVanityLink, transfer.ErrLinkQuarantined.
func (s *Service) PutMailbox(ctx context.Context, caller token.Caller,
	m transfer.Mailbox) (_ transfer.PublicMailbox, created bool, err error) {
	m.Person = caller.Person
	if err := s.mayTakeLink(m.VanityLink, func() (string, error) {
		present, err := s.Mailbox(ctx, caller)
		return present.VanityLink, err
	}); err != nil {
		return transfer.PublicMailbox{}, false, err
	}
	return s.putMailbox(ctx, audit.Of(caller), m)
}

// putMailbox is PutMailbox for the mailbox of m.Person, independent of the caller's person. Reserved links are allowed.
func (s *Service) putMailbox(ctx context.Context, by audit.Actor, m transfer.Mailbox) (_ transfer.PublicMailbox, created bool, err error) {
	sc := s.scope(token.Caller{Client: by.Client})
	owner, err := s.store.Owner(ctx, m.Person, sc)
	if err != nil {
		return transfer.PublicMailbox{}, false, err
	}
	if err := owner.MayKeep(); err != nil {
		return transfer.PublicMailbox{}, false, err
	}
	if err := s.checkMailbox(&m); err != nil {
		return transfer.PublicMailbox{}, false, err
	}
	if err := checkMailboxLimits(m, owner); err != nil {
		return transfer.PublicMailbox{}, false, err
	}
	if m.Email != "" {
		own, err := s.store.AddressVerified(ctx, m.Person, m.Email)
		if err != nil {
			return transfer.PublicMailbox{}, false, err
		}
		if !own {
			return transfer.PublicMailbox{}, false, transfer.ErrAddressNotOwn
		}
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockHomes(ctx, true); err != nil {
			return err
		}
		if _, err := tx.Owner(ctx, m.Person, sc); err != nil { // deleted, or moved to another host, since the first check
			return err
		}
		stored, err := tx.UpsertMailbox(ctx, m, sc.Now)
		if err != nil {
			return err
		}
		created, m.HasPicture, m.HasAvatar = stored.Created, stored.HasPicture, stored.HasAvatar
		if err := tx.SetVanityLink(ctx, m.Person, s.linkScope(sc.HostOrganization), m.VanityLink); err != nil {
			return err
		}
		return s.record(ctx, tx, by, audit.Entry{Action: "mailbox.put", Object: m.Person.String(), Organization: owner.Organization})
	})
	if err != nil {
		return transfer.PublicMailbox{}, false, err
	}
	return transfer.PublicMailbox{Mailbox: m, Owner: owner}, created, nil
}

// checkMailbox checks a mailbox's own members and normalizes them.
func (s *Service) checkMailbox(m *transfer.Mailbox) error {
	var problems fault.Problems
	transfer.CheckLine(&problems, "name", m.Name, text.MaxName)
	transfer.CheckLine(&problems, "slogan", m.Slogan, text.MaxSlogan)
	transfer.CheckBlock(&problems, "absenceMessage", m.AbsenceMessage, text.MaxMessage)
	if m.Email != "" {
		m.Email = transfer.CheckEmail(&problems, "email", m.Email)
	}
	m.VanityLink = checkVanityLink(&problems, m.VanityLink)
	if m.FieldsSchema != nil {
		if err := transfer.CheckFieldsSchema(m.FieldsSchema); err != nil {
			problems.Add("fieldsSchema", err.Error())
		}
	}
	if m.UISchema != nil {
		if err := transfer.CheckUISchema(m.UISchema); err != nil {
			problems.Add("uiSchema", err.Error())
		}
	}
	if len(m.MIMETypeFilter) > transfer.MaxFilterEntries {
		problems.Add("mimeTypeFilter", fmt.Sprintf("has more than %d entries", transfer.MaxFilterEntries))
	}
	for i, f := range m.MIMETypeFilter {
		m.MIMETypeFilter[i] = strings.ToLower(f)
		if !transfer.ValidMIMERange(m.MIMETypeFilter[i]) {
			problems.Add(fmt.Sprintf("mimeTypeFilter[%d]", i), "must be a type such as application/pdf, or a wildcard such as image/*")
			break
		}
	}
	if m.MaxFiles < 0 {
		problems.Add("maxFiles", "must be at least 1")
	}
	if m.MaxFileSizeMB < 0 {
		problems.Add("maxFileSizeMb", "must be at least 1")
	}
	return problems.Err()
}

// checkMailboxLimits checks a mailbox against the adminunit and the subscription.
// Errors: transfer.ErrLimitRaised, transfer.ErrFilterUnavailable.
func checkMailboxLimits(m transfer.Mailbox, o transfer.Owner) error {
	var above []string
	if m.MaxFiles > o.MaxFiles {
		above = append(above, fmt.Sprintf("maxFiles: must be at most the adminunit's %d", o.MaxFiles))
	}
	if m.MaxFileSizeMB > o.MaxFileSizeMB {
		above = append(above, fmt.Sprintf("maxFileSizeMb: must be at most the adminunit's %d", o.MaxFileSizeMB))
	}
	if len(above) > 0 {
		return transfer.ErrLimitRaised.With(above...)
	}
	if len(m.MIMETypeFilter) > 0 && !o.FilterAllowed {
		return transfer.ErrFilterUnavailable
	}
	return nil
}

// DeleteMailbox deletes the caller's mailbox and cancels the open reservations on it. ExpireReservations deletes these,
// because they may have any number of files.
// Errors: transfer.ErrNotFound.
func (s *Service) DeleteMailbox(ctx context.Context, caller token.Caller) error {
	if _, err := s.store.Owner(ctx, caller.Person, s.scope(caller)); err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockHomes(ctx, true); err != nil { // before the locks on groups, as in the deletion of an organization
			return err
		}
		if err := tx.DeleteMailbox(ctx, caller.Person, s.now()); err != nil {
			return err
		}
		if err := tx.EndReservations(ctx, caller.Person, true); err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "mailbox.delete", Object: caller.Person.String()})
	})
}

// MailboxAvatar returns the picture of a mailbox's owner in the stored size closest to height; 0 means the largest.
// Errors: transfer.ErrKeyInvalid, transfer.ErrNotFound.
func (s *Service) MailboxAvatar(ctx context.Context, caller token.Caller, key string, height int) (transfer.Avatar, error) {
	m, err := s.PublicMailbox(ctx, caller, key)
	if err != nil {
		return transfer.Avatar{}, err
	}
	size := imaging.Heights()[0]
	if height > 0 {
		size = imaging.Closest(height)
	}
	return s.store.Avatar(ctx, m.Person, size)
}
