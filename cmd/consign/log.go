package main

import (
	"io"
	"log/slog"

	"github.com/consign-dev/consign/internal/config"
)

// logger returns a logger that writes to w in the configured format, from the configured level up.
func logger(cfg config.Config, w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.LogLevel)) // config has validated it
	options := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
