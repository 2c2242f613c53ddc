package database

import (
	"context"
	"encoding"
	"reflect"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// registerUUID registers a codec that sends and receives identifiers as their 16 bytes. Without it pgx converts them to and from text
// through the interfaces of database/sql, which adds 11 % CPU and 13 % time to the look-up of a public mailbox
// (docs/develop/benchmarks.md).
func registerUUID(_ context.Context, c *pgx.Conn) error {
	one := &pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: uuidCodec{}}
	c.TypeMap().RegisterType(one)
	c.TypeMap().RegisterType(&pgtype.Type{Name: "_uuid", OID: pgtype.UUIDArrayOID, Codec: &pgtype.ArrayCodec{ElementType: one}})
	return nil
}

// uuidCodec extends the codec of pgx by uuid.UUID and structs that embed one, such as those of package id.
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

// identifier is implemented by uuid.UUID and structs that embed one. Variant distinguishes them from other binary marshalers.
type identifier interface {
	encoding.BinaryMarshaler
	Variant() uuid.Variant
}

// identifierTarget is implemented by a pointer to an identifier.
type identifierTarget interface {
	identifier
	encoding.BinaryUnmarshaler
}

type encodeIdentifier struct{ pointer bool }

// Encode implements pgtype.EncodePlan. It encodes a nil pointer as NULL.
func (e encodeIdentifier) Encode(value any, buf []byte) ([]byte, error) {
	if e.pointer && reflect.ValueOf(value).IsNil() {
		return nil, nil
	}
	raw, err := value.(identifier).MarshalBinary()
	return append(buf, raw...), err
}

type scanIdentifier struct{}

// Scan implements pgtype.ScanPlan. NULL leaves the target unchanged, as uuid.UUID's own Scan does.
func (scanIdentifier) Scan(src []byte, target any) error {
	if src == nil {
		return nil
	}
	return target.(identifierTarget).UnmarshalBinary(src)
}
