package handler

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/session"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/seal"
)

// devices makes and reads the device cookie (contract 3.22). Its value is a sealed list of devices, newest sign-in first.
// It is bound to the host.
type devices struct {
	box    seal.Box
	life   time.Duration
	secure bool
}

const (
	deviceCookie  = "device"
	devicePurpose = "device cookie"
	deviceLength  = 16 + 16 + 8 + 8 // uid, person, epoch, Unix second of the last sign-in
)

// cookie returns the cookie of a list of devices.
func (d devices) cookie(list []identity.Device, host string) *http.Cookie {
	plain := make([]byte, 0, len(list)*deviceLength)
	for _, device := range list {
		plain = append(plain, device.UID.UUID[:]...)
		plain = append(plain, device.Person.UUID[:]...)
		plain = binary.BigEndian.AppendUint64(plain, uint64(device.Epoch))
		plain = binary.BigEndian.AppendUint64(plain, uint64(device.At.Unix()))
	}
	value := base64.RawURLEncoding.EncodeToString(d.box.Seal(plain, []byte(host)))
	c := httpapi.HostCookie(deviceCookie, value, d.secure, http.SameSiteStrictMode)
	c.MaxAge = int(d.life / time.Second)
	return c
}

// read returns the devices of a request, none without a valid cookie. The service checks epoch and age.
func (d devices) read(r *http.Request, host string) []identity.Device {
	c, err := r.Cookie(httpapi.HostCookieName(deviceCookie, d.secure))
	if err != nil {
		return nil
	}
	sealed, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return nil
	}
	plain, err := d.box.Open(sealed, []byte(host))
	if err != nil || len(plain)%deviceLength != 0 {
		return nil
	}
	var list []identity.Device
	for ; len(plain) > 0; plain = plain[deviceLength:] {
		list = append(list, identity.Device{
			UID: id.Device{UUID: uuid.UUID(plain[:16])}, Person: id.Person{UUID: uuid.UUID(plain[16:32])},
			Epoch: int64(binary.BigEndian.Uint64(plain[32:])), At: time.Unix(int64(binary.BigEndian.Uint64(plain[40:])), 0),
		})
	}
	return list
}

// devicesOf returns the devices of a request's cookie.
func (h *Handler) devicesOf(r *http.Request) []identity.Device {
	return h.devices.read(r, httpapi.Client(r.Context()).Host.Name)
}

// knownDevice returns the device in which the person with the address has signed in before, zero for none. The lookup
// takes a token of a bucket of the cookie. A request that is refused one counts as one without a cookie.
func (h *Handler) knownDevice(r *http.Request, address string, list []identity.Device) (id.Device, error) {
	if len(list) == 0 {
		return id.Device{}, nil
	}
	allowed, err := h.buckets.Admit(r.Context(), ratelimit.Part{Bucket: deviceLookupBucket, Identifier: list[0].UID.String()})
	if err != nil || !allowed {
		return id.Device{}, err
	}
	return h.service.KnownDevice(r.Context(), address, list)
}

// respondSignedIn answers a login: the token, and after the last step the device cookie.
func (h *Handler) respondSignedIn(w http.ResponseWriter, r *http.Request, in session.SignedIn) error {
	if !in.Device.UID.IsZero() {
		http.SetCookie(w, h.devices.cookie(identity.RememberDevice(h.devicesOf(r), in.Device), httpapi.Client(r.Context()).Host.Name))
	}
	return respondToken(w, in.Token, in.Kind)
}
