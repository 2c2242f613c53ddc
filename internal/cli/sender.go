package cli

import (
	"context"
	"fmt"

	"github.com/consign-dev/consign/client"
)

// sender connects for a send. A delivery to a mailbox is that of the login's person, or of the address of --from.
func (p *Program) sender(ctx context.Context, f *sendFlags, server string) (*client.Client, error) {
	a, err := p.account(server)
	if err != nil {
		return nil, err
	}
	toMailbox := f.recipients.mailbox != ""
	if f.anonymous || toMailbox && f.senderEmail != "" && a.Token == "" {
		if f.senderEmail == "" {
			return nil, errNoSender
		}
		return client.New(ctx, server, p.options()...)
	}
	c, _, err := p.connect(ctx, server)
	switch {
	case err != nil:
		return nil, err
	case !c.SignedIn() && !toMailbox:
		return nil, fmt.Errorf("%s: %w", server, errNoLogin)
	case toMailbox && f.senderEmail == "" && a.Session == nil:
		return nil, errNoSender
	case toMailbox && f.senderEmail == "":
		f.senderName, f.senderEmail, err = person(ctx, c)
	}
	return c, err
}

var errNoSender = usageError("--from is missing: who sends this? As --from 'Sam <sam@example.com>'")

// person returns name and primary address of the login's person.
func person(ctx context.Context, c *client.Client) (name, address string, err error) {
	profile, err := c.Identity.GetProfile(ctx)
	if err != nil {
		return "", "", err
	}
	emails, err := c.Identity.ListEmails(ctx)
	if err != nil {
		return "", "", err
	}
	for _, e := range emails.Emails {
		if e.Primary != nil && *e.Primary || address == "" {
			address = e.Address
		}
	}
	return text(profile.Name), address, nil
}
