package oidc

import "net/netip"

// SetClassify makes addresses of this machine stand for those of other networks: 127.0.0.2 is on the Internet,
// 127.0.0.3 on a private network. Everything else is what it is.
func (o *Options) SetClassify() {
	o.classify = func(a netip.Addr) reach {
		switch a.Unmap() {
		case netip.MustParseAddr("127.0.0.2"):
			return public
		case netip.MustParseAddr("127.0.0.3"):
			return private
		}
		return classify(a)
	}
}

// ParseClients reads the content of a clients file.
var ParseClients = parseClients

// ParseClaims reads the payload of a token and returns the email and whether it is verified.
func ParseClaims(payload []byte) (email string, verified bool, err error) {
	c, err := parseClaims(payload)
	return c.Email, c.EmailVerified, err
}

// Reach names where an address is.
func Reach(a string) string {
	return []string{"nowhere", "loopback", "private", "public"}[classify(netip.MustParseAddr(a))]
}
