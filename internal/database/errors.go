// Which errors of Postgres and of its connection become which answer: 400, 409 or 503. Names the violated constraint.

package database

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/consign-dev/consign/internal/fault"
)

// SQLSTATE classes and codes that Classify and InTx handle ("PostgreSQL Error Codes").
const (
	classConnection    = "08"    // connection exceptions
	classResources     = "53"    // disk full, out of memory, too many connections
	classOperator      = "57P"   // shutdown, crash, starting up
	classSystem        = "58"    // input and output errors of the server
	codeReadOnly       = "25006" // connected to a standby after a failover
	codeNotInCharset   = "22021" // invalid byte sequence, NUL included
	codeUntranslatable = "22P05" // \u0000 in jsonb
	codeSerialization  = "40001"
	codeDeadlock       = "40P01"
)

// Constraint returns the name of the constraint that a statement violated, "" for any other error.
func Constraint(err error) string {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return ""
	}
	return pg.ConstraintName
}

// Classify maps an error of Postgres or of the connection to the fault that a client sees: fault.ErrUnavailable with RetryAfter
// while the database is unavailable, fault.ErrConflict for a serialization failure or deadlock, and fault.ErrInvalid for text that
// Postgres cannot store. It returns nil, faults and any other error unchanged.
func Classify(err error) error {
	if err == nil {
		return nil
	}
	var known *fault.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return classifyServer(pg, err)
	}
	if connectionTrouble(err) {
		return fault.ErrUnavailable.WithRetryAfter(retryAfter).Because(err)
	}
	return err
}

func classifyServer(pg *pgconn.PgError, err error) error {
	switch {
	case pg.Code == codeSerialization || pg.Code == codeDeadlock:
		return errNotStored.Because(err)
	case pg.Code == codeNotInCharset || pg.Code == codeUntranslatable:
		return fault.ErrInvalid.With("text must be valid UTF-8 without NUL").Because(err)
	case pg.Code == codeReadOnly:
	case strings.HasPrefix(pg.Code, classConnection) || strings.HasPrefix(pg.Code, classResources):
	case strings.HasPrefix(pg.Code, classOperator) || strings.HasPrefix(pg.Code, classSystem):
	default:
		return err
	}
	return fault.ErrUnavailable.WithRetryAfter(retryAfter).Because(err)
}

// connectionTrouble reports whether err comes from a connection to Postgres. Errors of other connections, such as that of a client
// that stopped sending, do not count. markedConn marks the errors of the pool's connections.
func connectionTrouble(err error) bool {
	var lost *lostError
	var refused *pgconn.ConnectError
	return errors.As(err, &lost) || errors.As(err, &refused) || errors.Is(err, puddle.ErrClosedPool) ||
		errors.Is(err, context.DeadlineExceeded) || pgconn.SafeToRetry(err)
}

// lostError marks an error as one of a connection to Postgres.
type lostError struct{ error }

func (e *lostError) Unwrap() error { return e.error }

// Timeout implements net.Error. pgconn uses it to recognize a deadline that it set.
func (e *lostError) Timeout() bool {
	var timeout net.Error
	return errors.As(e.error, &timeout) && timeout.Timeout()
}

// Temporary implements net.Error. crypto/tls closes a connection only after a read error that is not temporary.
func (e *lostError) Temporary() bool {
	var temporary interface{ Temporary() bool }
	return errors.As(e.error, &temporary) && temporary.Temporary()
}

// markedConn is a connection to Postgres that wraps its errors in lostError.
type markedConn struct{ net.Conn }

func (c markedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		err = &lostError{err}
	}
	return n, err
}

func (c markedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		err = &lostError{err}
	}
	return n, err
}

func marked(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return markedConn{conn}, nil
	}
}

// IsReadOnly reports whether err says that the database cannot be written: it is a standby, or was switched to reading.
func IsReadOnly(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == codeReadOnly
}
