// Package migrations embeds the SQL files that make and change the database. Each is named NNNN_topic.sql, goes
// forward only, runs in one transaction and names every constraint, because package database finds domain errors by
// those names. It owns no code: database.Migrate applies the files, and River's own tables after them.
package migrations

import "embed"

// FS holds every migration beside this file.
//
//go:embed *.sql
var FS embed.FS
