package service

import (
	"context"
	"fmt"
	"iter"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// GroupInput is the input of CreateGroup and PutGroup.
type GroupInput struct {
	Name, Description, VanityLink string
	Mailboxes                     []id.Person
}

// PublicGroup returns the mailbox group under key on the caller's host.
// Errors: transfer.ErrKeyInvalid, transfer.ErrNotFound.
func (s *Service) PublicGroup(ctx context.Context, caller token.Caller, key string) (transfer.MailboxGroup, error) {
	k, err := transfer.ParseKey(key)
	if err != nil {
		return transfer.MailboxGroup{}, err
	}
	g, err := s.store.PublicGroup(ctx, k, s.scope(caller))
	if err != nil {
		return transfer.MailboxGroup{}, err
	}
	return withMembers(ctx, s.store, g)
}

// withMembers returns g with its members.
func withMembers(ctx context.Context, store *postgres.Store, g transfer.MailboxGroup) (transfer.MailboxGroup, error) {
	members, err := store.GroupMembers(ctx, []id.Group{g.UID})
	g.Members = members[g.UID]
	return g, err
}

// A batch of a group's mailboxes: at most this many, and at most this many bytes of their texts. One mailbox may have
// 150 kB.
const (
	mailboxesBatch    = 250
	mailboxBytesBatch = 64 << 10
)

// GroupMailboxes streams the mailboxes of a group's members, read in batches.
func (s *Service) GroupMailboxes(ctx context.Context, caller token.Caller, g transfer.MailboxGroup) iter.Seq2[transfer.PublicMailbox,
	error] {
	return func(yield func(transfer.PublicMailbox, error) bool) {
		for rest := g.Members; len(rest) > 0; {
			var batch []id.Person
			for bytes := 0; len(batch) < min(len(rest), mailboxesBatch) && bytes < mailboxBytesBatch; {
				next := rest[len(batch)]
				batch, bytes = append(batch, next.Mailbox), bytes+next.Bytes
			}
			rest = rest[len(batch):]
			mailboxes, err := s.store.GroupMailboxes(ctx, g.UID, batch, s.scope(caller))
			if err != nil {
				yield(transfer.PublicMailbox{}, err)
				return
			}
			for _, m := range mailboxes {
				if !yield(s.strangersView(m), nil) {
					return
				}
			}
		}
	}
}

// Groups returns the mailbox groups of the organization that the caller administers.
// Errors: transfer.ErrAdminRole, transfer.ErrNotFound.
func (s *Service) Groups(ctx context.Context, caller token.Caller) ([]transfer.MailboxGroup, error) {
	o, err := s.administered(ctx, caller)
	if err != nil {
		return nil, err
	}
	list, err := s.store.Groups(ctx, o)
	if err != nil {
		return nil, err
	}
	uids := make([]id.Group, len(list))
	for i, g := range list {
		uids[i] = g.UID
	}
	members, err := s.store.GroupMembers(ctx, uids)
	for i := range list {
		list[i].Members = members[list[i].UID]
	}
	return list, err
}

// Group returns one mailbox group of the organization that the caller administers.
// Errors: transfer.ErrAdminRole, transfer.ErrNotFound.
func (s *Service) Group(ctx context.Context, caller token.Caller, uid id.Group) (transfer.MailboxGroup, error) {
	o, err := s.administered(ctx, caller)
	if err != nil {
		return transfer.MailboxGroup{}, err
	}
	g, err := s.store.Group(ctx, o, uid)
	if err != nil {
		return transfer.MailboxGroup{}, err
	}
	return withMembers(ctx, s.store, g)
}

// CreateGroup adds a mailbox group to the organization that the caller administers.
// Errors: transfer.ErrAdminRole, transfer.ErrNotFound, fault.ErrInvalid, transfer.ErrGroupLimit, transfer.ErrLinkReserved,
// transfer.ErrVanityLink, transfer.ErrLinkQuarantined.
func (s *Service) CreateGroup(ctx context.Context, caller token.Caller, in GroupInput) (transfer.MailboxGroup, error) {
	return s.storeGroup(ctx, caller, id.Group{}, in, func(tx *postgres.Store, g *transfer.MailboxGroup) (action string, err error) {
		held, allowed, err := tx.LockGroups(ctx, g.Organization, s.scope(caller))
		if err != nil {
			return "", err
		}
		if held >= allowed {
			return "", transfer.ErrGroupLimit.With(fmt.Sprintf("the subscription includes %d mailbox groups", allowed)).AtMost(int64(allowed))
		}
		g.UID = id.New[id.Group]()
		return "mailboxgroup.create", tx.InsertGroup(ctx, *g, s.now())
	})
}

// PutGroup replaces a mailbox group of the organization that the caller administers.
// Errors: transfer.ErrAdminRole, transfer.ErrNotFound, fault.ErrInvalid, transfer.ErrLinkReserved, transfer.ErrVanityLink,
// transfer.ErrLinkQuarantined.
func (s *Service) PutGroup(ctx context.Context, caller token.Caller, uid id.Group, in GroupInput) (transfer.MailboxGroup, error) {
	return s.storeGroup(ctx, caller, uid, in, func(tx *postgres.Store, g *transfer.MailboxGroup) (action string, err error) {
		g.UID = uid
		return "mailboxgroup.put", tx.UpdateGroup(ctx, *g, s.now())
	})
}

// storeGroup checks the input and stores the group with put, then its vanity link and its members. present is the group that it
// replaces, or zero.
func (s *Service) storeGroup(ctx context.Context, caller token.Caller, present id.Group, in GroupInput,
	put func(*postgres.Store, *transfer.MailboxGroup) (action string, err error)) (transfer.MailboxGroup, error) {
	o, err := s.administered(ctx, caller)
	if err != nil {
		return transfer.MailboxGroup{}, err
	}
	if err := checkGroup(&in); err != nil {
		return transfer.MailboxGroup{}, err
	}
	if err := s.mayTakeLink(in.VanityLink, func() (string, error) {
		g, err := s.store.Group(ctx, o, present)
		return g.VanityLink, err
	}); err != nil {
		return transfer.MailboxGroup{}, err
	}
	g := transfer.MailboxGroup{Organization: o, Name: in.Name, Description: in.Description, VanityLink: in.VanityLink}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockHomes(ctx, true); err != nil {
			return err
		}
		if err := tx.AtHome(ctx, o, s.scope(caller)); err != nil { // deleted, or moved to another host, since the first check
			return err
		}
		action, err := put(tx, &g)
		if err != nil {
			return err
		}
		if err := tx.SetGroupVanityLink(ctx, g, s.linkScope(caller.Client.Host.Organization)); err != nil {
			return err
		}
		n, err := tx.SetGroupMailboxes(ctx, g, in.Mailboxes)
		if err != nil {
			return err
		}
		if n < len(in.Mailboxes) {
			return fault.ErrInvalid.With("mailboxUids: must name mailboxes of the organization's members")
		}
		if g, err = withMembers(ctx, tx, g); err != nil {
			return err
		}
		return s.record(ctx, tx, administrator(caller, ""), audit.Entry{Action: action, Object: g.UID.String(), Organization: o})
	})
	return g, err
}

// checkGroup checks the input and normalizes it.
func checkGroup(in *GroupInput) error {
	var problems fault.Problems
	if err := text.Required(in.Name, text.MaxName); err != nil {
		problems.Add("name", err.Error())
	}
	transfer.CheckBlock(&problems, "description", in.Description, text.MaxMessage)
	in.VanityLink = checkVanityLink(&problems, in.VanityLink)
	if len(in.Mailboxes) > transfer.MaxGroupMailboxes {
		problems.Add("mailboxUids", fmt.Sprintf("must have at most %d entries", transfer.MaxGroupMailboxes))
		return problems.Err()
	}
	seen := make(map[id.Person]bool, len(in.Mailboxes))
	for i, m := range in.Mailboxes {
		if seen[m] {
			problems.Add(fmt.Sprintf("mailboxUids[%d]", i), "is given twice")
			break
		}
		seen[m] = true
	}
	return problems.Err()
}

// DeleteGroup deletes a mailbox group of the organization that the caller administers. Its mailboxes stay.
// Errors: transfer.ErrAdminRole, transfer.ErrNotFound.
func (s *Service) DeleteGroup(ctx context.Context, caller token.Caller, uid id.Group) error {
	o, err := s.administered(ctx, caller)
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.DeleteGroup(ctx, o, uid, s.now()); err != nil {
			return err
		}
		return s.record(ctx, tx, administrator(caller, ""), audit.Entry{Action: "mailboxgroup.delete", Object: uid.String(), Organization: o})
	})
}
