// The table of limitations of organizations, and changes of them.

package identity

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/fault"
)

// limitFields has a field for each limitation of an organization ("Organization limitations" of the specification). Its name is that of the
// row of Limitations, without regard to case.
type limitFields[Switch, Count, Number, Word any] struct {
	ServiceEnabled            Switch
	Users                     Count
	TransferVolumeGB          Number
	StorageVolumeGB           Number
	GDPRContract              Switch
	SecureSpaces              Switch
	MimeTypeFilter            Switch
	NewTransferLimit          Count
	NewTransferDrainRate      Number // tokens per second
	NewTransferReceiversLimit Count
	AdminPortal               Switch
	MailboxGroups             Count
	ChangeHostname            Word
}

// Limits are the limitations of an organization.
type Limits limitFields[bool, int, float64, string]

// LimitsChange is a change of limitations. The default of one is the value of the free organization's plan.
type LimitsChange limitFields[Change[bool], Change[int], Change[float64], Change[string]]

// Change is what a change does to one value. The zero Change leaves it.
type Change[T any] struct {
	Given bool
	Value *T // nil: the default
}

// To returns the change to a value.
func To[T any](v T) Change[T] { return Change[T]{true, &v} }

// ToDefault returns the change to the default.
func ToDefault[T any]() Change[T] { return Change[T]{Given: true} }

// set sets the change to a value, nil for the default. It reports whether v is a T.
func (c *Change[T]) set(v any) bool {
	if v == nil {
		*c = ToDefault[T]()
		return true
	}
	value, ok := v.(T)
	*c = To(value)
	return ok
}

// get returns the value, nil for the default.
func (c *Change[T]) get() (v any, given bool) {
	if c.Value == nil {
		return nil, c.Given
	}
	return *c.Value, true
}

// The kinds of limitations.
const (
	LimitSwitch   = "switch"
	LimitCount    = "count"
	LimitVolume   = "volume" // in gigabytes; stored in bytes
	LimitRate     = "rate"
	LimitHostname = "hostname"
)

// Limitation is a limitation as SQL, API and commands name it.
type Limitation struct {
	Name   string // in the client environment
	Column string // of identity.limits
	Kind   string
}

// Limitations returns all limitations, in the order of the specification.
func Limitations() []Limitation {
	return []Limitation{
		{"serviceEnabled", "service_enabled", LimitSwitch},
		{"users", "users", LimitCount},
		{"transferVolumeGb", "transfer_volume_bytes", LimitVolume},
		{"storageVolumeGb", "storage_volume_bytes", LimitVolume},
		{"gdprContract", "gdpr_contract", LimitSwitch},
		{"secureSpaces", "secure_spaces", LimitSwitch},
		{"mimeTypeFilter", "mime_type_filter", LimitSwitch},
		{"newTransferLimit", "new_transfer_limit", LimitCount},
		{"newTransferDrainRate", "new_transfer_drain_rate", LimitRate},
		{"newTransferReceiversLimit", "new_transfer_receivers_limit", LimitCount},
		{"adminPortal", "admin_portal", LimitSwitch},
		{"mailboxGroups", "mailbox_groups", LimitCount},
		{"changeHostname", "change_hostname", LimitHostname},
	}
}

// field returns a pointer to the field of the limitation in limits, which is a pointer to Limits or LimitsChange.
func (l Limitation) field(limits any) any {
	return reflect.ValueOf(limits).Elem().FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, l.Name) }).Addr().Interface()
}

// Of returns the value of the limitation: a bool, an int, a float64 or a string.
func (l Limitation) Of(limits Limits) any {
	return reflect.ValueOf(l.field(&limits)).Elem().Interface()
}

// Set sets the limitation in a change to a value as JSON has it: a bool, a float64 or a string; nil is the default. The error says what it
// must be.
func (l Limitation) Set(c *LimitsChange, value any) error {
	want := map[string]string{LimitSwitch: "true, false", LimitCount: "a whole number, 0 to 2147483647,", LimitHostname: "a string"}[l.Kind]
	if want == "" {
		want = "a number"
	}
	if n, ok := value.(float64); ok && l.Kind == LimitCount && n == math.Trunc(n) && n >= 0 && n <= math.MaxInt32 {
		value = int(n)
	}
	if !l.field(c).(interface{ set(v any) bool }).set(value) {
		return errors.New("must be " + want + " or null")
	}
	return nil
}

// Columns returns the values of a change by their columns, nil for defaults.
// Errors: fault.ErrInvalid.
func (c LimitsChange) Columns() (map[string]any, error) {
	columns := map[string]any{}
	var problems fault.Problems
	for _, l := range Limitations() {
		value, given := l.field(&c).(interface{ get() (any, bool) }).get()
		if !given {
			continue
		}
		value, problem := l.stored(value)
		if problem != "" {
			problems.Add(l.Name, problem)
		}
		columns[l.Column] = value
	}
	if len(columns) == 0 {
		problems.Add("limits", "give at least one")
	}
	return columns, problems.Err()
}

// stored returns the value of the column. problem is empty for a valid value.
func (l Limitation) stored(value any) (column any, problem string) {
	switch v := value.(type) {
	case int:
		if v < 0 || v > math.MaxInt32 {
			problem = "must be a whole number, 0 to 2147483647"
		}
	case float64:
		if l.Kind == LimitVolume {
			return VolumeBytes(v)
		}
		if !(v >= 0 && v <= 1e6) {
			problem = "must be tokens per second, 0 to 1000000"
		}
	case string:
		if options := []string{HostnameFixed, HostnameLabel, HostnameLabels, HostnameCustom}; !slices.Contains(options, v) {
			problem = "must be one of " + strings.Join(options, ", ")
		}
	}
	return value, problem
}

// UnlimitedGB is the largest volume. The specification has a number and no word for none; pages call it "No limit".
const UnlimitedGB = 1e9

// VolumeBytes returns the bytes of a volume in gigabytes. problem is empty for a valid volume.
func VolumeBytes(gigabytes float64) (bytes int64, problem string) {
	if !(gigabytes >= 0 && gigabytes <= UnlimitedGB) {
		return 0, "must be a number of gigabytes, 0 to 1000000000"
	}
	return int64(math.Round(gigabytes * Gigabyte)), ""
}

// FreePlan returns the limitations that the free organization gets at the first start (contract 3.19). Those of new transfers are settings.
func FreePlan(newTransfers int, drainRate float64) LimitsChange {
	return LimitsChange{
		ServiceEnabled: To(true), Users: To(100_000), TransferVolumeGB: To(UnlimitedGB), StorageVolumeGB: To(UnlimitedGB),
		GDPRContract: To(true), SecureSpaces: To(false), MimeTypeFilter: To(true),
		NewTransferLimit: To(newTransfers), NewTransferDrainRate: To(drainRate),
		NewTransferReceiversLimit: To(100), AdminPortal: To(false), MailboxGroups: To(10), ChangeHostname: To(HostnameFixed),
	}
}
