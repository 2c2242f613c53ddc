// Package id defines typed identifiers. All are UUIDs of version 7 (RFC 9562) in text form (contract 1.5). The type
// parameter makes it a compile error to pass a person's identifier as an organization's. Identifiers are not secrets:
// keys in links come from package seal.
package id

import (
	"errors"

	"github.com/google/uuid"
)

// ID is a UUID that names one kind of thing. It encodes as text in JSON and SQL.
type ID[K any] struct{ uuid.UUID }

// The kinds of things that have identifiers.
type (
	person       struct{}
	organization struct{}
	session      struct{}
	token        struct{}
	auth         struct{}
	device       struct{}
	reservation  struct{}
	object       struct{}
	segment      struct{}
	transfer     struct{}
	delivery     struct{}
	group        struct{}
	event        struct{}
	mail         struct{}
	webhook      struct{}
	message      struct{}
	storageCheck struct{}
	request      struct{}
	item         struct{}
	party        struct{}
)

type (
	// Person names a registered person; also the uid of the person's mailbox.
	Person = ID[person]
	// Organization names an organization.
	Organization = ID[organization]
	// Session names a login session, the sid claim.
	Session = ID[session]
	// Token names one issued token, the jti claim.
	Token = ID[token]
	// Authenticator names a credential of a person.
	Authenticator = ID[auth]
	// Device names a browser in which a person has signed in.
	Device = ID[device]
	// Reservation names a reservation: a transfer before its confirmation.
	Reservation = ID[reservation]
	// Object names one file.
	Object = ID[object]
	// Segment names one append-only run of bytes of a file.
	Segment = ID[segment]
	// Transfer names a delivered transfer.
	Transfer = ID[transfer]
	// Delivery names one recipient of a transfer.
	Delivery = ID[delivery]
	// Group names a mailbox group.
	Group = ID[group]
	// Event names an entry of a person's feed.
	Event = ID[event]
	// Mail names a queued mail.
	Mail = ID[mail]
	// Webhook names a webhook.
	Webhook = ID[webhook]
	// Message names a delivery to a webhook.
	Message = ID[message]
	// StorageCheck names a check of all stored files.
	StorageCheck = ID[storageCheck]
	// Request names a request for documents.
	Request = ID[request]
	// Item names a document that a request asks for.
	Item = ID[item]
	// Party names a person who is asked.
	Party = ID[party]
)

var errForm = errors.New("is not a UUID like 0190d2f4-7c1e-7b44-8d6a-3f1f6f0e2c11")

// New returns a new identifier, for example id.New[id.Person]().
func New[T ~struct{ uuid.UUID }]() T {
	return T{uuid.Must(uuid.NewV7())}
}

// Parse reads the 36-character text form. Its error text may be sent to clients as a detail.
func Parse[T ~struct{ uuid.UUID }](s string) (T, error) {
	u, err := uuid.Parse(s)
	if err != nil || len(s) != 36 {
		return T{}, errForm
	}
	return T{u}, nil
}

// IsZero reports whether the identifier is unset.
func (i ID[K]) IsZero() bool { return i.UUID == uuid.Nil }
