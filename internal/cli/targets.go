package cli

import (
	"fmt"
	"net/mail"
	"net/url"
	"regexp"
	"strings"
)

// link is an address of a page: kind m is a mailbox, t a transfer, g a group.
type link struct{ server, kind, key string }

var pageLink = regexp.MustCompile(`^/([mtg])/([^/]+)/?$`)

// parseLink parses an address such as https://files.example.com/m/ann.
func parseLink(text string) (link, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return link{}, usageError(fmt.Sprintf("%q is not a link", text))
	}
	server, err := origin(text)
	if err != nil {
		return link{}, err
	}
	parts := pageLink.FindStringSubmatch(u.Path)
	if parts == nil {
		return link{}, usageError(fmt.Sprintf("%q is neither the link of a mailbox (…/m/…) nor of a transfer (…/t/…)", text))
	}
	return link{server, parts[1], parts[2]}, nil
}

// recipients are the values of --to: one mailbox, or addresses.
type recipients struct {
	server    string // of a mailbox's link
	mailbox   string
	addresses []string
}

func parseTo(values []string) (recipients, error) {
	var r recipients
	for _, v := range values {
		switch {
		case strings.Contains(v, "://"):
			l, err := parseLink(v)
			if err != nil {
				return r, err
			}
			if l.kind != "m" {
				return r, usageError(fmt.Sprintf("%q is not the link of a mailbox (…/m/…)", v))
			}
			if r.mailbox != "" {
				return r, usageError("--to names two mailboxes: send to one at a time")
			}
			r.server, r.mailbox = l.server, l.key
		case strings.Contains(v, "@"):
			a, err := mail.ParseAddress(v)
			if err != nil {
				return r, usageError(fmt.Sprintf("--to: %q is not an email address", v))
			}
			r.addresses = append(r.addresses, a.Address)
		case r.mailbox != "":
			return r, usageError("--to names two mailboxes: send to one at a time")
		default:
			r.mailbox = v
		}
	}
	if r.mailbox != "" && len(r.addresses) > 0 {
		return r, usageError("--to names a mailbox and addresses: send to one or the other")
	}
	return r, nil
}
