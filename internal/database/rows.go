package database

import "github.com/jackc/pgx/v5"

// Row collects exactly one row into a struct by column names; none is pgx.ErrNoRows. It is pgx.CollectExactlyOneRow, but
// compiled once for all structs: for a hundred of them its copies would take half a megabyte.
func Row[T any](rows pgx.Rows) (T, error) {
	var v T
	_, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (_ struct{}, err error) {
		v, err = pgx.RowToStructByName[T](row)
		return struct{}{}, err
	})
	return v, err
}

// Rows collects all rows into structs by column names, in the same way; none is an empty list.
func Rows[T any](rows pgx.Rows) ([]T, error) {
	list := []T{}
	_, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		v, err := pgx.RowToStructByName[T](row)
		list = append(list, v)
		return struct{}{}, err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
