package app

import (
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"
)

// suites are the cipher suites of TLS 1.2: forward secrecy and AEAD, none with CBC. TLS 1.3 has its own, which are not chosen.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// certificates holds the certificate of the server and loads it again when one of its files changes. It is safe for
// concurrent use.
type certificates struct {
	chain, key string // names of files
	log        *slog.Logger

	mu      sync.Mutex // guards what follows, and lets one handshake load
	current *tls.Certificate
	seen    [2]version
}

// version identifies the content of a file by time and size.
type version struct {
	modified time.Time
	size     int64
}

func newCertificates(chain, key string, log *slog.Logger) (*certificates, error) {
	c := &certificates{chain: chain, key: key, log: log}
	seen := c.versions()
	loaded, err := tls.LoadX509KeyPair(chain, key)
	if err != nil {
		return nil, err
	}
	c.current, c.seen = &loaded, seen
	return c, nil
}

func (c *certificates) versions() (seen [2]version) {
	for i, name := range []string{c.chain, c.key} {
		if info, err := os.Stat(name); err == nil {
			seen[i] = version{info.ModTime(), info.Size()}
		}
	}
	return seen
}

// get is tls.Config.GetCertificate. While certificate and key do not match, for example between the writing of both files, the
// former certificate stays. Each state of the files is tried once.
func (c *certificates) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.versions()
	if seen == c.seen {
		return c.current, nil
	}
	c.seen = seen
	loaded, err := tls.LoadX509KeyPair(c.chain, c.key)
	if err != nil {
		c.log.Warn("CONSIGN_TLS_CERT or CONSIGN_TLS_KEY has changed and cannot be loaded; the former certificate stays", "error", err)
		return c.current, nil
	}
	c.current = &loaded
	c.log.Info("certificate loaded again", "not_after", loaded.Leaf.NotAfter)
	return c.current, nil
}
