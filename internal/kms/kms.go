// Package kms lets a program outside Consign keep a key (CONSIGN_KMS_COMMAND): it calls a command that wraps and unwraps 32 bytes. The
// command may be a line of shell around AWS KMS, Vault's transit engine, a TPM or an HSM.
//
// It stores nothing.
package kms

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	timeout   = 30 * time.Second
	maxOutput = 64 << 10
	maxReason = 300 // bytes of what a command says about its failure
)

// Command is a program with its arguments. It is called with one more argument, wrap or unwrap. It reads base64 on the standard input
// and writes base64 to the standard output.
type Command []string

// Parse splits a setting at spaces. There are no quotes: what needs some is a script of its own.
func Parse(text string) Command { return strings.Fields(text) }

// Wrap returns key encrypted by the program.
func (c Command) Wrap(ctx context.Context, key []byte) ([]byte, error) {
	return c.call(ctx, "wrap", key)
}

// Unwrap returns what Wrap got.
func (c Command) Unwrap(ctx context.Context, wrapped []byte) ([]byte, error) {
	return c.call(ctx, "unwrap", wrapped)
}

func (c Command) call(ctx context.Context, verb string, in []byte) ([]byte, error) {
	if len(c) == 0 {
		return nil, errors.New("there is no command")
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c[0], append(c[1:len(c):len(c)], verb)...) //nolint:gosec // the operator's setting
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CONSIGN_") { // the program needs no secret of Consign
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.WaitDelay = time.Second
	var out, reason limited
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(base64.StdEncoding.EncodeToString(in)+"\n"), &out, &reason
	if err := cmd.Run(); err != nil {
		said := strings.ToValidUTF8(strings.TrimSpace(reason.String()), "")
		return nil, fmt.Errorf("%s %s: %w: %.*s", c[0], verb, err, maxReason, said)
	}
	result, err := base64.StdEncoding.DecodeString(strings.TrimSpace(out.String()))
	if err != nil || len(result) == 0 {
		return nil, fmt.Errorf("%s %s: the standard output is not base64", c[0], verb)
	}
	return result, nil
}

// limited keeps the first bytes that are written to it.
type limited struct{ bytes.Buffer }

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p[:min(len(p), max(0, maxOutput-l.Len()))])
	return len(p), nil
}
