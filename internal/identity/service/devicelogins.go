// Rules of the login of a program that a person approves in a browser (RFC 8628).

package service

import (
	"context"
	"crypto/rand"
	"errors"
	"math/big"
	"net/url"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/identity/session"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// userCodePurpose separates the MACs of user codes.
const userCodePurpose = "device user code"

// DeviceCodes are the answer to a program that asks for a session (RFC 8628, 3.2).
type DeviceCodes struct {
	Device, User       string
	Page, CompletePage string // where the person approves; with the user code
	Lifetime, Poll     time.Duration
}

// BeginDeviceLogin stores a program that asks for a session, under the name that it states.
// Errors: fault.ErrInvalid, identity.ErrNoHost, identity.ErrDeviceLogins.
func (s *Service) BeginDeviceLogin(ctx context.Context, c token.Client, name string) (DeviceCodes, error) {
	if err := text.Required(name, identity.MaxDeviceName); err != nil {
		return DeviceCodes{}, fault.ErrInvalid.With("client_id: " + err.Error())
	}
	if c.Host.Organization.IsZero() {
		return DeviceCodes{}, identity.ErrNoHost
	}
	now, device, user := s.now(), seal.NewKey(), newUserCode()
	d := postgres.NewDeviceLogin{
		DeviceLogin: identity.DeviceLogin{Name: name, UserAgent: session.UserAgent(c), IP: session.Address(c), CreatedAt: now,
			ExpiresAt: now.Add(identity.DeviceLoginLifetime)},
		DeviceHash: seal.Hash(device), UserHash: s.sealer.MAC(userCodePurpose, []byte(user)), Host: c.Host.Organization,
		Network: ratelimit.AddressKey(c.Address),
	}
	if err := s.store.InTx(ctx, func(tx *postgres.Store) error { return tx.InsertDeviceLogin(ctx, d) }); err != nil {
		return DeviceCodes{}, err
	}
	half := identity.UserCodeLength / 2
	shown := user[:half] + "-" + user[half:]
	return DeviceCodes{
		Device: device, User: shown, Page: s.hosts.URL(c.Host.Name, "/device"),
		CompletePage: s.hosts.URL(c.Host.Name, "/device?"+url.Values{"user_code": {shown}}.Encode()),
		Lifetime:     identity.DeviceLoginLifetime, Poll: identity.DeviceLoginPoll,
	}, nil
}

// newUserCode returns a random user code.
func newUserCode() string {
	code := make([]byte, identity.UserCodeLength)
	for i := range code {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(identity.UserCodeLetters))))
		if err != nil {
			panic(err) // crypto/rand.Reader never fails
		}
		code[i] = identity.UserCodeLetters[n.Int64()]
	}
	return string(code)
}

// userHashes returns the MACs of a user code as a person types it: case, spaces and hyphens do not matter.
// Errors: identity.ErrUserCode.
func (s *Service) userHashes(code string) ([][]byte, error) {
	code = strings.ToUpper(strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' {
			return -1
		}
		return r
	}, code))
	if len(code) != identity.UserCodeLength || strings.Trim(code, identity.UserCodeLetters) != "" {
		return nil, identity.ErrUserCode
	}
	return s.sealer.MACs(userCodePurpose, []byte(code)), nil
}

// DeviceLogin returns the program with a user code.
// Errors: identity.ErrUserCode.
func (s *Service) DeviceLogin(ctx context.Context, host hosts.Host, code string) (identity.DeviceLogin, error) {
	hashes, err := s.userHashes(code)
	if err != nil {
		return identity.DeviceLogin{}, err
	}
	return s.store.DeviceLogin(ctx, hashes, host.Organization, s.now())
}

// ApproveDeviceLogin gives the program with a user code a session of the caller, which it fetches with its device code.
// Errors: identity.ErrUserCode, identity.ErrPersonNotFound, token.ErrEnded, and those of stepUp.
func (s *Service) ApproveDeviceLogin(ctx context.Context, caller token.Caller, code string, proof token.Proof) error {
	hashes, err := s.userHashes(code)
	if err != nil {
		return err
	}
	use, err := s.stepUp(ctx, caller, proof)
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, caller.Person); err != nil {
			return err
		}
		if err := use(ctx, tx); err != nil {
			return err
		}
		epoch, err := tx.Epoch(ctx, caller.Person)
		if err != nil {
			return err
		}
		if epoch != caller.Epoch {
			return token.ErrEnded
		}
		d, err := tx.ApproveDeviceLogin(ctx, hashes, caller.Client.Host.Organization, postgres.Approval{
			Person: caller.Person, Session: caller.Session, Epoch: epoch, AuthLevel: caller.AuthLevel, AuthTime: caller.AuthTime,
		}, s.now())
		if err != nil {
			return err
		}
		return s.recordDevice(ctx, tx, caller, d, "device.approve")
	})
}

// RefuseDeviceLogin refuses the program with a user code.
// Errors: identity.ErrUserCode.
func (s *Service) RefuseDeviceLogin(ctx context.Context, caller token.Caller, code string) error {
	hashes, err := s.userHashes(code)
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		d, err := tx.RefuseDeviceLogin(ctx, hashes, caller.Client.Host.Organization, s.now())
		if err != nil {
			return err
		}
		return s.recordDevice(ctx, tx, caller, d, "device.refuse")
	})
}

func (s *Service) recordDevice(ctx context.Context, tx *postgres.Store, caller token.Caller, d identity.DeviceLogin, action string) error {
	return s.recordOwn(ctx, tx, caller, action, caller.Person.String(), map[string]string{"program": d.Name, "ip": d.IP})
}

// DeviceSession is the session of an approved program.
type DeviceSession struct {
	session.Access
	Lifetime time.Duration // of the access token
}

// FetchDeviceSession returns the session of an approved program, once.
// Errors: identity.ErrDeviceCode, identity.ErrDevicePending, identity.ErrDeviceEarly, identity.ErrDeviceRefused, identity.ErrDeviceExpired.
func (s *Service) FetchDeviceSession(ctx context.Context, c token.Client, code string) (DeviceSession, error) {
	var begun session.Begun
	var refusal error
	hash := seal.Hash(code)
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		begun, refusal = session.Begun{}, nil
		d, err := tx.PollDeviceLogin(ctx, hash, c.Host.Organization, s.now())
		if err != nil {
			return err
		}
		switch {
		case !s.now().Before(d.ExpiresAt):
			refusal = identity.ErrDeviceExpired
		case d.Refused:
			refusal = identity.ErrDeviceRefused
		case d.TooEarly:
			refusal = identity.ErrDeviceEarly
		case d.Person.IsZero():
			refusal = identity.ErrDevicePending
		default:
			if begun, refusal, err = s.beginDeviceSession(ctx, tx, c, d); err != nil || refusal != nil {
				return err
			}
			return tx.DeleteDeviceLogin(ctx, hash)
		}
		return nil
	})
	if err == nil {
		err = refusal
	}
	if err != nil {
		return DeviceSession{}, err
	}
	var out DeviceSession
	if out.Access, err = s.AccessToken(ctx, begun.Issued); err != nil {
		return DeviceSession{}, err
	}
	out.Lifetime = out.ExpiresAt.Sub(s.now())
	out.IDToken, err = s.IDToken(ctx, begun.Issued)
	return out, err
}

// beginDeviceSession begins the session of an approved program. It is refused when the person's rights have changed since.
func (s *Service) beginDeviceSession(ctx context.Context, tx *postgres.Store, c token.Client,
	d postgres.PolledLogin) (b session.Begun, refusal, err error) {
	n := session.NewSession{
		Person: d.Person, Epoch: d.Epoch, Level: d.AuthLevel, Login: true, Federated: d.Federated, ExternalSID: d.ExternalSID,
	}
	if d.AuthTime != nil {
		n.AuthTime = *d.AuthTime
	}
	b, err = s.BeginSession(ctx, tx, c, n)
	if errors.Is(err, identity.ErrPersonNotFound) {
		return b, identity.ErrDeviceRefused, nil
	}
	if err != nil {
		return b, nil, err
	}
	b.MakesAccount = false // it is no sign-in of the person's own browser
	if err := s.MailNewDevice(ctx, tx, c, b); err != nil {
		return b, nil, err
	}
	return b, nil, s.record(ctx, tx, audit.Entry{
		Actor: audit.By(b.Person, c), Action: "session.login", Object: b.SID.String(), Target: b.Person, Organization: b.Organization,
		Details: map[string]string{"factor": "device", "program": d.Name},
	})
}
