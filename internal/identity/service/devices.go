// Known devices: which sign-in is new to a person and is mailed.

package service

import (
	"context"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
)

// SignedIn is the result of a login.
type SignedIn struct {
	Token  string
	Kind   token.Kind      // of an ID token, or an mfa token
	Device identity.Device // for the device cookie; zero after the first of two steps
}

// KnownDevice returns the device in which the person who logs in with an address has signed in before, zero for none
// (contract 3.22). address is normalized.
func (s *Service) KnownDevice(ctx context.Context, address string, devices []identity.Device) (id.Device, error) {
	if len(devices) == 0 {
		return id.Device{}, nil
	}
	login, err := s.store.Login(ctx, address)
	if errors.Is(err, identity.ErrPersonNotFound) {
		return id.Device{}, nil
	}
	if err != nil {
		return id.Device{}, err
	}
	d, _ := s.knownDevice(devices, login.Person, login.DeviceEpoch)
	return d.UID, nil
}

// knownDevice returns the device of a person who is at the device epoch.
func (s *Service) knownDevice(devices []identity.Device, p id.Person, epoch int64) (identity.Device, bool) {
	return identity.FindDevice(devices, p, epoch, s.deviceSince())
}

// deviceSince returns the earliest last sign-in with which a device is still known.
func (s *Service) deviceSince() time.Time { return s.now().Add(-s.settings.Device) }

// mailNewDevice mails a person about a sign-in from a device that was not used before (contract 3.23). A client without
// cookies is known by its family and network. The first login after the signup is not mailed, nor is one that completes
// a reset, which was mailed. The person is locked.
func (s *Service) mailNewDevice(ctx context.Context, tx *postgres.Store, c token.Client, b begun) error {
	family := identity.ClientFamily(c.UserAgent)
	known := b.knownDevice
	if !known && !c.Browser {
		uid := b.Person.UUID
		var err error
		if known, err = tx.RememberClient(ctx, postgres.KnownClient{
			Person: b.Person, DeviceEpoch: b.device.Epoch, Now: s.now(), Since: s.deviceSince(),
			Hash: s.sealer.MAC("known client", uid[:], []byte(family), []byte(ratelimit.Network(c.Address).String())),
		}); err != nil {
			return err
		}
	}
	if known || b.firstLogin || b.SetPasswordUntil != nil {
		return nil
	}
	return s.secure(ctx, tx, b.Person, c, notice{template: mail.NewDevice,
		data: map[string]any{"device": identity.Printable(family, identity.MaxUserAgent)}})
}

// begun is a new session.
type begun struct {
	postgres.Issued
	device      identity.Device // in which the person has signed in now
	knownDevice bool            // the person had signed in there before
	firstLogin  bool            // no login came before
}

// signedIn returns the signed ID token of a new session and its device.
func (s *Service) signedIn(ctx context.Context, b begun) (SignedIn, error) {
	raw, err := s.idToken(ctx, b.Issued)
	return SignedIn{Token: raw, Kind: token.KindID, Device: b.device}, err
}
