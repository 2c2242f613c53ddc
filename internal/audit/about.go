package audit

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

// About selects entries about an object, newest first.
type About struct {
	Object  string
	Person  id.Person // actor or target of the entries
	Actions []string
	Since   time.Time // earliest time
	Before  time.Time // only entries before this time, or of it with an ID below BeforeID
	Limit   int

	BeforeID int64
}

// ListAbout returns the entries that a selects. Each half scans the entries of the person.
func ListAbout(ctx context.Context, q database.Querier, a About) ([]Record, error) {
	half := func(condition string) string {
		return `(SELECT ` + columns + ` FROM audit WHERE ` + condition + `
			AND object = $2 AND action = ANY ($3) AND at >= $4 AND (at, id) < ($5, $6::bigint) ORDER BY at DESC, id DESC LIMIT $7)`
	}
	records, err := database.All[Record](ctx, q, "list audit",
		half("actor = $1")+` UNION ALL `+half("target = $1 AND actor IS DISTINCT FROM $1")+` ORDER BY at DESC, id DESC LIMIT $7`,
		a.Person, a.Object, a.Actions, a.Since, a.Before, a.BeforeID, a.Limit)
	for i := range records {
		records[i].At = records[i].At.UTC()
	}
	return records, err
}
