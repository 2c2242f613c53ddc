package httpserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/token"
)

// exchange is the answer to one request on its way out, and what the pipeline notes about both. It hands ReadFrom to
// the writer below, so that files leave by sendfile, and Unwrap lets http.ResponseController reach that writer.
type exchange struct {
	http.ResponseWriter
	server  *Server
	conn    *connection
	started time.Time // in real time
	id      string    // X-Request-Id
	client  token.Client
	route   string // pattern, for logs
	style   httpapi.Style
	origin  string // the allowed Origin, "" without one
	trusted bool   // the peer is a trusted proxy
	probe   bool

	status int // 0 until the header is written
	torn   int // the status that an answer should have had which failed after it had begun
	bytes  int64
	err    error  // why the request failed, for the log
	stack  []byte // where it panicked

	mu       sync.Mutex // guards the deadlines below against CutWrites
	moved    time.Time  // when the write deadline was last extended
	cut      bool       // writes were ended from outside
	ended    bool       // the connection is the next request's
	bodyCut  bool       // reads were
	bodyGone bool       // reading the body failed
	bodyRead time.Time  // when the read deadline was last extended
}

// Deadlines run in real time, whatever clock the API has. While bytes move they are moved too, but not for every call.
const (
	stall       = time.Minute      // how long a client may neither take nor send a byte
	extendEvery = 10 * time.Second // how often a deadline is moved at most
	copyChunk   = 1 << 20          // bytes of a file that leave between looks at the deadline
	heldBack    = 2 << 10          // bytes of an answer that net/http sends only when its handler has returned, if there are no more
	hearBytes   = 16 << 20         // how much of a body is read only so that its refusal arrives
	hearTime    = 5 * time.Second  // and for how long
)

// Unwrap implements what http.ResponseController looks for.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (x *exchange) WriteHeader(status int) {
	if status >= 200 && x.status == 0 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	if x.bytes+int64(len(p)) > heldBack {
		x.extendWrites()
	}
	n, err := x.ResponseWriter.Write(p)
	x.wrote(int64(n))
	return n, err
}

// ReadFrom implements io.ReaderFrom: chunk by chunk, so that a file longer than the stall limit allows keeps its
// deadline ahead, with the writer below doing the copying.
func (x *exchange) ReadFrom(src io.Reader) (int64, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	below, ok := x.ResponseWriter.(io.ReaderFrom)
	if !ok {
		return io.Copy(struct{ io.Writer }{x}, src)
	}
	rest := int64(-1) // unknown
	limited, isLimited := src.(*io.LimitedReader)
	if isLimited {
		src, rest = limited.R, limited.N
	}
	var total int64
	for rest != 0 {
		size := int64(copyChunk)
		if rest > 0 {
			size = min(size, rest)
		}
		x.extendWrites()
		n, err := below.ReadFrom(&io.LimitedReader{R: src, N: size})
		total += n
		x.wrote(n)
		if isLimited {
			rest -= n
			limited.N -= n
		}
		if err != nil || n < size {
			return total, err
		}
	}
	return total, nil
}

// wrote counts bytes of the answer's body.
func (x *exchange) wrote(n int64) {
	x.bytes += n
	x.server.traffic.out.Add(n)
}

// FlushError implements what http.ResponseController looks for.
func (x *exchange) FlushError() error {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	x.extendWrites()
	return http.NewResponseController(x.ResponseWriter).Flush()
}

// extendWrites moves the write deadline ahead before bytes leave. Writers without deadlines, as in tests, have none to move.
func (x *exchange) extendWrites() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cut || time.Since(x.moved) < extendEvery {
		return
	}
	x.setWrites(time.Now())
}

func (x *exchange) setWrites(now time.Time) {
	x.moved = now
	_ = http.NewResponseController(x.ResponseWriter).SetWriteDeadline(now.Add(stall))
}

// CutWrites implements httpapi.Exchange. After the handler has returned it does nothing: the connection may already belong to
// the next request.
func (x *exchange) CutWrites() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	x.cut = true
	_ = http.NewResponseController(x.ResponseWriter).SetWriteDeadline(longAgo)
}

var longAgo = time.Unix(1, 0)

// requestBody is a request's body with a limit and a deadline.
type requestBody struct {
	io.ReadCloser
	x      *exchange
	ctx    context.Context
	stream bool
}

// takeBody puts limit and deadline on the request's body, and returns what to do after the handler.
func (x *exchange) takeBody(r *http.Request, kind httpapi.Body) (done func()) {
	if r.Body == nil || r.Body == http.NoBody {
		return func() {}
	}
	body := &requestBody{ReadCloser: r.Body, x: x, ctx: r.Context(), stream: kind == httpapi.StreamBody}
	if limit := kind.Limit(); limit >= 0 {
		body.ReadCloser = http.MaxBytesReader(x.ResponseWriter, r.Body, limit)
	}
	r.Body = body
	body.extend()
	if !body.stream {
		return func() {}
	}
	stop := context.AfterFunc(r.Context(), body.cut)
	return func() { stop() }
}

// Read implements io.Reader. When the request's context ends in the middle of a body, the error is its cause, so that
// a shutdown answers 503.
func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.x.server.traffic.in.Add(int64(n))
	switch {
	case err == nil:
		if b.stream && n > 0 {
			b.extend()
		}
	case err == io.EOF: //nolint:errorlint // io.Reader promises the bare value
		b.clear()
	case b.ctx.Err() != nil:
		err = context.Cause(b.ctx)
	case os.IsTimeout(err):
		err = errStalled.Because(err)
	default:
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return n, err
		}
		err = errBroken.Because(err)
	}
	b.x.bodyGone = b.x.bodyGone || err != nil && err != io.EOF //nolint:errorlint // the bare value, from above
	return n, err
}

// hearOut reads what is left of the body of a request that is refused: many clients read no answer before they have
// sent everything, and would see their connection reset instead. What is too long, or waits for a 100 Continue, is not read.
func (x *exchange) hearOut(r *http.Request) {
	if x.status != 0 || x.bodyGone || r.ContentLength > hearBytes || r.Header.Get("Expect") != "" || r.Context().Err() != nil {
		return
	}
	_ = http.NewResponseController(x.ResponseWriter).SetReadDeadline(time.Now().Add(hearTime))
	_, _ = io.CopyN(io.Discard, r.Body, hearBytes)
}

func (b *requestBody) extend() {
	now := time.Now()
	b.x.mu.Lock()
	defer b.x.mu.Unlock()
	if b.x.bodyCut || now.Sub(b.x.bodyRead) < extendEvery {
		return
	}
	b.x.bodyRead = now
	_ = http.NewResponseController(b.x.ResponseWriter).SetReadDeadline(now.Add(stall))
}

// clear takes the deadline away once the body is in: from then on net/http reads only to see the client leave, and a
// deadline would look like that.
func (b *requestBody) clear() {
	b.x.mu.Lock()
	defer b.x.mu.Unlock()
	if !b.x.bodyCut {
		_ = http.NewResponseController(b.x.ResponseWriter).SetReadDeadline(time.Time{})
	}
}

func (b *requestBody) cut() {
	b.x.mu.Lock()
	defer b.x.mu.Unlock()
	b.x.bodyCut = true
	_ = http.NewResponseController(b.x.ResponseWriter).SetReadDeadline(longAgo)
}
