package httpapi

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
)

const (
	// TypeCSV is the media type of tables.
	TypeCSV = "text/csv"
	// TypeJSONLines is the media type of JSON objects, one a line.
	TypeJSONLines = "application/x-ndjson"
)

// tableBatch is how many rows of a table are encoded before they are sent.
const tableBatch = 1000

// Table answers with items as CSV (RFC 4180), to be saved as a file of that name. The first row is the header, row makes that of an item.
// It streams: an error after the first rows cuts the connection. Cells that begin a formula become text.
func Table[T any](w http.ResponseWriter, file string, head []string, items iter.Seq2[T, error], row func(T) []string) error {
	header := w.Header()
	header.Set("Content-Type", TypeCSV+"; charset=utf-8; header=present")
	header.Set("Content-Disposition", `attachment; filename="`+file+`"`)
	out := csv.NewWriter(w)
	out.UseCRLF = true
	batch := [][]string{inert(slices.Clone(head))}
	for item, err := range items {
		if err != nil {
			return err
		}
		batch = append(batch, inert(row(item)))
		if len(batch) < tableBatch {
			continue
		}
		if err := out.WriteAll(batch); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
		batch = batch[:0]
	}
	if err := out.WriteAll(batch); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}

// Lines answers with items as JSON, one a line, to be saved as a file of that name. from makes the answer's form of an item. It streams: an
// error after the first lines cuts the connection.
func Lines[T, R any](w http.ResponseWriter, file string, items iter.Seq2[T, error], from func(T) R) error {
	header := w.Header()
	header.Set("Content-Type", TypeJSONLines)
	header.Set("Content-Disposition", `attachment; filename="`+file+`"`)
	lines := json.NewEncoder(w)
	for item, err := range items {
		if err != nil {
			return err
		}
		if err := lines.Encode(from(item)); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
	}
	return nil
}

// inert changes the cells of a row so that spreadsheets read them as text: one that would begin a formula gets an apostrophe before it.
func inert(row []string) []string {
	for i, cell := range row {
		trimmed := strings.TrimLeft(cell, " \t\r\n\u00a0")
		if trimmed != "" && strings.ContainsAny(trimmed[:1], "=+-@|%") || strings.HasPrefix(trimmed, "＝") ||
			strings.HasPrefix(trimmed, "＋") || strings.HasPrefix(trimmed, "－") || strings.HasPrefix(trimmed, "＠") {
			row[i] = "'" + cell
		}
	}
	return row
}
