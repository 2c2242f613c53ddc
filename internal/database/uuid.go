package database

import (
	"context"
	"encoding"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// sendUUIDs has identifiers sent as the 16 bytes they are. By itself pgx asks for their text, finds that a uuid is not
// sent as text, and tells so in an error that it throws away: a twentieth of what a read costs.
func sendUUIDs(_ context.Context, c *pgx.Conn) error {
	m := c.TypeMap()
	m.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{wrapUUID}, m.TryWrapEncodePlanFuncs...)
	return nil
}

// identifier is a uuid.UUID, or a struct that embeds one as those of package id do.
type identifier interface {
	encoding.BinaryMarshaler
	Variant() uuid.Variant
}

func wrapUUID(value any) (plan pgtype.WrappedEncodePlanNextSetter, next any, ok bool) {
	if i, ok := value.(identifier); ok {
		return &uuidPlan{}, bytesOf(i), true
	}
	return nil, nil, false
}

func bytesOf(i identifier) pgtype.UUID {
	raw, _ := i.MarshalBinary() // never fails
	return pgtype.UUID{Bytes: [16]byte(raw), Valid: true}
}

// uuidPlan encodes an identifier with the plan for a pgtype.UUID.
type uuidPlan struct{ next pgtype.EncodePlan }

// SetNext implements pgtype.WrappedEncodePlanNextSetter.
func (p *uuidPlan) SetNext(next pgtype.EncodePlan) { p.next = next }

// Encode implements pgtype.EncodePlan.
func (p *uuidPlan) Encode(value any, buf []byte) ([]byte, error) {
	return p.next.Encode(bytesOf(value.(identifier)), buf)
}
