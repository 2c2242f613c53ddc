// Package migrations embeds the SQL files that make the database: each table whole, with its columns, constraints, indexes and triggers.
// Every constraint is named, because package database finds domain errors by those names. A file goes forward only and runs in one
// transaction. A change is a new file NNNN_topic.sql: those that have landed never change. The package owns no code: database.Migrate
// applies the files, and River's own tables after them.
package migrations

import "embed"

// FS holds every migration beside this file.
//
//go:embed *.sql
var FS embed.FS
