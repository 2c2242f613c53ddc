//go:build bench

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/google/uuid"
	"golang.org/x/crypto/bcrypt"

	"github.com/consign-dev/consign/internal/database"
)

// A reference is a program that does one task with the least code: Consign's own SQL statements behind net/http, without router, log,
// limits and other checks. It runs as a separate process, so that its processor time can be measured.

// referenceOptions are the flags of a reference.
type referenceOptions struct {
	database string
	dir      string
	bytes    int // size of a padded answer
}

// reference runs a reference until SIGTERM. It first prints its address.
func reference(args []string) error {
	var o referenceOptions
	f := flag.NewFlagSet("reference", flag.ContinueOnError)
	f.StringVar(&o.database, "database", "", "")
	f.StringVar(&o.dir, "dir", "", "")
	f.IntVar(&o.bytes, "bytes", 0, "")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	mux, err := referenceHandler(ctx, args[0], o)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	server := &http.Server{Handler: mux}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func referenceHandler(ctx context.Context, mode string, o referenceOptions) (http.Handler, error) {
	switch mode {
	case "nothing":
		return doNothing(o.bytes), nil
	case "stack":
		return stack(doNothing(o.bytes), o.dir)
	case "bcrypt":
		return compareBcrypt()
	case "write", "hash":
		return receive(o.dir, mode == "hash"), nil
	case "beside":
		return receiveBeside(o.dir), nil
	case "files":
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serveFile(w, r, o.dir) }), nil
	}
	db, err := database.New(ctx, o.database, connections)
	if err != nil {
		return nil, err
	}
	if err := db.Pool.Ping(ctx); err != nil {
		return nil, err
	}
	if mode == "tokens" {
		return newTokens(db)
	}
	boxes, err := newMailboxes(ctx, db)
	if err != nil {
		return nil, err
	}
	switch mode {
	case "mailbox":
		return http.HandlerFunc(boxes.get), nil
	case "reserve":
		return boxes.reserve(nil), nil
	case "sign":
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		return boxes.reserve(key), err
	}
	return nil, fmt.Errorf("no reference is called %q", mode)
}

// answer writes v as JSON, or a 500 for an error.
func answer(w http.ResponseWriter, v any, err error) {
	var raw []byte
	if err == nil {
		raw, err = json.Marshal(v)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(raw)
}

// doNothing answers with n bytes.
func doNothing(n int) http.Handler {
	body := []byte(`{"padding":"` + strings.Repeat("x", max(0, n-len(`{"padding":""}`))) + `"}`)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
}

// stack adds what every production server has: a router, a request id and an access log in JSON.
func stack(next http.Handler, dir string) (http.Handler, error) {
	file, err := os.Create(filepath.Join(dir, "stack.log"))
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewJSONHandler(file, nil))
	mux := chi.NewMux()
	mux.Use(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			began, id := time.Now(), uuid.NewString()
			w.Header().Set("X-Request-Id", id)
			answer := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
			next.ServeHTTP(answer, r)
			log.LogAttrs(r.Context(), slog.LevelInfo, "request", slog.String("request_id", id), slog.String("method", r.Method),
				slog.String("path", r.URL.Path),
				slog.Int("status", answer.Status()), slog.Int("bytes", answer.BytesWritten()), slog.Duration("took", time.Since(began)),
				slog.String("ip", r.RemoteAddr))
		})
	})
	mux.Handle("/*", next)
	return mux, nil
}

const (
	bcryptCost = 10
	password   = "correct horse battery staple"
)

// compareBcrypt compares a password. As in Consign, the number of parallel comparisons is the number of cores minus one.
func compareBcrypt() (http.Handler, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcryptCost)
	if err != nil {
		return nil, err
	}
	places := make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		places <- struct{}{}
		err := bcrypt.CompareHashAndPassword(hash, []byte(password))
		<-places
		answer(w, map[string]bool{"ok": err == nil}, err)
	}), nil
}
