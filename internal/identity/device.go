package identity

import (
	"time"

	"github.com/consign-dev/consign/internal/id"
)

// Device is a browser in which a person has signed in. A device cookie lists those of up to MaxDevices persons
// (contract 3.22).
type Device struct {
	UID    id.Device
	Person id.Person
	Epoch  int64     // the person's device epoch at the last sign-in; a greater one makes the device unknown
	At     time.Time // of the last sign-in
}

// FindDevice returns the device of a person who is at the device epoch. Sign-ins before since do not count.
func FindDevice(list []Device, p id.Person, epoch int64, since time.Time) (d Device, known bool) {
	for _, d := range list {
		if d.Person == p && d.Epoch == epoch && d.At.After(since) {
			return d, true
		}
	}
	return Device{}, false
}

// RememberDevice returns a list that begins with d. It leaves out the other devices of d's person, and the oldest beyond
// MaxDevices.
func RememberDevice(list []Device, d Device) []Device {
	out := append(make([]Device, 0, MaxDevices), d)
	for _, other := range list {
		if other.Person != d.Person && len(out) < MaxDevices {
			out = append(out, other)
		}
	}
	return out
}
