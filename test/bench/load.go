//go:build bench

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// conn is a keep-alive connection with a minimal HTTP/1.1 client, which understands answers with a Content-Length only. The load
// generator must use less processor time than the server it measures.
type conn struct {
	net.Conn
	reader *bufio.Reader
	body   []byte
}

const answerTimeout = 2 * time.Minute

func dial(ctx context.Context, addr string) (*conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, reader: bufio.NewReaderSize(c, 64<<10)}, nil
}

// roundTrip sends a request and reads the answer. The body is valid until the next call.
func (c *conn) roundTrip(request []byte) (status int, body []byte, err error) {
	if _, err := c.Write(request); err != nil {
		return 0, nil, err
	}
	status, length, err := c.head()
	if err != nil {
		return 0, nil, err
	}
	if int64(cap(c.body)) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	_, err = io.ReadFull(c.reader, c.body)
	return status, c.body, err
}

var contentLength = []byte("Content-Length: ")

// head reads the status line and the headers of an answer.
func (c *conn) head() (status int, length int64, err error) {
	length = -1
	for first := true; ; first = false {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return 0, 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case first && len(line) >= 12:
			if status, err = strconv.Atoi(string(line[9:12])); err != nil {
				return 0, 0, err
			}
		case len(line) == 0 && status == http.StatusNoContent:
			return status, 0, nil
		case len(line) == 0 && length < 0:
			return 0, 0, fmt.Errorf("answer %d has no Content-Length", status)
		case len(line) == 0:
			return status, length, nil
		case bytes.HasPrefix(line, contentLength):
			if length, err = strconv.ParseInt(string(line[len(contentLength):]), 10, 64); err != nil {
				return 0, 0, err
			}
		}
	}
}

// request returns the bytes of a request.
func request(method, path, token string, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\n", method, path)
	if token != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", token)
	}
	if body != nil {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	} else if method != "GET" {
		b.WriteString("Content-Length: 0\r\n")
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}

// work is the sequence of requests of one side. next returns the next request of a connection; took handles the answer.
type work struct {
	next func(worker int) []byte
	want int // the status of every answer
	took func(worker int, body []byte) error
}

// repeat sends one request again and again.
func repeat(request []byte) work {
	return work{want: 200, next: func(int) []byte { return request }}
}

// side is one side of a comparison: a server and connections to it.
type side struct {
	addr  string
	pid   int
	work  work
	conns []*conn
}

func (p *side) connect(ctx context.Context, n int) error {
	for range n {
		c, err := dial(ctx, p.addr)
		if err != nil {
			return err
		}
		p.conns = append(p.conns, c)
	}
	return nil
}

func (p *side) close() {
	for _, c := range p.conns {
		_ = c.Close()
	}
}

// saturate sends requests on every connection for d, each after the answer to the last. It returns the time of each request.
func (p *side) saturate(ctx context.Context, d time.Duration) (took []time.Duration, elapsed time.Duration, err error) {
	began := time.Now()
	each := make([][]time.Duration, len(p.conns))
	errs := make([]error, len(p.conns))
	var group sync.WaitGroup
	for i, c := range p.conns {
		group.Go(func() {
			_ = c.SetDeadline(began.Add(d + answerTimeout))
			for at := time.Now(); at.Sub(began) < d && ctx.Err() == nil; {
				if errs[i] = p.once(c, i); errs[i] != nil {
					return
				}
				now := time.Now()
				each[i] = append(each[i], now.Sub(at))
				at = now
			}
		})
	}
	group.Wait()
	elapsed = time.Since(began)
	for _, e := range each {
		took = append(took, e...)
	}
	return took, elapsed, errors.Join(append(errs, ctx.Err())...)
}

func (p *side) once(c *conn, worker int) error {
	status, body, err := c.roundTrip(p.work.next(worker))
	if err != nil {
		return err
	}
	if status != p.work.want {
		return fmt.Errorf("answered %d: %.300s", status, body)
	}
	if p.work.took != nil {
		return p.work.took(worker, body)
	}
	return nil
}
