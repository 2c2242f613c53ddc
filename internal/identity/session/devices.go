// Known devices: which sign-in is new to a person and is mailed.

package session

import (
	"context"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/notice"
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
func (ts *Tokens) KnownDevice(ctx context.Context, address string, devices []identity.Device) (id.Device, error) {
	if len(devices) == 0 {
		return id.Device{}, nil
	}
	login, err := ts.store.Login(ctx, address)
	if errors.Is(err, identity.ErrPersonNotFound) {
		return id.Device{}, nil
	}
	if err != nil {
		return id.Device{}, err
	}
	d, _ := ts.knownDevice(devices, login.Person, login.DeviceEpoch)
	return d.UID, nil
}

// knownDevice returns the device of a person who is at the device epoch.
func (ts *Tokens) knownDevice(devices []identity.Device, p id.Person, epoch int64) (identity.Device, bool) {
	return identity.FindDevice(devices, p, epoch, ts.DeviceSince())
}

// DeviceSince returns the earliest last sign-in with which a device is still known.
func (ts *Tokens) DeviceSince() time.Time { return ts.now().Add(-ts.settings.Device) }

// Remember stores the device of a sign-up or sign-in, and reports whether it was known. A client without cookies is known by its family and
// network. The person is locked.
func (ts *Tokens) Remember(ctx context.Context, tx *postgres.Store, c token.Client, b Begun) (known bool, err error) {
	if b.KnownDevice || c.Browser { // the cookie knows a browser
		return b.KnownDevice, nil
	}
	uid := b.Person.UUID
	return tx.RememberClient(ctx, postgres.KnownClient{
		Person: b.Person, DeviceEpoch: b.Device.Epoch, Now: ts.now(), Since: ts.DeviceSince(),
		Hash: ts.sealer.MAC("known client", uid[:], []byte(identity.ClientFamily(c.UserAgent)), []byte(ratelimit.Network(c.Address).String())),
	})
}

// MailNewDevice mails a person about a sign-in from a device that was not used before, the sign-up included (contract 3.23). A login that
// makes its account is not mailed, nor is one that completes a reset, which was mailed. The person is locked.
func (ts *Tokens) MailNewDevice(ctx context.Context, tx *postgres.Store, c token.Client, b Begun) error {
	known, err := ts.Remember(ctx, tx, c, b)
	if err != nil || known || b.MakesAccount || b.SetPasswordUntil != nil {
		return err
	}
	return ts.notices.Secure(ctx, tx, b.Person, c, notice.Notice{Template: mail.NewDevice,
		Data: map[string]any{"device": identity.Printable(identity.ClientFamily(c.UserAgent), identity.MaxUserAgent)}})
}

// Begun is a new session.
type Begun struct {
	postgres.Issued
	Device       identity.Device // in which the person has signed in now
	KnownDevice  bool            // the person had signed in there before
	MakesAccount bool            // the first login of a person whom a provider knows
}

// SignIn returns the signed ID token of a new session and its device.
func (ts *Tokens) SignIn(ctx context.Context, b Begun) (SignedIn, error) {
	raw, err := ts.IDToken(ctx, b.Issued)
	return SignedIn{Token: raw, Kind: token.KindID, Device: b.Device}, err
}
