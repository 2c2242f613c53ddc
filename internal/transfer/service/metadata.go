// Checks and changes of a reservation: texts, fields, recipients, lifetime and protection.

package service

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/password"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// uncharged returns how much volume the texts of a reservation count beyond what is charged (contract 4.8). Negative: too much is charged.
func uncharged(r postgres.HeldReservation) int64 { return r.MetadataBytes() - r.Metadata }

// chargeTexts charges what is uncharged of a locked reservation's own texts.
// Errors: those of content.Service.ChargeMetadata.
func (s *Service) chargeTexts(ctx context.Context, tx *postgres.Store, r postgres.HeldReservation) error {
	return s.content.ChargeMetadata(ctx, tx, payer(r.Reservation, r.Facts), uncharged(r), transfer.Month(r.CreatedAt))
}

// payer returns whose volumes pay for a reservation.
func payer(r transfer.Reservation, o transfer.Owner) postgres.Payer {
	return postgres.Payer{
		Reservation: r.UID, Creator: r.Creator, Client: r.Client, Owner: r.Owner, Organization: r.Organization, LimitsOrganization: r.LimitsOrganization,
		UploadLimit: o.UploadLimit, OrganizationLimit: o.OrganizationLimit, StorageLimit: o.StorageLimit,
	}
}

// BasicMetadata holds the members of a reservation that a stranger may set. Nil members are not given.
type BasicMetadata struct {
	Subject, Message, AnonSender, AnonEmail *string
	Locale                                  string // for the upload confirmation
}

// Metadata is a change of a reservation. Nil members are not given.
type Metadata struct {
	BasicMetadata
	Recipients           []transfer.Recipient // nil: not given
	DeliveryNotification *bool
	TTL                  *int64
	Priority             *int64
	Protection           *string
	Password             *string
	Fields               map[string]*string // nil: not given; a nil value counts as absent
	MergeFields          bool               // Fields change the present ones, and a nil value removes one; else they replace them

	noTTL, noPriority, noProtection, noPassword, noFields bool // removed: back to the default

	hash string // of the password; computed outside of transactions
}

// Remove changes a member, named as in the API, to its default. Names of other members are ignored.
func (m *Metadata) Remove(member string) {
	empty, off := "", false
	switch member {
	case "subject":
		m.Subject = &empty
	case "message":
		m.Message = &empty
	case "anonSender":
		m.AnonSender = &empty
	case "anonEmail":
		m.AnonEmail = &empty
	case "recipients":
		m.Recipients = []transfer.Recipient{}
	case "deliveryNotification":
		m.DeliveryNotification = &off
	case "ttl":
		m.noTTL = true
	case "priority":
		m.noPriority = true
	case "protection":
		m.noProtection = true
	case "password":
		m.noPassword = true
	case "fields":
		m.noFields = true
	}
}

// mergeBasic applies the members of in that are given.
// Errors: fault.ErrInvalid.
func (s *Service) mergeBasic(r *transfer.Reservation, in BasicMetadata) error {
	var problems fault.Problems
	setLine(&problems, &r.Subject, in.Subject, "subject")
	setLine(&problems, &r.AnonSender, in.AnonSender, "anonSender")
	if in.Message != nil {
		checkBlock(&problems, "message", *in.Message, text.MaxMessage)
		r.Message = *in.Message
	}
	if in.AnonEmail != nil {
		r.AnonEmail = ""
		if *in.AnonEmail != "" {
			r.AnonEmail = checkEmail(&problems, "anonEmail", *in.AnonEmail)
		}
	}
	return problems.Err()
}

func setLine(problems *fault.Problems, to *string, value *string, member string) {
	if value == nil {
		return
	}
	checkLine(problems, member, *value, text.MaxName)
	*to = *value
}

// mergeFixed applies a change to a mailbox's reservation.
// Errors: fault.ErrInvalid, transfer.ErrFixedMember.
func (s *Service) mergeFixed(r *transfer.Reservation, in Metadata) error {
	if err := s.mergeBasic(r, in.BasicMetadata); err != nil {
		return err
	}
	if err := setFields(r, in); err != nil {
		return err
	}
	return checkFixed(*r, in)
}

func setFields(r *transfer.Reservation, in Metadata) error {
	if in.noFields {
		r.Fields = nil
	}
	if in.Fields == nil {
		return nil
	}
	fields := map[string]string{}
	if in.MergeFields && len(r.Fields) > 0 {
		if err := json.Unmarshal(r.Fields, &fields); err != nil {
			return fmt.Errorf("decode fields: %w", err)
		}
	}
	for name, value := range in.Fields {
		if value != nil {
			fields[name] = *value
		} else {
			delete(fields, name)
		}
	}
	raw, err := checkFields(fields)
	if err != nil {
		return err
	}
	r.Fields = raw
	return nil
}

// checkFixed refuses changes of members that the mailbox's rules have set. An equal value is not a change, nor is the return
// to the default, which the mailbox has set.
// Errors: transfer.ErrFixedMember.
func checkFixed(r transfer.Reservation, in Metadata) error {
	var fixed []string
	refuse := func(changed bool, member string) {
		if changed {
			fixed = append(fixed, member+": cannot be changed on a transfer to a mailbox")
		}
	}
	refuse(in.Recipients != nil && !sameRecipients(in.Recipients, r.Recipients), "recipients")
	refuse(in.TTL != nil && *in.TTL != int64(r.TTL), "ttl")
	refuse(in.Priority != nil && *in.Priority != int64(r.Priority), "priority")
	refuse(in.Protection != nil && *in.Protection != string(r.Protection), "protection")
	refuse(in.Password != nil, "password")
	refuse(in.DeliveryNotification != nil && *in.DeliveryNotification != r.DeliveryNotification, "deliveryNotification")
	if len(fixed) > 0 {
		return transfer.ErrFixedMember.With(fixed...)
	}
	return nil
}

func sameRecipients(a, b []transfer.Recipient) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Email != b[i].Email || a[i].Destination != b[i].Destination || a[i].Name != b[i].Name ||
			!a[i].Person.IsZero() && a[i].Person != b[i].Person {
			return false
		}
	}
	return true
}

// mergeSent applies a change to a sender's reservation within the limits of the adminunit. An equal value is no change.
// Errors: fault.ErrInvalid, transfer.ErrTooManyRecipients, transfer.ErrTTL, transfer.ErrPriority, transfer.ErrProtection.
func (s *Service) mergeSent(ctx context.Context, store *postgres.Store, r *transfer.Reservation, unit transfer.Adminunit, in Metadata) error {
	if len(in.Recipients) > int(r.MaxRecipients) {
		return transfer.ErrTooManyRecipients.With(fmt.Sprintf("recipients: at most %d", r.MaxRecipients))
	}
	if err := s.mergeBasic(r, in.BasicMetadata); err != nil {
		return err
	}
	if err := setFields(r, in); err != nil {
		return err
	}
	var problems fault.Problems
	recipients := checkRecipients(&problems, in.Recipients)
	if in.Priority != nil && (*in.Priority < 1 || *in.Priority > 5) {
		problems.Add("priority", "must be from 1 (highest) to 5 (lowest)")
	}
	if in.Protection != nil && transfer.Protection(*in.Protection).Rank() < 0 {
		problems.Add("protection", "must be none, password or recipientAuthentication")
	}
	if err := problems.Err(); err != nil {
		return err
	}
	before := r.Protection
	if err := mergeTerms(r, unit, in); err != nil {
		return err
	}
	if err := mergePassword(r, before, in); err != nil {
		return err
	}
	if in.DeliveryNotification != nil {
		r.DeliveryNotification = *in.DeliveryNotification
	}
	if in.Recipients == nil {
		return nil
	}
	r.Kind = transfer.KindDrop
	if len(recipients) > 0 {
		r.Kind = transfer.KindP2P
	}
	r.Recipients = recipients
	return findRecipients(ctx, store, recipients)
}

// mergeTerms applies the members that the adminunit limits.
// Errors: transfer.ErrTTL, transfer.ErrPriority, transfer.ErrProtection.
func mergeTerms(r *transfer.Reservation, unit transfer.Adminunit, in Metadata) error {
	if in.noTTL {
		r.TTL = unit.DefaultTTL
	}
	if in.noPriority {
		r.Priority = 0
	}
	if in.noProtection {
		r.Protection = unit.ProtectionLevel
	}
	if in.TTL != nil && *in.TTL != int64(r.TTL) {
		if !slices.ContainsFunc(unit.AvailableTTL, func(days int32) bool { return int64(days) == *in.TTL }) {
			return transfer.ErrTTL.With("ttl: not acceptable", fmt.Sprintf("ttl: must be one of %s", list(unit.AvailableTTL)))
		}
		r.TTL = int32(*in.TTL)
	}
	if in.Priority != nil && *in.Priority != int64(r.Priority) {
		if !unit.PriorityEnabled {
			return transfer.ErrPriority
		}
		r.Priority = int32(*in.Priority)
	}
	if in.Protection != nil && *in.Protection != string(r.Protection) {
		p := transfer.Protection(*in.Protection)
		if p.Rank() < unit.ProtectionLevel.Rank() {
			return transfer.ErrProtection.With(fmt.Sprintf("protection: must be at least %s", unit.ProtectionLevel))
		}
		r.Protection = p
	}
	return nil
}

// list joins numbers with commas.
func list(numbers []int32) string {
	var b strings.Builder
	for i, n := range numbers {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}

// mergePassword applies the hash of a new password, and clears the hash when the protection is no longer password. before is
// the protection before the change. An adminunit may set the protection password without a password; then one is required
// only at the confirm.
// Errors: fault.ErrInvalid.
func mergePassword(r *transfer.Reservation, before transfer.Protection, in Metadata) error {
	var problems fault.Problems
	switch {
	case in.noPassword && r.Protection == transfer.ProtectPassword:
		problems.Add("password", "is required for the protection password")
	case in.Password != nil && r.Protection != transfer.ProtectPassword:
		problems.Add("password", "needs the protection password")
	case in.Password != nil && *in.Password == "":
		problems.Add("password", "must not be empty")
	case in.Password != nil && len(*in.Password) > password.MaxLength:
		problems.Add("password", fmt.Sprintf("is longer than %d bytes", password.MaxLength))
	case in.Password != nil:
		r.PasswordHash = in.hash
	case r.Protection != transfer.ProtectPassword:
		r.PasswordHash = ""
	case r.PasswordHash == "" && before != transfer.ProtectPassword:
		problems.Add("password", "is required for the protection password")
	}
	return problems.Err()
}

// hashPassword computes the hash of in.Password outside of transactions.
func (s *Service) hashPassword(ctx context.Context, in *Metadata) error {
	if in.Password == nil || *in.Password == "" || len(*in.Password) > password.MaxLength {
		return nil // mergePassword refuses it
	}
	hash, err := s.hasher.Hash(ctx, *in.Password)
	if err != nil {
		return err
	}
	in.hash = string(hash)
	return nil
}

// checkRecipients checks recipients and returns them normalized.
func checkRecipients(problems *fault.Problems, recipients []transfer.Recipient) []transfer.Recipient {
	out := make([]transfer.Recipient, len(recipients))
	seen := make(map[string]bool, len(recipients))
	for i, r := range recipients {
		at := fmt.Sprintf("recipients[%d].", i)
		checkLine(problems, at+"name", r.Name, text.MaxName)
		email := checkEmail(problems, at+"email", r.Email)
		if r.Destination != transfer.To && r.Destination != transfer.Cc && r.Destination != transfer.Bcc {
			problems.Add(at+"destinationType", "must be to, cc or bcc")
		}
		if seen[email] && email != "" {
			problems.Add(at+"email", "is given twice")
		}
		seen[email] = true
		out[i] = transfer.Recipient{Name: r.Name, Email: email, Destination: r.Destination}
	}
	return out
}

// findRecipients sets the person of each recipient whose address is a verified address of an account.
func findRecipients(ctx context.Context, store *postgres.Store, recipients []transfer.Recipient) error {
	if len(recipients) == 0 {
		return nil
	}
	emails := make([]string, len(recipients))
	for i, r := range recipients {
		emails[i] = r.Email
	}
	readers, err := store.Readers(ctx, emails)
	if err != nil {
		return err
	}
	for i, r := range recipients {
		recipients[i].Person = readers[r.Email].Person
	}
	return nil
}

// checkFields checks values independent of the mailbox's schema, and encodes them as JSON.
func checkFields(fields map[string]string) ([]byte, error) {
	var problems fault.Problems
	total := 0
	for name, value := range fields {
		total += len(name) + len(value)
		if name == "" || text.Line(name, text.MaxName) != nil {
			problems.Add("fields", fmt.Sprintf("has a name that is empty, longer than %d bytes or holds a control character", text.MaxName))
			break
		}
		checkBlock(&problems, "fields."+name, value, text.MaxField)
	}
	if len(fields) > transfer.MaxFields {
		problems.Add("fields", fmt.Sprintf("has more than %d values", transfer.MaxFields))
	}
	if total > transfer.MaxFieldsBytes {
		problems.Add("fields", fmt.Sprintf("has more than %d bytes of names and values", transfer.MaxFieldsBytes))
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode fields: %w", err)
	}
	return raw, nil
}
