package service

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// mergeOwn applies what a member may decide about a transfer of its own, within the adminunit's rules: ErrInvalid,
// ErrTTL, ErrPriority, ErrWeakProtection, ErrFixedMember.
func (s *Service) mergeOwn(r *postgres.HeldReservation, in Metadata) error {
	unit := r.Facts.Adminunit
	if in.TTL != nil {
		if !slices.Contains(unit.AvailableTTL, int32(min(*in.TTL, 1<<30))) || *in.TTL < 0 {
			return transfer.ErrTTL
		}
		r.TTL = int32(*in.TTL)
	}
	if in.Priority != nil {
		if *in.Priority < 1 || *in.Priority > 5 {
			return fault.ErrInvalid.With("priority: must be from 1 (highest) to 5 (lowest)")
		}
		if !unit.PriorityEnabled {
			return transfer.ErrPriority
		}
		r.Priority = int32(*in.Priority)
	}
	if in.DeliveryNotification != nil {
		r.DeliveryNotification = *in.DeliveryNotification
	}
	if in.Recipients != nil && !sameRecipients(in.Recipients, r.Recipients) {
		return transfer.ErrFixedMember.With("recipients: cannot be changed after the reservation was created")
	}
	return mergeProtection(r, in)
}

// mergeProtection sets the protection; a password is hashed by the handler's caller before, see Service.hashPassword.
func mergeProtection(r *postgres.HeldReservation, in Metadata) error {
	if in.Protection != nil {
		p := transfer.Protection(*in.Protection)
		if !p.Known() {
			return fault.ErrInvalid.With("protection: must be none, password or recipientAuthentication")
		}
		if p.WeakerThan(r.Facts.Adminunit.ProtectionLevel) {
			return transfer.ErrWeakProtection.With(fmt.Sprintf("protection: must be at least %s here", r.Facts.Adminunit.ProtectionLevel))
		}
		r.Protection = p
	}
	return nil
}

// encode makes the JSON of values that always have one.
func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings cannot fail
	}
	return raw
}
