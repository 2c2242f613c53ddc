package httpserver

import (
	"errors"
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
)

// takeToken takes a token from the route's bucket. For an anonymous client without a session that is the bucket of its address;
// the answer then starts a session, which takes a token from Options.AddressBucket.
func (s *Server) takeToken(x *exchange, r *http.Request, b httpapi.Bucketing, caller token.Caller) error {
	bucket, limited := b.Bucket()
	if !limited {
		return nil
	}
	if caller.Kind == token.KindAPI && b.IsGeneral() {
		bucket = s.api
	}
	ctx := r.Context()
	if bucket.By == ratelimit.ByAddress {
		return s.buckets.Take(x, ctx, bucket, ratelimit.AddressKey(x.client.Address), x.style)
	}
	if identifier := sessionKey(caller); identifier != "" {
		return s.buckets.Take(x, ctx, bucket, identifier, x.style)
	}
	if session := s.sessions.read(r, x.client.Host.Name); session != "" {
		return s.buckets.Take(x, ctx, bucket, session, x.style)
	}
	address := ratelimit.AddressKey(x.client.Address)
	if err := s.buckets.Take(x, ctx, bucket, address, x.style); err != nil {
		return err
	}
	if len(x.Header()["X-Ratelimit-Limit"]) == 0 { // rate limits are off
		return nil
	}
	if err := s.buckets.TakeQuietly(x, ctx, s.address, address, x.style); err != nil {
		return err
	}
	http.SetCookie(x, s.sessions.start(x.client.Host.Name))
	return nil
}

// sessionKey returns the identifier of an authenticated caller in buckets, which the specifications call the session id; "" for
// an anonymous one.
func sessionKey(caller token.Caller) string {
	switch {
	case caller.Anonymous():
		return ""
	case caller.Kind == token.KindReservation:
		return caller.Reservation.String()
	case caller.Kind == token.KindDownload:
		return caller.Delivery.String()
	case !caller.Session.IsZero():
		return caller.Session.String()
	case !caller.Person.IsZero():
		return caller.Person.String()
	}
	return caller.JTI.String()
}

// isInvalidToken reports whether err means that a token was sent and is not valid.
func isInvalidToken(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Kind == fault.Unauthenticated && !errors.Is(err, token.ErrMissing)
}
