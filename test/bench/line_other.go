//go:build bench && !linux

package main

import (
	"context"
	"errors"
	"time"
)

type line struct{ addr string }

func openLine(context.Context, time.Duration, float64, string) (*line, error) {
	return nil, errors.New("a line that loses packets needs Linux, its TUN devices and network namespaces")
}

func (*line) close() {}
