//go:build !linux

package app

import "net"

// stopListening does nothing: closing the listener ends it.
func stopListening(*net.TCPListener) []net.Conn { return nil }
