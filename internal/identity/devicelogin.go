package identity

import "time"

// DeviceLogin is a program that asks for a session (RFC 8628, contract 3.25), as the person sees it who may approve.
type DeviceLogin struct {
	Name      string // what the program calls itself
	UserAgent string
	IP        string
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Limits of programs that ask for a session.
const (
	DeviceLoginLifetime     = 10 * time.Minute
	DeviceLoginPoll         = 5 * time.Second // least time between two requests of a program; each that comes earlier adds as much
	MaxDeviceLogins         = 10_000          // that wait, in total
	MaxNetworksDeviceLogins = 80              // that wait: a quarter of it of one client network, up to three of the widest around it
	MaxDeviceName           = 60              // bytes
	UserCodeLength          = 8
	UserCodeLetters         = "BCDFGHJKLMNPQRSTVWXZ" // no vowels, and none that looks like another (RFC 8628, 6.1)
)

// Confirmation is a login by form post that waits for the person, as its page shows it (contract 3.14).
type Confirmation struct {
	Name         string // of the person; empty: unset
	Address      string // the person's primary one
	Host         string // where the login began
	Organization string // whose hostname that is; empty: of none or the free one
}
