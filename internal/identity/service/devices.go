package service

import (
	"context"
	"errors"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
)

// SignedIn is the result of a login.
type SignedIn struct {
	Token  string
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
	return identity.FindDevice(devices, p, epoch, s.now().Add(-s.settings.Device))
}

// begun is a new session.
type begun struct {
	postgres.Issued
	device      identity.Device // in which the person has signed in now
	knownDevice bool            // the person had signed in there before
}

// signedIn returns the signed ID token of a new session and its device.
func (s *Service) signedIn(ctx context.Context, b begun) (SignedIn, error) {
	raw, err := s.idToken(ctx, b.Issued)
	return SignedIn{Token: raw, Device: b.device}, err
}
