package database

import (
	"context"
	"encoding"
	"reflect"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// registerUUID has identifiers travel as the 16 bytes they are, in both directions. By itself pgx goes through their text, by way
// of database/sql's interfaces: a tenth of what a statement costs with a few of them.
func registerUUID(_ context.Context, c *pgx.Conn) error {
	one := &pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: uuidCodec{}}
	c.TypeMap().RegisterType(one)
	c.TypeMap().RegisterType(&pgtype.Type{Name: "_uuid", OID: pgtype.UUIDArrayOID, Codec: &pgtype.ArrayCodec{ElementType: one}})
	return nil
}

// uuidCodec is pgx's codec that also knows uuid.UUID and the structs that embed one, as those of package id do.
type uuidCodec struct{ pgtype.UUIDCodec }

// PlanEncode implements pgtype.Codec.
func (c uuidCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(identifier); ok && format == pgtype.BinaryFormatCode {
		return encodeIdentifier{pointer: reflect.TypeOf(value).Kind() == reflect.Pointer}
	}
	return c.UUIDCodec.PlanEncode(m, oid, format, value)
}

// PlanScan implements pgtype.Codec.
func (c uuidCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if _, ok := target.(identifierTarget); ok && format == pgtype.BinaryFormatCode {
		return scanIdentifier{}
	}
	return c.UUIDCodec.PlanScan(m, oid, format, target)
}

// identifier is what a uuid.UUID has; Variant tells it from other things that marshal.
type identifier interface {
	encoding.BinaryMarshaler
	Variant() uuid.Variant
}

// identifierTarget is what a pointer to one has.
type identifierTarget interface {
	identifier
	encoding.BinaryUnmarshaler
}

type encodeIdentifier struct{ pointer bool }

// Encode implements pgtype.EncodePlan. A nil pointer is null.
func (e encodeIdentifier) Encode(value any, buf []byte) ([]byte, error) {
	if e.pointer && reflect.ValueOf(value).IsNil() {
		return nil, nil
	}
	raw, err := value.(identifier).MarshalBinary()
	return append(buf, raw...), err
}

type scanIdentifier struct{}

// Scan implements pgtype.ScanPlan. Null leaves the zero identifier, as uuid.UUID's own Scan does.
func (scanIdentifier) Scan(src []byte, target any) error {
	if src == nil {
		return nil
	}
	return target.(identifierTarget).UnmarshalBinary(src)
}
