// What an error means to a person and as exit code. Makes texts of servers safe for a terminal.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"unicode"

	"github.com/consign-dev/consign/client"
)

// exitCodes is part of the help text and of the man page.
const exitCodes = `Send and receive files through a Consign server.

Exit codes:
  0    done
  1    the server refused, or a receipt or a part of the work failed
  2    the command line is wrong
  3    not signed in, or the login or token has ended
  4    what was named does not exist
  5    the server cannot be reached or is busy: try again later
  6    a file of this machine: missing, changed, no permission, disk full
  7    bytes differ from what was sent
  130  interrupted by a signal

Environment: CONSIGN_SERVER and CONSIGN_TOKEN (an API token, used for CONSIGN_SERVER only) replace a login. Credentials are in
$XDG_CONFIG_HOME/consign, interrupted uploads and received transfers in $XDG_STATE_HOME/consign.`

// usageError is a wrong command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// Errors with an exit code of their own.
var (
	// ErrRefused is that of verify for a refused receipt; it is printed already.
	ErrRefused     = errors.New("refused")
	errInterrupted = errors.New("interrupted")
	errNoLogin     = errors.New("not signed in: run login https://… first, or set CONSIGN_SERVER and CONSIGN_TOKEN")
	errNotFound    = errors.New("not found")
	errLocal       = errors.New("file error")
	errLocked      = errors.New("another process does this already")
)

// ExitCode returns the exit code for the error of a command.
func ExitCode(err error) int {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return 130
	case errors.As(err, new(usageError)):
		return 2
	case errors.Is(err, errNoLogin), errors.Is(err, client.ErrSessionEnded), client.HasStatus(err, 401):
		return 3
	case errors.Is(err, errNotFound), client.HasStatus(err, 404):
		return 4
	case errors.Is(err, client.ErrDigest):
		return 7
	case errors.Is(err, client.ErrChanged), errors.Is(err, errLocal), errors.As(err, &path), errors.As(err, &link):
		return 6
	case passing(err):
		return 5
	}
	return 1
}

// passing reports whether err is one of the network, or one that ends by itself.
func passing(err error) bool {
	var e *client.Error
	if errors.As(err, &e) {
		return e.Status == 429 || e.Status == 509 || e.Status >= 500
	}
	return errors.As(err, new(*url.Error)) || errors.As(err, new(net.Error))
}

// explain returns what an error means and what to do about it.
func explain(err error) string {
	var e *client.Error
	text := err.Error()
	switch {
	case errors.Is(err, client.ErrSessionEnded):
		return "the login has ended: run login again"
	case client.HasStatus(err, 401) && !strings.Contains(text, "password"):
		return text + "; the token or login is not valid (any more): run login again"
	case client.HasCode(err, 403904, 403905):
		return text + "; the API token lacks a scope for this, see token create --help"
	case errors.Is(err, syscall.ENOSPC):
		return text + "; make room and run the same command again"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the server cannot be reached: connection refused"
	case errors.Is(err, errInterrupted):
		return "interrupted"
	case client.HasCode(err, 404001):
		return "it does not exist, or has ended (404001)"
	case errors.As(err, &e) && e.Code == 0 && e.Status == 404:
		return text + "; is this the address of a Consign server?"
	}
	return text
}

// printable returns text without characters that change what a terminal shows.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029':
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// oneLine is printable for a cell of a table.
func oneLine(text string) string {
	return strings.Join(strings.Fields(printable(text)), " ")
}

// localError marks an error of this machine's files.
func localError(format string, values ...any) error {
	return fmt.Errorf("%w%w", fmt.Errorf(format, values...), hidden{errLocal})
}

// hidden is an error without a text.
type hidden struct{ error }

func (h hidden) Error() string { return "" }
func (h hidden) Unwrap() error { return h.error }
