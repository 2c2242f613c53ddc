// Changes of a reservation, and their checks: texts, fields, recipients, lifetime and protection.

package transfer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/password"
	"github.com/consign-dev/consign/internal/text"
)

// BasicMetadata holds the members of a reservation that a stranger may set. Nil members are not given.
type BasicMetadata struct {
	Subject, Message, AnonSender, AnonEmail *string
	Locale                                  string // for the upload confirmation
}

// Metadata is a change of a reservation. Nil members are not given.
type Metadata struct {
	BasicMetadata
	Recipients           []Recipient // nil: not given
	DeliveryNotification *bool
	TTL                  *int64
	Priority             *int64
	Protection           *string
	Password             *string
	Fields               map[string]*string // nil: not given; a nil value counts as absent
	MergeFields          bool               // Fields change the present ones, and a nil value removes one; else they replace them

	NoTTL, NoPriority, NoProtection, NoPassword, NoFields bool // removed: back to the default

	Hash string // of the password; computed outside of transactions
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
		m.Recipients = []Recipient{}
	case "deliveryNotification":
		m.DeliveryNotification = &off
	case "ttl":
		m.NoTTL = true
	case "priority":
		m.NoPriority = true
	case "protection":
		m.NoProtection = true
	case "password":
		m.NoPassword = true
	case "fields":
		m.NoFields = true
	}
}

// MergeBasic applies the members of in that are given.
// Errors: fault.ErrInvalid.
func (in BasicMetadata) MergeBasic(r *Reservation) error {
	var problems fault.Problems
	setLine(&problems, &r.Subject, in.Subject, "subject")
	setLine(&problems, &r.AnonSender, in.AnonSender, "anonSender")
	if in.Message != nil {
		CheckBlock(&problems, "message", *in.Message, text.MaxMessage)
		r.Message = *in.Message
	}
	if in.AnonEmail != nil {
		r.AnonEmail = ""
		if *in.AnonEmail != "" {
			r.AnonEmail = CheckEmail(&problems, "anonEmail", *in.AnonEmail)
			if _, domain, _ := strings.Cut(r.AnonEmail, "@"); domain != "" && domain != "localhost" && !strings.Contains(domain, ".") {
				problems.Add("anonEmail", "must have a domain with a dot, where mails can be sent to")
			}
		}
	}
	return problems.Err()
}

func setLine(problems *fault.Problems, to *string, value *string, member string) {
	if value == nil {
		return
	}
	CheckLine(problems, member, *value, text.MaxName)
	if err := text.Direction(*value); err != nil {
		problems.Add(member, err.Error())
	}
	*to = *value
}

// MergeFixed applies a change to a mailbox's reservation.
// Errors: fault.ErrInvalid, ErrFixedMember.
func (in Metadata) MergeFixed(r *Reservation) error {
	if !r.Party.IsZero() && in.AnonEmail != nil && *in.AnonEmail != r.AnonEmail {
		return ErrFixedMember.With("anonEmail: is the address to which the request was mailed")
	}
	if err := in.MergeBasic(r); err != nil {
		return err
	}
	if err := setFields(r, in); err != nil {
		return err
	}
	return checkFixed(*r, in)
}

func setFields(r *Reservation, in Metadata) error {
	if in.NoFields {
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
// Errors: ErrFixedMember.
func checkFixed(r Reservation, in Metadata) error {
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
		return ErrFixedMember.With(fixed...)
	}
	return nil
}

func sameRecipients(a, b []Recipient) bool {
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

// MergeSent applies a change to a sender's reservation within the limits of the adminunit. An equal value is no change.
// The recipients have no person yet.
// Errors: fault.ErrInvalid, ErrTooManyRecipients, ErrTTL, ErrPriority, ErrProtection.
func (in Metadata) MergeSent(r *Reservation, unit Adminunit) error {
	if len(in.Recipients) > int(r.MaxRecipients) {
		return ErrTooManyRecipients.With(fmt.Sprintf("recipients: at most %d", r.MaxRecipients)).AtMost(int64(r.MaxRecipients))
	}
	if err := in.MergeBasic(r); err != nil {
		return err
	}
	if err := setFields(r, in); err != nil {
		return err
	}
	var problems fault.Problems
	recipients := CheckRecipients(&problems, in.Recipients)
	if in.Priority != nil && (*in.Priority < 1 || *in.Priority > 5) {
		problems.Add("priority", "must be from 1 (highest) to 5 (lowest)")
	}
	if in.Protection != nil && Protection(*in.Protection).Rank() < 0 {
		problems.Add("protection", "must be none, password or recipientAuthentication")
	}
	if err := problems.Err(); err != nil {
		return err
	}
	before := r.Protection
	if err := in.MergeTerms(r, unit); err != nil {
		return err
	}
	if err := in.MergePassword(r, before); err != nil {
		return err
	}
	if in.DeliveryNotification != nil {
		r.DeliveryNotification = *in.DeliveryNotification
	}
	if in.Recipients == nil {
		return nil
	}
	r.Kind = KindDrop
	if len(recipients) > 0 {
		r.Kind = KindP2P
	}
	r.Recipients = recipients
	return nil
}

// MergeTerms applies the members that the adminunit limits.
// Errors: ErrTTL, ErrPriority, ErrProtection.
func (in Metadata) MergeTerms(r *Reservation, unit Adminunit) error {
	if in.NoTTL {
		r.TTL = unit.DefaultTTL
	}
	if in.NoPriority {
		r.Priority = 0
	}
	if in.NoProtection {
		r.Protection = unit.ProtectionLevel
	}
	if in.TTL != nil && *in.TTL != int64(r.TTL) {
		if !slices.ContainsFunc(unit.AvailableTTL, func(days int32) bool { return int64(days) == *in.TTL }) {
			return ErrTTL.With("ttl: not acceptable", fmt.Sprintf("ttl: must be one of %s", Listed(unit.AvailableTTL)))
		}
		r.TTL = int32(*in.TTL)
	}
	if in.Priority != nil && *in.Priority != int64(r.Priority) {
		if !unit.PriorityEnabled {
			return ErrPriority
		}
		r.Priority = int32(*in.Priority)
	}
	if in.Protection != nil && *in.Protection != string(r.Protection) {
		p := Protection(*in.Protection)
		if p.Rank() < unit.ProtectionLevel.Rank() {
			return ErrProtection.With(fmt.Sprintf("protection: must be at least %s", unit.ProtectionLevel))
		}
		r.Protection = p
	}
	return nil
}

// Listed joins numbers with commas.
func Listed(numbers []int32) string {
	var b strings.Builder
	for i, n := range numbers {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}

// MergePassword applies the hash of a new password, and clears the hash when the protection is no longer password. before is
// the protection before the change. An adminunit may set the protection password without a password; then one is required
// only at the confirm.
// Errors: fault.ErrInvalid.
func (in Metadata) MergePassword(r *Reservation, before Protection) error {
	var problems fault.Problems
	switch {
	case in.NoPassword && r.Protection == ProtectPassword:
		problems.Add("password", "is required for the protection password")
	case in.Password != nil && r.Protection != ProtectPassword:
		problems.Add("password", "needs the protection password")
	case in.Password != nil && *in.Password == "":
		problems.Add("password", "must not be empty")
	case in.Password != nil && len(*in.Password) > password.MaxLength:
		problems.Add("password", fmt.Sprintf("is longer than %d bytes", password.MaxLength))
	case in.Password != nil:
		r.PasswordHash = in.Hash
	case r.Protection != ProtectPassword:
		r.PasswordHash = ""
	case r.PasswordHash == "" && before != ProtectPassword:
		problems.Add("password", "is required for the protection password")
	}
	return problems.Err()
}

// CheckRecipients checks recipients and returns them normalized.
func CheckRecipients(problems *fault.Problems, recipients []Recipient) []Recipient {
	out := make([]Recipient, len(recipients))
	seen := make(map[string]bool, len(recipients))
	for i, r := range recipients {
		at := fmt.Sprintf("recipients[%d].", i)
		CheckLine(problems, at+"name", r.Name, text.MaxName)
		email := CheckEmail(problems, at+"email", r.Email)
		if r.Destination != To && r.Destination != Cc && r.Destination != Bcc {
			problems.Add(at+"destinationType", "must be to, cc or bcc")
		}
		if seen[email] && email != "" {
			problems.Add(at+"email", "is given twice")
		}
		seen[email] = true
		out[i] = Recipient{Name: r.Name, Email: email, Destination: r.Destination}
	}
	return out
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
		CheckBlock(&problems, "fields."+name, value, text.MaxField)
	}
	if len(fields) > MaxFields {
		problems.Add("fields", fmt.Sprintf("has more than %d values", MaxFields))
	}
	if total > MaxFieldsBytes {
		problems.Add("fields", fmt.Sprintf("has more than %d bytes of names and values", MaxFieldsBytes))
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

// CheckLine adds a problem when value is not one line of at most limit bytes. An empty value is valid.
func CheckLine(problems *fault.Problems, member, value string, limit int) {
	if value == "" {
		return
	}
	if err := text.Line(value, limit); err != nil {
		problems.Add(member, err.Error())
	}
}

// CheckBlock adds a problem when value is not a text of at most limit bytes, which may have several lines. An empty value is
// valid.
func CheckBlock(problems *fault.Problems, member, value string, limit int) {
	if value == "" {
		return
	}
	if err := text.Block(value, limit); err != nil {
		problems.Add(member, err.Error())
	}
}

// CheckEmail adds a problem for an invalid address, and returns the address normalized.
func CheckEmail(problems *fault.Problems, member, value string) string {
	address, err := text.Email(value)
	if err != nil {
		problems.Add(member, err.Error())
	}
	return address
}
