// One-time keys of downloads: who gets one, when it ends, and which bytes it may request.

package service

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// oneTimeKeyLifetime is how long a one-time key can start its download (contract 4).
const oneTimeKeyLifetime = time.Minute

// OneTimeKey authorizes one download in a browser, which cannot send a token.
type OneTimeKey struct {
	Key       string
	ExpiresAt time.Time
}

// NewOneTimeKey returns a key for a download that the caller may begin: of one object, or of the archive for a zero o. The
// key ends with the caller's session.
// Errors: transfer.ErrNotFound, transfer.ErrLocked, transfer.ErrDownloadLimit.
func (s *Service) NewOneTimeKey(ctx context.Context, caller token.Caller, t id.Transfer, o id.Object) (OneTimeKey, error) {
	access, err := s.store.Access(ctx, t, caller.Person, s.scope(caller))
	if err != nil {
		return OneTimeKey{}, err
	}
	if err := unlocked(access); err != nil {
		return OneTimeKey{}, err
	}
	return s.newOneTimeKey(ctx, access, postgres.OneTimeKey{Transfer: t, Object: o, Person: caller.Person, Session: caller.Session,
		Epoch: caller.Epoch})
}

// NewLinkedOneTimeKey returns a key for a download of the delivery that the caller's download token is for.
// Errors: transfer.ErrNotFound, transfer.ErrDownloadLimit.
func (s *Service) NewLinkedOneTimeKey(ctx context.Context, caller token.Caller, link string, o id.Object) (OneTimeKey, error) {
	access, err := s.store.LinkedAccess(ctx, seal.Hash(link), s.scope(caller))
	if err != nil {
		return OneTimeKey{}, err
	}
	if err := sameDelivery(caller, nil, access); err != nil {
		return OneTimeKey{}, err
	}
	return s.newOneTimeKey(ctx, access, postgres.OneTimeKey{Transfer: access.Transfer, Object: o, Delivery: caller.Delivery})
}

// NewRequestOneTimeKey returns a key for the archive of a request of the caller.
// Errors: transfer.ErrNotFound.
func (s *Service) NewRequestOneTimeKey(ctx context.Context, caller token.Caller, uid id.Request) (OneTimeKey, error) {
	if err := s.requests.CheckOwner(ctx, caller, uid); err != nil {
		return OneTimeKey{}, err
	}
	return s.insertOneTimeKey(ctx, postgres.OneTimeKey{Request: uid, Person: caller.Person, Session: caller.Session, Epoch: caller.Epoch})
}

func (s *Service) newOneTimeKey(ctx context.Context, access postgres.Access, k postgres.OneTimeKey) (OneTimeKey, error) {
	if !k.Object.IsZero() {
		has, err := s.store.HasObject(ctx, access.Reservation, k.Object)
		if err != nil {
			return OneTimeKey{}, err
		}
		if !has {
			return OneTimeKey{}, transfer.ErrNotFound
		}
	}
	// the start of the download decides; this saves the browser a dead link
	if (start{access: access}).limited() && !access.Delivery.IsZero() {
		item := itemOf(access, k.Object.UUID, nil, 0)
		if k.Object.IsZero() {
			item.Item = access.Transfer.UUID
		}
		exhausted, err := s.store.Exhausted(ctx, item)
		if err != nil {
			return OneTimeKey{}, err
		}
		if exhausted {
			return OneTimeKey{}, transfer.ErrDownloadLimit
		}
	}
	return s.insertOneTimeKey(ctx, k)
}

func (s *Service) insertOneTimeKey(ctx context.Context, k postgres.OneTimeKey) (OneTimeKey, error) {
	key, now := seal.NewKey(), s.now()
	k.KeyHash, k.ExpiresAt = seal.Hash(key), now.Add(oneTimeKeyLifetime)
	if err := s.store.InsertOneTimeKey(ctx, k, now); err != nil {
		return OneTimeKey{}, err
	}
	return OneTimeKey{Key: key, ExpiresAt: k.ExpiresAt}, nil
}

// identify returns the caller of a download: of the token, or the person who requested the one-time key. It does not consume
// the key.
// Errors: token.ErrMissing, token.ErrEnded, transfer.ErrOneTimeKey.
func (s *Service) identify(ctx context.Context, auth DownloadAuth, o id.Object) (token.Caller, *postgres.OneTimeKey, error) {
	if !auth.Caller.Anonymous() {
		return auth.Caller, nil, nil
	}
	if auth.OneTimeKey == "" {
		return auth.Caller, nil, token.ErrMissing
	}
	k, err := s.store.OneTimeKey(ctx, seal.Hash(auth.OneTimeKey))
	if errors.Is(err, transfer.ErrNotFound) || err == nil && (k.Object != o || !s.alive(k) || !k.StartedAt.IsZero() && !auth.sameBrowser(k)) {
		return auth.Caller, nil, transfer.ErrOneTimeKey
	}
	if err != nil {
		return auth.Caller, nil, err
	}
	c := token.Caller{Kind: token.KindDownload, Delivery: k.Delivery, Client: auth.Caller.Client}
	if !k.Person.IsZero() {
		c = token.Caller{Kind: token.KindAccess, Person: k.Person, Session: k.Session, Epoch: k.Epoch, Client: auth.Caller.Client}
	}
	ended, err := s.revocations.Ended(ctx, c)
	if err != nil {
		return c, nil, err
	}
	if ended {
		return c, nil, token.ErrEnded
	}
	return c, &k, nil
}

// alive reports whether a key may still start or continue its download.
func (s *Service) alive(k postgres.OneTimeKey) bool {
	if k.StartedAt.IsZero() {
		return s.now().Before(k.ExpiresAt)
	}
	return s.now().Before(k.StartedAt.Add(s.resumeLifetime))
}

// sameBrowser reports whether the request comes from the browser that started a key's download: it presents the cookie of the
// start or, if the start brought no cookie at all, comes from the same client network (contract 4.17).
func (a DownloadAuth) sameBrowser(k postgres.OneTimeKey) bool {
	if bytes.Equal(k.CookieHash, seal.Hash(a.Cookie)) {
		return true
	}
	network := a.network()
	return network != "" && network == k.Network
}

// network returns the client network, "" when the address is unknown.
func (a DownloadAuth) network() string {
	if !a.Caller.Client.Address.IsValid() {
		return ""
	}
	return ratelimit.AddressKey(a.Caller.Client.Address)
}

// browser returns what the key of a download is bound to.
func (a DownloadAuth) browser() postgres.Browser {
	b := postgres.Browser{CookieHash: seal.Hash(a.Cookie)}
	if !a.KeepsCookies {
		b.Network = a.network()
	}
	return b
}

// useKey consumes a key for an answer with the given extent, and reports whether that starts the download. After the start, only
// answers that begin at a later byte are allowed, until their bytes exceed the budget.
// Errors: transfer.ErrOneTimeKey.
func (s *Service) useKey(ctx context.Context, d start, e Extent) (starts bool, err error) {
	if d.key.StartedAt.IsZero() {
		starts, err = s.store.StartDownload(ctx, d.key.KeyHash, d.auth.browser(), e.Bytes, s.now())
		if err != nil || starts {
			return starts, err
		}
		// A parallel request has started the download since the key was read.
		k, err := s.store.OneTimeKey(ctx, d.key.KeyHash)
		if err != nil && !errors.Is(err, transfer.ErrNotFound) {
			return false, err
		}
		if err != nil || !d.auth.sameBrowser(k) {
			return false, transfer.ErrOneTimeKey
		}
	}
	if e.First == 0 {
		return false, transfer.ErrOneTimeKey
	}
	within, err := s.store.ContinueDownload(ctx, d.key.KeyHash, e.Bytes, s.downloadBudget*e.Size)
	if err == nil && !within {
		err = transfer.ErrOneTimeKey.With("otk: has sent as many bytes as it may; request a new one")
	}
	return false, err
}

// endDownloadWithin bounds the statement of EndDownload, which runs after the request has ended.
const endDownloadWithin = 10 * time.Second

// EndDownload records how many bytes of an answer were sent, and states when recipients have got everything. What an interruption kept
// from being sent does not count towards the budget of a one-time key. A recipient who has got everything ends a transfer that is to be
// deleted then.
func (s *Service) EndDownload(ctx context.Context, d Download, e Extent, sent int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endDownloadWithin)
	defer cancel()
	if d.start.recorded() {
		if err := s.recordSent(ctx, d.start, e, sent); err != nil {
			s.log.Warn("the end of a download was not recorded", "error", err)
		}
	}
	if d.start.key == nil || sent >= e.Bytes {
		return
	}
	if err := s.store.ReturnUnsent(ctx, d.start.key.KeyHash, e.Bytes-sent); err != nil {
		s.log.Warn("unsent bytes of a download still count towards its one-time key", "error", err)
	}
}
