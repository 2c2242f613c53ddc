package httpserver

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/seal"
)

// sessions makes and reads the cookie `__Host-session`, which gives each client without a token its own bucket behind a shared address
// (contract 1.7). It identifies no person and grants nothing. Its value is a random identifier, the Unix second it was made, and a
// MAC over both and the host.
type sessions struct {
	sealer *seal.Sealer
	life   time.Duration
	secure bool
	now    func() time.Time
}

const (
	sessionCookie  = "session"
	sessionPurpose = "anonymous session"
	sessionID      = 16
	sessionHead    = sessionID + 8
	sessionLength  = sessionHead + 32
)

func newSessions(sealer *seal.Sealer, life time.Duration, secure bool, now func() time.Time) *sessions {
	return &sessions{sealer: sealer, life: life, secure: secure, now: now}
}

// start returns the cookie of a new session for a host.
func (s *sessions) start(host string) *http.Cookie {
	value := make([]byte, sessionHead, sessionLength)
	rand.Read(value[:sessionID]) // never fails
	binary.BigEndian.PutUint64(value[sessionID:], uint64(s.now().Unix()))
	value = append(value, s.sealer.MAC(sessionPurpose, value, []byte(host))...)
	cookie := httpapi.HostCookie(sessionCookie, base64.RawURLEncoding.EncodeToString(value), s.secure, http.SameSiteLaxMode)
	cookie.MaxAge = int(s.life / time.Second)
	return cookie
}

// read returns the identifier of the request's session, "" without a valid one.
func (s *sessions) read(r *http.Request, host string) string {
	cookie, err := r.Cookie(httpapi.HostCookieName(sessionCookie, s.secure))
	if err != nil {
		return ""
	}
	value, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || len(value) != sessionLength {
		return ""
	}
	age := s.now().Unix() - int64(binary.BigEndian.Uint64(value[sessionID:]))
	if age < 0 || age >= int64(s.life/time.Second) {
		return ""
	}
	if !s.sealer.CheckMAC(value[sessionHead:], sessionPurpose, value[:sessionHead], []byte(host)) {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(value[:sessionID])
}
