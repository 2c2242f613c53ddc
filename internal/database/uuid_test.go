package database_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// TestIdentifiersAsParameters sends identifiers wherever a statement may have one.
func TestIdentifiersAsParameters(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	person, plain := id.New[id.Person](), uuid.Must(uuid.NewV7())
	var none *id.Person
	for name, c := range map[string]struct {
		sql  string
		arg  any
		want string
	}{
		"uuid":            {`SELECT $1::uuid::text`, plain, plain.String()},
		"typed":           {`SELECT $1::uuid::text`, person, person.String()},
		"pointer":         {`SELECT $1::uuid::text`, &person, person.String()},
		"nil":             {`SELECT coalesce($1::uuid::text, 'null')`, none, "null"},
		"zero":            {`SELECT $1::uuid::text`, id.Person{}, uuid.Nil.String()},
		"array":           {`SELECT ($1::uuid[])[2]::text`, []uuid.UUID{uuid.Nil, plain}, plain.String()},
		"array of typed":  {`SELECT ($1::uuid[])[2]::text`, []id.Person{{}, person}, person.String()},
		"text":            {`SELECT $1::text`, person, person.String()},
		"whatever it may": {`SELECT concat($1::text, '')`, plain, plain.String()},
	} {
		var got string
		if err := db.Pool.QueryRow(t.Context(), c.sql, c.arg).Scan(&got); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}
