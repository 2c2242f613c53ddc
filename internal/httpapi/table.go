package httpapi

import (
	"encoding/csv"
	"fmt"
	"iter"
	"net/http"
	"strings"
)

// TypeCSV is the media type of tables.
const TypeCSV = "text/csv"

// tableBatch is how many rows of a table are encoded before they are sent.
const tableBatch = 1000

// Table answers with rows as CSV (RFC 4180), to be saved as a file of that name. The first row is the header. It streams: an error
// after the first rows cuts the connection. Cells that begin a formula become text.
func Table(w http.ResponseWriter, file string, head []string, rows iter.Seq2[[]string, error]) error {
	header := w.Header()
	header.Set("Content-Type", TypeCSV+"; charset=utf-8; header=present")
	header.Set("Content-Disposition", `attachment; filename="`+file+`"`)
	out := csv.NewWriter(w)
	out.UseCRLF = true
	batch := [][]string{inert(head)}
	for row, err := range rows {
		if err != nil {
			return err
		}
		batch = append(batch, inert(row))
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
