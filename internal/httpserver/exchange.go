// The response writer of the pipeline: timeouts of slow clients, limits of bodies, and answers that are cut.

package httpserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/token"
)

// exchange is the pipeline's http.ResponseWriter and its state of one request. It passes ReadFrom to the writer below, so that
// files are sent by sendfile. Unwrap lets http.ResponseController reach that writer.
type exchange struct {
	http.ResponseWriter
	server  *Server
	conn    *connection
	started time.Time // real time, not Options.Now
	id      string    // X-Request-Id
	client  token.Client
	route   string // pattern, for logs
	style   httpapi.Style
	origin  string // the allowed Origin, "" without one
	trusted bool   // the peer is a trusted proxy
	probe   bool
	admin   bool // the request came to the admin listener

	moves *atomic.Int64 // the gauge that counts it while it is in progress; nil: an ordinary request

	status     int // 0 until the header is written
	lateStatus int // status of an error that came after the header had been written
	bytes      int64
	err        error  // why the request failed, for the log
	stack      []byte // of a panic

	mu       sync.Mutex // guards the deadlines below against CutWrites
	moved    time.Time  // when the write deadline was last extended
	cut      bool       // CutWrites was called
	ended    bool       // the handler has returned; the connection may serve its next request
	bodyCut  bool       // reads were cut by the end of the context
	bodyGone bool       // reading the body failed
	bodyRead time.Time  // when the read deadline was last extended
}

// Deadlines use real time, not Options.Now. They are extended while bytes move, at most every extendEvery.
const (
	stall       = time.Minute      // maximum time without a byte received or sent
	bodyTime    = 10 * time.Second // maximum time of a body that is no stream, and longer as its bytes arrive:
	bodyRate    = 16 << 10         // bytes of it in a second
	extendEvery = 10 * time.Second // minimum age of a deadline that is extended
	copyChunk   = 1 << 20          // bytes of a file between checks of the deadline
	heldBack    = 2 << 10          // bytes of a short answer that net/http buffers until the handler returns
	drainBytes  = 16 << 20         // how much of a refused body is read, see drainBody
	drainTime   = 5 * time.Second  // time limit for that
)

// Unwrap is used by http.ResponseController.
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

// ReadFrom implements io.ReaderFrom. It copies in chunks and extends the deadline between them, because a large file takes longer
// than stall. The writer below does the copying.
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

// FlushError is used by http.ResponseController.
func (x *exchange) FlushError() error {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	x.extendWrites()
	return http.NewResponseController(x.ResponseWriter).Flush()
}

// extendWrites extends the write deadline before a write. A test's writer may not support deadlines.
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

// requestBody is a request body with a size limit and a read deadline.
type requestBody struct {
	io.ReadCloser
	x      *exchange
	ctx    context.Context
	stream bool
	began  time.Time // the next two are of a body that is no stream
	bytes  int64     // that have arrived
	within int64     // of them, when the deadline was set
}

// takeBody sets the limit and the deadline of the request's body. The caller runs done after the handler.
func (x *exchange) takeBody(r *http.Request, kind httpapi.Body) (done func()) {
	if r.Body == nil || r.Body == http.NoBody {
		return func() {}
	}
	body := &requestBody{ReadCloser: r.Body, x: x, ctx: r.Context(), stream: kind == httpapi.StreamBody, began: time.Now()}
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

// Read implements io.Reader. When the request's context is canceled in the middle of a body, the error is the context's cause,
// so that a shutdown answers 503.
func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.x.server.traffic.in.Add(int64(n))
	b.bytes += int64(n)
	switch {
	case err == nil:
		if n > 0 {
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
	b.x.bodyGone = b.x.bodyGone || err != nil && err != io.EOF //nolint:errorlint // io.Reader promises the bare value
	return n, err
}

// drainBody reads the rest of the body of a refused request: many clients read the answer only after they have sent everything and
// would otherwise get a connection reset. It does not read a body that is too long or whose client waits for 100 Continue.
func (x *exchange) drainBody(r *http.Request) {
	if x.status != 0 || x.bodyGone || r.ContentLength > drainBytes || r.Header.Get("Expect") != "" || r.Context().Err() != nil {
		return
	}
	_ = http.NewResponseController(x.ResponseWriter).SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, r.Body, drainBytes)
}

func (b *requestBody) extend() {
	now := time.Now()
	b.x.mu.Lock()
	defer b.x.mu.Unlock()
	if !b.stream {
		if b.bytes == 0 || b.bytes-b.within >= bodyRate {
			b.within = b.bytes
			most := bodyTime + time.Duration(b.bytes/bodyRate)*time.Second
			_ = http.NewResponseController(b.x.ResponseWriter).SetReadDeadline(b.began.Add(most))
		}
		return
	}
	if b.x.bodyCut || now.Sub(b.x.bodyRead) < extendEvery {
		return
	}
	b.x.bodyRead = now
	_ = http.NewResponseController(b.x.ResponseWriter).SetReadDeadline(now.Add(stall))
}

// clear removes the read deadline at the end of the body. After that net/http reads only to notice that the client has left, and
// would take an expired deadline for that.
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
