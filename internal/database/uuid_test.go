package database_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// TestIdentifiersAsParameters sends identifiers as every form of parameter.
func TestIdentifiersAsParameters(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	person, plain := id.New[id.Person](), uuid.Must(uuid.NewV7())
	var none *id.Person
	var noUUID *uuid.UUID
	const one, list = `SELECT coalesce($1::uuid::text, 'null')`, `SELECT array_to_string($1::uuid[], ' ', 'null')`
	for name, c := range map[string]struct {
		sql  string
		arg  any
		want string
	}{
		"uuid":                   {one, plain, plain.String()},
		"typed":                  {one, person, person.String()},
		"pointer":                {one, &plain, plain.String()},
		"pointer to typed":       {one, &person, person.String()},
		"nil":                    {one, nil, "null"},
		"nil pointer":            {one, noUUID, "null"},
		"nil pointer to typed":   {one, none, "null"},
		"zero":                   {one, id.Person{}, uuid.Nil.String()},
		"string":                 {one, plain.String(), plain.String()},
		"list":                   {list, []uuid.UUID{uuid.Nil, plain}, uuid.Nil.String() + " " + plain.String()},
		"list of typed":          {list, []id.Person{{}, person}, uuid.Nil.String() + " " + person.String()},
		"list of pointers":       {list, []*uuid.UUID{nil, &plain}, "null " + plain.String()},
		"list of typed pointers": {list, []*id.Person{nil, &person}, "null " + person.String()},
		"empty list":             {list, []uuid.UUID{}, ""},
		"as text":                {`SELECT $1::text`, person, person.String()},
		"as text, a nil pointer": {`SELECT coalesce($1::text, 'null')`, noUUID, "null"},
		"of no declared type":    {`SELECT concat($1::text, '')`, plain, plain.String()},
	} {
		var got string
		if err := db.Pool.QueryRow(t.Context(), c.sql, c.arg).Scan(&got); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// TestIdentifiersAsResults reads identifiers into every form of target.
func TestIdentifiersAsResults(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	person := id.New[id.Person]()
	var typed, null id.Person
	var plain uuid.UUID
	var set, unset *id.Person
	var pointer *uuid.UUID
	var text string
	var list []uuid.UUID
	var typedList []id.Person
	err := db.Pool.QueryRow(t.Context(), `
		SELECT $1::uuid, null::uuid, $1::uuid, $1::uuid, null::uuid, $1::uuid, $1::uuid, ARRAY[$1::uuid], ARRAY[$1::uuid]`, person).
		Scan(&typed, &null, &plain, &set, &unset, &pointer, &text, &list, &typedList)
	if err != nil {
		t.Fatal(err)
	}
	if typed != person || !null.IsZero() || plain != person.UUID || set == nil || *set != person || unset != nil ||
		pointer == nil || *pointer != person.UUID || text != person.String() ||
		!slices.Equal(list, []uuid.UUID{person.UUID}) || !slices.Equal(typedList, []id.Person{person}) {
		t.Errorf("read %v, %v, %v, %v, %v, %v, %q, %v, %v, want %v everywhere but second and fifth",
			typed, null, plain, set, unset, pointer, text, list, typedList, person)
	}
}
