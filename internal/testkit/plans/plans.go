// Package plans shows how Postgres would run the statements of a test.
package plans

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/consign-dev/consign/internal/database"
)

// Witness is a Querier that runs EXPLAIN on each statement.
type Witness struct {
	database.Querier
	t *testing.T

	// Of the last statement: the tables that it would read from end to end, and its window functions.
	Scans   []string
	Generic []string // the same, in a plan for all arguments
	Windows int
	Removed []string // filters that remove more than they keep
	Blocks  int      // of 8 KiB that it reads, also from memory
}

// New returns a Witness of the statements that it passes on to q.
func New(t *testing.T, q database.Querier) *Witness { return &Witness{Querier: q, t: t} }

// Query implements database.Querier.
func (w *Witness) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	w.explain(ctx, sql, args)
	return w.Querier.Query(ctx, sql, args...)
}

// QueryRow implements database.Querier.
func (w *Witness) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	w.explain(ctx, sql, args)
	return w.Querier.QueryRow(ctx, sql, args...)
}

// Exec implements database.Querier.
func (w *Witness) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	w.explain(ctx, sql, args)
	return w.Querier.Exec(ctx, sql, args...)
}

// SendBatch implements database.Querier. It explains the last statement.
func (w *Witness) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	last := b.QueuedQueries[len(b.QueuedQueries)-1]
	w.explain(ctx, last.SQL, last.Arguments)
	return w.Querier.SendBatch(ctx, b)
}

// explain plans the statement for its arguments and runs it, without a lasting effect; then it plans the statement for all arguments.
func (w *Witness) explain(ctx context.Context, sql string, args []any) {
	w.t.Helper()
	ctx = database.Unhurried(ctx)
	raw := w.plan(ctx, func(run func(sql string, args ...any) []byte) []byte {
		return run(`EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) `+sql, args...)
	})
	custom := parsed(w.t, raw)
	w.Scans, w.Windows, w.Removed = custom.scanned(nil), strings.Count(string(raw), `"WindowAgg"`), custom.wasted(nil)
	w.Blocks = custom.Hit + custom.Read
	nulls := ""
	if len(args) > 0 {
		nulls = "(NULL" + strings.Repeat(", NULL", len(args)-1) + ")"
	}
	generic := parsed(w.t, w.plan(ctx, func(run func(sql string, args ...any) []byte) []byte {
		run(`SET LOCAL plan_cache_mode = force_generic_plan`)
		run(`PREPARE generic AS ` + sql)
		defer run(`DEALLOCATE generic`)
		return run(`EXPLAIN (FORMAT JSON) EXECUTE generic` + nulls)
	}))
	w.Generic = generic.scanned(nil)
}

// plan calls fn in a transaction that it rolls back. run returns the first value of a statement's result.
func (w *Witness) plan(ctx context.Context, fn func(run func(sql string, args ...any) []byte) []byte) (raw []byte) {
	w.t.Helper()
	tx, err := w.Querier.(interface {
		Begin(ctx context.Context) (pgx.Tx, error)
	}).Begin(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	return fn(func(sql string, args ...any) (first []byte) {
		rows, err := tx.Query(ctx, sql, append([]any{pgx.QueryExecModeDescribeExec}, args...)...)
		for err == nil && rows.Next() {
			err = rows.Scan(&first)
		}
		if err == nil {
			err = rows.Err()
		}
		if err != nil {
			w.t.Fatalf("%v: %s", err, sql)
		}
		return first
	})
}

func parsed(t *testing.T, raw []byte) node {
	t.Helper()
	var plan []struct{ Plan node }
	if err := json.Unmarshal(raw, &plan); err != nil {
		t.Fatal(err)
	}
	return plan[0].Plan
}

// node is a step of a plan as EXPLAIN prints it.
type node struct {
	Type      string  `json:"Node Type"`
	Table     string  `json:"Relation Name"`
	Index     string  `json:"Index Name"`
	Condition string  `json:"Index Cond"`
	Rows      float64 `json:"Actual Rows"`            // of each loop
	Loops     float64 `json:"Actual Loops"`           // 0: never executed
	Filtered  float64 `json:"Rows Removed by Filter"` // of each loop
	Joined    float64 `json:"Rows Removed by Join Filter"`
	Hit       int     `json:"Shared Hit Blocks"` // with those of Plans
	Read      int     `json:"Shared Read Blocks"`
	Plans     []node
}

// fewRows is how many rows a filter may remove in any case.
const fewRows = 10

// wasted appends the steps whose filter removes more rows than it keeps.
func (n node) wasted(steps []string) []string {
	if removed := (n.Filtered + n.Joined) * n.Loops; removed > fewRows && removed > n.Rows*n.Loops {
		steps = append(steps, fmt.Sprintf("%s %s: %.0f of %.0f", n.Type, n.Table, removed, removed+n.Rows*n.Loops))
	}
	for _, below := range n.Plans {
		steps = below.wasted(steps)
	}
	return steps
}

// scanned appends the tables that are read in full, also by a full index scan. The index of the free organization has one row.
func (n node) scanned(tables []string) []string {
	if n.Type == "Seq Scan" || strings.HasPrefix(n.Type, "Index") && n.Condition == "" && n.Index != "organizations_free_key" {
		tables = append(tables, n.Table)
	}
	for _, below := range n.Plans {
		tables = below.scanned(tables)
	}
	return tables
}
