//go:build bench

// The reference program's uploads and downloads.

package main

import (
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const pieceSize = 256 << 10

var pieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// receive writes the body to the file that the path names, and calls fsync before it answers. With hash it computes the SHA-256.
func receive(dir string, hash bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sum []byte
		err := func() error {
			f, err := os.Create(filepath.Join(dir, filepath.Base(r.URL.Path)))
			if err != nil {
				return err
			}
			defer f.Close()
			piece := pieces.Get().(*[pieceSize]byte)
			defer pieces.Put(piece)
			into := struct{ io.Writer }{f} // hides ReadFrom, which would not use the buffer
			digest := sha256.New()
			if hash {
				into.Writer = io.MultiWriter(into.Writer, digest)
			}
			if _, err := io.CopyBuffer(into, r.Body, piece[:]); err != nil {
				return err
			}
			sum = digest.Sum(nil)
			return f.Sync()
		}()
		answer(w, map[string][]byte{"sha256": sum}, err)
	})
}

// receiveBeside is receive with the SHA-256 in a goroutine of its own, beside reading and writing.
func receiveBeside(dir string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sum []byte
		err := func() error {
			f, err := os.Create(filepath.Join(dir, filepath.Base(r.URL.Path)))
			if err != nil {
				return err
			}
			defer f.Close()
			type chunk struct {
				piece *[pieceSize]byte
				n     int
			}
			toHash := make(chan chunk, 4)
			hashed := make(chan []byte)
			go func() {
				digest := sha256.New()
				for c := range toHash {
					digest.Write(c.piece[:c.n])
					pieces.Put(c.piece)
				}
				hashed <- digest.Sum(nil)
			}()
			for err == nil {
				piece := pieces.Get().(*[pieceSize]byte)
				var n int
				n, err = r.Body.Read(piece[:])
				if _, failed := f.Write(piece[:n]); failed != nil {
					err = failed
				}
				toHash <- chunk{piece, n}
			}
			close(toHash)
			sum = <-hashed
			if !errors.Is(err, io.EOF) {
				return err
			}
			return f.Sync()
		}()
		answer(w, map[string][]byte{"sha256": sum}, err)
	})
}

// serveFile sends the file that the path names.
func serveFile(w http.ResponseWriter, r *http.Request, dir string) {
	f, err := os.Open(filepath.Join(dir, filepath.Base(r.URL.Path)))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, f)
}
