package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// TransferChange is a change of a delivered transfer. Of Metadata it uses subject, ttl (counted from now), protection, password and
// deliveryNotification.
type TransferChange struct {
	transfer.Metadata
	ExpiresAt    *time.Time
	RemindBefore *int64 // days; 0: no reminder
	Forwarding   *bool  // recipients may forward it
	Received     ReceivedChange
	LimitChange
}

// LimitChange is a change of transfer.Limits. Nil members stay; 0 is no limit.
type LimitChange struct {
	MaxDownloads, MaxTotalDownloads *int64
	DeleteAfterDownload             *bool
}

// mergeLimits applies a change to limits.
// Errors: fault.ErrInvalid.
func (in LimitChange) mergeLimits(l transfer.Limits) (transfer.Limits, error) {
	var problems fault.Problems
	set := func(member string, to *int32, value *int64) {
		switch {
		case value == nil:
		case *value < 0 || *value > transfer.MaxLimit:
			problems.Add(member, fmt.Sprintf("must be from 0 (no limit) to %d", transfer.MaxLimit))
		default:
			*to = int32(*value)
		}
	}
	set("maxDownloads", &l.MaxDownloads, in.MaxDownloads)
	set("maxTotalDownloads", &l.MaxTotalDownloads, in.MaxTotalDownloads)
	if in.DeleteAfterDownload != nil {
		l.DeleteAfterDownload = *in.DeleteAfterDownload
	}
	return l, problems.Err()
}

// ofSender reports whether a member of the sender is given.
func (in TransferChange) ofSender() bool {
	return in.Subject != nil || in.TTL != nil || in.NoTTL || in.Protection != nil || in.NoProtection || in.Password != nil || in.NoPassword ||
		in.DeliveryNotification != nil || in.ExpiresAt != nil || in.RemindBefore != nil || in.Forwarding != nil ||
		in.LimitChange != (LimitChange{})
}

// mayChange checks that the caller sent a transfer that has not ended for good.
// Errors: transfer.ErrSenderOnly, transfer.ErrEnded.
func (s *Service) mayChange(t postgres.SeenTransfer) error {
	switch {
	case !t.AsSender:
		return transfer.ErrSenderOnly
	case t.State.Ended() || !s.now().Before(t.KeptUntil(s.expiryGrace)):
		return transfer.ErrEnded
	}
	return nil
}

// PatchTransfer changes a delivered transfer for its sender, also in the grace after its expiry, and what a recipient notes about it
// (contract 4.22).
// Errors: transfer.ErrNotFound, transfer.ErrSenderOnly, transfer.ErrEnded, fault.ErrInvalid, transfer.ErrTTL, transfer.ErrProtection,
// transfer.ErrServiceDisabled, transfer.ErrRoleMissing, those of content.Service.ChargeMetadata and of patchReceived.
func (s *Service) PatchTransfer(ctx context.Context, caller token.Caller, uid id.Transfer, in TransferChange) error {
	if in.Password != nil { // check before hashing, which is expensive
		seen, err := s.store.TransferOf(ctx, uid, caller.Person, s.scope(caller))
		if err != nil {
			return err
		}
		if err := s.mayChange(seen); err != nil {
			return err
		}
		if err := s.hashPassword(ctx, &in.Metadata); err != nil {
			return err
		}
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		t, err := tx.LockTransferOf(ctx, uid, caller.Person, s.scope(caller))
		if err != nil {
			return err
		}
		if in.Received.given() {
			if err := s.patchReceived(ctx, tx, caller, t, in.Received); err != nil || !in.ofSender() {
				return err
			}
		}
		return s.patchSent(ctx, tx, caller, t, in)
	})
}

// patchSent changes a locked transfer for its sender.
func (s *Service) patchSent(ctx context.Context, tx *postgres.Store, caller token.Caller, t postgres.SeenTransfer,
	in TransferChange) error {
	if err := s.mayChange(t); err != nil {
		return err
	}
	owner, err := tx.Owner(ctx, caller.Person, s.scope(caller))
	if err != nil {
		return err
	}
	deliveries, err := tx.DeliveriesOfTransfers(ctx, []id.Transfer{t.UID})
	if err != nil {
		return err
	}
	terms, changed, err := s.mergeTransfer(t, owner, deliveries[t.UID], in)
	if err != nil || len(changed) == 0 {
		return err
	}
	if err := tx.UpdateTransfer(ctx, t.UID, terms); err != nil {
		return err
	}
	if s.extended(t, terms.ExpiresAt) {
		if err := s.mailExtended(ctx, tx, t.UID); err != nil {
			return err
		}
	}
	return s.changed(ctx, tx, caller, t, terms, changed, parties(t, deliveries[t.UID]))
}

// changed charges a new subject, and records which members of a transfer have changed.
// Errors: those of content.Service.ChargeMetadata.
func (s *Service) changed(ctx context.Context, tx *postgres.Store, caller token.Caller, t postgres.SeenTransfer,
	terms postgres.TransferTerms, members []string, receivers []id.Person) error {
	details := map[string]string{"members": strings.Join(members, " ")}
	if terms.Rescheduled {
		details["expiresAt"] = terms.ExpiresAt.UTC().Format(time.RFC3339)
	}
	if err := s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "transfer.update", Object: t.UID.String(),
		Details: details}); err != nil {
		return err
	}
	if err := s.chargeDelivered(ctx, tx, t.Reservation, len(terms.Subject)-len(t.Subject)); err != nil {
		return err
	}
	return s.tell(ctx, tx, events.TransferUpdated, t.UID, receivers)
}

// parties returns the persons who see a transfer: its sender, and recipients who have an account.
func parties(t postgres.SeenTransfer, deliveries []transfer.Delivery) []id.Person {
	var persons []id.Person
	if !t.Sender.Person.IsZero() {
		persons = append(persons, t.Sender.Person)
	}
	for _, d := range deliveries {
		if !d.Person.IsZero() {
			persons = append(persons, d.Person)
		}
	}
	return persons
}

// mergeTransfer applies a change to the terms of a transfer, and returns the names of the members that change.
// Errors: fault.ErrInvalid, transfer.ErrTTL, transfer.ErrProtection, transfer.ErrServiceDisabled, transfer.ErrRoleMissing.
func (s *Service) mergeTransfer(t postgres.SeenTransfer, owner transfer.Owner, deliveries []transfer.Delivery,
	in TransferChange) (terms postgres.TransferTerms, changed []string, err error) {
	r := transfer.Reservation{Subject: t.Subject, Protection: t.Protection, DeliveryNotification: t.Notify}
	if err := (transfer.BasicMetadata{Subject: in.Subject}).MergeBasic(&r); err != nil {
		return terms, nil, err
	}
	if in.Protection != nil && transfer.Protection(*in.Protection).Rank() < 0 {
		return terms, nil, fault.ErrInvalid.With("protection: must be none, password or recipientAuthentication")
	}
	if err := (transfer.Metadata{Protection: in.Protection, NoProtection: in.NoProtection}).MergeTerms(&r, owner.Adminunit); err != nil {
		return terms, nil, err
	}
	if err := in.MergePassword(&r, t.Protection); err != nil {
		return terms, nil, err
	}
	if r.Protection == transfer.ProtectIdentity && !slices.ContainsFunc(deliveries, func(d transfer.Delivery) bool { return d.Email != "" }) {
		return terms, nil, fault.ErrInvalid.With("protection: recipientAuthentication needs a recipient")
	}
	if in.DeliveryNotification != nil {
		r.DeliveryNotification = *in.DeliveryNotification
	}
	remindBefore, err := newReminder(t, in)
	if err != nil {
		return terms, nil, err
	}
	expires, err := s.newExpiry(t, owner.Adminunit, in)
	if err != nil {
		return terms, nil, err
	}
	if expires.After(t.ExpiresAt) {
		if err := owner.MayKeep(); err != nil {
			return terms, nil, err
		}
	}
	limits, err := in.mergeLimits(t.Limits)
	if err != nil {
		return terms, nil, err
	}
	terms = postgres.TransferTerms{
		Subject: r.Subject, Protection: r.Protection, PasswordHash: r.PasswordHash, DeliveryNotification: r.DeliveryNotification,
		ExpiresAt:    expires,
		RemindBefore: remindBefore, Forwarding: t.Forwarding, Limits: limits,
		Reprotected: r.Protection != t.Protection || r.PasswordHash != "", Rescheduled: !expires.Equal(t.ExpiresAt),
	}
	terms.RemindAt = s.remindAt(terms)
	if in.Forwarding != nil {
		terms.Forwarding = *in.Forwarding
	}
	return terms, differing(t, terms), nil
}

// remindAt returns when recipients are reminded; zero: not any more.
func (s *Service) remindAt(terms postgres.TransferTerms) time.Time {
	at := terms.ExpiresAt.Add(-time.Duration(terms.RemindBefore) * day)
	if terms.RemindBefore == 0 || !at.After(s.now()) {
		return time.Time{}
	}
	return at
}

// differing returns the names of the members that change.
func differing(t postgres.SeenTransfer, terms postgres.TransferTerms) (changed []string) {
	note := func(member string, differs bool) {
		if differs {
			changed = append(changed, member)
		}
	}
	note("subject", terms.Subject != t.Subject)
	note("protection", terms.Protection != t.Protection)
	note("password", terms.PasswordHash != "")
	note("deliveryNotification", terms.DeliveryNotification != t.Notify)
	note("expiresAt", terms.Rescheduled)
	note("forwarding", terms.Forwarding != t.Forwarding)
	note("remindBefore", terms.RemindBefore != t.RemindBefore)
	note("maxDownloads", terms.MaxDownloads != t.MaxDownloads)
	note("maxTotalDownloads", terms.MaxTotalDownloads != t.MaxTotalDownloads)
	note("deleteAfterDownload", terms.DeleteAfterDownload != t.DeleteAfterDownload)
	return changed
}

// newReminder returns how many days before the expiry recipients are reminded after a change.
// Errors: fault.ErrInvalid.
func newReminder(t postgres.SeenTransfer, in TransferChange) (int32, error) {
	if in.RemindBefore == nil {
		return t.RemindBefore, nil
	}
	if *in.RemindBefore < 0 || *in.RemindBefore > maxRemindBefore {
		return 0, fault.ErrInvalid.With(fmt.Sprintf("remindBefore: must be from 0 (no reminder) to %d", maxRemindBefore))
	}
	return int32(*in.RemindBefore), nil
}

// newExpiry returns when a transfer expires after a change. ttl counts from now. expiresAt is at most the longest ttl away.
// Errors: fault.ErrInvalid, transfer.ErrTTL.
func (s *Service) newExpiry(t postgres.SeenTransfer, unit transfer.Adminunit, in TransferChange) (time.Time, error) {
	now := s.now()
	switch {
	case (in.TTL != nil || in.NoTTL) && in.ExpiresAt != nil:
		return time.Time{}, fault.ErrInvalid.With("expiresAt: cannot be given together with ttl")
	case in.NoTTL:
		return now.Add(time.Duration(unit.DefaultTTL) * day), nil
	case in.TTL != nil:
		if !slices.ContainsFunc(unit.AvailableTTL, func(days int32) bool { return int64(days) == *in.TTL }) {
			return time.Time{}, transfer.ErrTTL.With("ttl: not acceptable", "ttl: must be one of "+transfer.Listed(unit.AvailableTTL))
		}
		return now.Add(time.Duration(*in.TTL) * day), nil
	case in.ExpiresAt == nil:
		return t.ExpiresAt, nil
	}
	at := in.ExpiresAt.UTC().Truncate(time.Microsecond) // as Postgres stores it
	if latest := now.Add(time.Duration(slices.Max(unit.AvailableTTL)) * day); at.After(latest) {
		return time.Time{}, transfer.ErrTTL.With("expiresAt: not acceptable", "expiresAt: must be at most "+latest.UTC().Format(time.RFC3339))
	}
	if at.Before(now) {
		return time.Time{}, fault.ErrInvalid.With("expiresAt: must not be in the past")
	}
	return at, nil
}
