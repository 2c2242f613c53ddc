package redis

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"

	client "github.com/gomodule/redigo/redis"
)

// errURL does not repeat the URL, which may hold a password.
var errURL = errors.New("is not a URL like redis://user:password@host:6379/0, rediss://host:6379/0 or unix:///path/to/socket?db=0")

// dialer returns the dial function of a URL: a Unix socket, or a host with or without TLS. Errors: errURL.
func dialer(raw string) (func(ctx context.Context) (client.Conn, error), error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errURL
	}
	query := u.Query()
	db := query.Get("db")
	query.Del("db")
	var network, address string
	switch u.Scheme {
	case "redis", "rediss":
		network, address = "tcp", net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "6379"))
		db = cmp.Or(strings.Trim(u.Path, "/"), db)
	case "unix":
		network, address = "unix", u.Path
	}
	number, err := strconv.Atoi(cmp.Or(db, "0"))
	if address == "" || err != nil || len(query) > 0 {
		return nil, errURL
	}
	password, _ := u.User.Password()
	options := []client.DialOption{
		client.DialDatabase(number), client.DialUsername(u.User.Username()), client.DialPassword(password),
		client.DialUseTLS(u.Scheme == "rediss"), client.DialTLSHandshakeTimeout(answerWithin),
	}
	return func(ctx context.Context) (client.Conn, error) {
		return client.DialContext(ctx, network, address, options...)
	}, nil
}
